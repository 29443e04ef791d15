package compare

import (
	"math"

	"assay/internal/result"
	"assay/internal/stats"
)

// levels are the error rates of one analysis.
type levels struct {
	alpha    float64 // promised over the family and all looks
	level    float64 // of this look: intervals have level 1-level, Holm runs at it
	family   int     // cases of the family
	sampling stats.Sampling
}

// levelsOf reads the rates from the plan: the level of its last look.
func levelsOf(plan result.Plan, family int) levels {
	alpha := plan.Draft.Alpha
	looks := plan.Calibration.Looks
	if len(looks) == 0 {
		looks = plan.Draft.Looks
	}
	level := alpha
	if n := len(looks); n > 0 && looks[n-1].Level > 0 {
		level = looks[n-1].Level
	}
	return levels{alpha: alpha, level: level, family: family,
		sampling: stats.Sampling{Seed: plan.Draft.Seed, Draws: stats.DrawsFor(family, max(len(looks), 1), alpha)}}
}

// located is an estimate on the log scale.
type located struct {
	d        []float64 // round values
	estimate float64
	interval stats.Interval
	bounded  bool
	p        float64
}

// locate estimates the location of round values. It returns nil without values.
func (l levels) locate(d []float64) *located {
	if len(d) == 0 {
		return nil
	}
	e := &located{d: d, estimate: snap(stats.HodgesLehmann(d)), p: stats.SignFlip(d, l.sampling)}
	e.interval, e.bounded = stats.FlipInterval(d, l.level, l.sampling)
	return e
}

// orStudent gives an estimate with too few rounds for the sign-flip interval
// Student's interval over its round values, which needs two of them.
func (e *located) orStudent(level float64) *located {
	if e == nil || e.bounded {
		return e
	}
	wide := *e
	wide.interval, wide.bounded = stats.StudentInterval(e.d, level)
	return &wide
}

// public converts to ratios. Values that a number cannot carry stay absent.
func (e *located) public() *Estimate {
	if e == nil || !finite(math.Expm1(e.estimate)) {
		return nil
	}
	return &Estimate{Delta: math.Expm1(e.estimate), CI: ratios(e.interval, e.bounded), P: e.p, Rounds: len(e.d)}
}

// ratios converts an interval of log-ratios, nil when it is unbounded or leaves
// the range of numbers.
func ratios(i stats.Interval, bounded bool) *[2]float64 {
	ci := [2]float64{math.Expm1(i.Lo), math.Expm1(i.Hi)}
	if !bounded || !finite(ci[0]) || !finite(ci[1]) {
		return nil
	}
	return &ci
}

// disjoint says whether two bounded intervals have no point in common.
func disjoint(a, b *located) bool {
	return a != nil && b != nil && a.bounded && b.bounded && a.interval.Disjoint(b.interval)
}

// equivalence returns the p of "the effect is at least the margin": the larger
// of the two one-sided p of the round values against the margin's two ends.
func (l levels) equivalence(d []float64, margin float64) float64 {
	if len(d) == 0 || margin <= 0 || margin >= 1 {
		return 1
	}
	above, below := make([]float64, len(d)), make([]float64, len(d))
	for i, v := range d {
		above[i] = v - math.Log1p(-margin)
		below[i] = math.Log1p(margin) - v
	}
	return max(stats.SignFlipGreater(above, l.sampling), stats.SignFlipGreater(below, l.sampling))
}

// needed estimates how many rounds of the judged schedule would bring a verdict:
// the interval must shrink, as the root of the rounds, until it leaves out
// either 0 or the margin, whichever the estimate is farther from, at the level
// that the family leaves to one case.
func (l levels) needed(e *located, margin float64) int {
	least := stats.RoundsFor(l.family, 1, l.level)
	wide := e.orStudent(l.level)
	if wide == nil || !wide.bounded {
		return least
	}
	size := math.Abs(math.Expm1(e.estimate))
	target := max(size, margin-size)
	corrected := stats.NormalQuantile(1-l.level/float64(2*max(l.family, 1))) / stats.NormalQuantile(1-l.level/2)
	factor := wide.interval.HalfWidth() * corrected / math.Log1p(target)
	return max(least, len(e.d)+1, int(math.Ceil(float64(len(e.d))*min(factor*factor, mostRounds))))
}

// mostRounds caps the estimate of rounds needed at this many times the rounds
// seen: beyond it the figure says no more than "not here".
const mostRounds = 1e6
