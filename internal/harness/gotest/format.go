package gotest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"assay/internal/result"
)

// Format reads the text that `go test -bench` prints.
type Format struct{}

// Bounds of what is kept of a capture.
const (
	maxLine    = 1 << 20  // a longer line is no result of testing's
	maxText    = 16 << 10 // of a failure
	maxShown   = 300      // of a damaged line
	suffixView = 2000     // results looked at before the processor suffix is decided
)

// Name returns "gobench".
func (Format) Name() string { return "gobench" }

// Sniff looks for a result or for the header of go test's benchmark output.
func (Format) Sniff(head []byte) bool {
	var l line
	for _, text := range bytes.Split(head, []byte("\n")) {
		text = bytes.TrimRight(text, "\r")
		if bytes.HasPrefix(text, []byte("goos: ")) || bytes.HasPrefix(text, []byte("pkg: ")) {
			return true
		}
		if l.read(text); l.kind == complete {
			return true
		}
	}
	return false
}

// Parse reads a capture line by line. Each value is a Measurement: Seq counts
// result lines, Pass the results of one benchmark, both from 0. A processor
// suffix is taken off the names when cell.Procs says it, or when the first
// 2,000 results all end in the same one. Results that cannot be used are
// Damaged, benchmarks that failed or skipped are Failure; other lines are
// skipped. Memory does not grow with the capture, only with the number of names.
func (Format) Parse(r io.Reader, cell result.Cell, sink result.Sink) error {
	p := &captureReader{cell: cell, sink: sink, pkg: cell.Package, cases: map[caseKey]*caseState{}, blamed: map[string]bool{}}
	p.line.units = map[string]*valueUnit{}
	if cell.Procs > 0 {
		p.decided = true
		if cell.Procs > 1 {
			p.suffix = "-" + strconv.Itoa(cell.Procs)
		}
	}
	if err := p.lines(r); err != nil {
		return fmt.Errorf("reading benchmark results from %s: %w", cell.Source, err)
	}
	return nil
}

// captureReader is the state of one Parse.
type captureReader struct {
	cell    result.Cell
	sink    result.Sink
	line    line
	number  int    // of the line, from 1
	pkg     string // of the results that follow
	seq     int64
	pending *pendingName
	failing *result.Failure // whose text is being read
	blamed  map[string]bool // parents of benchmarks that failed
	cases   map[caseKey]*caseState
	decided bool     // the suffix is
	suffix  string   // processor suffix of the names, "" if they have none
	waiting []record // until it is
}

// pendingName is a name whose result has not come.
type pendingName struct {
	kind   lineKind
	name   string
	line   int
	text   string
	reason string
}

// record is what waits for the suffix: one result, or something else.
type record struct {
	pkg, name  string
	iterations int64
	values     []value
	other      result.Record // Damaged or Failure when not nil
}

// caseKey is a benchmark as the capture names it.
type caseKey struct{ pkg, name string }

// caseState counts the results of a benchmark.
type caseState struct {
	id    result.CaseID
	procs int
	pass  int
}

func (p *captureReader) lines(r io.Reader) error {
	in := bufio.NewReaderSize(r, 16<<10)
	var long []byte
	for {
		part, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if len(long) <= maxLine {
				long = append(long, part...)
			}
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		text := part
		if len(long) > 0 {
			text = append(long, part...)
			long = text[:0]
		}
		if len(text) > 0 {
			p.number++
			body := bytes.TrimSuffix(text, []byte("\n"))
			if lineErr := p.one(bytes.TrimRight(body, "\r"), len(body) < len(text)); lineErr != nil {
				return lineErr
			}
		}
		if err != nil {
			return p.end()
		}
	}
}

