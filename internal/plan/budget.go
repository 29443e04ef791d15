package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"assay/internal/result"
)

// schedule sets rounds, passes and block lengths so that the whole fits the
// budget that the pilot left.
func (c *calibrator) schedule(cal *result.Calibration, spent time.Duration) {
	measured := c.measured()
	family := 0
	for _, i := range measured {
		if !c.expansion.Cases[i].Control {
			family++
		}
	}
	budget := time.Duration(c.draft.BudgetNS)
	if budget == 0 {
		budget = DefaultBudget(len(measured))
	}
	cal.BudgetNS = int64(budget)
	left := float64(max(budget-spent, 0))
	c.share(measured)
	need := RoundsNeeded(family, len(c.draft.Looks), c.draft.Alpha)
	cal.Rounds = c.rounds(measured, need, left)
	c.passes(measured, cal.Rounds, left)
	for _, i := range measured {
		cal.ExpectedNS += c.cases[i].CostNS * int64(cal.Rounds)
	}
	c.warnRounds(cal, measured, need, spent)
}

func (c *calibrator) measured() []int {
	var out []int
	for i := range c.cases {
		if c.cases[i].Skip == "" {
			out = append(out, i)
		}
	}
	return out
}

// counted is how many of the rounds carry the verdict of a case: the block
// cross-check of a lockstep case is left out.
func counted(p result.CasePlan, rounds int) int {
	n := 0
	for r := range rounds {
		if ScheduleOf(p, r) == p.Schedule {
			n++
		}
	}
	return n
}

// total is the number of rounds in which a lockstep case has n lockstep rounds,
// whatever its phase.
func total(n int) int { return n + (n+BlockEvery-2)/(BlockEvery-1) }

// rounds is the number of rounds: what was asked for, else enough for the family
// with comfort, more where samples of a round are already plenty, never so many
// that the budget cannot hold them with the fewest passes.
func (c *calibrator) rounds(measured []int, need int, left float64) int {
	if c.draft.Rounds > 0 {
		return c.draft.Rounds
	}
	if len(measured) == 0 {
		return 0
	}
	fewest, best := 0.0, 0.0
	for _, i := range measured {
		fewest += c.meanCost(i, c.fewest(i))
		best += c.meanCost(i, c.optimalPasses(i))
	}
	most := int(left / fewest)
	if c.draft.BudgetNS == 0 { // nobody asked for a budget: a verdict comes first
		most = max(most, min(total(need)+1, int(maxOverrun*left/fewest)))
	}
	wanted := max(total(need)+spareRounds, int(left/best))
	return max(min(wanted, most, max(total(need)+1, maxRounds)), minRounds)
}

// maxOverrun bounds how far a run without --budget may exceed the default so that
// its family can reach a verdict.
const maxOverrun = 3

// minRounds is the fewest rounds that make a run: below it not even one case
// with one look reaches a verdict, and the interval is unbounded.
const minRounds = 6

// minSampling is the share of a round that passes should have: starting slots is
// not measuring.
const minSampling = 0.95

// optimalPasses balances the cost of starting a slot against that of a pass by
// the ratio of the variance inside slots to that between them (Kalibera & Jones
// 2013, "Rigorous benchmarking in reasonable time", eq. for optimal repetition).
func (c *calibrator) optimalPasses(i int) int {
	p := c.cases[i].Pilot
	pass := c.passCost(i)
	start := float64(c.starts(i)) + c.warmups(i)*pass
	n := minSampling / (1 - minSampling) * start / pass
	if c.cases[i].Kind == result.Collecting {
		n = math.Min(minPasses, float64(collectingRound)/math.Max(pass, 1))
	}
	if p.Between > 0 && p.Within > 0 {
		n = math.Max(n, math.Sqrt(start/pass*p.Within/p.Between))
	}
	return max(c.fewest(i), min(int(math.Ceil(n)), maxPasses))
}

// warmups is what warming up a case's slots costs, in passes.
func (c *calibrator) warmups(i int) float64 {
	n := float64(c.cases[i].Warmup)
	if c.cases[i].Kind == result.Collecting {
		n /= CollectingWarmup
	}
	return n
}

// arms is the number of arms of a case.
func (c *calibrator) arms(i int) int { return len(CaseArms(c.draft, c.cases[i].Planted)) }

// starts is the cost of starting the slots of one round of a case, in ns.
func (c *calibrator) starts(i int) int64 {
	cost := c.cases[i].Pilot.StartNS * int64(c.arms(i))
	if c.cases[i].Shared {
		cost /= int64(max(1, c.sharers(i)))
	}
	return cost
}

func (c *calibrator) sharers(i int) int {
	n := 0
	for j := range c.cases {
		if c.cases[j].Shared && processOf(c.cases[j], c.expansion.Cases[j]) == processOf(c.cases[i], c.expansion.Cases[i]) {
			n++
		}
	}
	return n
}

// passCost is the wall time of one pass over the arms of a case, in ns.
func (c *calibrator) passCost(i int) float64 {
	p := c.cases[i]
	sample := float64(p.Iterations+p.Lead)*(p.Pilot.FastNS+p.Pilot.SlowNS)/2 + float64(p.Pilot.OverheadNS)
	return sample * c.weight(i)
}

