package plan

import (
	"math"
	"testing"
	"time"

	"assay/internal/result"
)

const (
	ms  = 1e6 // ns
	mib = 1 << 20
)

func TestSize(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pilot    result.PilotCase
		kind     result.Kind
		schedule result.Schedule
		fast     [2]time.Duration // bounds of the faster arm's sample
		lead     [2]time.Duration // of the lead-in
	}{
		"fast and steady":           {result.PilotCase{FastNS: 100, SlowNS: 110}, result.Steady, result.Lockstep, [2]time.Duration{2 * ms, 5 * ms}, [2]time.Duration{0.3 * ms, 0.5 * ms}},
		"no iteration at all":       {result.PilotCase{}, result.Steady, result.Lockstep, [2]time.Duration{0, 5 * ms}, [2]time.Duration{0, ms}},
		"a fraction of a ns":        {result.PilotCase{FastNS: 0.2, SlowNS: 0.2}, result.Steady, result.Lockstep, [2]time.Duration{2 * ms, 5 * ms}, [2]time.Duration{0.3 * ms, 0.5 * ms}},
		"one iteration of 3 ms":     {result.PilotCase{FastNS: 3 * ms, SlowNS: 3 * ms}, result.Steady, result.Lockstep, [2]time.Duration{3 * ms, 3 * ms}, [2]time.Duration{}},
		"slower arm above 100 ms":   {result.PilotCase{FastNS: 100, SlowNS: 3000}, result.Steady, result.Blocks, [2]time.Duration{2 * ms, 5 * ms}, [2]time.Duration{0.3 * ms, 0.5 * ms}},
		"both above 100 ms":         {result.PilotCase{FastNS: 150 * ms, SlowNS: 160 * ms}, result.Steady, result.Blocks, [2]time.Duration{150 * ms, 150 * ms}, [2]time.Duration{}},
		"collects every 4 MiB":      {result.PilotCase{FastNS: 1000, SlowNS: 1200, AllocBytes: 1024, Collections: 1.0 / 4096}, result.Collecting, result.Lockstep, [2]time.Duration{24 * ms, 25 * ms}, [2]time.Duration{}},
		"collects once in 20 ms":    {result.PilotCase{FastNS: 1000, SlowNS: 1000, AllocBytes: 210, Collections: 1.0 / 20_000}, result.Collecting, result.Lockstep, [2]time.Duration{100 * ms, 130 * ms}, [2]time.Duration{}},
		"collects once in a second": {result.PilotCase{FastNS: 1000, SlowNS: 1000, AllocBytes: 5, Collections: 1e-6}, result.Collecting, result.Lockstep, [2]time.Duration{500 * ms, 500 * ms}, [2]time.Duration{}},
		"one arm alone collects":    {result.PilotCase{FastNS: 500, SlowNS: 3000, AllocBytes: 2048}, result.Collecting, result.Lockstep, [2]time.Duration{50 * ms, 50 * ms}, [2]time.Duration{}},
		"allocates too little":      {result.PilotCase{FastNS: 1000, SlowNS: 1000, AllocBytes: 4}, result.Steady, result.Lockstep, [2]time.Duration{2 * ms, 5 * ms}, [2]time.Duration{0.3 * ms, 0.5 * ms}},
		"RunParallel":               {result.PilotCase{FastNS: 100, SlowNS: 100, RunParallel: true, Runnable: 1}, result.Parallel, result.Blocks, [2]time.Duration{50 * ms, 50 * ms}, [2]time.Duration{}},
		"several runnable":          {result.PilotCase{FastNS: 100, SlowNS: 100, Runnable: 3, Collections: 1e-4}, result.Parallel, result.Blocks, [2]time.Duration{50 * ms, 50 * ms}, [2]time.Duration{}},
		"set-up of 4 ms":            {result.PilotCase{FastNS: 100, SlowNS: 100, SetupNS: 4 * ms}, result.Steady, result.Lockstep, [2]time.Duration{8 * ms, 8 * ms}, [2]time.Duration{0.3 * ms, 0.5 * ms}},
		"set-up of seconds":         {result.PilotCase{FastNS: 100, SlowNS: 100, SetupNS: 3000 * ms}, result.Steady, result.Lockstep, [2]time.Duration{50 * ms, 50 * ms}, [2]time.Duration{}},
		"cannot be frozen":          {result.PilotCase{FastNS: 100, SlowNS: 110, Unfrozen: true}, result.Steady, result.Blocks, [2]time.Duration{2 * ms, 5 * ms}, [2]time.Duration{0.3 * ms, 0.5 * ms}},
		"one arm optimised away":    {result.PilotCase{FastNS: 0.3, SlowNS: 2000}, result.Steady, result.Blocks, [2]time.Duration{0.05 * ms, 5 * ms}, [2]time.Duration{0.05 * ms, 0.5 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Size(test.pilot)
			if got.Kind != test.kind || got.Schedule != test.schedule {
				t.Errorf("%s in %s, want %s in %s", got.Kind, got.Schedule, test.kind, test.schedule)
			}
			within(t, "sample of the faster arm", float64(got.Iterations)*test.pilot.FastNS, test.fast)
			within(t, "lead-in", float64(got.Lead)*test.pilot.FastNS, test.lead)
			if got.Iterations < 1 || got.Lead < 0 || got.Lead > got.Iterations {
				t.Errorf("%d iterations, %d of lead-in", got.Iterations, got.Lead)
			}
			if slow := float64(got.Iterations) * test.pilot.SlowNS; got.Iterations > 1 && slow > 1010*ms {
				t.Errorf("a sample of the slower arm takes %v", time.Duration(slow))
			}
			if got.Schedule == result.Lockstep && got.Kind == result.Steady && float64(got.Iterations)*test.pilot.SlowNS > 100*ms {
				t.Error("lockstep with samples above 100 ms")
			}
		})
	}
}