// one handles a line. Unterminated lines are the last of a capture.
func (p *captureReader) one(text []byte, terminated bool) error {
	if len(text) > maxLine {
		if startsResult(text) {
			return p.damaged(text, "", "the line is longer than a result can be")
		}
		return nil
	}
	if p.failing != nil {
		if len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
			if len(p.failing.Text) < maxText {
				p.failing.Text += string(text) + "\n"
			}
			return nil
		}
		if err := p.closeFailure(); err != nil {
			return err
		}
	}
	if done, err := p.marker(text); done || err != nil {
		return err
	}
	l := &p.line
	l.read(text)
	if !terminated && (l.kind == complete || l.kind == nameless) && !p.wholeUnit(l.values[0].text) {
		l.kind, l.reason = bad, "the capture ends inside the line"
	}
	switch l.kind {
	case complete:
		if err := p.closePending(); err != nil {
			return err
		}
		return p.result(string(l.name), l)
	case nameless:
		name := p.pending
		p.pending = nil
		if name == nil || name.kind == bad {
			if err := p.flushPending(name); err != nil {
				return err
			}
			return p.damaged(text, "", "a result without a name")
		}
		return p.result(name.name, l)
	case announced, open, bad:
		if err := p.closePending(); err != nil {
			return err
		}
		p.pending = &pendingName{kind: l.kind, name: string(l.name), line: p.number, text: shown(text), reason: l.reason}
		if l.kind == bad {
			return p.closePending()
		}
	case foreign:
	}
	return nil
}

// wholeUnit says whether the last unit of an unterminated line can be trusted.
func (p *captureReader) wholeUnit(text string) bool {
	_, seen := p.line.units[text]
	return seen || knownUnit(text)
}

// marker handles the lines around results.
func (p *captureReader) marker(text []byte) (done bool, err error) {
	for _, mark := range []struct {
		prefix string
		reason result.FailureReason
	}{{"--- FAIL: ", result.FailBench}, {"--- SKIP: ", result.FailSkipped}} {
		at := bytes.Index(text, []byte(mark.prefix))
		if at < 0 || at > 0 && (text[at-1] != '\t' || !startsResult(text)) {
			continue
		}
		name, _, _ := strings.Cut(string(text[at+len(mark.prefix):]), " (")
		if !startsResult([]byte(name)) {
			return false, nil
		}
		if p.pending != nil && strings.HasPrefix(p.pending.name, name) {
			p.pending = nil
		}
		p.failing = &result.Failure{Arm: p.cell.Arm, Package: p.pkg, ID: result.CaseID(name), Round: p.cell.Round, Slot: p.cell.Slot, Reason: mark.reason}
		return true, p.closePending()
	}
	pkg, isPkg := bytes.CutPrefix(text, []byte("pkg: "))
	switch {
	case isPkg:
		p.pkg = string(bytes.TrimSpace(pkg))
		return true, p.closePending()
	case bytes.HasPrefix(text, []byte("ok  \t")), bytes.HasPrefix(text, []byte("FAIL\t")):
		err = p.closePending()
		p.pkg = p.cell.Package
		return true, err
	}
	return false, nil
}

// closeFailure ends the text of a failure. A parent that failed because of its
// sub-benchmark has none of its own.
func (p *captureReader) closeFailure() error {
	f := *p.failing
	p.failing = nil
	name := string(f.ID)
	if p.blamed[name] && strings.TrimSpace(f.Text) == "" {
		return nil
	}
	for i := range name {
		if name[i] == '/' {
			p.blamed[name[:i]] = true
		}
	}
	return p.put(record{pkg: f.Package, name: name, other: f})
}

func (p *captureReader) closePending() error {
	name := p.pending
	p.pending = nil
	return p.flushPending(name)
}

// flushPending reports a name whose result did not come. One that was only
// announced is no result.
func (p *captureReader) flushPending(name *pendingName) error {
	if name == nil || name.kind == announced {
		return nil
	}
	return p.put(record{pkg: p.pkg, name: name.name, other: result.Damaged{
		Source: p.cell.Source, Line: name.line, Text: name.text, Reason: name.reason, Arm: p.cell.Arm}})
}

