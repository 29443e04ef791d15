package measure_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/measure"
	"assay/internal/measure/simulate"
	"assay/internal/plan"
	"assay/internal/result"
)

const (
	caseA = result.CaseID(pkg + ".BenchmarkA")
	caseB = result.CaseID(pkg + ".BenchmarkB")
)

// TestSameIterations: every arm gets the same number of iterations and of
// samples; the planted arms take part in some passes and show what was planted.
func TestSameIterations(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), "BenchmarkA 1000\n", "BenchmarkA 700\n")
	p := l.schedule(4, lockstep(3), "BenchmarkA")
	p.Calibration.Cases[0].Planted = true
	sink := l.run(p, nil)
	samples := map[result.Arm]int{}
	for _, m := range sink.counted() {
		samples[m.Arm]++
		want, value := int64(1000), map[result.Arm]float64{result.Base: 1000, result.Head: 700, result.PlantedOne: 1010, result.PlantedTwo: 1020}[m.Arm]
		if m.Arm == result.PlantedOne || m.Arm == result.PlantedTwo {
			want = int64(value)
		}
		if m.Iterations != want || math.Abs(m.Value-value) > 1e-6 || m.Unit != "ns/op" || m.Status != result.StatusOK || m.Procs != 1 {
			t.Errorf("%s: %d iterations of %v %s, want %d of %v", m.Arm, m.Iterations, m.Value, m.Unit, want, value)
		}
	}
	// Three lockstep rounds of two passes, the planted arms in the first of each;
	// one round of blocks of three.
	if diff := cmp.Diff(map[result.Arm]int{result.Base: 9, result.Head: 9, result.PlantedOne: 3, result.PlantedTwo: 3}, samples); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	for i, m := range of[result.Measurement](sink) {
		if m.Seq != int64(i+1) {
			t.Fatalf("measurement %d has number %d", i+1, m.Seq)
		}
	}
}

// TestOrders: slots and passes run in the orders that the plan draws, and these
// vary.
func TestOrders(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), "BenchmarkA 1000\n", "BenchmarkA 700\n")
	c := lockstep(-1)
	c.Passes = 8
	p := l.schedule(6, c, "BenchmarkA")
	sink := l.run(p, nil)
	arms := []result.Arm{result.Base, result.Head}
	got := map[string][]result.Arm{}
	var slots, passes []string
	for _, m := range sink.counted() {
		key := fmt.Sprintf("%d %d", m.Round, m.Pass)
		if m.Position != len(got[key]) {
			t.Errorf("round and pass %s: %s has position %d", key, m.Arm, m.Position)
		}
		got[key] = append(got[key], m.Arm)
		if want := plan.PassOrder(p.Draft.Seed, m.Round, caseA, m.Pass, arms); !slices.Equal(got[key], want[:len(got[key])]) {
			t.Errorf("round and pass %s: %v, want %v", key, got[key], want)
		}
		passes = append(passes, fmt.Sprint(got[key]))
	}
	paddings := map[int]bool{}
	for _, slot := range of[result.Slot](sink) {
		want := plan.SlotOrder(p.Draft.Seed, slot.Round, caseA, arms)[slot.Position]
		if slot.Arm != want || slot.ID != caseA || slot.Digest != "sha256:"+string(slot.Arm) || slot.StartNS < int64(time.Millisecond) || !slices.Equal(slot.CPUs, []int{1}) {
			t.Errorf("slot %+v, want arm %s", slot, want)
		}
		slots = append(slots, fmt.Sprint(slot.Position, slot.Arm))
		paddings[slot.Padding] = true
	}
	slices.Sort(slots)
	slices.Sort(passes)
	if len(slices.Compact(slots)) != 4 || len(slices.Compact(passes)) != 4 || len(paddings) < 10 {
		t.Errorf("slot orders %v, pass orders %v, %d paddings", slots, passes, len(paddings))
	}
}

