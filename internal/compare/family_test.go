package compare

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/result"
	"assay/internal/stats"
)

// Eleven cases of which one failed, one is a control, one is identical and one
// is missing: the family has eight, and the failed one keeps p = 1.
func TestElevenCaseHolm(t *testing.T) {
	t.Parallel()
	r := newRun()
	rng := source(11)
	for i := range 11 {
		id := caseName(i)
		r.add(id, func(c *result.Case, p *result.CasePlan) {
			switch i {
			case 7:
				c.Control = true
			case 8:
				c.Identical, p.Skip = true, "identical-binary"
			case 9:
				c.Missing, p.Skip = []result.Arm{result.Base}, "missing"
			}
		})
		if i == 8 || i == 9 {
			continue
		}
		r.noisy(id, 12, []float64{-0.1, 0.03, 0, 0, 0, 0, 0, 0, 0, 0, 0}[i], rng)
	}
	r.put(result.Failure{Arm: result.Head, ID: caseName(10), Reason: result.FailHang})
	if got := familySize(r.plan); got != 8 {
		t.Fatalf("family of %d, want 8", got)
	}
	file := Arms(&r.b, r.plan)
	var p []float64
	for _, row := range file.Benchmarks[:7] {
		p = append(p, *row.P)
	}
	adjusted := stats.Holm(append(p, 1))
	for i := range 7 {
		if got := *file.Benchmarks[i].PAdjusted; got != adjusted[i] {
			t.Errorf("case %d: adjusted p %v, want %v", i, got, adjusted[i])
		}
	}
	if control := file.Benchmarks[7]; *control.PAdjusted != *control.P || !control.Control {
		t.Errorf("the control is in the family: %+v", control)
	}
	if file.Benchmarks[10].PAdjusted != nil {
		t.Error("a failed case has an adjusted p")
	}
	want := Summary{Faster: 1, Slower: 1, Equivalent: 6, Identical: 1, Missing: 1, Failed: 1}
	if diff := cmp.Diff(want, file.Summary); diff != "" {
		t.Error(diff)
	}
	if file.Geomean == nil || file.Geomean.Cases != 8 || math.Abs(file.Geomean.Delta-math.Expm1((math.Log(0.9)+math.Log(1.03))/8)) > 0.002 {
		t.Errorf("geomean %+v", file.Geomean)
	}
}

func TestTooFewRounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rounds, cases, phase int
		want                 bool
	}{{10, 25, -1, false}, {10, 26, -1, true}, {10, 11, -1, false}, {11, 11, 3, false}, {10, 11, 1, true}, {12, 11, 3, false}} {
		r := newRun()
		r.plan.Calibration.Rounds = c.rounds
		for i := range c.cases {
			r.add(caseName(i), func(_ *result.Case, p *result.CasePlan) { p.BlockPhase = c.phase })
		}
		file := Arms(&r.b, r.plan)
		if got := warned(file.Warnings, result.WarnTooFewRounds); got != c.want {
			t.Errorf("%d rounds, %d cases, phase %d: warned %v", c.rounds, c.cases, c.phase, got)
		}
	}
	// What the plan already said is not said again.
	r := newRun()
	r.plan.Calibration.Rounds = 3
	r.plan.Calibration.Warnings = []result.Warning{{Code: result.WarnTooFewRounds, Text: "said"}}
	r.add("p.BenchmarkX", nil)
	if file := Arms(&r.b, r.plan); len(file.Warnings) != 1 {
		t.Errorf("warnings %v", file.Warnings)
	}
}

func TestRoundsNeeded(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.add("p.BenchmarkX", func(_ *result.Case, p *result.CasePlan) { p.BlockPhase = 3 })
	rng := source(12)
	for i := range 16 {
		if i%4 != 3 {
			level := math.Exp(0.05 * rng.NormFloat64())
			r.passes("p.BenchmarkX", i, scatter(rng, 12, 200, 0.005), scatter(rng, 12, 200*level, 0.005))
		}
	}
	row := r.only(t)
	// Half-width of about 3 % against a target between half the margin and the
	// estimate: many times the 12 rounds, and a third more for the block rounds.
	if row.Verdict != Inconclusive || row.RoundsNeeded < 40 || row.RoundsNeeded > 16*40 {
		t.Errorf("%s, %d rounds needed at a resolution of %v", row.Verdict, row.RoundsNeeded, *row.Resolution)
	}
	few := newRun()
	few.add("p.BenchmarkX", nil)
	few.noisy("p.BenchmarkX", 3, 0, source(1))
	if row := few.only(t); row.CI != nil || row.Resolution != nil || row.RoundsNeeded < 6 {
		t.Errorf("three rounds: %+v", row)
	}
}

func TestPlantedControl(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.add("p.BenchmarkX", func(_ *result.Case, p *result.CasePlan) { p.Planted = true })
	rng := source(13)
	for i := range 12 {
		base := scatter(rng, 12, 200, 0.004)
		for pass := range base {
			for _, arm := range []struct {
				name  result.Arm
				value float64
			}{{result.PlantedOne, 1}, {result.PlantedTwo, 1.02}} {
				r.sample(result.Measurement{ID: "p.BenchmarkX", Round: i, Pass: pass, Arm: arm.name, Value: arm.value * 200 * math.Exp(0.004*rng.NormFloat64())})
			}
		}
		r.passes("p.BenchmarkX", i, base, scatter(rng, 12, 200, 0.004))
	}
	file := Arms(&r.b, r.plan)
	if len(file.Planted) != 2 || file.Planted[0].Found || !file.Planted[1].Found {
		t.Fatalf("planted %+v", file.Planted)
	}
	if got := file.Planted[1]; got.True != 0.02 || math.Abs(got.Estimate.Delta-0.02) > 0.005 {
		t.Errorf("planted 2 %%: %+v", got)
	}
	if !warned(file.Warnings, warnPlanted) {
		t.Errorf("no warning: %v", file.Warnings)
	}
}

func TestNotSupportedIsOfTheRun(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.add("p.BenchmarkX", nil)
	r.noisy("p.BenchmarkX", 12, 0, source(14))
	r.add("p.BenchmarkY", func(c *result.Case, p *result.CasePlan) { c.Missing, p.Skip = []result.Arm{result.Head}, "missing" })
	text := strings.Join(Arms(&r.b, r.plan).NotSupported, "\n")
	for _, part := range []string{"Test CPU", "pinned to one core (1)", "go1.26.8", "GOAMD64=v1", "load average of 1.1", "Measured: time.",
		"one build per arm", "half-width", "1 missing on one arm", "single threaded"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func TestUnplannedCaseIsNamed(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.passes("p.BenchmarkStray", 0, repeat(1, 5), repeat(1, 5))
	file := Arms(&r.b, r.plan)
	if !warned(file.Warnings, warnUnplanned) || len(file.Benchmarks) != 0 {
		t.Errorf("%+v", file)
	}
}
