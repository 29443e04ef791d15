package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxComment is the longest text that GitHub takes as a comment, in characters
// (REST API error "body is too long (maximum is 65536 characters)").
const maxComment = 65535

// worthMoving is the size in bytes below which a section stays: moving it would
// cost the reader more than it frees.
const worthMoving = 1000

// Markdown writes the main document: GitHub Flavored Markdown, ready for a pull
// request, at most 65,535 bytes. When that is too short for the whole report,
// sections stand in DetailsFile (MarkdownParts) and the text links to it.
func Markdown(w io.Writer, v *View) error {
	main, _ := MarkdownParts(v)
	if _, err := w.Write(main); err != nil {
		return fmt.Errorf("writing the Markdown report: %w", err)
	}
	return nil
}

// MarkdownParts returns the main document and the second one, nil when
// everything fits the main one. Sections move whole, the most detailed first.
func MarkdownParts(v *View) (main, details []byte) {
	var head markdown
	head.line("# Benchmark: base against head, measured")
	head.blocks(v.head)
	size := head.Len()
	order := make([]int, len(v.sections))
	full, shown := make([][]byte, len(v.sections)), make([][]byte, len(v.sections))
	for i, s := range v.sections {
		order[i] = i
		full[i] = s.markdown(s.blocks)
		shown[i] = full[i]
		size += len(full[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v.sections[a].spill, v.sections[b].spill) })
	moved := make([]bool, len(v.sections))
	pointer := paragraph(line(text("In full: "), link(DetailsFile, DetailsFile), text(".")))
	for _, i := range order {
		if s := v.sections[i]; size > maxComment && s.spill > 0 && len(full[i]) > worthMoving {
			moved[i] = true
			shown[i] = s.markdown(append(slices.Clone(s.short), pointer))
			size += len(shown[i]) - len(full[i])
		}
	}
	main = slices.Concat(head.Bytes(), bytes.Join(shown, nil))
	if !slices.Contains(moved, true) {
		return main, nil
	}
	details = []byte("# Benchmark: base against head, details\n")
	for i := range v.sections {
		if moved[i] {
			details = append(details, full[i]...)
		}
	}
	return main, details
}

// markdown renders the section with some blocks.
func (s section) markdown(blocks []block) []byte {
	var m markdown
	m.line("\n## " + escapeMarkdown(s.title))
	m.blocks(blocks)
	return m.Bytes()
}

// markdown is a blockWriter.
type markdown struct{ bytes.Buffer }

func (m *markdown) line(s string) { m.WriteString(s + "\n") }

func (m *markdown) blocks(all []block) {
	for _, b := range all {
		m.line("")
		b.render(m)
	}
}

func (m *markdown) paragraph(p paragraph) { m.line(lineStart(m.inline(inline(p), false))) }

func (m *markdown) list(l list) {
	for _, item := range l {
		m.line("- " + lineStart(m.inline(item, false)))
	}
}

func (m *markdown) verbatim(v verbatim) {
	body := lines(v.text)
	fence := strings.Repeat("`", max(3, longestRun(body)+1))
	m.line(fence + v.language)
	m.line(strings.TrimRight(body, "\n"))
	m.line(fence)
}

func (m *markdown) table(t table) {
	head, rule := "|", "|"
	for i, h := range t.head {
		head += " " + escapeMarkdown(h) + " |"
		if t.align[i] == 'r' {
			rule += "---:|"
		} else {
			rule += "---|"
		}
	}
	m.line(head)
	m.line(rule)
	for _, r := range t.rows {
		m.WriteString("|")
		for _, c := range r {
			m.WriteString(" " + m.inline(c, true) + " |")
		}
		m.line("")
	}
}

func (m *markdown) figure(f figure) {
	m.line("![" + escapeMarkdown(f.alt) + "](" + target(f.file) + ")")
}

func (m *markdown) fold(f fold) {
	m.line("<details><summary>" + escapeHTML(breakLinks(f.summary)) + "</summary>")
	m.blocks(f.blocks)
	m.line("\n</details>")
}

// inline renders spans; in a table cell a pipe would end the cell even inside a
// code span.
func (m *markdown) inline(spans inline, cell bool) string {
	var b strings.Builder
	for _, s := range spans {
		t := strings.NewReplacer("\n", " ", "\t", " ").Replace(lines(s.text))
		switch s.style {
		case plainStyle:
			b.WriteString(escapeMarkdown(t))
		case strongStyle:
			if t = strings.TrimSpace(t); t != "" {
				b.WriteString("**" + escapeMarkdown(t) + "**")
			}
		case codeStyle:
			t = codeSpan(t)
			if cell {
				t = strings.ReplaceAll(t, "|", `\|`)
			}
			b.WriteString(t)
		case linkStyle:
			b.WriteString("[" + escapeMarkdown(t) + "](" + target(s.file) + ")")
		}
	}
	return b.String()
}

// codeSpan fences text with more backticks than it holds in a row.
func codeSpan(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	fence := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// longestRun is the length of the longest run of backticks.
func longestRun(s string) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// target is a file as the destination of a link: always relative, never a
// scheme.
func target(file string) string { return (&url.URL{Path: file}).String() }

// autolink matches where GitHub makes links of plain text: mentions, issue
// numbers and addresses. A comment between the two parts breaks them, where an
// escape or an entity would not: they are found in the rendered text.
var autolink = regexp.MustCompile(`(?i)(@)([a-z0-9])|(#)([0-9])|(\bGH-)([0-9])|(://)(.)|(\bwww)(\.)|(\b(?:mailto|xmpp):)(.)`)

const linkBreak = "\uE000" // private use; stands for the comment until all is escaped

func breakLinks(s string) string {
	s = strings.ReplaceAll(s, linkBreak, "")
	return autolink.ReplaceAllString(s, "$1$3$5$7$9$11"+linkBreak+"$2$4$6$8$10$12")
}

// escapeMarkdown makes plain text of any text.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range breakLinks(s) {
		switch r {
		case '\\', '`', '*', '_', '[', ']', '<', '>', '|', '~', '&', '$':
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), linkBreak, "<!-- -->")
}

// blockStart matches what opens a block at the begin of a line.
var blockStart = regexp.MustCompile(`^(\s*)([#+=-]|\d{1,9}([.)]))`)

// lineStart keeps rendered text from opening a heading, a list or a rule.
func lineStart(s string) string {
	at := blockStart.FindStringSubmatchIndex(s)
	switch {
	case at == nil:
		return s
	case at[6] >= 0: // the full stop of a number
		return s[:at[6]] + `\` + s[at[6]:]
	}
	return s[:at[4]] + `\` + s[at[4]:]
}
