package compare

import (
	"fmt"
	"math"
	"slices"

	"assay/internal/result"
	"assay/internal/stats"
	"assay/internal/unit"
)

// Levels of the tests outside the family (measurement.md "Contamination",
// statistics.md "Two estimands").
const (
	shareLevel = 0.01 // share of marked samples differs between arms
	shapeLevel = 0.01 // mean-like against median-like location
)

// Warning codes of this package.
const (
	warnShapeChanged = "shape-changed"
	warnUncertain    = "size-uncertain"
	warnNoRounds     = "no-rounds"
	warnZeroValues   = "zero-values"
	warnStatus       = "status-unknown"
	warnMarked       = "rounds-unfiltered"
	warnSkipped      = "skipped-on-both"
	warnDamaged      = "damaged-records"
	warnUnplanned    = "unplanned-case"
	warnNotMeasured  = "not-measured"
	warnPlanted      = "planted-not-found"
)

// judged is one case and its confirmatory metric, from raw columns to the
// numbers that the family needs.
type judged struct {
	Comparison
	typical  *located // that the verdict stands on
	mean     *located
	lockstep *located
	blocks   *located
	ties     int     // round values of exactly 0
	inFamily bool    // takes part in Holm's correction
	decided  bool    // the verdict was known before any statistic
	equal    float64 // p of "the effect is at least the margin"
	perRound float64 // planned rounds for each round of the judged schedule
}

// measure fills every number of a case that does not depend on other cases. A
// case that failed or is missing keeps the numbers of its arms alone.
func (j *judged) measure(c *caseColumns, plan result.CasePlan, l levels) {
	columns := c.metrics[j.Metric]
	schedule := plan.Schedule
	if schedule == "" {
		schedule = c.prevailing()
	}
	j.Schedule, j.Kind, j.Rule, j.Iterations = schedule, plan.Kind, plan.Rule, plan.Iterations
	p := pairing{a: result.Base, b: result.Head, kind: plan.Kind, rule: plan.Rule}
	main := c.seriesOf(columns, p, schedule)
	j.sides(main, columns)
	j.notes(c, main)
	if (j.decided && j.Verdict != IdenticalBinary) || j.exact(c, columns, l) || len(main.values) == 0 {
		return
	}
	pick := j.filter(main, l)
	j.typical = l.locate(main.pick(pick))
	j.mean = l.locate(main.pick(meanOf))
	j.shape(main, pick, l)
	if schedule == result.Lockstep {
		cross := c.seriesOf(columns, p, result.Blocks)
		j.lockstep = j.typical
		j.blocks = l.locate(cross.pick(pick))
		j.Lockstep = j.lockstep.public()
		j.Blocks = j.blocks.orStudent(l.level).public()
	}
	for _, d := range j.typical.d {
		if d == 0 {
			j.ties++
		}
	}
	j.equal = l.equivalence(j.typical.d, j.Margin)
	j.publish(l)
}

// exact compares a confirmatory metric other than time exactly, if it is
// constant in both arms, and says whether it was.
func (j *judged) exact(c *caseColumns, columns *metricColumns, l levels) bool {
	if j.Metric == unit.Time().Metric || j.decided || columns == nil {
		return false
	}
	row, ok := c.explore(j.Comparison, columns, l)
	if !ok || !row.Exact {
		return false
	}
	row.Warnings = slices.DeleteFunc(row.Warnings, func(w result.Warning) bool { return w.Code == warnZeroValues })
	j.Comparison, j.decided = row, true
	switch {
	case j.Verdict == Same:
		j.Verdict = Equivalent
	case j.Delta != nil && math.Abs(*j.Delta) < j.Margin:
		j.Verdict = Trivial
	default:
		j.Verdict = direction(unit.Direction(j.Better), *j.Absolute, Faster, Slower)
	}
	return true
}

// prevailing is the schedule of a case without a plan: lockstep if any round was.
func (c *caseColumns) prevailing() result.Schedule {
	if len(c.committed(result.Lockstep)) > 0 {
		return result.Lockstep
	}
	return result.Blocks
}

