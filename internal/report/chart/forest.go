// Package chart draws forest plots as SVG.
//
// In: plain rows of ratios with their intervals. Out: one self-contained SVG
// document, the same bytes for the same rows. It must never judge a value (the
// caller says which mark a row gets), fetch anything, or let a foreign name
// become markup.
package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strings"

	"github.com/mattn/go-runewidth"

	"assay/internal/unit"
)

// Mark says how a row's point looks: colour and shape both tell it. Closed set.
type Mark string

// The marks.
const (
	Better  Mark = "better"
	Worse   Mark = "worse"
	Changed Mark = "changed" // the unit has no known direction
	Small   Mark = "small"   // a change below the margin that matters, or none
	Doubt   Mark = "doubt"   // two figures contradict each other
	Open    Mark = "open"    // nothing could be said
	None    Mark = "none"    // there is no value
)

// Row is one case. Ratios are head/base - 1.
type Row struct {
	Label   string
	Value   *float64 // nil: no value, nothing is drawn
	Low     *float64 // nil: the interval is not bounded below
	High    *float64 // nil: not bounded above
	Exact   bool     // the value has no interval
	Digits  int      // decimals of the printed percentage; 0: one
	Margin  float64  // half-width of the band of this row; 0: none
	Mark    Mark
	Verdict string // printed at the right
}

// Options are the texts around the plot; each may be empty.
type Options struct {
	Title    string
	Subtitle string
	Caption  string // what bars and band mean
	Left     string // meaning of the side below zero, e.g. "head faster"
	Right    string // meaning of the side above zero
	ID       string // prefix of the ids inside the document; "forest" if empty
}

// Sizes in pixels. A cell is the width given to one narrow character of a label.
const (
	width        = 960
	rowHeight    = 26
	edge         = 16
	cell         = 7
	labelCells   = 40
	verdictWidth = 150
	deltaWidth   = 72
	plotGap      = 14
	bottom       = 34 // between the last row and the legend
)

// drawing is one SVG in the making.
type drawing struct {
	bytes.Buffer
	axis       axis
	id         string
	top        float64 // of the first row
	rows       int
	labelWidth float64
}

// Forest draws one row per case, in the order given: point, interval, a line at
// zero and the margin's band. The scale is the logarithm of head/base when an
// effect exceeds 50 %, and always labelled in percent. A point outside the
// scale is a triangle at its edge with its number; an interval without a bound
// ends in an open arrow.
func Forest(rows []Row, opts Options) []byte {
	d := &drawing{id: opts.ID, rows: len(rows), top: 46}
	if d.id == "" {
		d.id = "forest"
	}
	if opts.Title != "" {
		d.top += 24
	}
	if opts.Subtitle != "" {
		d.top += 18
	}
	longest := 8
	for _, r := range rows {
		longest = max(longest, Cells(r.Label))
	}
	d.labelWidth = float64(min(longest, labelCells) * cell)
	left := edge + d.labelWidth + plotGap
	d.axis = newAxis(rows, left, width-edge-verdictWidth-deltaWidth-plotGap)
	height := d.end() + bottom + 30
	if opts.Caption != "" {
		height += 20
	}
	d.open(opts, height)
	d.frame(rows, opts)
	for i, r := range rows {
		d.row(r, d.top+(float64(i)+0.5)*rowHeight)
	}
	d.legend(rows, opts)
	d.WriteString("</svg>\n")
	return d.Bytes()
}

// end is the lower edge of the plot.
func (d *drawing) end() float64 { return d.top + float64(max(d.rows, 1))*rowHeight }