// TestCommitsAfterSamples: the record that commits a round follows all its
// samples and names their slots.
func TestCommitsAfterSamples(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), "BenchmarkA 1000\nBenchmarkB 10\n", "BenchmarkA 700\nBenchmarkB 10\n")
	c := lockstep(1)
	for _, shared := range []bool{false, true} {
		c.Shared = shared
		sink := l.run(l.schedule(5, c, "BenchmarkA", "BenchmarkB"), nil)
		open, closed := map[measure.Done][]int{}, map[measure.Done]bool{}
		for _, record := range sink.records {
			switch v := record.(type) {
			case result.Measurement:
				done := measure.Done{Round: v.Round, ID: v.ID}
				open[done] = append(open[done], v.Slot)
				if closed[done] {
					t.Fatalf("shared %v: %v: a sample after its commit", shared, done)
				}
			case result.Round:
				done := measure.Done{Round: v.Round, ID: v.ID}
				closed[done] = true
				slots := slices.Clone(open[done])
				slices.Sort(slots)
				want := slices.Clone(v.Slots)
				slices.Sort(want)
				if slots = slices.Compact(slots); !slices.Equal(slots, want) || len(want) != 2 || v.WallNS <= 0 {
					t.Errorf("shared %v: %v commits slots %v, samples are of %v", shared, done, want, slots)
				}
			}
		}
		if len(closed) != 10 || len(open) != 10 {
			t.Errorf("shared %v: %d rounds committed, %d measured", shared, len(closed), len(open))
		}
		committedAt := 0
		for _, n := range sink.notes {
			if strings.HasPrefix(n.text, "== committed") {
				committedAt++
			}
		}
		if committedAt != 10 {
			t.Errorf("shared %v: %d commits were synced", shared, committedAt)
		}
	}
}

// TestOneCaseFails: a case that fails on an arm in the third round is reported
// there; its earlier rounds stay, the other case has all of its own.
func TestOneCaseFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		option string
		reason result.FailureReason
		text   string
	}{
		"crash": {"crash=8", result.FailCrash, "exit status 2\npanic: simulated crash of BenchmarkA"},
		"exit":  {"exit=8", result.FailCrash, "exit status 3"},
		"hang":  {"hang=8", result.FailHang, "no answer within 20s"},
		"fail":  {"fail=8", result.FailBench, "--- FAIL: BenchmarkA"},
		"skip":  {"skip=8", result.FailSkipped, "skipped itself"},
	} {
		for _, shared := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s shared %v", name, shared), func(t *testing.T) {
				t.Parallel()
				l := newLab(t, freezing(), "BenchmarkA 1000\nBenchmarkB 10\n", "BenchmarkA 700 "+test.option+"\nBenchmarkB 10\n")
				c := lockstep(-1) // three samples a round: the eighth is in the third
				c.Shared = shared
				sink := l.run(l.schedule(5, c, "BenchmarkA", "BenchmarkB"), nil)
				failures := of[result.Failure](sink)
				if len(failures) != 1 {
					t.Fatalf("failures %+v", failures)
				}
				f := failures[0]
				if f.Arm != result.Head || f.ID != caseA || f.Package != pkg || f.Round != 2 || f.Reason != test.reason || !strings.HasPrefix(f.Text, test.text) && !strings.Contains(f.Text, test.text) {
					t.Errorf("failure %+v, want %s %q", f, test.reason, test.text)
				}
				if i := slices.IndexFunc(of[result.Slot](sink), func(s result.Slot) bool { return s.Slot == f.Slot && s.Arm == result.Head && s.Round == 2 }); i < 0 {
					t.Errorf("the failure names slot %d, which is none of head in the round", f.Slot)
				}
				committed := sink.committed()
				for round := range 5 {
					if _, ok := committed[measure.Done{Round: round, ID: caseA}]; ok != (round < 2) {
						t.Errorf("round %d of the failing case is committed: %v", round, ok)
					}
					if _, ok := committed[measure.Done{Round: round, ID: caseB}]; !ok {
						t.Errorf("round %d of the other case is not committed", round)
					}
				}
				if hung := l.machine.Elapsed() > 20*time.Second; hung != (name == "hang") {
					t.Errorf("the run took %v", l.machine.Elapsed())
				}
				if name == "crash" && !strings.Contains(sink.outputs[f.Slot], "panic: simulated") {
					t.Errorf("output of the slot: %q", sink.outputs[f.Slot])
				}
			})
		}
	}
}