// filter decides whether the case is judged on clean or on all passes.
func (j *judged) filter(s series, l levels) func(roundValue) float64 {
	var a, b float64
	for _, v := range s.values {
		a += v.shareA / float64(len(s.values))
		b += v.shareB / float64(len(s.values))
	}
	j.Contaminated = &Shares{Base: a, Head: b}
	clean := l.locate(s.pick(typicalOf))
	all := clean
	if d := s.pick(unfilteredOf); !slices.Equal(d, clean.d) {
		all = l.locate(d)
	}
	if e := all.public(); e != nil {
		j.Unfiltered = &e.Delta
	}
	shares := s.pick(func(v roundValue) float64 { return v.shareB - v.shareA })
	p := stats.SignFlip(shares, l.sampling)
	if p >= shareLevel && !disjoint(clean, all) {
		return typicalOf
	}
	j.warn(result.WarnFilterSensitive, fmt.Sprintf("the rule %q marks %.0f %% of base's and %.0f %% of head's samples (p = %.2g); filtered %+.2f %%, unfiltered %+.2f %%: judged on all samples",
		j.Rule, 100*a, 100*b, p, 100*math.Expm1(clean.estimate), 100*math.Expm1(all.estimate)))
	return unfilteredOf
}

// shape tests whether the arms differ in shape: whether the mean-like location
// differs from the median-like one in the same direction in most rounds.
func (j *judged) shape(s series, typical func(roundValue) float64, l levels) {
	p := stats.SignFlip(s.pick(func(v roundValue) float64 { return v.mean - typical(v) }), l.sampling)
	if p <= shapeLevel {
		j.warn(warnShapeChanged, fmt.Sprintf("the arms' distributions differ in shape (p = %.2g): the mean moved %+.2f %%, the typical time %+.2f %%",
			p, 100*math.Expm1(j.mean.estimate), 100*math.Expm1(j.typical.estimate)))
	}
}

// publish copies the typical estimate into the row's own fields.
func (j *judged) publish(l levels) {
	j.Typical, j.MeanEstimate = j.typical.public(), j.mean.public()
	j.Rounds = len(j.typical.d)
	if j.Typical == nil {
		return
	}
	j.Delta, j.CI, j.P = &j.Typical.Delta, j.Typical.CI, &j.Typical.P
	if j.CI != nil {
		half := (j.CI[1] - j.CI[0]) / 2
		j.Resolution = &half
	}
	sign, ok := stats.SignInterval(j.typical.d, l.level)
	j.SignCI = ratios(sign, ok)
}

// sides fills what each arm measured by itself.
func (j *judged) sides(s series, columns *metricColumns) {
	if len(s.values) == 0 {
		return
	}
	a := s.side(func(v roundValue) float64 { return v.a })
	b := s.side(func(v roundValue) float64 { return v.b })
	if columns != nil {
		a.whole(columns.arms[result.Base], s)
		b.whole(columns.arms[result.Head], s)
	}
	j.Base, j.Head = a, b
	j.Overlap = overlap(a.Rounds, b.Rounds)
	if a.Median > 0 {
		ratio := b.Median/a.Median - 1
		j.RatioOfMedians = &ratio
	}
}

// side summarises one arm over its rounds.
func (s series) side(of func(roundValue) float64) *Side {
	side := &Side{Rounds: make([]float64, len(s.values))}
	for i, v := range s.values {
		side.Rounds[i] = of(v)
	}
	side.Median = stats.Median(side.Rounds)
	if side.Median != 0 {
		low, high := extent(side.Rounds)
		side.Spread = (high - low) / side.Median
	}
	return side
}

// whole adds what comes from all samples of the rounds, unfiltered.
func (side *Side) whole(samples []sample, s series) {
	rounds := byRound(samples)
	var kept []sample
	for _, v := range s.values {
		kept = append(kept, ofRound(rounds, v.round)...)
	}
	collections := 0.0
	for _, x := range kept {
		collections += float64(x.collections)
	}
	if len(kept) > 0 {
		side.Mean = total(kept)
		side.Collections = collections / float64(len(kept))
	}
}

