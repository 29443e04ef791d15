package compare

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/result"
	"assay/internal/stats"
)

// Pilot completes the facts that measuring found with what the pilot's samples
// say, blind to labels: swapping base and head changes nothing in the answer.
// It fills FastNS, SlowNS, Collections, AllocBytes, Between, Within, Rules and
// Samples. Rules lists the candidates that this case may use, in their fixed
// order; one that leaves fewer than 5 passes, that the case's garbage forbids,
// or whose covariate was not read is left out.
func Pilot(b *Builder, facts []result.PilotCase) result.PilotSummary {
	summary := result.PilotSummary{Cases: slices.Clone(facts)}
	for i := range summary.Cases {
		fact := &summary.Cases[i]
		samples := slices.DeleteFunc(slices.Clone(b.of(fact.ID).pilot), func(m result.Measurement) bool {
			return m.Arm != result.Base && m.Arm != result.Head
		})
		fact.Samples = len(samples)
		if len(samples) > 0 {
			blind(fact, samples)
		}
	}
	return summary
}

// blind fills the statistical fields of one case from its pilot samples.
func blind(fact *result.PilotCase, samples []result.Measurement) {
	var fast, slow []float64
	for _, round := range pilotRounds(samples) {
		var medians []float64
		for _, arm := range []result.Arm{result.Base, result.Head} {
			if v := armValues(round, arm); len(v) > 0 {
				medians = append(medians, stats.Median(v))
			}
		}
		fast, slow = append(fast, slices.Min(medians)), append(slow, slices.Max(medians))
	}
	fact.FastNS, fact.SlowNS = stats.Median(fast), stats.Median(slow)

	fact.Between, fact.Within = variances(pairRatios(samples, result.RuleNone, 0))
	collects := fact.Collections > 0 || slices.ContainsFunc(samples, func(m result.Measurement) bool { return m.Collections > 0 })
	fact.Rules = nil
	for _, rule := range result.Rules() {
		if r, ok := tryRule(rule, samples, collects); ok {
			fact.Rules = append(fact.Rules, r)
		}
	}
}

// pilotRounds groups samples by mini-round, in order.
func pilotRounds(samples []result.Measurement) [][]result.Measurement {
	samples = slices.Clone(samples)
	slices.SortStableFunc(samples, func(x, y result.Measurement) int { return cmp.Compare(x.Round, y.Round) })
	var rounds [][]result.Measurement
	for i, m := range samples {
		if i == 0 || samples[i-1].Round != m.Round {
			rounds = append(rounds, nil)
		}
		rounds[len(rounds)-1] = append(rounds[len(rounds)-1], m)
	}
	return rounds
}

func armValues(samples []result.Measurement, arm result.Arm) []float64 {
	var out []float64
	for _, m := range samples {
		if m.Arm == arm {
			out = append(out, m.Value)
		}
	}
	return out
}

// tryRule applies a rule to the pilot. Its spread is the interquartile range of
// the pairs' log-ratios around their mini-round's median, over the root of the
// passes kept.
func tryRule(rule result.Rule, samples []result.Measurement, collects bool) (result.RulePilot, bool) {
	r := result.RulePilot{Rule: rule}
	switch rule {
	case result.RuleSwitches, result.RuleSwitchesOrSteal:
		if collects {
			return r, false
		}
	case result.RuleCPU:
		limit, ok := cpuLimit(samples)
		if !ok {
			return r, false
		}
		r.LimitNS = limit
	case result.RuleNone, result.RuleSteal:
	}
	var around []float64
	for _, pairs := range pairRatios(samples, rule, r.LimitNS) {
		centre := stats.Median(pairs)
		for _, v := range pairs {
			around = append(around, v-centre)
		}
	}
	r.Kept = len(around)
	if r.Kept < minClean {
		return r, false
	}
	r.Spread = (stats.Quantile(around, 0.75) - stats.Quantile(around, 0.25)) / math.Sqrt(float64(r.Kept))
	return r, true
}

// cpuLimit is the median of wall minus CPU time of a sample; ok is false when
// CPU time was not read.
func cpuLimit(samples []result.Measurement) (limitNS int64, ok bool) {
	var rest []float64
	for _, m := range samples {
		if m.CPUNS > 0 {
			rest = append(rest, float64(m.WallNS-m.CPUNS))
		}
	}
	if len(rest) == 0 {
		return 0, false
	}
	return int64(stats.Median(rest)), true
}

// pairRatios returns the log-ratios of the pairs of every mini-round whose pass
// the rule leaves clean; a mini-round without any is left out.
func pairRatios(samples []result.Measurement, rule result.Rule, limitNS int64) [][]float64 {
	var out [][]float64
	for _, round := range pilotRounds(samples) {
		base, head := map[int]result.Measurement{}, map[int]result.Measurement{}
		var passes []int
		for _, m := range round {
			if m.Arm == result.Base {
				base[m.Pass] = m
				passes = append(passes, m.Pass)
			} else {
				head[m.Pass] = m
			}
		}
		slices.Sort(passes)
		var ratios []float64
		for _, pass := range passes {
			a, b := base[pass], head[pass]
			if a.Value > 0 && b.Value > 0 && !rule.Marks(a, limitNS) && !rule.Marks(b, limitNS) {
				ratios = append(ratios, math.Log(b.Value/a.Value))
			}
		}
		if len(ratios) > 0 {
			out = append(out, ratios)
		}
	}
	return out
}

// variances returns the variance of the mini-rounds' locations, and the robust
// variance of pairs around them; 0 where too few values tell.
func variances(rounds [][]float64) (between, within float64) {
	var centres, around []float64
	for _, pairs := range rounds {
		centre := stats.Midmean(pairs)
		centres = append(centres, centre)
		for _, v := range pairs {
			around = append(around, v-centre)
		}
	}
	if len(centres) > 1 {
		between = stats.Variance(centres)
	}
	if len(around) > len(centres) {
		spread := stats.MAD(around)
		within = spread * spread
	}
	return between, within
}
