package compare

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay/internal/result"
)

// scenario is drawn input from which a run and its label swap can be built.
type scenario struct {
	seed   uint64
	rounds int
	deltas []float64
	sigma  float64
	blocks bool
	share  float64
}

func drawScenario(t *rapid.T) scenario {
	return scenario{
		seed:   rapid.Uint64().Draw(t, "seed"),
		rounds: rapid.IntRange(1, 14).Draw(t, "rounds"),
		deltas: rapid.SliceOfN(rapid.SampledFrom([]float64{-0.5, -0.05, 0, 0, 0.004, 0.08, 3}), 1, 5).Draw(t, "deltas"),
		sigma:  rapid.SampledFrom([]float64{0, 0.001, 0.02, 0.3}).Draw(t, "sigma"),
		blocks: rapid.Bool().Draw(t, "blocks"),
		share:  rapid.SampledFrom([]float64{0, 0.2, 0.9}).Draw(t, "share"),
	}
}

// build makes the run; swapped exchanges the arms' labels.
func (s scenario) build(swapped bool) *run {
	r := newRun()
	rng := source(s.seed)
	first, second := result.Base, result.Head
	if swapped {
		first, second = second, first
	}
	for i, delta := range s.deltas {
		id := caseName(i)
		r.add(id, func(_ *result.Case, p *result.CasePlan) { p.BlockPhase = 3 })
		for round := range s.rounds {
			schedule := result.Lockstep
			if s.blocks && round%4 == 3 {
				schedule = result.Blocks
			}
			for pass := range 8 {
				for _, arm := range []result.Arm{first, second} {
					value := 100.0
					if arm == second {
						value *= 1 + delta
					}
					m := result.Measurement{ID: id, Round: round, Pass: pass, Arm: arm, Schedule: schedule, Value: value * math.Exp(s.sigma*rng.NormFloat64()),
						Contaminated: rng.Float64() < s.share}
					r.sample(m)
					m.Metric, m.Unit, m.Value = "bytes", "B/op", 8
					if arm == second {
						m.Value += float64(i)
					}
					r.sample(m)
				}
			}
			r.commit(id, round, schedule)
		}
	}
	return r
}

func mirror(v Verdict) Verdict {
	swap := map[Verdict]Verdict{Faster: Slower, Slower: Faster, Better: Worse, Worse: Better}
	if other, ok := swap[v]; ok {
		return other
	}
	return v
}

// near says whether a ratio lies where the margin of 1 % differs between labels:
// 1.01 and its inverse.
func near(ratios ...float64) bool {
	for _, v := range ratios {
		if size := math.Abs(v); size > 0.0098 && size < 0.0102 {
			return true
		}
	}
	return false
}

// Swapping the labels of the arms negates every log-ratio, keeps every p, and
// turns faster into slower.
func TestLabelSwap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		a, b := s.build(false), s.build(true)
		one, two := Arms(&a.b, a.plan), Arms(&b.b, b.plan)
		if len(one.Benchmarks) != 2*len(s.deltas) || len(two.Benchmarks) != len(one.Benchmarks) {
			t.Fatalf("%d and %d rows", len(one.Benchmarks), len(two.Benchmarks))
		}
		for i := range one.Benchmarks {
			x, y := one.Benchmarks[i], two.Benchmarks[i]
			swappedEstimate(t, x.Typical, y.Typical)
			swappedEstimate(t, x.MeanEstimate, y.MeanEstimate)
			swappedEstimate(t, x.Blocks, y.Blocks)
			if diff := cmp.Diff([]*Side{x.Base, x.Head}, []*Side{y.Head, y.Base}); diff != "" {
				t.Fatal(diff)
			}
			if diff := cmp.Diff([]*float64{x.P, x.PAdjusted}, []*float64{y.P, y.PAdjusted}); diff != "" {
				t.Fatal(diff)
			}
			doubtful := x.Delta != nil && near(*x.Delta) || x.CI != nil && near(x.CI[0], x.CI[1])
			// Equivalence has its own p, which depends on the margin's two ends.
			equivalence := x.Verdict == Equivalent || y.Verdict == Equivalent
			if !doubtful && !equivalence && x.Verdict != mirror(y.Verdict) {
				t.Fatalf("row %d: %s and %s", i, x.Verdict, y.Verdict)
			}
			if (x.Verdict == Faster || x.Verdict == Better) && x.Delta != nil && *x.Delta >= 0 {
				t.Fatalf("row %d: %s with delta %v", i, x.Verdict, *x.Delta)
			}
		}
	})
}

