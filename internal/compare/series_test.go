package compare

import (
	"math"
	"slices"
	"testing"

	"assay/internal/result"
	"assay/internal/unit"
)

// seriesOfRun builds the series of the run's only case.
func (r *run) series(kind result.Kind, rule result.Rule, schedule result.Schedule) series {
	c := r.b.of("x")
	return c.seriesOf(c.metrics[unit.Time().Metric], pairing{a: result.Base, b: result.Head, kind: kind, rule: rule}, schedule)
}

func TestRoundsWithoutCommitAreIgnored(t *testing.T) {
	t.Parallel()
	var r run
	r.passes("x", 0, repeat(1, 6), repeat(2, 6))
	for pass := range 6 { // round 1 was interrupted
		r.sample(result.Measurement{ID: "x", Round: 1, Pass: pass, Arm: result.Base, Value: 1})
		r.sample(result.Measurement{ID: "x", Round: 1, Pass: pass, Arm: result.Head, Value: 50})
	}
	r.put(result.Round{ID: "x", Round: 1, Schedule: result.Lockstep, Pilot: true})
	r.put(result.Round{ID: "y", Round: 1, Schedule: result.Lockstep})
	s := r.series(result.Steady, result.RuleNone, result.Lockstep)
	if len(s.values) != 1 || s.values[0].b != 2 {
		t.Errorf("%+v", s.values)
	}
}

func TestSlotsOfAnInterruptedRoundAreIgnored(t *testing.T) {
	t.Parallel()
	var r run
	for pass := range 6 {
		for slot, value := range []float64{90, 90, 1, 2} { // slots 0 and 1 were interrupted
			arm := []result.Arm{result.Base, result.Head}[slot%2]
			r.sample(result.Measurement{ID: "x", Pass: pass, Slot: slot, Arm: arm, Value: value})
		}
	}
	r.put(result.Round{ID: "x", Schedule: result.Lockstep, Slots: []int{2, 3}})
	s := r.series(result.Steady, result.RuleNone, result.Lockstep)
	if len(s.values) != 1 || s.values[0].a != 1 || s.values[0].b != 2 {
		t.Errorf("%+v", s.values)
	}
}

func TestPilotAndWarmupAreNotCounted(t *testing.T) {
	t.Parallel()
	var r run
	r.sample(result.Measurement{ID: "x", Pass: 0, Arm: result.Base, Value: 900, Warmup: true})
	r.sample(result.Measurement{ID: "x", Pass: 0, Arm: result.Base, Value: 900, Pilot: true})
	r.sample(result.Measurement{ID: "x", Pass: 0, Arm: result.Base, Value: 900, Pilot: true, Warmup: true})
	r.passes("x", 0, repeat(1, 6), repeat(2, 6))
	if s := r.series(result.Steady, result.RuleNone, result.Lockstep); s.values[0].mean != math.Log(2) {
		t.Errorf("%+v", s.values)
	}
	if got := len(r.b.of("x").pilot); got != 1 {
		t.Errorf("%d pilot samples", got)
	}
}

func TestRoundOrderAndPairing(t *testing.T) {
	t.Parallel()
	var r run
	r.passes("x", 2, repeat(1, 6), repeat(3, 6))
	// A pass that only one arm finished has no pair.
	r.sample(result.Measurement{ID: "x", Round: 0, Pass: 6, Arm: result.Base, Value: 1e6})
	r.passes("x", 0, []float64{1, 2, 3, 4, 5, 6}, []float64{2, 4, 6, 8, 10, 12})
	s := r.series(result.Steady, result.RuleNone, result.Lockstep)
	if len(s.values) != 2 || s.values[0].round.Round != 0 || math.Abs(s.values[0].typical-math.Log(2)) > 1e-15 || s.values[1].a != 1 {
		t.Errorf("%+v", s.values)
	}
}

func TestMarkedRoundKeepsAll(t *testing.T) {
	t.Parallel()
	for clean, marked := range map[int]bool{4: true, 5: false} {
		var r run
		for pass := range 10 {
			r.sample(result.Measurement{ID: "x", Pass: pass, Arm: result.Base, Value: 1, Contaminated: pass >= clean})
			value := 1.0
			if pass >= clean {
				value = 3
			}
			r.sample(result.Measurement{ID: "x", Pass: pass, Arm: result.Head, Value: value})
		}
		r.commit("x", 0, result.Lockstep)
		v := r.series(result.Steady, result.RuleSwitches, result.Lockstep).values[0]
		if v.marked != marked || (v.typical == v.unfiltered) != marked {
			t.Errorf("%d clean passes: %+v", clean, v)
		}
		if want := 1 - float64(clean)/10; math.Abs(v.shareA-want) > 1e-15 || v.shareB != 0 {
			t.Errorf("%d clean passes: shares %v %v", clean, v.shareA, v.shareB)
		}
	}
}

