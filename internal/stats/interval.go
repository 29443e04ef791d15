package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is a closed interval of the data's unit.
type Interval struct{ Lo, Hi float64 }

// Contains says whether v lies in the interval, ends included.
func (i Interval) Contains(v float64) bool { return i.Lo <= v && v <= i.Hi }

// Disjoint says whether the two intervals have no point in common.
func (i Interval) Disjoint(other Interval) bool { return i.Hi < other.Lo || other.Hi < i.Lo }

// HalfWidth is half the length.
func (i Interval) HalfWidth() float64 { return (i.Hi - i.Lo) / 2 }

// Walsh returns the n(n+1)/2 averages of all pairs of d, each value with itself
// included, ascending.
func Walsh(d []float64) []float64 {
	w := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i, a := range d {
		for _, b := range d[i:] {
			w = append(w, a+(b-a)/2)
		}
	}
	slices.Sort(w)
	return w
}

// HodgesLehmann returns the median of the Walsh averages of d, NaN when d is
// empty (Hodges & Lehmann 1963).
func HodgesLehmann(d []float64) float64 { return medianSorted(Walsh(d)) }

// FlipInterval returns the interval of level 1-alpha that inverts SignFlip: the
// hull of those Walsh averages of d that the two-sided test does not reject as
// centre, and beyond each end the gap to the next Walsh average where the test
// does not reject the gap's middle. ok is false when d is too short for the test
// to reject anything at alpha, which leaves the interval unbounded.
//
// Note: without the gaps the truth is missed when it lies between a rejected and
// an accepted centre: coverage at a nominal 95 % was 94.0 % at N = 10 and 93.9 %
// at N = 12, with them 95.1 % and 95.0 % (20,000 simulated normal sets each).
//
// Note: p is not monotone in the centre, since the scale moves with it, so
// bisection is not valid (it covered 90.6 % where the hull covered 94-96 %).
// The scan goes inward from each end and stops at the first centre accepted,
// which is the hull's end by definition. Centres that Hoeffding's bound already
// rejects are not counted out.
func FlipInterval(d []float64, alpha float64, sampling Sampling) (interval Interval, ok bool) {
	if SmallestP(len(d)) > alpha {
		return Interval{}, false
	}
	grid := slices.Compact(Walsh(d))
	var f flipper
	accepted := func(centre float64) bool {
		f.load(d, centre)
		return f.bound() > alpha && f.twoSided(sampling) > alpha
	}
	lo := slices.IndexFunc(grid, accepted)
	if lo < 0 {
		return Interval{}, false
	}
	hi := len(grid) - 1
	for hi > lo && !accepted(grid[hi]) {
		hi--
	}
	if lo > 0 && accepted((grid[lo-1]+grid[lo])/2) {
		lo--
	}
	if hi+1 < len(grid) && accepted((grid[hi]+grid[hi+1])/2) {
		hi++
	}
	return Interval{grid[lo], grid[hi]}, true
}

// SignInterval returns the order-statistic interval of the sign test for the
// median of d, of level at least 1-alpha (Conover 1999, section 3.2). ok is
// false when d is too short.
func SignInterval(d []float64, alpha float64) (interval Interval, ok bool) {
	n := len(d)
	cut := -1 // the largest k with 2 P(Binomial(n, 1/2) <= k) <= alpha
	tail, ways := 0.0, math.Ldexp(1, -n)
	for k := 0; k < n; k++ {
		tail += ways
		if 2*tail > alpha {
			break
		}
		cut = k
		ways *= float64(n-k) / float64(k+1)
	}
	if cut < 0 || n == 0 {
		return Interval{}, false
	}
	s := sorted(d)
	return Interval{s[cut], s[n-1-cut]}, true
}

// StudentInterval returns Student's interval of level 1-alpha for the mean of d.
// ok is false for fewer than two values.
func StudentInterval(d []float64, alpha float64) (interval Interval, ok bool) {
	if len(d) < 2 {
		return Interval{}, false
	}
	n := float64(len(d))
	half := StudentQuantile(1-alpha/2, n-1) * math.Sqrt(Variance(d)/n)
	centre := Mean(d)
	return Interval{centre - half, centre + half}, true
}

// StudentQuantile returns the p-quantile of Student's t with the given degrees
// of freedom.
func StudentQuantile(p, freedom float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(p)
}

// NormalQuantile returns the p-quantile of the standard normal distribution.
func NormalQuantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
