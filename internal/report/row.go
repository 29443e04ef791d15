package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/internal/compare"
	"assay/internal/report/chart"
	"assay/internal/unit"
)

// digits of a measured value: four, as in the seed's report.
const digits = 4

// row is one comparison with its cells, as every writer prints them.
type row struct {
	compare.Comparison
	name     string // the title, or the id without one; one line
	scale    unit.Scale
	baseText string
	headText string
	delta    string // "-76.2 %", "n/a (reason)" or the absolute change
	interval string
	spread   string // of the worse arm
	verdict  string
}

// newRow formats a comparison.
func newRow(c compare.Comparison) row {
	r := row{Comparison: c, name: nameOf(c)}
	var values []float64
	for _, s := range []*compare.Side{c.Base, c.Head} {
		if s != nil {
			values = append(values, s.Median)
		}
	}
	u, _ := unit.Parse(c.Unit)
	r.scale = u.Scale(values...)
	r.baseText, r.headText = r.sideText(c.Base), r.sideText(c.Head)
	r.delta, r.interval = r.deltaText(), r.intervalText()
	r.spread = "n/a"
	if s := worstSpread(c); !math.IsNaN(s) {
		r.spread = strings.TrimPrefix(unit.Percent(s, 1), "+")
	}
	r.verdict = string(c.Verdict)
	if c.Control {
		r.verdict += " (control)"
	}
	return r
}

func nameOf(c compare.Comparison) string {
	name := oneLine(c.Title)
	if name == "" {
		name = oneLine(string(c.ID))
	}
	if name == "" {
		return "(unnamed)"
	}
	return name
}

func (r row) sideText(s *compare.Side) string {
	if s == nil {
		return "n/a"
	}
	return r.scale.Format(s.Median, digits)
}

func worstSpread(c compare.Comparison) float64 {
	worst := math.NaN()
	for _, s := range []*compare.Side{c.Base, c.Head} {
		if s != nil && len(s.Rounds) != 1 && !(s.Spread <= worst) {
			worst = s.Spread
		}
	}
	return worst
}

// decimals of the row's percentages: two when the interval is narrower than
// 0.2 %, so that it does not print as one number.
func (r row) decimals() int {
	if r.CI != nil && r.CI[1]-r.CI[0] < 0.002 {
		return 2
	}
	return 1
}

func (r row) deltaText() string {
	switch {
	case r.Delta != nil:
		return unit.Percent(*r.Delta, r.decimals())
	case r.Base != nil && r.Head != nil && r.Base.Median == 0 && r.Head.Median != 0:
		return "+" + r.scale.Format(r.Head.Median, digits) + " (new from zero)"
	case r.Absolute != nil:
		return signed(*r.Absolute, r.scale)
	}
	return "n/a (" + r.reason() + ")"
}

// signed prints an absolute difference.
func signed(v float64, s unit.Scale) string {
	text := s.Format(v, digits)
	if v > 0 {
		return "+" + text
	}
	return text
}

// reason says why there is no estimate.
func (r row) reason() string {
	switch r.Verdict {
	case compare.FailedBase:
		return "failed on base"
	case compare.FailedHead:
		return "failed on head"
	case compare.FailedBoth:
		return "failed on both"
	case compare.MissingBase:
		return "missing on base"
	case compare.MissingHead:
		return "missing on head"
	case compare.NotComparable:
		return "not comparable"
	case compare.IdenticalBinary:
		return "identical binary"
	case compare.BelowResolution:
		return "below the timer's resolution"
	case compare.Mixed, compare.ScheduleDependent, compare.Faster, compare.Slower, compare.Changed, compare.Trivial,
		compare.Equivalent, compare.Inconclusive, compare.Better, compare.Worse, compare.Same:
	}
	return "no estimate"
}

func (r row) intervalText() string {
	switch {
	case r.CI != nil:
		return interval(*r.CI, r.decimals())
	case r.Exact && r.Base != nil && r.Head != nil:
		return "exact"
	case r.Delta == nil:
		return "n/a"
	}
	return "n/a (" + r.roundsText() + ")"
}

func (r row) roundsText() string {
	if r.RoundsNeeded > r.Rounds {
		return fmt.Sprintf("%d of %d rounds needed", r.Rounds, r.RoundsNeeded)
	}
	return count(r.Rounds, "round", "rounds")
}

// interval prints "[-77.1 %, -73.0 %]".
func interval(ci [2]float64, decimals int) string {
	return "[" + unit.Percent(ci[0], decimals) + ", " + unit.Percent(ci[1], decimals) + "]"
}

