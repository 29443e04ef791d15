package compare

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/result"
	"assay/internal/stats"
)

const (
	// minClean is the fewest clean passes of a round that is filtered at all
	// (measurement.md "Contamination").
	minClean = 5
	// blockDrop is the part of a block that is dropped at its start
	// (measurement.md "Which cases may be measured in short samples").
	blockDrop = 5 // a fifth
	// dust is the size below which a log-ratio is rounding of the arithmetic,
	// not a difference: values carry at most 1e-16 relative error each.
	dust = 1e-12
)

// roundValue is what one round says about two arms.
type roundValue struct {
	round      result.Round
	typical    float64 // ln(b/a), robust location of clean pairs
	unfiltered float64 // the same over all pairs
	mean       float64 // ln(total b / total a), unfiltered
	a, b       float64 // value of each arm, canonical unit
	shareA     float64 // of samples that are contaminated
	shareB     float64
	marked     bool // too few clean passes: nothing was filtered
}

// series holds the round values of arm b against arm a, in the order of rounds,
// for one schedule.
type series struct {
	schedule result.Schedule
	values   []roundValue
	zero     int // rounds without a ratio, because an arm's value is 0
}

// pick returns one number of each round, rounding dust set to 0.
func (s series) pick(of func(roundValue) float64) []float64 {
	out := make([]float64, len(s.values))
	for i, v := range s.values {
		out[i] = snap(of(v))
	}
	return out
}

func snap(v float64) float64 {
	if math.Abs(v) < dust {
		return 0
	}
	return v
}

func typicalOf(v roundValue) float64    { return v.typical }
func unfilteredOf(v roundValue) float64 { return v.unfiltered }
func meanOf(v roundValue) float64       { return v.mean }

// pairing says which two arms of a case are compared, and how its rounds are read.
type pairing struct {
	a, b result.Arm
	kind result.Kind
	rule result.Rule
}

// seriesOf builds the series of one schedule from committed rounds.
func (c *caseColumns) seriesOf(columns *metricColumns, p pairing, schedule result.Schedule) series {
	s := series{schedule: schedule}
	if columns == nil {
		return s
	}
	a, b := byRound(columns.arms[p.a]), byRound(columns.arms[p.b])
	for _, round := range c.committed(schedule) {
		first, second := ofRound(a, round), ofRound(b, round)
		if schedule == result.Lockstep {
			first, second = paired(first, second)
		} else {
			first, second = afterDrop(first), afterDrop(second)
		}
		if len(first) == 0 || len(second) == 0 {
			continue
		}
		v := p.value(round, first, second)
		if !finite(v.typical) || !finite(v.unfiltered) || !finite(v.mean) {
			s.zero++
			continue
		}
		s.values = append(s.values, v)
	}
	return s
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// committed lists the rounds of a schedule in their order.
func (c *caseColumns) committed(schedule result.Schedule) []result.Round {
	var rounds []result.Round
	for _, r := range c.rounds {
		if r.Schedule == schedule {
			rounds = append(rounds, r)
		}
	}
	slices.SortFunc(rounds, func(x, y result.Round) int { return cmp.Compare(x.Round, y.Round) })
	return rounds
}

func byRound(samples []sample) map[int32][]sample {
	rounds := map[int32][]sample{}
	for _, s := range samples {
		rounds[s.round] = append(rounds[s.round], s)
	}
	return rounds
}

// ofRound returns the samples of a round from the slots that it committed; a
// round that was interrupted and measured again has others.
func ofRound(rounds map[int32][]sample, round result.Round) []sample {
	samples := rounds[int32(round.Round)]
	if len(round.Slots) == 0 {
		return samples
	}
	return slices.DeleteFunc(slices.Clone(samples), func(s sample) bool { return !slices.Contains(round.Slots, int(s.slot)) })
}

// paired keeps the samples whose pass has one in both arms, ordered by pass.
func paired(a, b []sample) (first, second []sample) {
	byPass := func(x, y sample) int { return cmp.Compare(x.pass, y.pass) }
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortStableFunc(a, byPass)
	slices.SortStableFunc(b, byPass)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].pass < b[j].pass:
			i++
		case a[i].pass > b[j].pass:
			j++
		default:
			first, second = append(first, a[i]), append(second, b[j])
			i, j = i+1, j+1
		}
	}
	return first, second
}