func extent(x []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range x {
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// overlap says how the round values of two arms lie: "none", "full" when one
// range lies inside the other, else "partial".
func overlap(a, b []float64) string {
	aLow, aHigh := extent(a)
	bLow, bHigh := extent(b)
	switch {
	case aHigh < bLow || bHigh < aLow:
		return "none"
	case (aLow <= bLow && bHigh <= aHigh) || (bLow <= aLow && aHigh <= bHigh):
		return "full"
	}
	return "partial"
}

// notes adds the doubts about the case's samples.
func (j *judged) notes(c *caseColumns, s series) {
	if c.unknown > 0 {
		j.warn(warnStatus, fmt.Sprintf("%d samples do not say that they succeeded and are left out", c.unknown))
	}
	if s.zero > 0 {
		j.warn(warnZeroValues, fmt.Sprintf("%d rounds have no ratio, because a value is not above 0; they are left out", s.zero))
	}
	marked := 0
	for _, v := range s.values {
		if v.marked && v.shareA+v.shareB > 0 {
			marked++
		}
	}
	if marked > 0 {
		j.warn(warnMarked, fmt.Sprintf("%d of %d rounds had fewer than %d clean passes and keep them all", marked, len(s.values), minClean))
	}
}

func (c *Comparison) warn(code, text string) {
	c.Warnings = append(c.Warnings, result.Warning{Code: code, Text: text})
}

// warnOnce leaves the warning out when the plan gave one of that code.
func (c *Comparison) warnOnce(code, text string) {
	if !slices.ContainsFunc(c.Warnings, func(w result.Warning) bool { return w.Code == code }) {
		c.warn(code, text)
	}
}

// decide gives the verdict: the first of statistics.md's lines that applies.
// adjusted and equal are Holm's p of "changed" and of "not equivalent"; floor is
// the session's A/A floor, 0 when it had no A/A.
func (j *judged) decide(l levels, adjusted, equal, floor float64) {
	if j.decided {
		return
	}
	if j.typical == nil || j.Delta == nil {
		j.Verdict = Inconclusive
		j.warn(warnNoRounds, "no committed round has a value of both arms: nothing was compared; resume the run")
		return
	}
	j.PAdjusted = &adjusted
	size, significant := math.Abs(*j.Delta), adjusted <= l.level
	switch {
	case 2*j.ties > j.Rounds:
		j.Verdict = BelowResolution
	case j.isMixed():
		j.Verdict = Mixed
	case j.scheduleDependent(l.level):
		j.Verdict = ScheduleDependent
	case significant && size >= max(j.Margin, floor):
		j.Verdict = direction(unit.Direction(j.Better), *j.Delta, Faster, Slower)
		j.uncertain()
	case significant && size < j.Margin && floor <= j.Margin:
		j.Verdict = Trivial
		j.uncertain()
	case !significant && equal <= l.level && floor <= j.Margin:
		j.Verdict = Equivalent
	default:
		j.Verdict = Inconclusive
		j.RoundsNeeded = int(math.Ceil(float64(l.needed(j.typical, j.Margin)) * j.perRound))
	}
}

// isMixed says whether the two estimands contradict each other: the mean's
// interval lies wholly on the other side of 0, or contains 0 while it excludes
// the typical estimate.
func (j *judged) isMixed() bool {
	if j.mean == nil || !j.mean.bounded {
		return false
	}
	mean, typical := j.mean.interval, j.typical.estimate
	opposite := (typical > 0 && mean.Hi < 0) || (typical < 0 && mean.Lo > 0)
	return opposite || (mean.Contains(0) && !mean.Contains(typical))
}

// scheduleDependent says whether lockstep and blocks contradict each other:
// disjoint intervals, and estimates that differ by at least the margin.
func (j *judged) scheduleDependent(level float64) bool {
	a, b := j.lockstep.orStudent(level), j.blocks.orStudent(level)
	return disjoint(a, b) && math.Abs(a.estimate-b.estimate) >= math.Log1p(j.Margin)
}

// uncertain notes that the interval crosses the margin: the size of the effect
// is not settled.
func (j *judged) uncertain() {
	if j.CI == nil {
		return
	}
	near, far := math.Abs(j.CI[0]), math.Abs(j.CI[1])
	if near > far {
		near, far = far, near
	}
	if j.CI[0] <= 0 && j.CI[1] >= 0 {
		near = 0
	}
	if near >= j.Margin || far < j.Margin {
		return
	}
	j.SizeUncertain = &near
	j.warn(warnUncertain, fmt.Sprintf("the interval crosses the margin of %.3g %%: size uncertain, at least %.2g %%", 100*j.Margin, 100*near))
}

// direction names a change by the way in which the unit improves.
func direction(better unit.Direction, delta float64, improved, worsened Verdict) Verdict {
	switch better {
	case unit.Lower:
		if delta < 0 {
			return improved
		}
		return worsened
	case unit.Higher:
		if delta > 0 {
			return improved
		}
		return worsened
	case unit.Unknown:
		return Changed
	}
	return Changed
}