// TestMissingBinary: an arm without a binary fails the case, not the run.
func TestMissingBinary(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), "BenchmarkA 1000\n", "BenchmarkA 700\n")
	p := l.schedule(3, lockstep(-1), "BenchmarkA")
	p.Expansion.Artifacts = p.Expansion.Artifacts[:1]
	sink := l.run(p, nil)
	if f := of[result.Failure](sink); len(f) != 1 || f[0].Arm != result.Head || f[0].Reason != result.FailBuild || len(sink.committed()) != 0 {
		t.Errorf("failures %+v, committed %v", f, sink.committed())
	}
}

// TestStartFails: a worker that ends or stays silent before it greets.
func TestStartFails(t *testing.T) {
	t.Parallel()
	for option, reason := range map[string]result.FailureReason{"exits": result.FailStart, "silent": result.FailHang} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, freezing(), "BenchmarkA 1000\n", "program "+option+"\nBenchmarkA 700\n")
			sink := l.run(l.schedule(3, lockstep(-1), "BenchmarkA"), nil)
			f := of[result.Failure](sink)
			if len(f) != 1 || f[0].Arm != result.Head || f[0].Reason != reason || len(sink.committed()) != 0 {
				t.Errorf("failures %+v", f)
			}
			if option == "exits" && !strings.Contains(f[0].Text, "testmain: nothing to run") {
				t.Errorf("text %q", f[0].Text)
			}
		})
	}
}

// TestInterruptAndResume: an interruption after any sample ends with the round of
// a case committed, and resuming measures exactly what is missing, in the orders
// of a run that was not interrupted.
func TestInterruptAndResume(t *testing.T) {
	t.Parallel()
	base, head := "BenchmarkA 1000\nBenchmarkB 10\nBenchmarkC 10\n", "BenchmarkA 700\nBenchmarkB 10\nBenchmarkC 10 crash=5\n"
	whole := newLab(t, freezing(), base, head)
	p := whole.schedule(4, lockstep(2), "BenchmarkA", "BenchmarkB", "BenchmarkC")
	want := whole.run(p, nil)
	for _, hard := range []bool{false, true} {
		for _, after := range []int{1, 7, 20, 23, 40, whole.machine.Samples() - 1} {
			t.Run(fmt.Sprintf("after %d hard %v", after, hard), func(t *testing.T) {
				t.Parallel()
				l := newLab(t, freezing(), base, head)
				ctx, cancel := context.WithCancel(context.Background())
				kill, killNow := context.WithCancel(context.Background())
				defer killNow()
				defer cancel()
				config := freezing()
				config.AfterSamples, config.Interrupt = after, cancel
				if hard {
					config.Interrupt = func() { cancel(); killNow() }
				}
				l.boot(config)
				p.Expansion.Artifacts = l.artifacts
				first := &recorder{T: t, machine: l.machine}
				err := l.session.Run(ctx, kill, p, nil, first)
				last := after == whole.machine.Samples()-1
				if !errors.Is(err, measure.ErrInterrupted) && (hard || !last) {
					t.Fatalf("error %v, want that it was interrupted", err)
				}
				ends := of[result.End](first)
				if len(ends) != 1 || ends[0].Interrupted != (err != nil) || l.machine.Alive() != 0 {
					t.Errorf("ends %+v, %d processes left", ends, l.machine.Alive())
				}
				if !hard {
					checkWhole(t, first)
				}
				done := first.committed()
				state := first.state()
				before := len(state.Committed)

				l.boot(freezing())
				// The program's own count goes on where it was.
				second := &recorder{T: t, machine: l.machine}
				if err := l.session.Resume(context.Background(), context.Background(), p, state, measure.Options{Sink: second}); err != nil {
					t.Fatal(err)
				}
				if len(state.Committed) != before {
					t.Error("resuming changed the caller's state")
				}
				checkResumed(t, first, second, done, want)
			})
		}
	}
}

// checkWhole: no sample is of a round that was begun and not committed, but for
// the case that failed.
func checkWhole(t *testing.T, r *recorder) {
	t.Helper()
	committed := r.committed()
	for _, m := range of[result.Measurement](r) {
		if _, ok := committed[measure.Done{Round: m.Round, ID: m.ID}]; !ok && m.ID != pkg+".BenchmarkC" {
			t.Errorf("round %d of %s was begun and not committed", m.Round, m.ID)
		}
	}
}