// afterDrop returns a block without its first fifth, rounded up so that a block
// of one sample keeps it and one of two loses one.
func afterDrop(block []sample) []sample {
	if len(block) < 2 {
		return block
	}
	return block[(len(block)+blockDrop-1)/blockDrop:]
}

// value reduces one round. In lockstep first and second are pairs, index by index.
func (p pairing) value(round result.Round, first, second []sample) roundValue {
	v := roundValue{round: round, shareA: share(first), shareB: share(second)}
	v.mean = logRatio(total(first), total(second))
	lockstep := round.Schedule == result.Lockstep
	cleanA, cleanB := clean(first, second, lockstep)
	v.marked = round.Marked || min(len(cleanA), len(cleanB)) < minClean
	if v.marked {
		cleanA, cleanB = first, second
	}
	if p.kind == result.Collecting && !(lockstep && cyclesInEach(first, second)) {
		if p.rule != result.RuleCPU {
			cleanA, cleanB = first, second
		}
		v.a, v.b = total(cleanA), total(cleanB)
		v.typical, v.unfiltered = logRatio(v.a, v.b), v.mean
		return v
	}
	v.a, v.b = stats.Median(values(cleanA)), stats.Median(values(cleanB))
	if lockstep {
		v.typical, v.unfiltered = pairLocation(cleanA, cleanB), pairLocation(first, second)
		return v
	}
	v.typical = logRatio(v.a, v.b)
	v.unfiltered = logRatio(stats.Median(values(first)), stats.Median(values(second)))
	return v
}

// steadyCycles is the fewest collections with which a sample stands for the steady
// state by itself; the plan aims at more (plan.minCollections).
const steadyCycles = 4

// cyclesInEach says whether every sample holds enough collections. Only then may
// a case that collects be judged on pairs of samples and not on totals: no sample
// has more than its share of the garbage to be trimmed away (decision 0009).
func cyclesInEach(sides ...[]sample) bool {
	for _, side := range sides {
		if slices.ContainsFunc(side, func(s sample) bool { return s.collections < steadyCycles }) {
			return false
		}
	}
	return true
}

// clean leaves out contaminated samples: whole passes in lockstep, single
// samples in blocks.
func clean(first, second []sample, lockstep bool) (a, b []sample) {
	if !lockstep {
		marked := func(s sample) bool { return s.contaminated }
		return slices.DeleteFunc(slices.Clone(first), marked), slices.DeleteFunc(slices.Clone(second), marked)
	}
	for i := range first {
		if !first[i].contaminated && !second[i].contaminated {
			a, b = append(a, first[i]), append(b, second[i])
		}
	}
	return a, b
}

// pairLocation is the interquartile mean of the pairs' log-ratios.
//
// Note: the median was rejected here. Harnesses print four significant digits,
// so medians of short samples tie; the interquartile mean averages the ties out.
func pairLocation(first, second []sample) float64 {
	ratios := make([]float64, len(first))
	for i := range first {
		ratios[i] = logRatio(first[i].value, second[i].value)
	}
	return stats.Midmean(ratios)
}

// logRatio is ln(b/a), 0 when both are 0: a timer that saw nothing twice.
func logRatio(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Log(b / a)
}

// total is the total over all iterations, per iteration.
func total(samples []sample) float64 {
	sum, iterations := 0.0, 0.0
	for _, s := range samples {
		n := float64(max(s.iterations, 1))
		sum += s.value * n
		iterations += n
	}
	return sum / iterations
}

func values(samples []sample) []float64 {
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = s.value
	}
	return out
}

func share(samples []sample) float64 {
	marked := 0
	for _, s := range samples {
		if s.contaminated {
			marked++
		}
	}
	return float64(marked) / float64(len(samples))
}
