package measure_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/measure/simulate"
	"assay/internal/plan"
	"assay/internal/result"
)

var update = flag.Bool("update", false, "write the golden files")

// note adds a committed record to the trace.
func (r *recorder) note(record result.Record) {
	text := ""
	switch v := record.(type) {
	case result.Round:
		text = fmt.Sprintf("== committed: round %d of %s in %s, slots %v in order %v", v.Round, v.ID, v.Schedule, v.Slots, v.Order)
	case result.Failure:
		text = fmt.Sprintf("== failed: %s on %s in round %d", v.ID, v.Arm, v.Round)
	case result.LookResult:
		text = fmt.Sprintf("== look after round %d: %v", v.AfterRound, v.Stopped)
	case result.End:
		text = fmt.Sprintf("== end, interrupted %v", v.Interrupted)
	default:
		return
	}
	if n := len(r.notes); n == 0 || r.notes[n-1].text != text {
		r.notes = append(r.notes, note{len(r.machine.Trace()), text})
	}
}

// story is the machine's trace with the sink's notes in it.
func (r *recorder) story() string {
	lines, notes := r.machine.Trace(), r.notes
	var out strings.Builder
	for i := 0; i <= len(lines); i++ {
		for len(notes) > 0 && notes[0].at == i {
			fmt.Fprintln(&out, notes[0].text)
			notes = notes[1:]
		}
		if i < len(lines) {
			fmt.Fprintln(&out, lines[i])
		}
	}
	return out.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestTraceGolden asserts the order of everything that runs: two cases, three
// rounds, one of them as blocks, a planted control.
func TestTraceGolden(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), "BenchmarkA 1000\nBenchmarkB 2000\n", "BenchmarkA 900\nBenchmarkB 2000\n")
	p := l.schedule(3, lockstep(1), "BenchmarkA", "BenchmarkB")
	p.Calibration.Cases[0].Planted = true
	p.Calibration.Cases[0].BlockPhase = 2
	golden(t, "trace.golden", l.run(p, nil).story())
}

// TestTraceFailures: a crash in one case, blocks and a look, all in order.
func TestTraceFailures(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), "BenchmarkA 1000\nBenchmarkB 2000\n", "BenchmarkA 900 crash=5\nBenchmarkB 2000\n")
	p := l.schedule(3, lockstep(-1), "BenchmarkA", "BenchmarkB")
	for i := range p.Calibration.Cases {
		p.Calibration.Cases[i].Passes = 1
	}
	p.Calibration.Looks = []result.Look{{AfterRound: 1}, {AfterRound: 2}, {AfterRound: 3}}
	stop := func(after int) ([]result.CaseID, error) {
		if after == 2 {
			return []result.CaseID{"example.com/sim.BenchmarkB"}, nil
		}
		return nil, nil
	}
	golden(t, "failures.golden", l.run(p, stop).story())
}

// states replays a trace and calls each for every sample, with the processes
// that are awake beside the one that takes it.
func states(lines []string, each func(line string, awake []string)) {
	var alive []string
	frozen := map[string]bool{}
	for _, line := range lines {
		fields := strings.Fields(line)
		op, id := fields[0], fields[1]
		switch op {
		case "launch":
			alive = append(alive, id)
		case "close":
			alive = slices.DeleteFunc(alive, func(o string) bool { return o == id })
		case "freeze":
			frozen[id] = true
		case "thaw":
			frozen[id] = false
		case "run", "probe":
			var awake []string
			for _, o := range alive {
				if o != id && !frozen[o] {
					awake = append(awake, o)
				}
			}
			each(line, awake)
		}
	}
}

// TestOthersAreFrozen: whatever takes a sample, in the pilot and in the run, does
// so alone.
func TestOthersAreFrozen(t *testing.T) {
	t.Parallel()
	l := newLab(t, freezing(), "program idle=0.5\nBenchmarkA 1000\n", "program idle=0.5\nBenchmarkA 900\n")
	p := l.schedule(4, lockstep(2), "BenchmarkA")
	p.Calibration.Cases[0].Planted = true
	sink := l.run(p, nil)
	l.pilot(sink)
	samples := 0
	states(l.machine.Trace(), func(line string, awake []string) {
		samples++
		if len(awake) > 0 {
			t.Errorf("%s: awake beside it: %v", line, awake)
		}
	})
	if samples < 40 {
		t.Errorf("%d samples", samples)
	}
	for _, m := range of[result.Measurement](sink) {
		if m.FrozenCPUNS != 0 || m.Contaminated {
			t.Errorf("sample %d: frozen arms used %d ns, contaminated %v", m.Seq, m.FrozenCPUNS, m.Contaminated)
		}
	}
}

// TestWithoutFreezing: where processes cannot be frozen they run one after the
// other, whatever the plan says.
func TestWithoutFreezing(t *testing.T) {
	t.Parallel()
	programs := "program idle=0.5\nBenchmarkA 1000\n"
	l := newLab(t, simulate.Config{Seed: 3}, programs, programs)
	sink := l.run(l.schedule(3, lockstep(1), "BenchmarkA"), nil)
	for _, m := range sink.counted() {
		if m.Schedule != result.Blocks || m.Contaminated {
			t.Errorf("sample %d: %s, contaminated %v", m.Seq, m.Schedule, m.Contaminated)
		}
	}
	states(l.machine.Trace(), func(line string, awake []string) {
		if len(awake) > 0 {
			t.Errorf("%s: awake beside it: %v", line, awake)
		}
	})
	if got := len(sink.counted()); got != 3*2*3 {
		t.Errorf("%d samples, want 3 rounds of 2 arms of 3", got)
	}
	facts := l.pilot(sink)
	if !facts[0].Unfrozen || plan.Size(facts[0]).Schedule != result.Blocks {
		t.Errorf("the pilot does not say so: %+v", facts[0])
	}
	burnt := false
	for _, m := range of[result.Measurement](sink) {
		burnt = burnt || m.Pilot && m.FrozenCPUNS > 0
	}
	if !burnt {
		t.Error("the pilot's idle processes used no processor time: nothing was tested")
	}
}
