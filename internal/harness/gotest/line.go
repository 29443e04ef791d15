package gotest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"assay/internal/unit"
)

// lineKind says what a line of a capture is.
type lineKind int

const (
	foreign   lineKind = iota
	complete           // a result
	announced          // a name alone: verbose output, or the first half of a result
	open               // a name and the tab after it, but no result: something was printed in between
	nameless           // the second half of a result, perhaps after something else
	bad                // a result that must not be used
)

// value is one measured value of a result line.
type value struct {
	number float64
	*valueUnit
}

// valueUnit is a unit as the line spells it, and what it folds into.
type valueUnit struct {
	text   string
	folded unit.Unit
	factor float64
}

// line is one line taken apart. Its texts are valid until the next one is.
type line struct {
	kind       lineKind
	name       []byte
	iterations int64
	values     []value
	reason     string // open and bad: what is wrong
	fields     [][2]int
	units      map[string]*valueUnit // of accepted lines, by text
}

// glued is the least iteration count that testing prints without a space before
// it (it pads to eight): after other text its first digits may be that text's.
const glued = 1e7

// read takes a line without its line end apart.
func (l *line) read(text []byte) {
	l.kind, l.name, l.iterations, l.values, l.reason = foreign, nil, 0, l.values[:0], ""
	l.split(text)
	if len(l.fields) == 0 {
		return
	}
	named := startsResult(text)
	rest := l.pairs(text)
	if len(l.values) == 0 || rest == 0 || !isCount(l.field(text, rest-1)) {
		if named {
			l.incomplete(text)
		}
		return
	}
	l.iterations, _ = strconv.ParseInt(string(l.field(text, rest-1)), 10, 64)
	before := bytes.TrimRight(text[:l.fields[rest-1][0]], " \t")
	switch {
	case named && len(before) > 0:
		l.named(before)
	case rest == 2 && bytes.HasPrefix(before, []byte("Benchmark")):
		l.named(before) // other tools write names that go test would not run
	case l.values[len(l.values)-1].text == "ns/op": // they were read from the right
		l.kind = nameless
		if len(before) > 0 && l.iterations >= glued {
			l.kind = foreign
		}
	default:
		return
	}
	l.check()
}

// named takes what stands before the iterations as the name. A tab inside it is
// the one after the name: what follows was printed by the program.
func (l *line) named(before []byte) {
	l.kind, l.name = complete, before
	if name, printed, ok := bytes.Cut(before, []byte("\t")); ok && len(bytes.TrimSpace(printed)) > 0 {
		l.name = bytes.TrimRight(name, " ")
		if l.iterations >= glued {
			l.kind, l.reason = bad, "the iteration count cannot be told from the text before it"
		}
	}
	if bytes.Contains(before, []byte(" ns/op")) {
		l.kind, l.reason = bad, "two results on one line"
	}
}

// incomplete classifies a line that begins like a result and is none.
func (l *line) incomplete(text []byte) {
	if len(l.fields) == 1 {
		l.name = l.field(text, 0)
		l.kind = announced
		if len(text) > l.fields[0][1] {
			l.kind, l.reason = open, "the result is missing"
		}
		return
	}
	name, rest, tabbed := bytes.Cut(text, []byte("\t"))
	if !tabbed {
		name, rest = text[:l.fields[0][1]], text[l.fields[1][0]:]
	}
	l.name = bytes.TrimRight(name, " ")
	counted := isCount(l.field(text, 1))
	if !tabbed && !counted {
		return // a log line that begins with the word
	}
	l.kind, l.reason = open, "the result is missing"
	last := len(l.fields) - 1
	if counted && last >= 3 && !isNumber(l.field(text, last-1)) && knownUnit(string(l.field(text, last))) {
		l.kind, l.reason = bad, fmt.Sprintf("%q is not a number", l.field(text, last-1))
	} else if counted && bytes.Contains(rest, []byte("/op")) {
		l.kind, l.reason = bad, "the line is cut or garbled"
	}
}

