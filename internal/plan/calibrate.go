package plan

import (
	"fmt"
	"math"
	"time"

	"assay/internal/result"
)

// Bounds of the schedule, from measurement.md unless another source is named.
const (
	// sampleTarget is what a sample of the faster arm should take (2-5 ms).
	sampleTarget = 5 * time.Millisecond
	// lockstepLimit: where the slower arm's sample takes longer the case runs in blocks.
	lockstepLimit = 100 * time.Millisecond
	// leadTarget is the length of the untimed lead-in of a lockstep sample: it
	// refills a 2 MiB cache at 10 GB/s (enough for the 4 MiB table of bench-bias).
	leadTarget = 300 * time.Microsecond
	// collectWithin: a case whose allocation would start a collection within this
	// time counts as collecting.
	collectWithin = time.Second
	// firstCollection is the heap size at which Go's first collection starts at
	// GOGC=100 (runtime: heapMinimum).
	firstCollection = 4 << 20
	// minCollections per sample in the arm with fewer.
	minCollections = 5
	// collectingLeast and collectingLimit bound a sample of a case that was seen to
	// collect: five cycles (measurement.md: typically 50-500 ms) can be shorter where
	// it allocates fast, and shorter samples cancel more drift. collectingTarget is
	// the sample where no collection was seen.
	collectingLeast  = 20 * time.Millisecond
	collectingTarget = 50 * time.Millisecond
	collectingLimit  = 500 * time.Millisecond
	// slowestSample bounds the slower arm's sample where the faster one would
	// rather have longer ones: an arm whose work was optimised away must not ask
	// for minutes of the other.
	slowestSample = time.Second
	// blockTime per arm in a round of blocks, before the first fifth is dropped.
	blockTime = 200 * time.Millisecond
	// slowestBlock bounds the block of the slower arm where the arms are far apart:
	// both take the same number of samples.
	slowestBlock = time.Second
	// minPasses of a lockstep round: a round with fewer clean ones keeps all.
	minPasses = 6
	maxPasses = 400
	// collectingRound is what the passes of a round take at least for cases that
	// collect, as much as a round of blocks: four or more pairs, of which the
	// disturbed ones weigh nothing.
	collectingRound = 500 * time.Millisecond
	// warmups are the discarded samples at the start of every slot.
	warmups = 1
	// maxRounds is the largest number of rounds whose p is computed exactly
	// (statistics.md).
	maxRounds = 36
	// spareRounds above the fewest with which the family can reach a verdict: one
	// round that goes the other way must not decide.
	spareRounds = 3
	// hangFactor times the expected wall time of a sample, but at least
	// hangMinimum, is when a slot counts as hung.
	hangFactor  = 20
	hangMinimum = 20 * time.Second
	// startShare: cases share a process where starting it costs more than this
	// share of the slot.
	startShare = 0.25
	// startAlways: below this a start is never worth sharing for.
	startAlways = 50 * time.Millisecond
	// iterationDoubt: a per-iteration change from N to 2N above it is a warning.
	iterationDoubt = 0.05
	// cyclesPerNS is the clock assumed for "under one cycle per iteration": the
	// fastest clock of common machines, so the warning never fires on real work.
	cyclesPerNS = 6.0
	// baseBudget, budgetFreeCases and budgetPerCase are the default --budget:
	// 60 s plus 3 s for each case above 20 (interface.md).
	baseBudget      = 60 * time.Second
	budgetFreeCases = 20
	budgetPerCase   = 3 * time.Second
)

// Reasons for not measuring a case, in CasePlan.Skip.
const (
	SkipIdentical = "identical-binary"
	SkipMissing   = "missing"
	SkipFailed    = "failed"
	SkipUnpiloted = "no-pilot" // interrupted before its pilot
	SkipCores     = result.WarnParallelNeedsCores
)

// DefaultBudget is the measuring time for a number of cases.
func DefaultBudget(cases int) time.Duration {
	return baseBudget + time.Duration(max(0, cases-budgetFreeCases))*budgetPerCase
}

// RoundsNeeded is the smallest number of counted rounds with which a family of
// cases and a number of looks can reach a verdict: 2/2^N <= alpha/(cases*looks).
func RoundsNeeded(cases, looks int, alpha float64) int {
	return int(math.Ceil(math.Log2(2 * float64(max(cases, 1)*max(looks, 1)) / alpha)))
}

// Sampling is the size of a case's samples.
type Sampling struct {
	Kind       result.Kind
	Schedule   result.Schedule
	Iterations int64
	Lead       int64
}

// Size decides the samples of a case from what the pilot knows of it.
func Size(c result.PilotCase) Sampling {
	fast := math.Max(c.FastNS, 1e-3)
	slow := math.Max(c.SlowNS, fast)
	s := Sampling{Kind: result.Steady, Schedule: result.Lockstep}
	target := float64(max(sampleTarget, min(2*time.Duration(c.SetupNS), lockstepLimit/2)))
	switch {
	case c.RunParallel || c.Runnable > 1:
		s.Kind, s.Schedule = result.Parallel, result.Blocks
		target = float64(collectingTarget)
	case Collects(c):
		s.Kind = result.Collecting
		target = float64(collectingTarget)
		if c.Collections > 0 {
			target = math.Max(float64(collectingLeast), minCollections/c.Collections*1.2*fast)
		}
		target = math.Min(target, float64(collectingLimit))
	}
	s.Iterations = max(1, int64(math.Min(target/fast, float64(slowestSample)/slow)))
	if c.Unfrozen || s.Kind == result.Steady && float64(s.Iterations)*slow > float64(lockstepLimit) {
		s.Schedule = result.Blocks
	}
	if c.SetupNS < int64(sampleTarget) && s.Kind == result.Steady {
		s.Lead = min(int64(float64(leadTarget)/fast), s.Iterations)
	}
	return s
}

