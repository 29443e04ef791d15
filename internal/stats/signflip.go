package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// ExactLimit is the largest number of values for which the sign-flip test
// counts all 2^N sign patterns. Beyond it the test draws patterns.
const ExactLimit = 36

// scoreUnit is the integer that stands for a score of 1. Scores are rounded to
// this grid so that sums are exact and ties are ties.
//
// Note: comparing floating-point sums with a tolerance was rejected. The test
// is exact for any scores that are an odd function of the data, so rounded
// scores cannot make it anti-conservative; a tolerance can.
const scoreUnit = 1 << 20

// Sampling says how the sign-flip test draws patterns beyond ExactLimit values.
// The zero Sampling draws DefaultDraws patterns with seed 0.
type Sampling struct {
	Seed  uint64
	Draws int // patterns drawn; 0 means DefaultDraws
}

// DefaultDraws is the number of patterns drawn when a Sampling names none.
const DefaultDraws = 10000

// DrawsFor returns the number of patterns that a family of the given size
// needs: 20 x cases x looks / alpha, so that the smallest p is a twentieth of
// the smallest corrected level.
func DrawsFor(cases, looks int, alpha float64) int {
	return max(DefaultDraws, int(math.Ceil(20*float64(max(cases, 1)*max(looks, 1))/alpha)))
}

// SignFlip returns the two-sided p of the sign-flip randomisation test on Huber
// scores of d: the chance, if every sign were a fair coin, of a sum of scores at
// least as far from 0 as the observed one. A score is d/s clipped at +-1, with
// s = 1.4826 x median |d|; when s is 0 it is the sign of d. Zeros score 0, and
// without any other value p is 1. The values of d must be finite.
func SignFlip(d []float64, sampling Sampling) float64 {
	var f flipper
	f.load(d, 0)
	return f.twoSided(sampling)
}

// SignFlipGreater is SignFlip against the alternative that d lies above 0.
func SignFlipGreater(d []float64, sampling Sampling) float64 {
	var f flipper
	f.load(d, 0)
	return f.atLeast(f.observed, sampling)
}

// flipper holds the scores of one data set and the buffers to count sign
// patterns, reused while an interval tries many centres.
type flipper struct {
	moved    []float64 // deviations from the centre
	abs      []float64 // their sizes, ascending
	scores   []int32   // absolute scores strictly between 0 and scoreUnit
	clipped  int       // scores equal to scoreUnit
	observed int64     // sum of signed scores
	square   float64   // sum of squared scores, in units of scoreUnit
	n        int       // values, zeros included
	left     half
	right    half
}

// rounding is the relative error that a few operations on a value can carry:
// eight units in the last place. A deviation from a centre within it is 0, so
// that equal values stay ties whatever way they were computed. At centre 0,
// where the test itself stands, nothing is within it.
const rounding = 8 * 0x1p-52

// load computes the scores of d - centre.
func (f *flipper) load(d []float64, centre float64) {
	tie := rounding * math.Abs(centre)
	f.moved, f.abs = f.moved[:0], f.abs[:0]
	for _, v := range d {
		v -= centre
		if math.Abs(v) <= tie {
			v = 0
		}
		f.moved = append(f.moved, v)
		f.abs = append(f.abs, math.Abs(v))
	}
	slices.Sort(f.abs)
	s := madScale * medianSorted(f.abs)
	f.n, f.scores, f.clipped, f.observed, f.square = len(d), f.scores[:0], 0, 0, 0
	for _, v := range f.moved {
		score := huber(math.Abs(v), s)
		switch {
		case score == scoreUnit:
			f.clipped++
		case score > 0:
			f.scores = append(f.scores, score)
		}
		if v < 0 {
			f.observed -= int64(score)
		} else {
			f.observed += int64(score)
		}
		c := float64(score) / scoreUnit
		f.square += c * c
	}
}

func huber(abs, s float64) int32 {
	if abs == 0 {
		return 0
	}
	if abs >= s { // also when s is 0
		return scoreUnit
	}
	return int32(math.Round(abs / s * scoreUnit))
}

