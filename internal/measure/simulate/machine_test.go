package simulate

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay/internal/harness"
	"assay/internal/measure"
	"assay/internal/result"
)

// start launches a program and waits for its greeting.
func start(t *testing.T, m *Machine, text string, cpus ...int) measure.Worker {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.sim")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := m.Launch(t.Context(), result.Command{Argv: []string{file}}, measure.Placement{CPUs: cpus})
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := w.Call(t.Context(), harness.Request{}); err != nil || reply.Hello != harness.WorkerProtocol {
		t.Fatalf("greeting %+v, %v", reply, err)
	}
	return w
}

func sample(t *testing.T, w measure.Worker, n, lead int64) harness.Reply {
	t.Helper()
	reply, err := w.Call(t.Context(), harness.Request{Op: harness.OpRun, Name: "BenchmarkA", Iterations: n, Lead: lead})
	if err != nil || reply.Failed+reply.Error != "" {
		t.Fatalf("%v, %+v", err, reply)
	}
	return reply
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"BenchmarkA 10\nBenchmarkB 10 colour=red\n": `p:2: option "colour=red": unknown`,
		"BenchmarkA ten\n":                          `p:1: option "ten"`,
		"BenchmarkA 10 setup=3\n":                   `p:1: option "setup=3"`,
		"BenchmarkA 10 crash=never\n":               `p:1: option "crash=never"`,
		"BenchmarkA 10 bimodal=2\n":                 `p:1: option "bimodal=2"`,
		"BenchmarkA 10 cold=x:3us\n":                `p:1: option "cold=x:3us"`,
		"BenchmarkA uses=gone\n":                    "p: undefined: gone",
		"program start=soon\n":                      `p:1: option "start=soon"`,
	} {
		if _, err := parse("p", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestCosts: what a sample of each kind of code takes, to the nanosecond.
func TestCosts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		program string
		cpus    []int
		elapsed time.Duration
		wall    time.Duration
		bytes   int64
		cycles  int64
		text    string
	}{
		"plain":         {"BenchmarkA 1234.5", nil, 123450, 123450, 0, 0, "1234 ns/op\t       0 B/op\t       0 allocs/op"},
		"set-up":        {"BenchmarkA 1000 setup=2ms", nil, 100_000, 2_100_000, 0, 0, "1000 ns/op\t       0 B/op"},
		"uses":          {"BenchmarkA uses=f setup=1ms\nf 1000 setup=1ms alloc=8", nil, 100_000, 2_100_000, 800, 0, "1000 ns/op\t       8 B/op\t       1 allocs/op"},
		"collects":      {"BenchmarkA 1000 alloc=100 allocs=3 gc=3000 gccost=10us", nil, 130_000, 130_000, 10_000, 3, "1300 ns/op\t     100 B/op\t       3 allocs/op"},
		"two cores":     {"BenchmarkA 1000 spread=0.5", []int{0, 1}, 50_000, 50_000, 0, 0, "BenchmarkA-2\t     100\t500.0 ns/op"},
		"one core":      {"BenchmarkA 1000 spread=0.5", []int{0}, 100_000, 100_000, 0, 0, "BenchmarkA\t     100\t1000 ns/op"},
		"grows":         {"BenchmarkA 1000 grow=0.5", nil, 1_000_000, 1_000_000, 0, 0, "10000 ns/op"},
		"sub-ns":        {"BenchmarkA 0.25", nil, 25, 25, 0, 0, "0.2500 ns/op"},
		"custom metric": {"BenchmarkA 10 requests/s=12.5", nil, 1000, 1000, 0, 0, "10.00 ns/op\t12.5 requests/s\t"},
		"always slow":   {"BenchmarkA 10 bimodal=3:1", nil, 3000, 3000, 0, 0, "30.00 ns/op"},
		"never slow":    {"BenchmarkA 10 bimodal=3:0", nil, 1000, 1000, 0, 0, "10.00 ns/op"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := New(Config{Seed: 1})
			w := start(t, m, test.program, test.cpus...)
			before := m.Elapsed()
			r := sample(t, w, 100, 0)
			if r.ElapsedNS != int64(test.elapsed) || r.WallNS != int64(test.wall) || r.CPUNS != int64(test.wall) || r.AllocBytes != test.bytes+ownAlloc || r.Collections != test.cycles || !strings.Contains(r.Text, test.text) {
				t.Errorf("%+v\nwant %v of %v, %d bytes, %d collections, %q", r, test.elapsed, test.wall, test.bytes, test.cycles, test.text)
			}
			if took := m.Elapsed() - before; took != test.wall+callCost {
				t.Errorf("the clock moved on by %v", took)
			}
			if used, ok := w.CPUTime(); !ok || used != test.wall {
				t.Errorf("it used %v, %v", used, ok)
			}
		})
	}
}