// Collects says whether a case collects garbage, or would within a second.
func Collects(c result.PilotCase) bool {
	if c.Collections > 0 {
		return true
	}
	perSecond := c.AllocBytes * float64(collectWithin) / math.Max(c.FastNS, 1e-3)
	return perSecond > firstCollection
}

// Calibrate turns the pilot's summary into the schedule of every case.
func Calibrate(draft result.Draft, expansion result.Expansion, pilot result.PilotSummary, spent time.Duration) (result.Calibration, error) {
	hash, err := result.Hash(expansion)
	if err != nil {
		return result.Calibration{}, err
	}
	c := calibrator{draft: draft, expansion: expansion, pilots: map[result.CaseID]result.PilotCase{}}
	for _, p := range pilot.Cases {
		c.pilots[p.ID] = p
	}
	for _, info := range expansion.Cases {
		c.cases = append(c.cases, c.casePlan(info))
	}
	c.plant()
	cal := result.Calibration{Expansion: hash}
	c.schedule(&cal, spent)
	cal.Cases = c.cases
	cal.Looks = []result.Look{{AfterRound: cal.Rounds, Level: draft.Alpha}}
	return cal, nil
}

type calibrator struct {
	draft     result.Draft
	expansion result.Expansion
	pilots    map[result.CaseID]result.PilotCase
	cases     []result.CasePlan
}

// casePlan sets what does not depend on the other cases.
func (c *calibrator) casePlan(info result.Case) result.CasePlan {
	pilot, ok := c.pilots[info.ID]
	p := result.CasePlan{ID: info.ID, Rule: result.RuleNone, BlockPhase: -1, Pilot: pilot, Warmup: warmups}
	switch {
	case len(info.Failed) > 0 || len(pilot.Failed) > 0:
		p.Skip = SkipFailed
	case len(info.Missing) > 0:
		p.Skip = SkipMissing
	case !Measured(c.draft, info):
		p.Skip = SkipIdentical
	case !ok:
		p.Skip = SkipUnpiloted
	}
	if p.Skip != "" || !ok {
		return p
	}
	size := Size(pilot)
	p.Kind, p.Schedule, p.Iterations, p.Lead = size.Kind, size.Schedule, size.Iterations, size.Lead
	p.Rule, p.RuleLimitNS = chooseRule(p.Kind, pilot.Rules)
	if p.Kind == result.Parallel {
		p.CPUs = c.draft.ParallelCPUs
		if len(p.CPUs) < 2 {
			p.Skip = SkipCores
			p.Warnings = append(p.Warnings, result.Warning{Code: result.WarnParallelNeedsCores,
				Text: fmt.Sprintf("it runs on several threads; on %d core its figure would mean something else: give it cores with --cpu", len(p.CPUs))})
		}
	}
	if p.Schedule == result.Lockstep {
		p.BlockPhase = coin(c.draft.Seed, "blocks", string(info.ID)).IntN(BlockEvery)
	}
	wall := float64(p.Iterations)*pilot.SlowNS + float64(pilot.SetupNS)
	p.TimeoutNS = max(int64(hangMinimum), int64(hangFactor*wall))
	p.Warnings = append(p.Warnings, sizeWarnings(pilot)...)
	if cycles := float64(p.Iterations) * pilot.Collections; p.Kind == result.Collecting && pilot.Collections > 0 && cycles < minCollections {
		p.Warnings = append(p.Warnings, result.Warning{Code: "few-collections",
			Text: fmt.Sprintf("a sample of %v holds %.1f collections, fewer than the %d that make a steady state", collectingLimit, cycles, minCollections)})
	}
	return p
}

func sizeWarnings(pilot result.PilotCase) []result.Warning {
	var out []result.Warning
	if math.Abs(pilot.IterationChange) > iterationDoubt {
		out = append(out, result.Warning{Code: result.WarnDependsOnIterations,
			Text: fmt.Sprintf("an iteration costs %+.0f %% when twice as many run in a sample; the figure holds for this number of iterations only", 100*pilot.IterationChange)})
	}
	if pilot.FastNS > 0 && pilot.FastNS*cyclesPerNS < 1 {
		out = append(out, result.Warning{Code: result.WarnOptimisedAway,
			Text: fmt.Sprintf("%.3f ns an iteration is less than one cycle: the compiler removed the work", pilot.FastNS)})
	}
	return out
}

// chooseRule takes the rule with the narrowest spread over the root of the
// passes kept. Cases that collect may only use cpu or none (measurement.md).
func chooseRule(kind result.Kind, pilots []result.RulePilot) (result.Rule, int64) {
	best, limit, spread := result.RuleNone, int64(0), math.Inf(1)
	for _, p := range pilots {
		if kind != result.Steady && p.Rule != result.RuleNone && p.Rule != result.RuleCPU {
			continue
		}
		if p.Kept > 0 && p.Spread < spread {
			best, limit, spread = p.Rule, p.LimitNS, p.Spread
		}
	}
	return best, limit
}

// plant puts the planted control on the steady case whose pilot was quietest.
func (c *calibrator) plant() {
	best, quiet := -1, math.Inf(1)
	for i, p := range c.cases {
		if p.Skip != "" || p.Kind != result.Steady || p.Schedule != result.Lockstep || p.Iterations < 100 {
			continue
		}
		if noise := p.Pilot.Within + p.Pilot.Between; noise < quiet {
			best, quiet = i, noise
		}
	}
	if best >= 0 {
		c.cases[best].Planted = true
	}
}
