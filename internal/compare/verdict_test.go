package compare

import (
	"math"
	"strings"
	"testing"

	"assay/internal/result"
)

// only is the id of the one case of a verdict's table.
const only = "p.BenchmarkX"

// verdictCase is one row of a table of verdicts.
type verdictCase struct {
	name    string
	make    func(*run)
	want    Verdict
	warning string // the code that must be there; empty: no warning at all
}

// with plans the case as changed and measures n lockstep rounds of a true delta.
func with(change func(*result.Case, *result.CasePlan), n int, delta float64) func(*run) {
	return func(r *run) {
		r.add(only, change)
		r.noisy(only, n, delta, source(2))
	}
}

func lockstep(n int, delta float64) func(*run) { return with(nil, n, delta) }

func failure(reason result.FailureReason, arms ...result.Arm) func(*run) {
	return func(r *run) {
		lockstep(12, 0)(r)
		for _, arm := range arms {
			r.put(result.Failure{Arm: arm, ID: only, Package: "p", Reason: reason, Text: "panic: boom"})
		}
	}
}

func checkVerdicts(t *testing.T, cases []verdictCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRun()
			c.make(r)
			got := r.only(t)
			if got.Verdict != c.want {
				t.Fatalf("verdict %s, want %s: %+v", got.Verdict, c.want, got)
			}
			if c.warning != "" && !warned(got.Warnings, c.warning) {
				t.Errorf("no warning %s in %v", c.warning, got.Warnings)
			}
			if c.warning == "" && len(got.Warnings) > 0 {
				t.Errorf("warnings %v", got.Warnings)
			}
		})
	}
}

func TestVerdictsFromNumbers(t *testing.T) {
	t.Parallel()
	checkVerdicts(t, []verdictCase{
		{"faster", lockstep(12, -0.05), Faster, ""},
		{"slower", lockstep(12, 0.05), Slower, ""},
		{"slower, interval inside the margin", func(r *run) {
			r.add(only, nil)
			for i := range 12 {
				r.passes(only, i, repeat(200, 9), repeat(200*(1.006+0.001*float64(i)), 9))
			}
		}, Slower, warnUncertain},
		{"higher is better", with(func(c *result.Case, _ *result.CasePlan) { c.Better = "higher" }, 12, 0.05), Faster, ""},
		{"unknown direction", with(func(c *result.Case, _ *result.CasePlan) { c.Better = "unknown" }, 12, 0.05), Changed, ""},
		{"trivial", with(func(c *result.Case, _ *result.CasePlan) { c.Margin = 0.015 }, 12, 0.011), Trivial, ""},
		{"just beyond the default margin", lockstep(12, 0.014), Slower, ""},
		{"equivalent", lockstep(12, 0), Equivalent, ""},
		{"too few rounds", lockstep(4, 0.05), Inconclusive, ""},
		{"ties of the timer", func(r *run) {
			r.add(only, nil)
			for i := range 12 {
				r.passes(only, i, repeat(0.31, 9), repeat(0.31, 9))
			}
		}, BelowResolution, ""},
		{"both arms read 0", func(r *run) {
			r.add(only, nil)
			for i := range 12 {
				r.passes(only, i, repeat(0, 9), repeat(0, 9))
			}
		}, BelowResolution, ""},
		{"only head reads 0", func(r *run) {
			r.add(only, nil)
			for i := range 12 {
				r.passes(only, i, repeat(3, 9), repeat(0, 9))
			}
		}, Inconclusive, warnZeroValues},
	})
}