func within(t *testing.T, what string, ns float64, bounds [2]time.Duration) {
	t.Helper()
	// A hundredth of slack for whole iterations.
	if ns < 0.99*float64(bounds[0]) || ns > 1.01*float64(bounds[1]) {
		t.Errorf("%s of %v, want %v to %v", what, time.Duration(ns), bounds[0], bounds[1])
	}
}

func TestCollectingSamplesHoldFiveCycles(t *testing.T) {
	t.Parallel()
	for _, every := range []float64{100, 1e4, 4e4, 9e4} { // iterations between collections, of 1 µs
		size := Size(result.PilotCase{FastNS: 1000, SlowNS: 1500, AllocBytes: 4 * mib / every, Collections: 1 / every})
		if cycles := float64(size.Iterations) / every; cycles < minCollections {
			t.Errorf("a collection every %v iterations: %v in a sample of %d", every, cycles, size.Iterations)
		}
	}
}

// calibrateCase calibrates one case beside an ordinary one.
func calibrateCase(t *testing.T, draft result.Draft, info result.Case, pilot *result.PilotCase) result.CasePlan {
	t.Helper()
	info.ID, info.Title = "p.BenchmarkA", "BenchmarkA"
	other := result.Case{ID: "p.BenchmarkB", Title: "BenchmarkB", Package: "p"}
	summary := result.PilotSummary{Cases: []result.PilotCase{{ID: other.ID, FastNS: 100, SlowNS: 100, StartNS: ms, OverheadNS: ms / 10}}}
	if pilot != nil {
		pilot.ID = info.ID
		summary.Cases = append(summary.Cases, *pilot)
	}
	cal, err := Calibrate(draft, result.Expansion{Cases: []result.Case{info, other}}, summary, 0)
	if err != nil {
		t.Fatal(err)
	}
	return cal.Cases[0]
}

func TestSkips(t *testing.T) {
	t.Parallel()
	pilot := result.PilotCase{FastNS: 100, SlowNS: 100, StartNS: ms}
	failed := pilot
	failed.Failed = []result.Failure{{Arm: result.Head}}
	parallel := pilot
	parallel.RunParallel = true
	oneCore := twoArms()
	oneCore.ParallelCPUs = []int{0}
	for name, test := range map[string]struct {
		draft result.Draft
		info  result.Case
		pilot *result.PilotCase
		want  string
	}{
		"measured":              {twoArms(), result.Case{}, &pilot, ""},
		"failed when listed":    {twoArms(), result.Case{Failed: []result.Failure{{}}}, nil, SkipFailed},
		"failed in the pilot":   {twoArms(), result.Case{}, &failed, SkipFailed},
		"missing":               {twoArms(), result.Case{Missing: []result.Arm{result.Base}}, nil, SkipMissing},
		"identical":             {twoArms(), result.Case{Identical: true}, nil, SkipIdentical},
		"identical control":     {twoArms(), result.Case{Identical: true, Control: true}, &pilot, ""},
		"interrupted":           {twoArms(), result.Case{}, nil, SkipUnpiloted},
		"parallel on two cores": {twoArms(), result.Case{}, &parallel, ""},
		"parallel on one core":  {oneCore, result.Case{}, &parallel, SkipCores},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pilot *result.PilotCase
			if test.pilot != nil {
				copied := *test.pilot
				pilot = &copied
			}
			got := calibrateCase(t, test.draft, test.info, pilot)
			if got.Skip != test.want {
				t.Errorf("skipped for %q, want %q", got.Skip, test.want)
			}
			if (got.Skip == "") != (got.CostNS > 0) {
				t.Errorf("skipped for %q at a cost of %d", got.Skip, got.CostNS)
			}
			if warned := hasWarning(got.Warnings, result.WarnParallelNeedsCores); warned != (test.want == SkipCores) {
				t.Errorf("warnings %v", got.Warnings)
			}
			if cores := name == "parallel on two cores"; cores != (len(got.CPUs) == 2) {
				t.Errorf("cores %v", got.CPUs)
			}
		})
	}
}

