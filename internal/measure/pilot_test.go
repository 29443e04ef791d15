package measure_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/compare"
	"assay/internal/measure"
	"assay/internal/measure/simulate"
	"assay/internal/plan"
	"assay/internal/result"
)

// list lists and expands.
func (l *lab) list() (result.Expansion, []plan.Listing) {
	l.Helper()
	listings, err := l.session.List(context.Background(), l.draft, l.artifacts)
	if err != nil {
		l.Fatal(err)
	}
	e, err := plan.Expand(l.draft, l.artifacts, listings, simulate.Adapter{}.Match)
	if err != nil {
		l.Fatal(err)
	}
	return e, listings
}

// pilot lists, expands and pilots all cases.
func (l *lab) pilot(sink *recorder) []result.PilotCase {
	l.Helper()
	e, _ := l.list()
	facts, err := l.session.Pilot(context.Background(), l.draft, e, sink)
	if err != nil {
		l.Fatal(err)
	}
	if n := l.machine.Alive(); n != 0 {
		l.Errorf("%d processes are left after the pilot", n)
	}
	return facts
}

func near(got, want float64) bool { return math.Abs(got-want) <= 0.02*math.Abs(want)+1e-9 }

// TestPilotFacts: what the pilot finds out about cases of each kind, and the
// schedule that follows.
func TestPilotFacts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		base, head string
		kind       result.Kind
		schedule   result.Schedule
		check      func(result.PilotCase) bool
	}{
		"fast": {"BenchmarkA 120", "BenchmarkA 100", result.Steady, result.Lockstep, func(p result.PilotCase) bool {
			return near(p.FastNS, 100) && near(p.SlowNS, 120) && p.AllocBytes == 0 && p.Collections == 0 && p.Runnable == 1 && math.Abs(p.IterationChange) < 0.001 && near(float64(p.StartNS), 2e6)
		}},
		"a fraction of a ns": {"BenchmarkA 0.3", "BenchmarkA 0.2", result.Steady, result.Lockstep, func(p result.PilotCase) bool { return near(p.FastNS, 0.2) && near(p.SlowNS, 0.3) }},
		"slow":               {"BenchmarkA 2e8", "BenchmarkA 1.5e8", result.Steady, result.Blocks, func(p result.PilotCase) bool { return p.Iterations == 1 && near(p.FastNS, 1.5e8) }},
		"collecting": {"BenchmarkA 1000 alloc=1024 gc=4194304 gccost=100us", "BenchmarkA 1000 alloc=512 gc=4194304 gccost=100us", result.Collecting, result.Lockstep, func(p result.PilotCase) bool {
			return near(p.AllocBytes, 1024) && math.Abs(p.Collections*8192-1) < 0.2 // of the arm with fewer, counted in whole ones
		}},
		"one arm collects":      {"BenchmarkA 1000", "BenchmarkA 1000 alloc=1024 gc=4194304", result.Collecting, result.Lockstep, func(p result.PilotCase) bool { return near(p.AllocBytes, 1024) && math.Abs(p.Collections*4096-1) < 0.2 }},
		"allocates little":      {"BenchmarkA 1e5 alloc=16", "BenchmarkA 1e5 alloc=16", result.Steady, result.Lockstep, func(p result.PilotCase) bool { return p.AllocBytes < 17 && p.Collections == 0 }},
		"one iteration of 3 ms": {"BenchmarkA 3e6", "BenchmarkA 3e6", result.Steady, result.Lockstep, func(p result.PilotCase) bool { return p.AllocBytes == 0 }},
		"set-up allocates":      {"BenchmarkA 1000 setupalloc=3e6", "BenchmarkA 1000 setupalloc=3e6", result.Steady, result.Lockstep, func(p result.PilotCase) bool { return p.AllocBytes == 0 }},
		"parallel":              {"BenchmarkA 500 parallel", "BenchmarkA 500", result.Parallel, result.Blocks, func(p result.PilotCase) bool { return p.RunParallel }},
		"several threads":       {"BenchmarkA 500", "BenchmarkA 500 runnable=2", result.Parallel, result.Blocks, func(p result.PilotCase) bool { return p.Runnable == 2 && !p.RunParallel }},
		"parallel with a set-up": {"BenchmarkA 500 parallel setup=1s", "BenchmarkA 500 parallel setup=1s", result.Parallel, result.Blocks, func(p result.PilotCase) bool {
			return near(float64(p.OverheadNS), 1e9)
		}},
		"set-up": {"BenchmarkA 100 setup=2s", "BenchmarkA 90", result.Steady, result.Lockstep, func(p result.PilotCase) bool {
			return near(float64(p.SetupNS), 2e9) && near(float64(p.OverheadNS), 1e9)
		}},
		"depends on iterations":     {"BenchmarkA 100 grow=0.2", "BenchmarkA 100", result.Steady, result.Lockstep, func(p result.PilotCase) bool { return near(p.IterationChange, math.Pow(2, 0.2)-1) }},
		"arms a thousandfold apart": {"BenchmarkA 1e6", "BenchmarkA 0.5", result.Steady, result.Blocks, func(p result.PilotCase) bool { return near(p.SlowNS, 1e6) && near(p.FastNS, 0.5) }},
		"dear start":                {"program start=300ms\nBenchmarkA 100", "BenchmarkA 100", result.Steady, result.Lockstep, func(p result.PilotCase) bool { return near(float64(p.StartNS), 3e8) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, freezing(), test.base, test.head)
			sink := &recorder{T: t, machine: l.machine}
			facts := l.pilot(sink)
			if len(facts) != 1 || len(facts[0].Failed) != 0 {
				t.Fatalf("facts %+v", facts)
			}
			if size := plan.Size(facts[0]); size.Kind != test.kind || size.Schedule != test.schedule || !test.check(facts[0]) {
				t.Errorf("%s in %s, facts %+v", size.Kind, size.Schedule, facts[0])
			}
			if took := l.machine.Elapsed(); took > 2*time.Minute {
				t.Errorf("the pilot took %v", took)
			}
			for _, m := range of[result.Measurement](sink) {
				if !m.Pilot {
					t.Fatalf("a sample of the pilot is not marked: %+v", m)
				}
			}
			// The same programs the other way round: the same facts.
			swapped := newLab(t, freezing(), test.head, test.base)
			if diff := cmp.Diff(facts, swapped.pilot(&recorder{T: t, machine: swapped.machine})); diff != "" {
				t.Errorf("the pilot is not blind to labels (-as is +swapped):\n%s", diff)
			}
		})
	}
}