// weight is the mean number of arms in a pass of a case: the planted ones take
// part in some passes only.
func (c *calibrator) weight(i int) float64 {
	built := float64(len(CaseArms(c.draft, false)))
	return built + (float64(c.arms(i))-built)/PlantedEvery
}

// blockSamples is the number of samples of one arm in a block round of a
// lockstep case.
func (c *calibrator) blockSamples(i int) int {
	p := c.cases[i]
	slow := float64(p.Iterations) * p.Pilot.SlowNS
	return max(minBlock, min(samplesIn(float64(p.Iterations)*p.Pilot.FastNS), int(float64(slowestBlock)/math.Max(slow, 1))))
}

// samplesIn is how many samples of a length in ns make a block.
func samplesIn(sample float64) int {
	return max(int(math.Ceil(float64(blockTime)/math.Max(sample, 1))), minBlock)
}

// fewest is the fewest passes, or samples of a block, of a round of a case. A
// case that collects is judged on totals, which one disturbed sample spoils for
// its round: many rounds of few passes confine it.
func (c *calibrator) fewest(i int) int {
	if c.cases[i].Schedule == result.Blocks {
		return c.blockSamples(i)
	}
	if c.cases[i].Kind == result.Collecting {
		return 1
	}
	return minPasses
}

// minBlock is the fewest samples of a block: the first fifth is dropped and the
// rest must still be several.
const minBlock = 3

// meanCost is the expected cost of a round of a case with the given passes (or
// samples of a block), averaged over lockstep rounds and the block cross-check,
// in ns.
func (c *calibrator) meanCost(i, passes int) float64 {
	p := c.cases[i]
	round := func(samples int) float64 {
		return float64(c.starts(i)) + (c.warmups(i)+float64(samples))*c.passCost(i)
	}
	if p.BlockPhase < 0 {
		return round(passes)
	}
	// The planted arms stay out of the blocks.
	built := float64(len(CaseArms(c.draft, false))) / c.weight(i)
	return (round(passes)*(BlockEvery-1) + round(c.blockSamples(i))*built) / BlockEvery
}

// passes shares the time that is left out over the cases: the same to each, but
// a case that needs more for its fewest gets that, at the cost of the others.
func (c *calibrator) passes(measured []int, rounds int, left float64) {
	order := slices.Clone(measured)
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(c.meanCost(j, c.fewest(j)), c.meanCost(i, c.fewest(i)))
	})
	left /= float64(rounds)
	for k, i := range order {
		p, n := &c.cases[i], c.fewest(i)
		share := left / float64(len(order)-k)
		for most := max(maxPasses, 4*n); n < most && c.meanCost(i, n+1) <= share; {
			n++
		}
		left -= c.meanCost(i, n)
		p.CostNS = int64(c.meanCost(i, n))
		switch p.Schedule {
		case result.Lockstep:
			p.Passes, p.BlockSamples = n, c.blockSamples(i)
		case result.Blocks:
			p.BlockSamples = n
		}
	}
}

// share lets the cases of a binary share one process where starting one costs
// more than a quarter of a slot.
func (c *calibrator) share(measured []int) {
	for _, i := range measured {
		p := &c.cases[i]
		start := p.Pilot.StartNS
		slot := float64(start) + float64(minPasses*3)*c.passCost(i)/float64(c.arms(i))
		// The planted arms take part in one case alone.
		p.Shared = !p.Planted && time.Duration(start) >= startAlways && float64(start) >= startShare*slot
	}
	for _, i := range measured {
		p := &c.cases[i]
		if p.Shared = p.Shared && c.sharers(i) > 1; !p.Shared {
			continue
		}
		start := p.Pilot.StartNS
		p.Warnings = append(p.Warnings, result.Warning{Code: result.WarnSharedProcess,
			Text: fmt.Sprintf("it shares its process with other cases: starting one costs %v; a case can leave a heap behind that slows the next", time.Duration(start).Round(time.Millisecond))})
	}
}

// warnRounds says when the run cannot reach a verdict, and what would be enough.
func (c *calibrator) warnRounds(cal *result.Calibration, measured []int, need int, spent time.Duration) {
	short, fewest := 0, math.MaxInt
	enough := 0.0
	for _, i := range measured {
		n := counted(c.cases[i], cal.Rounds)
		if n < need {
			short++
			fewest = min(fewest, n)
		}
		enough += c.meanCost(i, c.fewest(i)) * float64(total(need)+1)
	}
	if short == 0 {
		return
	}
	// A tenth more than expected, in whole seconds.
	budget := (time.Duration(enough*1.1) + spent + time.Second).Truncate(time.Second)
	cal.Warnings = append(cal.Warnings, result.Warning{Code: result.WarnTooFewRounds,
		Text: fmt.Sprintf("%d of %d cases get %d counted rounds, but %d are needed before any p can pass the correction for %d cases: they will be inconclusive; --budget %v (or --rounds %d) would be enough",
			short, len(measured), fewest, need, len(measured), budget, total(need)+1)})
}