func swappedEstimate(t *rapid.T, x, y *Estimate) {
	if (x == nil) != (y == nil) {
		t.Fatalf("estimates %+v and %+v", x, y)
	}
	if x == nil {
		return
	}
	inverse := func(a, b float64) bool { return math.Abs(math.Log1p(a)+math.Log1p(b)) < 1e-9 }
	if !inverse(x.Delta, y.Delta) || x.P != y.P || (x.CI == nil) != (y.CI == nil) {
		t.Fatalf("estimates %+v and %+v", x, y)
	}
	if x.CI != nil && (!inverse(x.CI[0], y.CI[1]) || !inverse(x.CI[1], y.CI[0])) {
		t.Fatalf("intervals %v and %v", x.CI, y.CI)
	}
}

// The same input gives the same bytes, and always valid JSON: no NaN or infinity
// reaches a field.
func TestSameInputSameBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		a, b := s.build(false), s.build(false)
		one, err := json.Marshal(Arms(&a.b, a.plan))
		if err != nil {
			t.Fatal(err)
		}
		two, err := json.Marshal(Arms(&b.b, b.plan))
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(Arms(&a.b, a.plan))
		if err != nil {
			t.Fatal(err)
		}
		if string(one) != string(two) || string(one) != string(again) {
			t.Fatal("the same input gave other bytes")
		}
	})
}

// A change of unit changes no ratio, p or verdict.
func TestUnitChange(t *testing.T) {
	t.Parallel()
	s := scenario{seed: 9, rounds: 12, deltas: []float64{0.08, 0, -0.5}, sigma: 0.02}
	a, b := s.build(false), s.build(false)
	for _, c := range b.b.cases {
		for _, samples := range c.metrics["time"].arms {
			for i := range samples {
				samples[i].value *= 1024
			}
		}
	}
	one, two := Arms(&a.b, a.plan), Arms(&b.b, b.plan)
	for i := range one.Benchmarks {
		x, y := one.Benchmarks[i], two.Benchmarks[i]
		if x.Verdict != y.Verdict || (x.P != nil && *x.P != *y.P) || (x.Delta != nil && math.Abs(*x.Delta-*y.Delta) > 1e-12) {
			t.Errorf("row %d: %+v and %+v", i, x, y)
		}
	}
}

// In a run in which nothing changed, any verdict of a change is a false alarm:
// at most alpha of the runs may have one. The bound is 5 standard errors.
func TestFamilywiseFalseAlarms(t *testing.T) {
	t.Parallel()
	const runs, cases, alpha = 300, 11, 0.05
	alarms, equivalent := 0, 0
	for seed := range uint64(runs) {
		r := newRun()
		r.plan.Draft.MinEffect = 0.001
		rng := source(1000 + seed)
		for i := range cases {
			id := caseName(i)
			r.add(id, func(c *result.Case, _ *result.CasePlan) { c.Margin = 0.0001 })
			for round := range 11 {
				slow := math.Exp(0.01 * rng.NormFloat64())
				r.passes(id, round, scatter(rng, 6, 100, 0.01), scatter(rng, 6, 100*slow, 0.01))
			}
		}
		got := Arms(&r.b, r.plan).Summary
		if got.Faster+got.Slower+got.Changed+got.Trivial > 0 {
			alarms++
		}
		equivalent += got.Equivalent
	}
	limit := alpha + 5*math.Sqrt(alpha*(1-alpha)/runs)
	if rate := float64(alarms) / runs; rate > limit || alarms == 0 {
		t.Errorf("false alarms in %.3f of runs at nominal %.2f", rate, alpha)
	}
	if equivalent > 0 {
		t.Errorf("%d cases equivalent at a margin far below the resolution", equivalent)
	}
}

// A case whose true effect is the margin is called equivalent in at most alpha
// of the runs.
func TestEquivalenceKeepsItsPromise(t *testing.T) {
	t.Parallel()
	const runs, alpha = 600, 0.05
	for _, delta := range []float64{0.01, -0.01} {
		wrong := 0
		for seed := range uint64(runs) {
			r := newRun()
			r.add("p.BenchmarkX", nil)
			rng := source(5000 + seed)
			for round := range 10 {
				level := math.Exp(0.01 * rng.NormFloat64())
				r.passes("p.BenchmarkX", round, scatter(rng, 6, 100, 0.002), scatter(rng, 6, 100*(1+delta)*level, 0.002))
			}
			if Arms(&r.b, r.plan).Summary.Equivalent > 0 {
				wrong++
			}
		}
		if rate := float64(wrong) / runs; rate > alpha+5*math.Sqrt(alpha*(1-alpha)/runs) {
			t.Errorf("true %v called equivalent in %.3f of runs", delta, rate)
		}
	}
}