// style is scoped to the document's class because a style element inside a page
// applies to the whole page. Colours: Okabe and Ito, "Color Universal Design"
// (2008), chosen to be told apart with any colour vision; the dark variants are
// lightened to keep contrast on a dark ground. Note: no custom properties,
// which converters other than browsers do not read.
const style = `<style>
.assay-forest text{font:12px system-ui,-apple-system,"Segoe UI","Noto Sans",Helvetica,Arial,sans-serif}
.assay-forest .title{font-size:15px;font-weight:600}
.assay-forest .dim{font-size:11px}
.assay-forest .grid{stroke-width:1}
.assay-forest .zero{stroke-width:1.2}
.assay-forest .delta{font-variant-numeric:tabular-nums}
.assay-forest text{fill:#1f2328}
.assay-forest .dim{fill:#59636e}
.assay-forest .ground{fill:#ffffff}
.assay-forest .over{stroke:#ffffff}
.assay-forest .band{fill:#eaeef2}
.assay-forest .grid{stroke:#d1d9e0}
.assay-forest .zero{stroke:#1f2328}
.assay-forest .better{stroke:#0072b2;fill:#0072b2}
.assay-forest .worse{stroke:#d55e00;fill:#d55e00}
.assay-forest .changed{stroke:#a8447f;fill:#a8447f}
.assay-forest .doubt{stroke:#b07800;fill:#b07800}
.assay-forest .small{stroke:#59636e;fill:#59636e}
.assay-forest .open{stroke:#59636e;fill:#ffffff}
@media (prefers-color-scheme:dark){
.assay-forest text{fill:#e6edf3}
.assay-forest .dim{fill:#9198a1}
.assay-forest .ground{fill:#0d1117}
.assay-forest .over{stroke:#0d1117}
.assay-forest .band{fill:#21262d}
.assay-forest .grid{stroke:#3d444d}
.assay-forest .zero{stroke:#e6edf3}
.assay-forest .better{stroke:#56b4e9;fill:#56b4e9}
.assay-forest .worse{stroke:#ff8c42;fill:#ff8c42}
.assay-forest .changed{stroke:#e08cbf;fill:#e08cbf}
.assay-forest .doubt{stroke:#f0b429;fill:#f0b429}
.assay-forest .small{stroke:#9198a1;fill:#9198a1}
.assay-forest .open{stroke:#9198a1;fill:#0d1117}
}
.assay-forest .over{stroke-width:4;paint-order:stroke}
.assay-forest .bar{stroke-width:2;fill:none}
.assay-forest .mark{stroke-width:1.6}
.assay-forest .cross{stroke-width:2.6;fill:none}
</style>
`

func (d *drawing) open(opts Options, height float64) {
	title := opts.Title
	if title == "" {
		title = "Change of head against base"
	}
	d.put(`<svg xmlns="http://www.w3.org/2000/svg" class="assay-forest" width="%d" height="%s" viewBox="0 0 %d %s" role="img" aria-labelledby="%s-title %s-desc">`,
		width, num(height), width, num(height), esc(d.id), esc(d.id))
	d.put(`<title id="%s-title">%s</title>`, esc(d.id), esc(title))
	d.put(`<desc id="%s-desc">Forest plot of %d cases, change of head against base in percent. %s</desc>`, esc(d.id), d.rows, esc(opts.Caption))
	d.WriteString(style)
	d.put(`<rect class="ground" x="0" y="0" width="%d" height="%s"/>`, width, num(height))
}