func checkResumed(t *testing.T, first, second *recorder, done map[measure.Done]result.Round, want *recorder) {
	t.Helper()
	for _, slot := range of[result.Slot](second) {
		if slot.Slot <= first.state().LastSlot {
			t.Errorf("slot number %d is used twice", slot.Slot)
		}
	}
	for _, m := range of[result.Measurement](second) {
		if _, twice := done[measure.Done{Round: m.Round, ID: m.ID}]; twice {
			t.Errorf("round %d of %s is measured twice", m.Round, m.ID)
		}
		if m.Seq <= first.state().LastSeq {
			t.Errorf("measurement number %d is used twice", m.Seq)
		}
	}
	got := second.committed()
	for key, round := range done {
		got[key] = round
	}
	for key, round := range want.committed() {
		if key.ID == pkg+".BenchmarkC" {
			continue // whether it crashes depends on the process's own count
		}
		if !slices.Equal(got[key].Order, round.Order) || got[key].Schedule != round.Schedule {
			t.Errorf("%v: %v in %s, uninterrupted %v in %s", key, got[key].Order, got[key].Schedule, round.Order, round.Schedule)
		}
	}
	orders := func(all ...*recorder) map[string][]result.Arm {
		out := map[string][]result.Arm{}
		for _, r := range all {
			for _, m := range r.counted() {
				if committed, ok := r.committed()[measure.Done{Round: m.Round, ID: m.ID}]; ok && slices.Contains(committed.Slots, m.Slot) && m.ID != pkg+".BenchmarkC" {
					key := fmt.Sprint(m.Round, m.ID, m.Pass)
					out[key] = append(out[key], m.Arm)
				}
			}
		}
		return out
	}
	if diff := cmp.Diff(orders(want), orders(first, second)); diff != "" {
		t.Errorf("orders of passes (-uninterrupted +resumed):\n%s", diff)
	}
}

// TestLooks: the stopper is asked at the plan's looks alone, never after the last
// round; what it stops gets no further round; a resumed run replays its answers.
func TestLooks(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), "BenchmarkA 1000\nBenchmarkB 10\n", "BenchmarkA 700\nBenchmarkB 10\n")
	p := l.schedule(6, lockstep(-1), "BenchmarkA", "BenchmarkB")
	p.Calibration.Looks = []result.Look{{AfterRound: 2}, {AfterRound: 4}, {AfterRound: 6}}
	var asked []int
	stop := func(after int) ([]result.CaseID, error) {
		asked = append(asked, after)
		if after == 2 {
			return []result.CaseID{caseB}, nil
		}
		return nil, nil
	}
	sink := l.run(p, stop)
	if !slices.Equal(asked, []int{2, 4}) {
		t.Errorf("asked after rounds %v", asked)
	}
	committed := sink.committed()
	for round := range 6 {
		if _, ok := committed[measure.Done{Round: round, ID: caseA}]; !ok {
			t.Errorf("round %d of the case that goes on is missing", round)
		}
		if _, ok := committed[measure.Done{Round: round, ID: caseB}]; ok != (round < 2) {
			t.Errorf("round %d of the case that was stopped is committed: %v", round, ok)
		}
	}
	if diff := cmp.Diff([]result.LookResult{{AfterRound: 2, Stopped: []result.CaseID{caseB}}, {AfterRound: 4}}, of[result.LookResult](sink)); diff != "" {
		t.Errorf("looks (-want +got):\n%s", diff)
	}
	for i, record := range sink.records {
		if _, ok := record.(result.LookResult); ok {
			if _, next := sink.records[i+1].(result.Sensor); !next {
				t.Errorf("a look is followed by %T, not by the next round", sink.records[i+1])
			}
		}
	}

	asked = nil
	state := sink.state()
	delete(state.Committed, measure.Done{Round: 5, ID: caseA})
	l.boot(freezing())
	second := &recorder{T: t, machine: l.machine}
	if err := l.session.Resume(context.Background(), context.Background(), p, state, measure.Options{Stop: stop, Sink: second}); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 0 || len(of[result.LookResult](second)) != 0 {
		t.Errorf("asked again after rounds %v", asked)
	}
	if got := second.committed(); len(got) != 1 || got[measure.Done{Round: 5, ID: caseA}].ID == "" || len(of[result.Sensor](second)) != 1 {
		t.Errorf("resumed %v with %d sensor records", got, len(of[result.Sensor](second)))
	}
	broken := errors.New("the stopper broke")
	if err := l.session.Run(context.Background(), context.Background(), p, func(int) ([]result.CaseID, error) { return nil, broken }, second); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// TestShared: the cases of a binary share one process of each arm.