func TestVerdictsFromStates(t *testing.T) {
	t.Parallel()
	checkVerdicts(t, []verdictCase{
		{"failed-base", failure(result.FailCrash, result.Base), FailedBase, ""},
		{"failed-head", failure(result.FailBench, result.Head), FailedHead, ""},
		{"failed-both", failure(result.FailHang, result.Base, result.Head), FailedBoth, ""},
		{"skipped on head", failure(result.FailSkipped, result.Head), MissingHead, ""},
		{"skipped on both", failure(result.FailSkipped, result.Base, result.Head), NotComparable, warnSkipped},
		{"planted arm failed", failure(result.FailCrash, result.PlantedOne), Equivalent, "failed-planted-1"},
		{"package failed on base", func(r *run) {
			r.add(only, nil)
			r.put(result.Failure{Arm: result.Base, Package: "p", Reason: result.FailBuild})
		}, FailedBase, ""},
		{"failed in the pilot", func(r *run) {
			r.add(only, func(_ *result.Case, p *result.CasePlan) {
				p.Skip, p.Pilot.Failed = "failed", []result.Failure{{Arm: result.Head, ID: only, Reason: result.FailCrash}}
			})
		}, FailedHead, ""},
		{"missing-base", func(r *run) {
			r.add(only, func(c *result.Case, p *result.CasePlan) {
				c.Missing, p.Skip, c.Partner = []result.Arm{result.Base}, "missing", "p.BenchmarkOld"
			})
		}, MissingBase, ""},
		{"parallel without cores", func(r *run) {
			r.add(only, func(_ *result.Case, p *result.CasePlan) { p.Skip = result.WarnParallelNeedsCores })
		}, NotComparable, result.WarnParallelNeedsCores},
		{"identical, not measured", func(r *run) {
			r.add(only, func(c *result.Case, p *result.CasePlan) { c.Identical, p.Skip = true, "identical-binary" })
		}, IdenticalBinary, ""},
		{"identical, measured as control", with(func(c *result.Case, _ *result.CasePlan) { c.Identical = true }, 12, 0.05), IdenticalBinary, ""},
		{"identical in an A/A", func(r *run) {
			r.plan.Draft.AA = true
			with(func(c *result.Case, _ *result.CasePlan) { c.Identical = true }, 12, 0)(r)
		}, Equivalent, ""},
		{"nothing committed", func(r *run) { r.add(only, nil) }, Inconclusive, warnNoRounds},
		{"not a number", func(r *run) {
			lockstep(12, 0)(r)
			r.sample(result.Measurement{ID: only, Arm: result.Head, Round: 3, Value: math.NaN()})
		}, FailedHead, ""},
		{"infinite", func(r *run) {
			lockstep(12, 0)(r)
			r.sample(result.Measurement{ID: only, Arm: result.Base, Round: 3, Value: math.Inf(1)})
		}, FailedBase, ""},
		{"damaged record", func(r *run) {
			lockstep(12, 0)(r)
			r.put(result.Damaged{ID: only, Arm: result.Head, Source: "head.txt", Line: 7, Text: "100,5 ns/op", Reason: "not a number"})
		}, FailedHead, ""},
		{"unknown status", func(r *run) {
			lockstep(12, 0)(r)
			r.put(result.Measurement{ID: only, Arm: result.Head, Value: 1e9, Metric: "time", Unit: "ns/op"})
		}, Equivalent, warnStatus},
	})
}

// A failed case keeps what its arms measured, and has no estimate.
func TestFailedCaseHasNoEstimate(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.add("p.BenchmarkX", nil)
	r.noisy("p.BenchmarkX", 12, 0.05, source(3))
	r.put(result.Damaged{ID: "p.BenchmarkX", Arm: result.Head, Source: "head.txt", Line: 7, Reason: "not a number"})
	row := r.only(t)
	if row.Delta != nil || row.P != nil || row.PAdjusted != nil || row.Base == nil || len(row.Base.Rounds) != 12 {
		t.Errorf("row %+v", row)
	}
	if len(row.Failures) != 1 || !strings.HasPrefix(row.Failures[0].Text, "head.txt:7: not a number") {
		t.Errorf("failures %v", row.Failures)
	}
	if got := Arms(&r.b, r.plan).Summary; got != (Summary{Failed: 1}) {
		t.Errorf("summary %+v", got)
	}
}

func TestFloorOnlyRaisesTheBar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		delta, floor float64
		want         Verdict
	}{{0.05, 0.02, Slower}, {0.05, 0.08, Inconclusive}, {0, 0.005, Equivalent}, {0, 0.02, Inconclusive}} {
		r := newRun()
		r.add("p.BenchmarkX", nil)
		r.noisy("p.BenchmarkX", 12, c.delta, source(4))
		l := levelsOf(r.plan, 1)
		j := r.b.judge(r.plan.Expansion.Cases[0], r.plan, l)
		decideAll([]*judged{j}, l, c.floor)
		if j.Verdict != c.want {
			t.Errorf("delta %v, floor %v: %s, want %s", c.delta, c.floor, j.Verdict, c.want)
		}
	}
}