// gain is the effect as a logarithm whose negative side is the better one; NaN
// without an estimate.
func (r row) gain() float64 {
	if r.Delta == nil {
		return math.NaN()
	}
	g := math.Log1p(max(*r.Delta, -1))
	if unit.Direction(r.Better) == unit.Higher {
		return -g
	}
	return g
}

// worsened says whether the estimate is on the worse side; false for a unit of
// unknown direction.
func (r row) worsened() bool {
	switch unit.Direction(r.Better) {
	case unit.Lower:
		return r.sign() > 0
	case unit.Higher:
		return r.sign() < 0
	case unit.Unknown:
	}
	return false
}

// sign of the change of head against base, 0 without one.
func (r row) sign() float64 {
	switch {
	case r.Delta != nil:
		return *r.Delta
	case r.Absolute != nil:
		return *r.Absolute
	case r.Base != nil && r.Head != nil:
		return r.Head.Median - r.Base.Median
	}
	return 0
}

// byEffect sorts from the greatest gain to the greatest loss; rows without an
// estimate come last, by name.
func byEffect(rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int {
		x, y := a.gain(), b.gain()
		switch {
		case math.IsNaN(x) && math.IsNaN(y):
			return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Metric, b.Metric))
		case math.IsNaN(x):
			return 1
		case math.IsNaN(y):
			return -1
		}
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Metric, b.Metric))
	})
}

// class groups the verdicts by how a writer shows them. Closed set.
type class int

const (
	quiet   class = iota // nothing changed, or nothing could be said
	good                 // for the better
	bad                  // for the worse
	notable              // changed, without a direction or with a contradiction
	broken               // no result
)

func (r row) class() class {
	switch r.Verdict {
	case compare.Faster, compare.Better:
		return good
	case compare.Slower, compare.Worse:
		return bad
	case compare.Changed, compare.Mixed, compare.ScheduleDependent:
		return notable
	case compare.FailedBase, compare.FailedHead, compare.FailedBoth, compare.MissingBase, compare.MissingHead, compare.NotComparable:
		return broken
	case compare.IdenticalBinary, compare.BelowResolution, compare.Trivial, compare.Equivalent, compare.Inconclusive, compare.Same:
	}
	return quiet
}

// carries says whether the row is part of the result and gets its rounds shown.
func (r row) carries() bool {
	switch r.class() {
	case good, bad, notable:
		return true
	case quiet:
		return r.Verdict == compare.Trivial
	case broken:
	}
	return false
}

// exploratory says whether the row stands outside the family.
func (r row) exploratory() bool {
	return r.Exploratory || r.Verdict == compare.Better || r.Verdict == compare.Worse || r.Verdict == compare.Same
}

// mark is the look of the row's point in the chart.
func (r row) mark() chart.Mark {
	switch r.Verdict {
	case compare.Faster, compare.Better:
		return chart.Better
	case compare.Slower, compare.Worse:
		return chart.Worse
	case compare.Changed:
		return chart.Changed
	case compare.Mixed, compare.ScheduleDependent:
		return chart.Doubt
	case compare.Trivial, compare.Equivalent, compare.Same:
		return chart.Small
	case compare.Inconclusive, compare.BelowResolution, compare.IdenticalBinary:
		return chart.Open
	case compare.FailedBase, compare.FailedHead, compare.FailedBoth, compare.MissingBase, compare.MissingHead, compare.NotComparable:
	}
	return chart.None
}

// chartRow is the row in the forest plot.
func (r row) chartRow() chart.Row {
	out := chart.Row{Label: r.name, Value: r.Delta, Exact: r.Exact, Digits: r.decimals(), Margin: r.Margin, Mark: r.mark(), Verdict: r.verdict}
	if r.CI != nil {
		out.Low, out.High = &r.CI[0], &r.CI[1]
	}
	return out
}

// values prints round values from the smallest to the largest, in the row's
// scale without its suffix; of more than 60 the inner ones are left out.
func (r row) values(s *compare.Side) string {
	if s == nil || len(s.Rounds) == 0 {
		return "n/a"
	}
	sorted := slices.Sorted(slices.Values(s.Rounds))
	words := make([]string, len(sorted))
	for i, v := range sorted {
		words[i] = r.scale.Number(v, digits)
	}
	if len(words) > 60 {
		words = slices.Concat(words[:25], []string{fmt.Sprintf("... %d more ...", len(words)-50)}, words[len(words)-25:])
	}
	return strings.Join(words, " ")
}

// count prints a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