func TestShared(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), "BenchmarkA 1000\nBenchmarkB 10\n", "BenchmarkA 700\nBenchmarkB 10\n")
	c := lockstep(1)
	c.Shared = true
	sink := l.run(l.schedule(4, c, "BenchmarkA", "BenchmarkB"), nil)
	slots := of[result.Slot](sink)
	if len(slots) != 8 || slots[0].ID != "" {
		t.Errorf("%d slots in 4 rounds of two arms, the first for %q", len(slots), slots[0].ID)
	}
	if n := len(sink.committed()); n != 8 {
		t.Errorf("%d commits", n)
	}
}

// TestParallelCores: a parallel case gets its cores, another keeps one.
func TestParallelCores(t *testing.T) {
	t.Parallel()
	text := "BenchmarkA 1000 parallel spread=0.5\nBenchmarkB 10\n"
	l := newLab(t, freezing(), text, text)
	p := l.schedule(2, lockstep(-1), "BenchmarkA", "BenchmarkB")
	a := &p.Calibration.Cases[0]
	a.Kind, a.Schedule, a.CPUs = result.Parallel, result.Blocks, []int{0, 1}
	sink := l.run(p, nil)
	for _, slot := range of[result.Slot](sink) {
		if want := map[result.CaseID][]int{caseA: {0, 1}, caseB: {1}}[slot.ID]; !slices.Equal(slot.CPUs, want) {
			t.Errorf("%s runs on %v, want %v", slot.ID, slot.CPUs, want)
		}
	}
	for _, m := range sink.counted() {
		if m.ID == caseA && (m.Value != 500 || m.Procs != 2 || m.Schedule != result.Blocks) {
			t.Errorf("the parallel case: %v ns with %d procs in %s", m.Value, m.Procs, m.Schedule)
		}
	}
}

