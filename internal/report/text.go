package report

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"assay/internal/report/chart"
)

// TextOptions say what the terminal can show.
type TextOptions struct {
	Color  bool   // ANSI colours for verdicts
	Width  int    // columns; 0: unlimited
	Report string // where the whole report is; empty: not said
}

// Widths and counts of the terminal table.
const (
	columnGap    = 2
	leastTitle   = 22 // below this a column is dropped instead
	mostTitle    = 120
	shownDoubts  = 8
	causeLines   = 5
	causeColumns = 160
)

// Text writes the table for a terminal, the doubts, the failures with their
// cause, and where the report is. A table wider than the terminal loses the
// spread, then the interval, and titles lose their middle.
func Text(w io.Writer, v *View, opts TextOptions) error {
	var b bytes.Buffer
	for _, warning := range v.warnings {
		if gravity(warning) == 0 {
			fmt.Fprintf(&b, "WARNING: %s [%s]\n", oneLine(warning.Text), oneLine(warning.Code))
		}
	}
	if a := v.armsText(); a != "" {
		fmt.Fprintf(&b, "base → head: %s\n\n", a)
	}
	if len(v.rows) > 0 {
		g := grid{align: "lrrrrrl", head: []string{"case", "base", "head", "delta", "interval", "spread", "verdict"}, droppable: []int{5, 4}}
		for _, r := range v.rows {
			g.add(r, chart.Elide(r.name, mostTitle), r.bareBase(), r.headText, before(r.delta), terminalInterval(r), r.spread, strings.Replace(r.verdict, " (control)", "*", 1))
		}
		g.write(&b, opts)
		if slices.ContainsFunc(v.rows, func(r row) bool { return r.Control }) {
			b.WriteString("* control: a case that the change cannot affect\n")
		}
		b.WriteByte('\n')
	}
	v.textMetrics(&b, opts)
	b.WriteString(v.summary() + "\n")
	v.textControls(&b)
	v.textDoubts(&b)
	v.textFailures(&b)
	if opts.Report != "" {
		fmt.Fprintf(&b, "\nReport: %s\n", oneLine(opts.Report))
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// bareBase is base's cell without its unit where head's cell carries it.
func (r row) bareBase() string {
	if r.Base == nil || r.Head == nil {
		return r.baseText
	}
	return r.scale.Number(r.Base.Median, digits)
}

// before is the text before a remark in parentheses; the verdict says as much.
func before(s string) string {
	s, _, _ = strings.Cut(s, " (")
	return s
}

// terminalInterval is the interval with one percent sign.
func terminalInterval(r row) string {
	switch {
	case r.CI != nil:
		return strings.NewReplacer(" %,", ",", " %]", "] %").Replace(r.interval)
	case r.Delta != nil && !r.Exact && r.RoundsNeeded > r.Rounds:
		return fmt.Sprintf("n/a (%d/%d rounds)", r.Rounds, r.RoundsNeeded)
	}
	return r.interval
}

// textMetrics writes the second table: other metrics that changed.
func (v *View) textMetrics(b *bytes.Buffer, opts TextOptions) {
	g := grid{align: "llrrrl", head: []string{"case", "metric", "base", "head", "change", "verdict"}}
	for _, r := range v.other {
		if r.changedMetric() {
			g.add(r, chart.Elide(r.name, mostTitle), oneLine(r.Metric), r.bareBase(), r.headText, before(r.delta), r.verdict)
		}
	}
	if len(g.rows) == 0 {
		return
	}
	b.WriteString("Other metrics that changed (exploratory):\n")
	g.write(b, opts)
	b.WriteByte('\n')
}

func (v *View) textControls(b *bytes.Buffer) {
	if a := v.in.Comparison.AA; a != nil {
		fmt.Fprintf(b, "A/A: %s in %s, floor %s.\n", count(a.FalseAlarms, "false alarm", "false alarms"), count(a.Cases, "case", "cases"), unsigned(a.Floor))
	}
	for _, item := range v.planted() {
		for _, s := range item {
			b.WriteString(s.text)
		}
		b.WriteByte('\n')
	}
}

// textDoubts writes the warnings of the run and the first ones of cases.
func (v *View) textDoubts(b *bytes.Buffer) {
	for _, w := range v.warnings {
		if gravity(w) != 0 {
			fmt.Fprintf(b, "warning: %s [%s]\n", oneLine(w.Text), oneLine(w.Code))
		}
	}
	n := 0
	for _, r := range slices.Concat(v.rows, v.other) {
		for _, w := range r.Warnings {
			if n++; n <= shownDoubts {
				fmt.Fprintf(b, "warning: %s: %s [%s]\n", r.name, r.doubt(w), oneLine(w.Code))
			}
		}
	}
	if n > shownDoubts {
		fmt.Fprintf(b, "%s in the report.\n", count(n-shownDoubts, "more warning is", "more warnings are"))
	}
}

// textFailures names what has no result, and the end of what it printed.
func (v *View) textFailures(b *bytes.Buffer) {
	cause := func(s string) {
		for l := range strings.SplitSeq(tail(s, causeLines, causeLines*causeColumns), "\n") {
			if strings.TrimSpace(l) != "" {
				fmt.Fprintf(b, "    %s\n", chart.Elide(strings.ReplaceAll(l, "\t", "  "), causeColumns))
			}
		}
	}
	for _, a := range v.in.Plan.Expansion.Artifacts {
		if f := a.Failure; f != nil {
			fmt.Fprintf(b, "failed: %s does not build on %s. %s\n", oneLine(a.Package), a.Arm, buildCause(f))
			cause(f.Text)
		}
	}
	for _, g := range v.groupFailures() {
		fmt.Fprintf(b, "failed: %s: %s on %s\n", v.failureName(g.first), reasonText(g.first.Reason), g.first.Arm)
		cause(g.first.Text)
	}
	for _, r := range v.rows {
		if r.Partner != "" {
			fmt.Fprintf(b, "%s: %s, likely the same benchmark as %s\n", r.verdict, r.name, oneLine(r.Partner))
		}
	}
	for _, d := range v.in.Damaged {
		fmt.Fprintf(b, "damaged: %s:%d: %s: %s\n", path.Base(oneLine(d.Source)), d.Line, oneLine(d.Reason), clipped(oneLine(d.Text), causeColumns))
	}
}

// grid is an aligned table. Its first column gives way, its last is coloured.
// Note: go-pretty asks the locale how wide a character is; the same input must
// give the same bytes.
type grid struct {
	align     string
	head      []string
	droppable []int // columns that go when there is no room, first to go first
	rows      [][]string
	classes   []class
}

func (g *grid) add(r row, cells ...string) {
	g.rows = append(g.rows, cells)
	g.classes = append(g.classes, r.class())
}

// layout returns the columns to print and the width of each of the grid's.
func (g *grid) layout(width int) (columns, widths []int) {
	widths = make([]int, len(g.head))
	for i, h := range g.head {
		widths[i] = chart.Cells(h)
		for _, r := range g.rows {
			widths[i] = max(widths[i], chart.Cells(r[i]))
		}
		columns = append(columns, i)
	}
	if width <= 0 {
		return columns, widths
	}
	for drop := 0; ; drop++ {
		room := width
		for _, i := range columns[1:] {
			room -= widths[i] + columnGap
		}
		if room >= min(widths[0], leastTitle) || drop == len(g.droppable) {
			widths[0] = min(widths[0], max(room, leastTitle/2))
			return columns, widths
		}
		columns = slices.DeleteFunc(columns, func(i int) bool { return i == g.droppable[drop] })
	}
}

func (g *grid) write(b *bytes.Buffer, opts TextOptions) {
	columns, widths := g.layout(opts.Width)
	g.line(b, g.head, columns, widths, "")
	for n, r := range g.rows {
		colour := ""
		if opts.Color {
			colour = g.classes[n].colour()
		}
		g.line(b, r, columns, widths, colour)
	}
}

func (g *grid) line(b *bytes.Buffer, cells []string, columns, widths []int, colour string) {
	for n, i := range columns {
		cell := chart.Elide(cells[i], widths[i])
		space := strings.Repeat(" ", widths[i]-chart.Cells(cell))
		switch {
		case n == len(columns)-1 && colour != "":
			cell = colour + cell + "\x1b[0m"
		case n == len(columns)-1:
		case g.align[i] == 'r':
			cell = space + cell
		default:
			cell += space
		}
		if n > 0 {
			b.WriteString(strings.Repeat(" ", columnGap))
		}
		b.WriteString(cell)
	}
	b.WriteByte('\n')
}

// colour is the ANSI sequence of a class (ECMA-48 SGR); quiet has none.
func (c class) colour() string {
	switch c {
	case good:
		return "\x1b[32m"
	case bad:
		return "\x1b[31m"
	case notable:
		return "\x1b[35m"
	case broken:
		return "\x1b[33m"
	case quiet:
	}
	return ""
}