// TestWholePilot: what the analysing half makes of the pilot's samples leaves each
// case in its kind, also where the worker itself allocates in every call.
func TestWholePilot(t *testing.T) {
	t.Parallel()
	base := strings.Join([]string{"BenchmarkFast 100", "BenchmarkBig 3e6", "BenchmarkSlow 2e8", "BenchmarkCollecting 1000 alloc=1024 gc=4194304 gccost=100us",
		"BenchmarkParallel 500 parallel", "BenchmarkLittle 1e5 alloc=16"}, "\n")
	config := freezing()
	config.Noise.Quiet = 0.005
	l := newLab(t, config, base, strings.ReplaceAll(base, "BenchmarkFast 100", "BenchmarkFast 90"))
	e, _ := l.list()
	sink := &recorder{T: t, machine: l.machine}
	begin := l.machine.Elapsed()
	facts, err := l.session.Pilot(context.Background(), l.draft, e, sink)
	if err != nil {
		t.Fatal(err)
	}
	builder := &compare.Builder{}
	for _, record := range sink.records {
		if err := builder.Put(record); err != nil {
			t.Fatal(err)
		}
	}
	summary := compare.Pilot(builder, facts)
	cal, err := plan.Calibrate(l.draft, e, summary, l.machine.Elapsed()-begin)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range cal.Cases {
		got[strings.TrimPrefix(string(c.ID), pkg+".Benchmark")] = string(c.Kind) + " in " + string(c.Schedule)
	}
	want := map[string]string{"Fast": "steady in lockstep", "Big": "steady in lockstep", "Slow": "steady in blocks", "Collecting": "collecting in lockstep",
		"Parallel": "parallel in blocks", "Little": "steady in lockstep"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	// The plan's idea of what the run costs is right.
	begin = l.machine.Elapsed()
	p := result.Plan{Draft: l.draft, Expansion: e, Calibration: cal}
	run := l.run(p, nil)
	took, expected := float64(l.machine.Elapsed()-begin), float64(cal.ExpectedNS)
	if took < 0.85*expected || took > 1.15*expected {
		t.Errorf("the run took %v, expected %v", time.Duration(took), time.Duration(expected))
	}
	if len(run.committed()) != len(cal.Cases)*cal.Rounds {
		t.Errorf("%d rounds of cases are committed, want %d", len(run.committed()), len(cal.Cases)*cal.Rounds)
	}
}

// TestPilotFailures: what fails in the pilot is a fact of its case; the others go on.
func TestPilotFailures(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), "BenchmarkA 100\nBenchmarkB 100 crash=4\nBenchmarkC 100\n", "BenchmarkA 100 hang=2\nBenchmarkB 100\nBenchmarkC 100\n")
	sink := &recorder{T: t, machine: l.machine}
	facts := l.pilot(sink)
	if len(facts) != 3 || len(facts[2].Failed) != 0 {
		t.Fatalf("facts %+v", facts)
	}
	for i, want := range []struct {
		arm    result.Arm
		reason result.FailureReason
	}{{result.Head, result.FailHang}, {result.Base, result.FailCrash}} {
		if f := facts[i].Failed; len(f) != 1 || f[0].Arm != want.arm || f[0].Reason != want.reason || f[0].ID != facts[i].ID {
			t.Errorf("case %d: failures %+v, want %s on %s", i, f, want.reason, want.arm)
		}
	}
	if n := len(of[result.Failure](sink)); n != 2 {
		t.Errorf("%d failures are stored", n)
	}
}

