package gotest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A selection is a -bench pattern taken apart: alternatives, each a list of
// regular expressions, one per level of a benchmark's name.
type selection [][]*regexp.Regexp

// Match says whether `go test -bench pattern` runs the benchmark of that full
// name (no processor suffix). A pattern that is not valid matches nothing, see
// CheckPattern. The empty pattern matches all: it stands for --bench not given.
func Match(pattern, fullName string) bool {
	chosen, err := parseSelection(pattern)
	return err == nil && chosen.match(fullName)
}

// CheckPattern says what is wrong with a -bench pattern.
func CheckPattern(pattern string) error {
	_, err := parseSelection(pattern)
	return err
}

func parseSelection(pattern string) (selection, error) {
	var chosen selection
	for _, alternative := range splitPattern(pattern) {
		var levels []*regexp.Regexp
		for _, element := range alternative {
			level, err := regexp.Compile(rewriteName(element))
			if err != nil {
				return nil, fmt.Errorf("reading the benchmark pattern %q: %w", pattern, err)
			}
			levels = append(levels, level)
		}
		chosen = append(chosen, levels)
	}
	return chosen, nil
}

// match reports whether one alternative matches every level it has. The first
// alternative that fits decides, as in testing: one that fits in part only hides
// later ones.
func (s selection) match(fullName string) bool {
	elements := strings.Split(fullName, "/")
	for _, levels := range s {
		if matchLevels(levels, elements) {
			return len(elements) >= len(levels)
		}
	}
	return false
}

// matchTop reports whether a benchmark function of that name, or something
// below it, could match.
func (s selection) matchTop(name string) bool {
	for _, levels := range s {
		if matchLevels(levels, []string{name}) {
			return true
		}
	}
	return false
}

func matchLevels(levels []*regexp.Regexp, elements []string) bool {
	for i, element := range elements {
		if i < len(levels) && !levels[i].MatchString(element) {
			return false
		}
	}
	return true
}

// splitPattern splits at each | and / that stands outside brackets. An
// unmatched ] or a backslash is the regular expression's own matter.
func splitPattern(pattern string) [][]string {
	alternatives := [][]string{nil}
	square, round, start := 0, 0, 0
	cut := func(end int) {
		last := len(alternatives) - 1
		alternatives[last] = append(alternatives[last], pattern[start:end])
		start, square, round = end+1, 0, 0
	}
	for i := 0; i < len(pattern); i++ {
		inClass := square > 0
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			square++
		case c == ']':
			square = max(square-1, 0)
		case inClass:
		case c == '(':
			round++
		case c == ')':
			round--
		case c == '/' && round == 0:
			cut(i)
		case c == '|' && round == 0:
			cut(i)
			alternatives = append(alternatives, nil)
		}
	}
	cut(len(pattern))
	return alternatives
}

// rewriteName gives the form in which testing prints and matches a name: white
// space as _, unprintable characters escaped.
func rewriteName(name string) string {
	var out strings.Builder
	for _, r := range name {
		switch {
		case isNameSpace(r):
			out.WriteByte('_')
		case !strconv.IsPrint(r):
			quoted := strconv.QuoteRune(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// isNameSpace is Unicode's White_Space property, which testing uses; it differs
// from category Z.
func isNameSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}