// TestIdle: what is not frozen burns processor time and slows the others.
func TestIdle(t *testing.T) {
	t.Parallel()
	m := New(Config{Freezes: "simulated"})
	idle, busy := start(t, m, "program idle=0.25\nBenchmarkA 1000"), start(t, m, "BenchmarkA 1000")
	used := func() time.Duration { d, _ := idle.CPUTime(); return d }
	before := used()
	if r := sample(t, busy, 1000, 0); r.ElapsedNS != 1_250_000 {
		t.Errorf("beside a busy one %d ns", r.ElapsedNS)
	}
	if used() <= before {
		t.Error("the idle one used nothing")
	}
	if err := idle.Freeze(); err != nil {
		t.Fatal(err)
	}
	before = used()
	if r := sample(t, busy, 1000, 0); r.ElapsedNS != 1_000_000 || used() != before {
		t.Errorf("beside a frozen one %d ns, which used %v", r.ElapsedNS, used()-before)
	}
	if _, err := idle.Call(t.Context(), harness.Request{Op: harness.OpRun, Name: "BenchmarkA", Iterations: 1}); err == nil {
		t.Error("a frozen process answers")
	}
}

// TestNoise: every kind of noise does what it says; the same seed does it again.
func TestNoise(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		noise Noise
		check func(logs []float64) bool
	}{
		"none":  {Noise{}, func(logs []float64) bool { return sd(logs) < 1e-9 }},
		"quiet": {Noise{Quiet: 0.01}, func(logs []float64) bool { return math.Abs(sd(logs)-0.01) < 0.001 && math.Abs(mean(logs)) < 0.001 }},
		"drift": {Noise{Drift: 0.1, Period: 2 * time.Second}, func(logs []float64) bool {
			return math.Abs(sd(logs)-0.1/math.Sqrt2) < 0.01 && lag(logs) > 0.9
		}},
		"walk":    {Noise{Walk: 0.1}, func(logs []float64) bool { return sd(logs) > 0.003 && lag(logs) > 0.9 }},
		"warm-up": {Noise{WarmUp: 0.5, WarmUpTime: time.Second}, func(logs []float64) bool { return logs[0] > 0.38 && math.Abs(logs[len(logs)-1]) < 0.01 }},
		"spikes":  {Noise{Spikes: 10, SpikeTime: 2 * time.Millisecond}, func(logs []float64) bool { return sd(logs) > 0.02 && median(logs) < 1e-9 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			take := func() []float64 {
				m := New(Config{Seed: 5, Noise: test.noise})
				w := start(t, m, "BenchmarkA 1000")
				var logs []float64
				steal, _ := m.Steal(nil)
				for range 2000 {
					r := sample(t, w, 5000, 0)
					if stolen := r.WallNS-r.CPUNS > 0; stolen != (r.Switches > 0) {
						t.Fatalf("%d ns of wall time, %d of CPU, %d switches", r.WallNS, r.CPUNS, r.Switches)
					}
					logs = append(logs, math.Log(float64(r.ElapsedNS)/5e6))
				}
				if after, ok := m.Steal(nil); !ok || (after > steal) != (name == "spikes") {
					t.Errorf("steal went from %d to %d", steal, after)
				}
				return logs
			}
			logs := take()
			if !test.check(logs) {
				t.Errorf("mean %v, sd %v, lag-1 correlation %v, first %v, last %v", mean(logs), sd(logs), lag(logs), logs[0], logs[len(logs)-1])
			}
			if diff := cmp.Diff(logs, take()); diff != "" {
				t.Error("the same seed gives another noise")
			}
		})
	}
}

func mean(v []float64) (sum float64) {
	for _, x := range v {
		sum += x / float64(len(v))
	}
	return sum
}

func sd(v []float64) float64 { return math.Sqrt(covariance(v, v)) }

func covariance(v, w []float64) (sum float64) {
	a, b := mean(v), mean(w)
	for i := range v {
		sum += (v[i] - a) * (w[i] - b) / float64(len(v))
	}
	return sum
}

func lag(v []float64) float64 { return covariance(v[1:], v[:len(v)-1]) / covariance(v, v) }

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// TestBimodal: each process is in one mode for its life, a share of them in the
// slow one.
func TestBimodal(t *testing.T) {
	t.Parallel()
	m := New(Config{Seed: 2})
	slow := 0
	for range 400 {
		w := start(t, m, "BenchmarkA 10 bimodal=1.5:0.3")
		first := sample(t, w, 100, 0).ElapsedNS
		if again := sample(t, w, 100, 0).ElapsedNS; again != first {
			t.Fatalf("%d, then %d ns", first, again)
		}
		if first == 1500 {
			slow++
		}
		w.Close()
	}
	if slow < 90 || slow > 150 {
		t.Errorf("%d of 400 processes are slow", slow)
	}
}

// TestHangs: a hang costs no real time and moves the virtual clock to the limit.
func TestHangs(t *testing.T) {
	t.Parallel()
	m := New(Config{})
	w := start(t, m, "BenchmarkA 10 hang=2")
	sample(t, w, 1, 0)
	before := m.Elapsed()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	_, err := w.Call(ctx, harness.Request{Op: harness.OpRun, Name: "BenchmarkA", Iterations: 1})
	if took := m.Elapsed() - before; !errors.Is(err, context.DeadlineExceeded) || took != time.Hour {
		t.Errorf("error %v after %v", err, took)
	}
	if _, err := w.Call(t.Context(), harness.Request{Op: harness.OpRun, Name: "BenchmarkA", Iterations: 1}); err != nil {
		t.Errorf("the third sample: %v", err)
	}
}