// TestPilotInterrupted: the facts so far are returned.
func TestPilotInterrupted(t *testing.T) {
	t.Parallel()
	text := "BenchmarkA 100\nBenchmarkB 100\n"
	l := newLab(t, freezing(), text, text)
	e, _ := l.list()
	_, err := l.session.Pilot(context.Background(), l.draft, e, &recorder{T: t, machine: l.machine})
	if err != nil {
		t.Fatal(err)
	}
	config := freezing()
	config.AfterSamples = l.machine.Samples()/2 + 3
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	config.Interrupt = cancel
	l.boot(config)
	facts, err := l.session.Pilot(ctx, l.draft, e, &recorder{T: t, machine: l.machine})
	if !errors.Is(err, measure.ErrInterrupted) || len(facts) != 1 || l.machine.Alive() != 0 {
		t.Errorf("error %v, %d facts, %d processes left", err, len(facts), l.machine.Alive())
	}
}

// TestList: what crashes, hangs or exits is blamed by name and left out of the
// next try; what fails or skips itself is known as such.
func TestList(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), strings.Join([]string{"BenchmarkA/x 10", "BenchmarkB 10 crash=list", "BenchmarkC/y 10 hang=list", "BenchmarkC/z 10", "BenchmarkD 10 exit=list",
		"BenchmarkE 10 fail", "BenchmarkF 10 skip", "BenchmarkG 10 external"}, "\n"), "BenchmarkA/x 10\nBenchmarkG 10 external\n")
	l.draft.Recipes[0].External = []string{"BenchmarkG"}
	listings, err := l.session.List(context.Background(), l.draft, l.artifacts)
	if err != nil {
		t.Fatal(err)
	}
	type short struct {
		Arm      result.Arm
		External bool
		Names    []string
		Skipped  []string
		Failed   []string
	}
	var got []short
	for _, x := range listings {
		s := short{x.Arm, x.External, x.Names, x.Skipped, nil}
		for _, f := range x.Failed {
			s.Failed = append(s.Failed, strings.TrimPrefix(string(f.ID), pkg+".")+" "+string(f.Reason))
		}
		got = append(got, s)
	}
	want := []short{
		{result.Base, false, []string{"BenchmarkA/x"}, []string{"BenchmarkF"}, []string{"BenchmarkB crash", "BenchmarkC hang", "BenchmarkD crash", "BenchmarkE failed"}},
		{result.Base, true, []string{"BenchmarkG"}, nil, nil},
		{result.Head, false, []string{"BenchmarkA/x"}, nil, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listings (-want +got):\n%s", diff)
	}
	if l.machine.Alive() != 0 {
		t.Errorf("%d processes are left", l.machine.Alive())
	}
	for _, f := range listings[0].Failed {
		if f.Reason == result.FailHang && !strings.Contains(f.Text, "no answer within 1m0s") || f.Reason == result.FailCrash && !strings.Contains(f.Text, "exit status") {
			t.Errorf("%s: %q", f.ID, f.Text)
		}
	}
}

// TestListPackageFails: a package that did not build or whose worker never
// answers fails as a whole, and its cases with it.
func TestListPackageFails(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]result.FailureReason{"exits": result.FailStart, "silent": result.FailHang, "build": result.FailBuild} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, freezing(), "program "+name+"\nBenchmarkA 10\n", "BenchmarkA 10\n")
			if name == "build" {
				l.artifacts[0].Failure = &result.BuildFailure{Text: "undefined: X"}
			}
			e, listings := l.list()
			if f := listings[0].Failed; len(listings) != 2 || len(f) != 1 || f[0].ID != "" || f[0].Reason != reason || f[0].Arm != result.Base {
				t.Fatalf("listings %+v", listings)
			}
			if c := e.Cases; len(c) != 1 || len(c[0].Failed) != 1 || c[0].Failed[0].Reason != reason || plan.Measured(l.draft, c[0]) {
				t.Errorf("cases %+v", c)
			}
		})
	}
}

func TestListInterrupted(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), "BenchmarkA 10\n", "BenchmarkA 10\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.session.List(ctx, l.draft, l.artifacts); !errors.Is(err, measure.ErrInterrupted) && !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