// split finds the fields of a line: spaces and tabs part them.
func (l *line) split(text []byte) {
	l.fields = l.fields[:0]
	start := -1
	for i, c := range text {
		if c == ' ' || c == '\t' {
			if start >= 0 {
				l.fields = append(l.fields, [2]int{start, i})
			}
			start = -1
		} else if start < 0 {
			start = i
		}
	}
	if start >= 0 {
		l.fields = append(l.fields, [2]int{start, len(text)})
	}
}

func (l *line) field(text []byte, i int) []byte { return text[l.fields[i][0]:l.fields[i][1]] }

// pairs reads value and unit, value and unit, from the right, and returns how
// many fields are left. From the right, because names may hold anything.
func (l *line) pairs(text []byte) int {
	i := len(l.fields)
	for i >= 3 {
		number, name := l.field(text, i-2), l.field(text, i-1)
		if !isNumber(number) || isNumber(name) {
			break
		}
		v, err := strconv.ParseFloat(string(number), 64)
		if err != nil {
			v = math.Inf(1) // out of range
		}
		l.values = append(l.values, value{v, l.unit(name)})
		i -= 2
	}
	return i
}

// unit folds a unit's text.
func (l *line) unit(text []byte) *valueUnit {
	if known, ok := l.units[string(text)]; ok {
		return known
	}
	folded, factor := unit.Parse(string(text))
	return &valueUnit{string(text), folded, factor}
}

// keep remembers the units of a line that was accepted.
func (l *line) keep() {
	for _, v := range l.values {
		if _, ok := l.units[v.text]; !ok && len(l.units) < 1000 { // a bound for hostile input
			l.units[v.text] = v.valueUnit
		}
	}
}

// check turns a line with impossible values into a bad one.
func (l *line) check() {
	if l.kind == bad || l.kind == foreign {
		return
	}
	for i, v := range l.values {
		switch {
		case math.IsNaN(v.number) || math.IsInf(v.number, 0):
			l.reason = fmt.Sprintf("the value of %s is not a finite number", v.text)
		case v.number < 0 && knownUnit(v.text):
			l.reason = fmt.Sprintf("the value of %s is negative", v.text)
		case isCutUnit(v.text):
			l.reason = fmt.Sprintf("the unit %q is cut", v.text)
		case l.iterations < 1:
			l.reason = "the iteration count is not positive"
		}
		for _, other := range l.values[:i] {
			if other.text == v.text {
				l.reason = fmt.Sprintf("the unit %s stands twice", v.text)
			}
		}
	}
	if l.reason != "" {
		l.kind = bad
	}
}

// startsResult: "Benchmark" and no lower-case letter after it.
func startsResult(text []byte) bool {
	const word = "Benchmark"
	if !bytes.HasPrefix(text, []byte(word)) {
		return false
	}
	end := bytes.IndexAny(text, " \t")
	if end < 0 {
		end = len(text)
	}
	return isTestName(string(text[:min(end, len(word)+4)]), word)
}

// isCount: decimal digits alone, and not too many for an iteration count.
func isCount(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(text) > 0 && len(text) <= 18
}

// isNumber: what testing can print as a value, NaN and infinities included.
func isNumber(text []byte) bool {
	bare := bytes.TrimLeft(text, "+-")
	if len(text)-len(bare) > 1 || len(bare) == 0 {
		return false
	}
	if c := bare[0]; c != '.' && (c < '0' || c > '9') {
		return string(bare) == "NaN" || string(bare) == "Inf"
	}
	for _, c := range bare {
		switch {
		case c >= '0' && c <= '9', c == '.', c == 'e', c == 'E', c == '+', c == '-':
		default:
			return false
		}
	}
	_, err := strconv.ParseFloat(string(text), 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// knownUnit: the units that testing itself prints.
func knownUnit(text string) bool {
	switch text {
	case "ns/op", "B/op", "allocs/op", "MB/s":
		return true
	}
	return false
}

// isCutUnit: the beginning of a unit that testing prints, and nothing that a
// benchmark would report of its own.
func isCutUnit(text string) bool {
	switch text {
	case "n", "ns/", "ns/o", "B/", "B/o", "M", "MB/", "a", "al", "all", "allo", "allocs/", "allocs/o":
		return true
	}
	return false
}