func hasWarning(warnings []result.Warning, code string) bool {
	for _, w := range warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

func TestSizeWarnings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pilot result.PilotCase
		code  string
		want  bool
	}{
		"constant":            {result.PilotCase{FastNS: 100, SlowNS: 100, IterationChange: 0.04}, result.WarnDependsOnIterations, false},
		"growing":             {result.PilotCase{FastNS: 100, SlowNS: 100, IterationChange: 0.06}, result.WarnDependsOnIterations, true},
		"shrinking":           {result.PilotCase{FastNS: 100, SlowNS: 100, IterationChange: -0.06}, result.WarnDependsOnIterations, true},
		"an empty loop":       {result.PilotCase{FastNS: 0.01, SlowNS: 3}, result.WarnOptimisedAway, true},
		"a fast instruction":  {result.PilotCase{FastNS: 0.25, SlowNS: 0.25}, result.WarnOptimisedAway, false},
		"an ordinary routine": {result.PilotCase{FastNS: 20, SlowNS: 20}, result.WarnOptimisedAway, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := hasWarning(calibrateCase(t, twoArms(), result.Case{}, &test.pilot).Warnings, test.code); got != test.want {
				t.Errorf("warned %v, want %v", got, test.want)
			}
		})
	}
}

func TestChooseRule(t *testing.T) {
	t.Parallel()
	pilots := []result.RulePilot{{Rule: result.RuleNone, Kept: 18, Spread: 0.05}, {Rule: result.RuleSwitches, Kept: 9, Spread: 0.01},
		{Rule: result.RuleCPU, Kept: 12, Spread: 0.02, LimitNS: 500}, {Rule: result.RuleSteal, Kept: 0, Spread: 0}}
	if rule, limit := chooseRule(result.Steady, pilots); rule != result.RuleSwitches || limit != 0 {
		t.Errorf("steady: %s at %d", rule, limit)
	}
	if rule, limit := chooseRule(result.Collecting, pilots); rule != result.RuleCPU || limit != 500 {
		t.Errorf("collecting: %s at %d", rule, limit)
	}
	if rule, _ := chooseRule(result.Steady, nil); rule != result.RuleNone {
		t.Errorf("nothing known: %s", rule)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	if got := calibrateCase(t, twoArms(), result.Case{}, &result.PilotCase{FastNS: 100, SlowNS: 100}).TimeoutNS; got != int64(20*time.Second) {
		t.Errorf("a short sample counts as hung after %v", time.Duration(got))
	}
	got := calibrateCase(t, twoArms(), result.Case{}, &result.PilotCase{FastNS: 100, SlowNS: 100, SetupNS: int64(5 * time.Second)}).TimeoutNS
	if got < int64(100*time.Second) || got > int64(110*time.Second) {
		t.Errorf("a set-up of 5 s counts as hung after %v", time.Duration(got))
	}
}

func TestRoundsNeeded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		cases, looks, want int
	}{{1, 1, 6}, {25, 1, 10}, {26, 1, 11}, {1, 3, 7}, {0, 0, 6}} {
		n := RoundsNeeded(test.cases, test.looks, 0.05)
		if n != test.want {
			t.Errorf("%d cases, %d looks: %d rounds, want %d", test.cases, test.looks, n, test.want)
		}
		level := 0.05 / float64(max(test.cases, 1)*max(test.looks, 1))
		if 2/math.Pow(2, float64(n)) > level || 2/math.Pow(2, float64(n-1)) <= level {
			t.Errorf("%d rounds are not the fewest whose smallest p is at most %v", n, level)
		}
	}
}