// frame draws what does not depend on a single row: texts, bands, grid, axis.
func (d *drawing) frame(rows []Row, opts Options) {
	y := 26.0
	if opts.Title != "" {
		d.text(edge, y, "title", "start", opts.Title)
		y += 20
	}
	if opts.Subtitle != "" {
		d.text(edge, y, "dim", "start", opts.Subtitle)
	}
	a := d.axis
	for i, r := range rows {
		if lo, hi := a.clamp(-r.Margin), a.clamp(r.Margin); hi > lo {
			d.put(`<rect class="band" x="%s" y="%s" width="%s" height="%d"/>`,
				num(lo), num(d.top+float64(i)*rowHeight), num(hi-lo), rowHeight)
		}
	}
	for _, t := range a.ticks {
		class := "grid"
		if t.value == 0 {
			class = "zero"
		}
		x := a.clamp(t.value)
		d.put(`<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, num(x), num(d.top-4), num(x), num(d.end()+4))
		d.text(x, d.end()+18, "dim", "middle", t.label)
		if d.rows > 20 {
			d.text(x, d.top-10, "dim", "middle", t.label)
		}
	}
	zero := a.clamp(0)
	side := d.top - 12
	if d.rows > 20 {
		side -= 14
	}
	if opts.Left != "" && zero-a.left > 20 {
		d.text(max(zero-10, a.left+float64(Cells(opts.Left)+2)*6.5), side, "dim", "end", "← "+opts.Left)
	}
	if opts.Right != "" && a.right-zero > 20 {
		d.text(min(zero+10, width-edge-float64(Cells(opts.Right)+2)*6.5), side, "dim", "start", opts.Right+" →")
	}
	if len(rows) == 0 {
		d.text((a.left+a.right)/2, d.top+rowHeight/2+4, "dim over", "middle", "no cases")
	}
}

func (d *drawing) row(r Row, y float64) {
	base := y + 4 // of the text
	d.put(`<g><title>%s</title>`, esc(r.Label))
	d.text(edge+d.labelWidth, base, "", "end", Elide(r.Label, labelCells))
	d.text(width-edge-verdictWidth+12, base, "", "start", Elide(r.Verdict, verdictWidth/cell))
	value, ok := finite(r.Value)
	if !ok {
		d.text(width-edge-verdictWidth, base, "dim", "end", "n/a")
		d.text(d.axis.left+6, base, "dim over", "start", "no value")
		d.WriteString("</g>\n")
		return
	}
	printed := unit.Percent(value, max(r.Digits, 1))
	d.text(width-edge-verdictWidth, base, "delta", "end", printed)
	class := r.Mark.class()
	if !r.Exact {
		d.interval(r, class, y)
	}
	switch {
	case d.axis.at(value) < d.axis.left:
		d.triangle(class, d.axis.left, y, -1)
		d.text(d.axis.left+13, base, "delta over", "start", printed)
	case d.axis.at(value) > d.axis.right:
		d.triangle(class, d.axis.right, y, 1)
		d.text(d.axis.right-13, base, "delta over", "end", printed)
	default:
		d.mark(r.Mark, d.axis.at(value), y)
	}
	d.WriteString("</g>\n")
}

// interval draws the bar with a cap at each bound, a filled head where it runs
// out of the scale and an open arrow where there is no bound.
func (d *drawing) interval(r Row, class string, y float64) {
	a := d.axis
	x1, end1 := a.bound(r.Low, a.left)
	x2, end2 := a.bound(r.High, a.right)
	if x1 == x2 {
		return // shorter than its point, or wholly outside the scale
	}
	d.put(`<line class="bar %s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, num(x1), num(y), num(x2), num(y))
	d.ending(class, end1, x1, y, -1)
	d.ending(class, end2, x2, y, 1)
}

// ending is how an interval's bar ends. Closed set.
type ending int

const (
	capped    ending = iota // at a bound within the scale
	runsOut                 // at the edge, the bound lies beyond
	unbounded               // at the edge, there is no bound
)

// bound is where a bar ends towards an edge, and how.
func (a axis) bound(v *float64, edge float64) (x float64, e ending) {
	ratio, ok := finite(v)
	switch {
	case !ok:
		return edge, unbounded
	case a.clamp(ratio) != a.at(ratio):
		return a.clamp(ratio), runsOut
	}
	return a.at(ratio), capped
}

func (d *drawing) ending(class string, e ending, x, y, side float64) {
	switch e {
	case unbounded:
		d.put(`<polyline class="bar %s" points="%s,%s %s,%s %s,%s"/>`, class,
			num(x-7*side), num(y-5), num(x), num(y), num(x-7*side), num(y+5))
	case runsOut:
		d.put(`<polygon class="%s" points="%s,%s %s,%s %s,%s"/>`, class,
			num(x-6*side), num(y-3.5), num(x), num(y), num(x-6*side), num(y+3.5))
	case capped:
		d.put(`<line class="bar %s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, num(x), num(y-4), num(x), num(y+4))
	}
}

func (d *drawing) triangle(class string, x, y, side float64) {
	d.put(`<polygon class="mark %s" points="%s,%s %s,%s %s,%s"/>`, class,
		num(x-10*side), num(y-7), num(x), num(y), num(x-10*side), num(y+7))
}

// class is the style of the mark. An unknown mark looks like Open.
func (m Mark) class() string {
	switch m {
	case Better, Worse, Changed, Small, Doubt:
		return string(m)
	case Open, None:
	}
	return string(Open)
}

// mark draws the point: each mark has a shape of its own.
func (d *drawing) mark(m Mark, x, y float64) {
	class := m.class()
	switch m {
	case Better:
		d.put(`<circle class="mark %s" cx="%s" cy="%s" r="5.5"/>`, class, num(x), num(y))
	case Worse:
		d.put(`<rect class="mark %s" x="%s" y="%s" width="10" height="10"/>`, class, num(x-5), num(y-5))
	case Changed:
		d.diamond(class, x, y)
	case Doubt:
		d.put(`<path class="cross %s" d="M%s %sL%s %sM%s %sL%s %s"/>`, class,
			num(x-5), num(y-5), num(x+5), num(y+5), num(x-5), num(y+5), num(x+5), num(y-5))
	case Small:
		d.put(`<circle class="mark %s" cx="%s" cy="%s" r="3.5"/>`, class, num(x), num(y))
	case Open, None:
		d.put(`<circle class="mark %s" cx="%s" cy="%s" r="5"/>`, class, num(x), num(y))
	}
}

func (d *drawing) diamond(class string, x, y float64) {
	d.put(`<polygon class="mark %s" points="%s,%s %s,%s %s,%s %s,%s"/>`, class,
		num(x), num(y-7), num(x+7), num(y), num(x), num(y+7), num(x-7), num(y))
}

// legend names the marks that the rows use.
func (d *drawing) legend(rows []Row, opts Options) {
	used := func(m Mark) bool {
		for _, r := range rows {
			if _, ok := finite(r.Value); ok && r.Mark == m {
				return true
			}
		}
		return false
	}
	x, y := float64(edge), d.end()+bottom+14
	for _, entry := range []struct {
		mark Mark
		text string
	}{
		{Better, "better"}, {Worse, "worse"}, {Changed, "changed"}, {Small, "equivalent or trivial"},
		{Doubt, "two figures contradict"}, {Open, "inconclusive"},
	} {
		if !used(entry.mark) {
			continue
		}
		d.mark(entry.mark, x+6, y-4)
		d.text(x+18, y, "dim", "start", entry.text)
		x += 18 + float64(len(entry.text))*6.4 + 22
	}
	if opts.Caption != "" {
		d.text(edge, y+20, "dim", "start", opts.Caption)
	}
}

// put writes a line.
func (d *drawing) put(format string, args ...any) {
	d.WriteString(fmt.Sprintf(format, args...) + "\n")
}

func (d *drawing) text(x, y float64, class, anchor, s string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	if anchor != "start" {
		anchor = ` text-anchor="` + anchor + `"`
	} else {
		anchor = ""
	}
	d.put(`<text x="%s" y="%s"%s%s>%s</text>`, num(x), num(y), class, anchor, esc(s))
}

// num prints a coordinate to a tenth of a pixel.
func num(v float64) string { return fmt.Sprintf("%g", math.Round(v*10)/10) }

// esc makes any text valid in content and attributes: what XML forbids, such as
// control characters, becomes U+FFFD.
func esc(s string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return "" // a bytes.Buffer does not fail
	}
	return b.String()
}

func finite(v *float64) (float64, bool) {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return 0, false
	}
	return *v, true
}

// ruler measures text in the cells of a terminal, without asking the locale:
// the same text is as wide everywhere.
func ruler() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

// Elide shortens text to at most n terminal cells by leaving out its middle,
// where the names of a benchmark family are alike; n below 3 gives "…".
func Elide(text string, n int) string {
	cells := ruler()
	w := cells.StringWidth(text)
	if w <= n {
		return text
	}
	if n < 3 {
		return "…"
	}
	tail := (n - 1) / 2
	return cells.Truncate(text, n-1-tail, "") + "…" + strings.TrimLeft(cells.TruncateLeft(text, w-tail, ""), " ")
}

// Cells is the width of text in the cells of a terminal.
func Cells(text string) int { return ruler().StringWidth(text) }
