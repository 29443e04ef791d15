package plan

import (
	"fmt"
	"math"
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
	c.warnRounds(cal, measured, need)
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
		fewest += c.meanCost(i, minPasses)
		best += c.meanCost(i, c.optimalPasses(i))
	}
	most := int(left / fewest)
	wanted := max(total(need)+1, comfortRounds, int(left/best))
	return max(min(wanted, most, max(total(need)+1, maxRounds)), minRounds)
}

// minRounds is the fewest rounds that make a run: below it not even one case
// with one look reaches a verdict, and the interval is unbounded.
const minRounds = 6

// optimalPasses balances the cost of starting a slot against that of a pass by
// the ratio of the variance inside slots to that between them (Kalibera & Jones
// 2013, "Rigorous benchmarking in reasonable time", eq. for optimal repetition).
func (c *calibrator) optimalPasses(i int) int {
	p := c.cases[i].Pilot
	pass := c.passCost(i)
	start := float64(c.starts(i)) + float64(c.cases[i].Warmup)*pass
	if p.Between <= 0 || p.Within <= 0 {
		return minPasses * 3
	}
	n := math.Sqrt(start / pass * p.Within / p.Between)
	return max(minPasses, min(int(math.Ceil(n)), maxPasses))
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
		if c.cases[j].Shared && c.expansion.Cases[j].Package == c.expansion.Cases[i].Package {
			n++
		}
	}
	return n
}

// passCost is the wall time of one pass over the arms of a case, in ns.
func (c *calibrator) passCost(i int) float64 {
	p := c.cases[i]
	sample := float64(p.Iterations+p.Lead)*(p.Pilot.FastNS+p.Pilot.SlowNS)/2 + float64(p.Pilot.OverheadNS)
	return sample * float64(c.arms(i))
}

// blockSamples is the number of samples of one arm in a block.
func (c *calibrator) blockSamples(i int) int {
	p := c.cases[i]
	sample := float64(p.Iterations)*p.Pilot.FastNS + float64(p.Pilot.OverheadNS)
	return max(int(math.Ceil(float64(blockTime)/sample)), minBlock)
}

// minBlock is the fewest samples of a block: the first fifth is dropped and the
// rest must still be several.
const minBlock = 3

// meanCost is the expected cost of a round of a case with the given passes,
// averaged over lockstep and block rounds, in ns.
func (c *calibrator) meanCost(i, passes int) float64 {
	p := c.cases[i]
	start := float64(c.starts(i))
	warm := float64(p.Warmup) * c.passCost(i)
	block := start + warm + float64(c.blockSamples(i))*c.passCost(i)*2/float64(c.arms(i))
	lockstep := start + warm + float64(passes)*c.passCost(i)
	switch {
	case p.Schedule == result.Blocks:
		return start + warm + float64(passes)*c.passCost(i)
	case p.BlockPhase < 0:
		return lockstep
	}
	return (lockstep*(BlockEvery-1) + block) / BlockEvery
}

// passes gives every case the same share of the time that is left.
func (c *calibrator) passes(measured []int, rounds int, left float64) {
	if rounds == 0 {
		return
	}
	share := left / float64(len(measured)) / float64(rounds)
	for _, i := range measured {
		p := &c.cases[i]
		most := maxPasses
		if p.Schedule == result.Blocks {
			most = max(maxPasses, c.blockSamples(i)*4)
		}
		p.Passes = most
		for p.Passes > minPasses && c.meanCost(i, p.Passes) > share {
			p.Passes--
		}
		p.BlockSamples = c.blockSamples(i)
		if p.Schedule == result.Blocks {
			p.BlockSamples = max(minBlock, min(p.Passes, most))
			if p.Passes == minPasses {
				p.BlockSamples = minBlock
			}
			p.Passes = 0
		}
		p.CostNS = int64(c.meanCost(i, max(p.Passes, p.BlockSamples*c.blockOnly(i))))
	}
}

// blockOnly is 1 for a case that runs as blocks alone.
func (c *calibrator) blockOnly(i int) int {
	if c.cases[i].Schedule == result.Blocks {
		return 1
	}
	return 0
}

// share lets the cases of a binary share one process where starting one costs
// more than a quarter of a slot.
func (c *calibrator) share(measured []int) {
	for _, i := range measured {
		p := &c.cases[i]
		start := p.Pilot.StartNS
		slot := float64(start) + float64(minPasses*3)*c.passCost(i)/float64(c.arms(i))
		if time.Duration(start) < startAlways || float64(start) < startShare*slot {
			continue
		}
		p.Shared = true
		p.Warnings = append(p.Warnings, result.Warning{Code: result.WarnSharedProcess,
			Text: fmt.Sprintf("%s shares its process with other cases: starting one costs %v; a case can leave a heap behind that slows the next", c.expansion.Cases[i].Title, time.Duration(start).Round(time.Millisecond))})
	}
}

// warnRounds says when the run cannot reach a verdict, and what would be enough.
func (c *calibrator) warnRounds(cal *result.Calibration, measured []int, need int) {
	short, fewest := 0, math.MaxInt
	enough := 0.0
	for _, i := range measured {
		n := counted(c.cases[i], cal.Rounds)
		if n < need {
			short++
			fewest = min(fewest, n)
		}
		enough += c.meanCost(i, minPasses) * float64(total(need)+1)
	}
	if short == 0 {
		return
	}
	cal.Warnings = append(cal.Warnings, result.Warning{Code: result.WarnTooFewRounds,
		Text: fmt.Sprintf("%d of %d cases get %d counted rounds, but %d are needed before any p can pass the correction for %d cases: they will be inconclusive; --budget %v (or --rounds %d) would be enough",
			short, len(measured), fewest, need, len(measured), (time.Duration(enough*1.3) + time.Duration(cal.BudgetNS)/10).Round(time.Second), total(need)+1)})
}