func (f *flipper) twoSided(sampling Sampling) float64 {
	if f.observed == 0 {
		return 1
	}
	t := f.observed
	if t < 0 {
		t = -t
	}
	if f.n > ExactLimit {
		return f.sample(sampling, func(sum int64) bool { return sum >= t || sum <= -t })
	}
	return min(1, 2*f.atLeast(t, sampling))
}

// atLeast returns the chance of a sum of at least t.
func (f *flipper) atLeast(t int64, sampling Sampling) float64 {
	if f.n > ExactLimit {
		return f.sample(sampling, func(sum int64) bool { return sum >= t })
	}
	middle := len(f.scores) / 2
	a := f.left.sums(f.scores[:middle])
	b := f.right.sums(f.scores[middle:])
	// The clipped scores are equal, so their sums need no enumeration: k of
	// them positive happens in "ways" patterns.
	count, ways := uint64(0), uint64(1)
	for k := 0; k <= f.clipped; k++ {
		count += ways * pairsAtLeast(a, b, t-int64(2*k-f.clipped)*scoreUnit)
		ways = ways * uint64(f.clipped-k) / uint64(k+1)
	}
	return math.Ldexp(float64(count), -(len(f.scores) + f.clipped))
}

// bound returns Hoeffding's upper bound on the two-sided p, for sums of bounded
// independent signs (Hoeffding 1963, theorem 2).
func (f *flipper) bound() float64 {
	if f.square == 0 {
		return 1
	}
	t := float64(f.observed) / scoreUnit
	return 2 * math.Exp(-t*t/(2*f.square))
}

// sample estimates the chance of an extreme sum as (b+1)/(B+1), which keeps the
// test valid whatever the number of draws (Phipson & Smyth 2010).
func (f *flipper) sample(sampling Sampling, extreme func(int64) bool) float64 {
	draws := sampling.Draws
	if draws <= 0 {
		draws = DefaultDraws
	}
	all := slices.Clone(f.scores)
	for range f.clipped {
		all = append(all, scoreUnit)
	}
	source := rand.NewPCG(sampling.Seed, uint64(draws))
	hits := 0
	for range draws {
		var sum int64
		var bits uint64
		for i, score := range all {
			if i%64 == 0 {
				bits = source.Uint64()
			}
			sum += int64(score) * (1 - 2*int64(bits&1))
			bits >>= 1
		}
		if extreme(sum) {
			hits++
		}
	}
	return float64(hits+1) / float64(draws+1)
}

// half enumerates the signed sums of some scores in ascending order.
type half struct{ now, next []int32 }

// sums returns all 2^len(scores) signed sums, ascending. The slice is valid
// until the next call.
func (h *half) sums(scores []int32) []int32 {
	h.now = append(h.now[:0], 0)
	for _, x := range scores {
		n := len(h.now)
		h.next = slices.Grow(h.next[:0], 2*n)[:2*n]
		low, high := 0, 0 // next candidates of now-x and now+x
		for k := range h.next {
			if low < n && h.now[low]-x <= h.now[high]+x {
				h.next[k] = h.now[low] - x
				low++
			} else {
				h.next[k] = h.now[high] + x
				high++
			}
		}
		h.now, h.next = h.next, h.now
	}
	return h.now
}

// pairsAtLeast counts the pairs of one element of a and one of b, both
// ascending and not empty, whose sum is at least t.
func pairsAtLeast(a, b []int32, t int64) uint64 {
	lowest := int64(a[0]) + int64(b[0]) // both are symmetric around 0
	if t > -lowest {
		return 0
	}
	if t <= lowest {
		return uint64(len(a)) * uint64(len(b))
	}
	count, j := uint64(0), len(b)
	for _, v := range a {
		need := t - int64(v)
		for j > 0 && int64(b[j-1]) >= need {
			j--
		}
		count += uint64(len(b) - j)
	}
	return count
}
