package chart

import (
	"math"
	"slices"

	"assay/internal/unit"
)

// Limits of the scale.
const (
	// logFrom is the effect from which the scale is a logarithm: at -50 % and
	// +100 % the same factor begins to look twice as long on one side.
	logFrom = 0.5
	// A point more than farFactor times as far out as nine tenths of the points
	// are is clipped, so that one case does not press all others onto zero.
	farFactor = 5
	farShare  = 0.9
	// An interval may widen the scale to wideFactor times the farthest point.
	wideFactor = 2
	// exp(-36) - 1 is still above -1 in a float64, so that its logarithm is finite.
	mostReach = 36
	// At least 0.1 % of each side is in view.
	leastView = 1e-3
)

type tick struct {
	value float64 // ratio - 1
	label string
}

// axis maps ratios to pixels.
type axis struct {
	left, right float64 // pixels
	lo, hi      float64 // the same in scale units
	log         bool
	ticks       []tick
}

// scale maps a ratio minus 1 to scale units; -1 and below are minus infinity
// on a logarithm.
func (a axis) scale(ratio float64) float64 {
	if a.log {
		return math.Log1p(max(ratio, -1))
	}
	return ratio
}

// at is the pixel of a ratio, which may lie outside the plot.
func (a axis) at(ratio float64) float64 {
	return a.left + (a.scale(ratio)-a.lo)/(a.hi-a.lo)*(a.right-a.left)
}

// clamp is the nearest pixel of the plot.
func (a axis) clamp(ratio float64) float64 {
	return min(max(a.at(ratio), a.left), a.right)
}

// newAxis chooses the scale of the rows for a plot between two pixels.
func newAxis(rows []Row, left, right float64) axis {
	a := axis{left: left, right: right}
	var sizes []float64 // of effects, as |ln(head/base)| so that both sides count alike
	margin := 0.0
	for _, r := range rows {
		margin = max(margin, r.Margin)
		if v, ok := finite(r.Value); ok && v > -1 {
			sizes = append(sizes, math.Abs(math.Log1p(v)))
		}
	}
	slices.Sort(sizes)
	limit := 0.0
	if n := len(sizes); n > 0 {
		limit = max(farFactor*sizes[int(math.Ceil(farShare*float64(n)))-1], 3*margin)
	}
	lo, hi, far := 0.0, 0.0, margin
	widen := func(v *float64, most float64) {
		if x, ok := finite(v); ok && x > -1 && math.Abs(math.Log1p(x)) <= most {
			lo, hi = min(lo, x), max(hi, x)
			far = max(far, math.Abs(math.Log1p(x)))
		}
	}
	for _, r := range rows {
		widen(r.Value, limit)
	}
	reach := min(wideFactor*far, mostReach)
	for _, r := range rows {
		for _, bound := range []*float64{r.Low, r.High} {
			if x, ok := finite(bound); ok && x > -1 {
				x = math.Expm1(min(max(math.Log1p(x), -reach), reach))
				lo, hi = min(lo, x), max(hi, x)
			}
		}
	}
	// Zero, the margin and some of each side are always in view.
	near := max(2*margin, 0.15*max(-lo, hi), leastView)
	lo, hi = min(lo, -min(near, 0.5)), max(hi, near)
	a.log = lo < -logFrom || hi > logFrom
	a.lo, a.hi = a.scale(lo), a.scale(hi)
	pad := 0.05 * (a.hi - a.lo)
	a.lo, a.hi = a.lo-pad, a.hi+pad
	if a.log {
		a.ticks = a.logTicks()
	} else {
		a.ticks = a.linearTicks()
	}
	return a
}

// linearTicks are multiples of 1, 2 or 5 times a power of ten.
func (a axis) linearTicks() []tick {
	rough := (a.hi - a.lo) / 7
	step := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, factor := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
		if step >= rough {
			break
		}
		step *= factor
	}
	decimals := max(0, -int(math.Floor(math.Log10(step*100)+1e-9)))
	var ticks []tick
	for i := math.Ceil(a.lo / step); i <= math.Floor(a.hi/step); i++ {
		ticks = append(ticks, tick{i * step, unit.Percent(i*step, decimals)})
	}
	return ticks
}

// logTicks takes round factors, the roundest first, as long as their labels
// have room.
func (a axis) logTicks() []tick {
	candidates := []float64{1}
	for _, factor := range []float64{10, 2, 5} {
		for power := 1.0; power <= 1e9; power *= 10 {
			candidates = append(candidates, 1/(factor*power), factor*power)
		}
	}
	candidates = append(candidates, 0.75, 1.5, 0.9, 1.1, 0.25, 4, 0.6, 1.25)
	var ticks []tick
	for _, factor := range candidates {
		t := tick{factor - 1, unit.Percent(factor-1, 0)}
		x := a.at(t.value)
		if x < a.left || x > a.right {
			continue
		}
		free := !slices.ContainsFunc(ticks, func(o tick) bool {
			room := float64(Cells(t.label)+Cells(o.label))/2*6.5 + 14
			return math.Abs(a.at(o.value)-x) < room
		})
		if free {
			ticks = append(ticks, t)
		}
	}
	slices.SortFunc(ticks, func(x, y tick) int {
		if x.value < y.value {
			return -1
		}
		return 1
	})
	return ticks
}