func (p *captureReader) damaged(text []byte, name, reason string) error {
	return p.put(record{pkg: p.pkg, name: name, other: result.Damaged{
		Source: p.cell.Source, Line: p.number, Text: shown(text), Reason: reason, Arm: p.cell.Arm}})
}

func shown(text []byte) string {
	return strings.ToValidUTF8(string(text[:min(len(text), maxShown)]), "\uFFFD")
}

func (p *captureReader) result(name string, l *line) error {
	l.keep()
	slices.Reverse(l.values) // they were read from the right
	r := record{pkg: p.pkg, name: name, iterations: l.iterations, values: l.values}
	if !p.decided {
		r.values = slices.Clone(l.values)
	}
	return p.put(r)
}

// put emits a record, or keeps it until the suffix is decided.
func (p *captureReader) put(r record) error {
	if p.decided {
		return p.emit(r)
	}
	p.waiting = append(p.waiting, r)
	if len(p.waiting) < suffixView {
		return nil
	}
	return p.decide()
}

// decide takes the suffix that all results waiting end in, and emits them.
func (p *captureReader) decide() error {
	if p.decided {
		return nil
	}
	p.decided = true
	first := true
	for _, r := range p.waiting {
		if r.other != nil {
			continue
		}
		suffix := procsSuffix(r.name)
		if !first && suffix != p.suffix {
			p.suffix = ""
			break
		}
		p.suffix, first = suffix, false
	}
	for _, r := range p.waiting {
		if err := p.emit(r); err != nil {
			return err
		}
	}
	p.waiting = nil
	return nil
}

// procsSuffix gives the -N, N of at least 2, at the end of a name.
func procsSuffix(name string) string {
	dash := strings.LastIndexByte(name, '-')
	if dash < 0 || dash+1 == len(name) || name[dash+1] == '0' || !isCount([]byte(name[dash+1:])) || name[dash:] == "-1" {
		return ""
	}
	return name[dash:]
}

// state gives the counters of a benchmark.
func (p *captureReader) state(pkg, name string) *caseState {
	key := caseKey{pkg, name}
	if known, ok := p.cases[key]; ok {
		return known
	}
	s := &caseState{procs: p.cell.Procs}
	bare := name
	if p.suffix != "" && strings.HasSuffix(name, p.suffix) {
		bare = strings.TrimSuffix(name, p.suffix)
		s.procs, _ = strconv.Atoi(p.suffix[1:])
	}
	s.id = caseID(pkg, bare)
	p.cases[key] = s
	return s
}

// caseID is a benchmark's identity: import path, dot, full name.
func caseID(pkg, name string) result.CaseID {
	if pkg == "" {
		return result.CaseID(name)
	}
	return result.CaseID(pkg + "." + name)
}

func (p *captureReader) emit(r record) error {
	switch other := r.other.(type) {
	case nil:
	case result.Damaged:
		if r.name != "" {
			other.ID = p.state(r.pkg, r.name).id
		}
		return p.sink.Put(other)
	case result.Failure:
		other.ID = p.state(r.pkg, r.name).id
		return p.sink.Put(other)
	default:
		return fmt.Errorf("a record of type %T has no place in a capture", other)
	}
	s := p.state(r.pkg, r.name)
	for _, v := range r.values {
		err := p.sink.Put(result.Measurement{
			Seq: p.seq, Round: p.cell.Round, Slot: p.cell.Slot, Pass: s.pass, Schedule: result.Blocks,
			Arm: p.cell.Arm, ID: s.id, Metric: v.folded.Metric, Unit: v.folded.Name, Value: v.number * v.factor,
			Iterations: r.iterations, Procs: s.procs, Status: result.StatusOK,
		})
		if err != nil {
			return err
		}
	}
	s.pass++
	p.seq++
	return nil
}

// end closes what the last lines left open.
func (p *captureReader) end() error {
	if p.failing != nil {
		if err := p.closeFailure(); err != nil {
			return err
		}
	}
	if err := p.closePending(); err != nil {
		return err
	}
	return p.decide()
}