// An equal mean with a bimodal base: one tenth of base's samples take 2.8 times
// as long. Whatever the typical estimate says, no verdict may have a sign.
func TestMixed(t *testing.T) {
	t.Parallel()
	mixed := 0
	for seed := range uint64(20) {
		r := newRun()
		r.add("p.BenchmarkX", nil)
		rng := source(seed)
		for i := range 14 {
			base := scatter(rng, 40, 100, 0.003)
			for k := range base {
				if k%10 == i%10 {
					base[k] *= 2.8
				}
			}
			rng.Shuffle(len(base), func(x, y int) { base[x], base[y] = base[y], base[x] })
			r.passes("p.BenchmarkX", i, base, scatter(rng, 40, 118, 0.003))
		}
		row := r.only(t)
		if row.Verdict == Mixed {
			mixed++
		} else if row.Verdict != Inconclusive && row.Verdict != Equivalent && row.Verdict != Trivial {
			t.Errorf("seed %d: %s with equal means (typical %+v, mean %+v)", seed, row.Verdict, row.Typical, row.MeanEstimate)
		}
		if row.Typical.Delta < 0.15 || math.Abs(row.MeanEstimate.Delta) > 0.01 {
			t.Errorf("seed %d: typical %v, mean %v", seed, row.Typical.Delta, row.MeanEstimate.Delta)
		}
		if !warned(row.Warnings, warnShapeChanged) {
			t.Errorf("seed %d: no warning of the shape", seed)
		}
	}
	if mixed != 20 {
		t.Errorf("mixed in %d of 20", mixed)
	}
}

// Lockstep evicts the small table's cache lines, blocks do not.
func TestScheduleDependent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		blocks float64
		want   Verdict
	}{{1.5, ScheduleDependent}, {2.2, Slower}} {
		r := newRun()
		r.add("p.BenchmarkX", func(_ *result.Case, p *result.CasePlan) { p.BlockPhase = 3 })
		rng := source(5)
		for i := range 16 {
			if i%4 == 3 {
				r.block("p.BenchmarkX", i, scatter(rng, 20, 100, 0.01), scatter(rng, 20, 100*c.blocks, 0.01))
			} else {
				r.passes("p.BenchmarkX", i, scatter(rng, 20, 100, 0.01), scatter(rng, 20, 220, 0.01))
			}
		}
		row := r.only(t)
		if row.Verdict != c.want || row.Lockstep == nil || row.Blocks == nil || row.Rounds != 12 || row.Blocks.Rounds != 4 {
			t.Fatalf("blocks %v: %+v", c.blocks, row)
		}
		if row.Blocks.CI == nil || math.Abs(row.Blocks.Delta-(c.blocks-1)) > 0.02 {
			t.Errorf("blocks %v: %+v", c.blocks, row.Blocks)
		}
	}
}

// Head's samples are disturbed four times as often as base's, and the disturbance is its own.
func TestFilterSensitive(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.add("p.BenchmarkX", nil)
	rng := source(6)
	for i := range 14 {
		for pass := range 20 {
			base := result.Measurement{ID: "p.BenchmarkX", Round: i, Pass: pass, Arm: result.Base, Value: 100 * math.Exp(0.005*rng.NormFloat64()), Contaminated: pass%10 == 0}
			head := result.Measurement{ID: "p.BenchmarkX", Round: i, Pass: pass, Arm: result.Head, Value: 100 * math.Exp(0.005*rng.NormFloat64()), Contaminated: pass%5 < 3}
			if head.Contaminated {
				head.Value *= 1.2
			}
			r.sample(base)
			r.sample(head)
		}
		r.commit("p.BenchmarkX", i, result.Lockstep)
	}
	row := r.only(t)
	if !warned(row.Warnings, result.WarnFilterSensitive) {
		t.Fatalf("no warning: %+v", row)
	}
	if *row.Delta != *row.Unfiltered || *row.Delta < 0.1 {
		t.Errorf("judged on %v, unfiltered %v", *row.Delta, *row.Unfiltered)
	}
	if math.Abs(row.Contaminated.Head-0.6) > 1e-9 || math.Abs(row.Contaminated.Base-0.1) > 1e-9 {
		t.Errorf("shares %+v", row.Contaminated)
	}
}

// Passes in which either arm was disturbed leave as a whole, and alike shares
// raise no doubt.
func TestFilterRemovesPasses(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.add("p.BenchmarkX", nil)
	rng := source(7)
	for i := range 12 {
		for pass := range 16 {
			for _, arm := range []result.Arm{result.Base, result.Head} {
				m := result.Measurement{ID: "p.BenchmarkX", Round: i, Pass: pass, Arm: arm, Value: 100 * math.Exp(0.002*rng.NormFloat64())}
				if rng.Float64() < 0.25 {
					m.Contaminated = true
					m.Value *= 1 + 2*rng.Float64()
				}
				r.sample(m)
			}
		}
		r.commit("p.BenchmarkX", i, result.Lockstep)
	}
	row := r.only(t)
	if row.Verdict != Equivalent || *row.Resolution > 0.002 || warned(row.Warnings, result.WarnFilterSensitive) {
		t.Errorf("row %+v", row)
	}
	if row.MeanEstimate.CI[1]-row.MeanEstimate.CI[0] < 0.05 {
		t.Errorf("the mean is filtered: %+v", row.MeanEstimate)
	}
}