// TestMetrics: everything the benchmark reports is stored with its unit.
func TestMetrics(t *testing.T) {
	t.Parallel()
	text := "BenchmarkA 1000 alloc=64 allocs=2 requests/s=1250.5 p99-ns/op=300\nBenchmarkA/sub 1234.567 \n"
	l := newLab(t, freezing(), text, text)
	sink := l.run(l.schedule(1, lockstep(-1), "BenchmarkA", "BenchmarkA/sub"), nil)
	got := map[string]float64{}
	first := of[result.Measurement](sink)
	for _, m := range first {
		got[strings.TrimPrefix(string(m.ID), pkg+".Benchmark")+" "+m.Unit] = m.Value
	}
	want := map[string]float64{"A ns/op": 1000, "A B/op": 64, "A allocs/op": 2, "A requests/s": 1250.5, "A p99-ns/op": 300,
		"A/sub ns/op": 1235, "A/sub B/op": 0, "A/sub allocs/op": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// TestContamination: samples are marked by the plan's rule, and a round without
// enough clean passes says so.
func TestContamination(t *testing.T) {
	t.Parallel()
	config := freezing()
	config.Noise = simulate.Noise{Spikes: 60, SpikeTime: 5 * time.Millisecond}
	l := newLab(t, config, "BenchmarkA 1000\n", "BenchmarkA 1000\n")
	c := lockstep(-1)
	c.Iterations, c.Passes, c.Rule = 4000, 10, result.RuleSwitches
	sink := l.run(l.schedule(30, c, "BenchmarkA"), nil)
	dirty := map[int]map[int]bool{}
	marked, stolen := 0, int64(0)
	for _, m := range sink.counted() {
		if m.Contaminated != (m.Switches > 0) || m.Contaminated != (m.Value > 1001) {
			t.Errorf("sample %d: %v ns, %d switches, contaminated %v", m.Seq, m.Value, m.Switches, m.Contaminated)
		}
		if m.Contaminated {
			marked++
			if dirty[m.Round] == nil {
				dirty[m.Round] = map[int]bool{}
			}
			dirty[m.Round][m.Pass] = true
		}
		stolen += m.StealTicks
	}
	if marked < 50 || stolen == 0 {
		t.Errorf("%d samples are marked, %d ticks stolen", marked, stolen)
	}
	short := 0
	for done, round := range sink.committed() {
		if want := 10-len(dirty[done.Round]) < 5; round.Marked != want {
			t.Errorf("round %d has %d clean passes, marked %v", done.Round, 10-len(dirty[done.Round]), round.Marked)
		} else if want {
			short++
		}
	}
	if short == 0 || short == 30 {
		t.Errorf("%d of 30 rounds have too few clean passes: nothing was tested", short)
	}
}

// TestSlotBias: a machine on which every process but the first is 2 % slower
// biases no difference of the arms.
func TestSlotBias(t *testing.T) {
	t.Parallel()
	for _, schedule := range []result.Schedule{result.Lockstep, result.Blocks} {
		t.Run(string(schedule), func(t *testing.T) {
			t.Parallel()
			config := freezing()
			config.Noise.Second = 0.02
			l := newLab(t, config, "BenchmarkA 1000\n", "BenchmarkA 1000\n")
			c := lockstep(-1)
			c.Schedule = schedule
			const rounds = 600
			sink := l.run(l.schedule(rounds, c, "BenchmarkA"), nil)
			sums := map[int]map[result.Arm]float64{}
			for _, m := range sink.counted() {
				if sums[m.Round] == nil {
					sums[m.Round] = map[result.Arm]float64{}
				}
				sums[m.Round][m.Arm] += m.Value
			}
			mean, biased := 0.0, 0
			for round := range rounds {
				d := math.Log(sums[round][result.Head] / sums[round][result.Base])
				mean += d / rounds
				if math.Abs(math.Abs(d)-math.Log(1.02)) < 1e-6 {
					biased++
				}
			}
			// Three standard errors of a fair coin between +2 % and -2 %.
			if limit := 3 * 0.02 / math.Sqrt(rounds); math.Abs(mean) > limit || biased != rounds {
				t.Errorf("mean difference %+.5f, at most %.5f; %d of %d rounds are biased", mean, limit, biased, rounds)
			}
		})
	}
}

// TestLeadIn: what another arm did to the caches costs nothing after the lead-in.
func TestLeadIn(t *testing.T) {
	t.Parallel()
	text := "BenchmarkA 1000 cold=3:40us\n"
	l := newLab(t, freezing(), text, text)
	for lead, want := range map[int64]float64{0: 1080, 20: 1040, 40: 1000} {
		c := lockstep(-1)
		c.Lead = lead
		c.Passes = 5
		worst := 0.0
		for _, m := range l.run(l.schedule(1, c, "BenchmarkA"), nil).counted() {
			worst = max(worst, m.Value)
		}
		if worst != want {
			t.Errorf("with a lead-in of %d: %v ns, want %v", lead, worst, want)
		}
	}
}

// TestProgress: the share done is that of the expected time, and reaches it.
func TestProgress(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), "BenchmarkA 1000\n", "BenchmarkA 700\n")
	p := l.schedule(4, lockstep(-1), "BenchmarkA")
	p.Calibration.ExpectedNS = 4e6
	var done []time.Duration
	l.session.Progress = func(e measure.Event) {
		if e.Stage != "measure" || e.Total != 4e6 || e.Case != "BenchmarkA" {
			t.Errorf("event %+v", e)
		}
		done = append(done, e.Done)
	}
	sink := l.run(p, nil)
	state := sink.state()
	delete(state.Committed, measure.Done{Round: 3, ID: caseA})
	if err := l.session.Resume(context.Background(), context.Background(), p, state, measure.Options{Sink: sink}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(done, []time.Duration{1e6, 2e6, 3e6, 4e6, 4e6}) {
		t.Errorf("done %v", done)
	}
}
