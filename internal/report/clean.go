package report

import (
	"regexp"
	"strings"
	"unicode"
)

// escapeSequence matches the sequences of ECMA-48 that terminals obey: CSI, OSC
// and the other string controls with their ends, and the two-character ones.
var escapeSequence = regexp.MustCompile("(?s)(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\x1b[\\]PX^_]|[\u0090\u0098\u009d-\u009f]).*?(?:\x07|\x1b\\\\|\u009c|$)|\x1b[ -/]*[0-~]?")

// lines removes from foreign text what could steer a terminal or hide a part of
// the text: escape sequences, control characters other than line feed and tab,
// and the characters that reorder bidirectional text (CVE-2021-42574).
func lines(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsAny(s, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") {
		s = escapeSequence.ReplaceAllString(s, "")
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\uFFFE', r == '\uFFFF':
			return -1
		}
		return r
	}, s)
}

// oneLine is lines with every run of white space as one space.
func oneLine(s string) string { return strings.Join(strings.Fields(lines(s)), " ") }

// clipped keeps the first n characters of a text.
func clipped(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// tail keeps the end of captured output: the last n lines and at most size
// bytes of them, and says when something was left out.
func tail(s string, n, size int) string {
	whole := len(s)
	if whole > 8*size {
		s = s[whole-8*size:] // of a long output only the end is read
	}
	s = strings.Trim(lines(s), "\n")
	all := strings.Split(s, "\n")
	kept := all[max(0, len(all)-n):]
	out := strings.Join(kept, "\n")
	if len(out) > size {
		out = strings.ToValidUTF8(out[len(out)-size:], "")
	}
	if len(out) < len(s) || whole > 8*size {
		out = "[...]\n" + out
	}
	return out
}