func TestCollectingUsesTotals(t *testing.T) {
	t.Parallel()
	for rule, want := range map[result.Rule]float64{result.RuleSteal: (5*100 + 1000) / 600., result.RuleCPU: 1} {
		var r run
		for pass := range 6 {
			head := result.Measurement{ID: "x", Pass: pass, Arm: result.Head, Value: 1, Iterations: 100}
			if pass == 5 { // the sample in which the garbage was collected
				head.Value, head.Contaminated = 10, true
			}
			r.sample(head)
			r.sample(result.Measurement{ID: "x", Pass: pass, Arm: result.Base, Value: 1, Iterations: 100})
		}
		r.commit("x", 0, result.Lockstep)
		v := r.series(result.Collecting, rule, result.Lockstep).values[0]
		if math.Abs(math.Exp(v.typical)-want) > 1e-12 || math.Abs(math.Exp(v.mean)-1500/600.) > 1e-12 {
			t.Errorf("rule %s: typical %v, mean %v", rule, math.Exp(v.typical), math.Exp(v.mean))
		}
	}
}

func TestBlocksDropTheFirstFifth(t *testing.T) {
	t.Parallel()
	var r run
	r.block("x", 0, []float64{90, 90, 1, 1, 1, 1, 1, 1, 1, 1}, []float64{90, 90, 2, 2, 2, 2, 2, 2, 2, 2})
	r.block("x", 1, []float64{1}, []float64{2})
	for _, kind := range []result.Kind{result.Steady, result.Collecting} {
		s := r.series(kind, result.RuleNone, result.Blocks)
		for _, v := range s.values {
			if math.Abs(v.typical-math.Log(2)) > 1e-15 || math.Abs(v.mean-math.Log(2)) > 1e-15 {
				t.Errorf("%s: %+v", kind, v)
			}
		}
		if len(s.values) != 2 {
			t.Errorf("%d rounds", len(s.values))
		}
	}
	if s := r.series(result.Steady, result.RuleNone, result.Lockstep); len(s.values) != 0 {
		t.Error("blocks counted as lockstep")
	}
}

// Means are weighted by iterations, whose number may differ between samples.
func TestTotalIsPerIteration(t *testing.T) {
	t.Parallel()
	if got := total([]sample{{value: 10, iterations: 1}, {value: 1, iterations: 9}}); got != 1.9 {
		t.Errorf("total %v", got)
	}
}

func TestOverlap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b []float64
		want string
	}{
		{[]float64{1, 2}, []float64{3, 4}, "none"},
		{[]float64{1, 3}, []float64{2, 4}, "partial"},
		{[]float64{1, 4}, []float64{2, 3}, "full"},
		{[]float64{1, 2}, []float64{2, 3}, "partial"},
		{[]float64{1, 2}, []float64{1, 2}, "full"},
	} {
		if got := overlap(c.a, c.b); got != c.want {
			t.Errorf("%v %v: %s", c.a, c.b, got)
		}
		if got := overlap(c.b, c.a); got != c.want {
			t.Errorf("%v %v: %s", c.b, c.a, got)
		}
	}
}

func TestBuilderKeepsFailuresAndDamage(t *testing.T) {
	t.Parallel()
	var r run
	r.put(result.Failure{ID: "x", Arm: result.Head, Reason: result.FailHang})
	r.put(result.Damaged{ID: "x", Arm: result.Head, Source: "f", Line: 2})
	r.put(result.Slot{})
	r.put(result.Sensor{})
	r.put(result.End{})
	r.put(result.LookResult{})
	r.sample(result.Measurement{ID: "x", Arm: result.Base, Value: -1})
	reasons := []result.FailureReason{}
	for _, f := range r.b.failed(result.Case{ID: "x"}, result.CasePlan{}) {
		reasons = append(reasons, f.Reason)
	}
	if !slices.Equal(reasons, []result.FailureReason{result.FailHang, result.FailOutput, result.FailOutput}) {
		t.Errorf("%v", reasons)
	}
}
