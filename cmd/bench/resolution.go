package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay/internal/stats"
)

// method is one way of estimating head against base.
type method struct {
	name string
	run  func(r *resolver, ctx context.Context, benchmark string, trial int) (float64, error)
}

func methods() []method {
	return []method{
		{"assay", (*resolver).assay},
		{"sequential", (*resolver).sequential},
		{"interleaved", (*resolver).interleaved},
	}
}

// resolver holds what the methods run on: one commit as both arms.
type resolver struct {
	options    options
	dir        string
	repository string
	binary     string
	wall       map[string]time.Duration // of the habit, by benchmark: what assay may take
}

// The habit: ten runs of 0.3 s on each arm, which is 6 s of timed work a case.
// package testing needs more wall time for it, to find the number of iterations;
// assay gets the same wall time.
const (
	habitTime = "0.3s"
	habitRuns = 10
)

func resolutionBenchmarks() []string { return []string{"Hash", "Search", "Join", "Tree"} }

// outcome is the error of one trial: the truth is 0.
type outcome struct {
	method, benchmark string
	err               float64 // estimate of head/base - 1
	wall              time.Duration
}

// resolution runs identical arms through all methods, side by side in an order
// drawn anew for each trial, and prints the root mean square errors.
func resolution(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "assay-resolution-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	r := &resolver{options: o, dir: dir, repository: filepath.Join(dir, "planted"), binary: filepath.Join(dir, "test"), wall: map[string]time.Duration{}}
	code, err := read("resolution", "code.go")
	if err != nil {
		return err
	}
	bench, err := read("resolution", "bench_test.go")
	if err != nil {
		return err
	}
	files := map[string][]byte{"go.mod": []byte("module example.com/planted\n\ngo 1.24\n"), "code.go": code, "bench_test.go": bench}
	if err := commit(ctx, r.repository, "one commit as both arms", files); err != nil {
		return err
	}
	if err := testBinary(ctx, r.repository, "HEAD", r.binary); err != nil {
		return err
	}
	for _, benchmark := range resolutionBenchmarks() {
		begin := time.Now()
		if _, err := r.sequential(ctx, benchmark, 0); err != nil {
			return err
		}
		r.wall[benchmark] = time.Since(begin)
	}
	var all []outcome
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range o.trials {
		for _, benchmark := range resolutionBenchmarks() {
			if o.only != "" && o.only != benchmark {
				continue
			}
			order := methods()
			rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for _, m := range order {
				began := time.Now()
				estimate, err := m.run(r, ctx, benchmark, trial)
				if err != nil {
					return fmt.Errorf("%s of %s: %w", m.name, benchmark, err)
				}
				fmt.Fprintf(os.Stderr, "%d %s %s %+.2f %% in %.1f s\n", trial+1, benchmark, m.name, 100*estimate, time.Since(began).Seconds())
				all = append(all, outcome{m.name, benchmark, estimate, time.Since(began)})
			}
		}
	}
	return printResolution(all)
}

// printResolution prints a row per benchmark and the pooled ratios.
func printResolution(all []outcome) error {
	pick := func(method, benchmark string) (errs []float64, wall time.Duration) {
		for _, o := range all {
			if o.method == method && (benchmark == "" || o.benchmark == benchmark) {
				errs = append(errs, o.err)
				wall += o.wall
			}
		}
		return errs, wall
	}
	fmt.Printf("identical arms, %d trials of each method; root mean square error of head/base - 1\n", len(all)/len(methods()))
	fmt.Printf("%-10s %10s %12s %12s\n", "benchmark", "assay", "sequential", "interleaved")
	for _, benchmark := range append(resolutionBenchmarks(), "") {
		name := benchmark
		if name == "" {
			name = "pooled"
		}
		fmt.Printf("%-10s", name)
		for i, m := range methods() {
			errs, _ := pick(m.name, benchmark)
			fmt.Printf(" %*.2f %%", []int{8, 10, 10}[i], 100*rms(errs))
		}
		fmt.Println()
	}
	own, ownWall := pick("assay", "")
	for _, m := range methods()[1:] {
		errs, wall := pick(m.name, "")
		interval, ok := stats.BootstrapRatio(own, errs, rms, 0.05, stats.Sampling{Seed: 1})
		if !ok {
			return fmt.Errorf("no ratio to %s", m.name)
		}
		fmt.Printf("assay / %s: %.3f  95 %% interval [%.3f, %.3f]  wall time %.2f\n", m.name, rms(own)/rms(errs), interval.Lo, interval.Hi, ownWall.Seconds()/wall.Seconds())
	}
	return nil
}

func rms(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(values)))
}

// assay measures one case with assay ab --aa.
func (r *resolver) assay(ctx context.Context, benchmark string, trial int) (float64, error) {
	out := filepath.Join(r.dir, fmt.Sprintf("run-%s-%d", benchmark, trial))
	defer func() { _ = os.RemoveAll(out) }() // a temporary folder
	file, err := ab(ctx, r.options, r.repository, out, "--aa", "--head", "HEAD", "--bench", "^Benchmark"+benchmark+"$", "--budget", r.wall[benchmark].Round(100*time.Millisecond).String(), "--fail-on", "none")
	if err != nil {
		return 0, err
	}
	for _, c := range file.Benchmarks {
		if c.Delta != nil && !c.Exploratory {
			return *c.Delta, nil
		}
	}
	return 0, fmt.Errorf("assay gave no estimate: %s", file.Benchmarks[0].Verdict)
}

// once runs the benchmark in a process of its own, count times.
func (r *resolver) once(ctx context.Context, benchmark string, count int) ([]float64, error) {
	text, err := output(ctx, r.dir, r.binary, "-test.run=^$", "-test.bench=^Benchmark"+benchmark+"$", "-test.benchtime="+habitTime, fmt.Sprintf("-test.count=%d", count))
	if err != nil {
		return nil, err
	}
	return allNsPerOp(text)
}

// sequential is the habit: ten runs on base, then ten on head, medians compared.
func (r *resolver) sequential(ctx context.Context, benchmark string, _ int) (float64, error) {
	base, err := r.once(ctx, benchmark, habitRuns)
	if err != nil {
		return 0, err
	}
	head, err := r.once(ctx, benchmark, habitRuns)
	if err != nil {
		return 0, err
	}
	return median(head)/median(base) - 1, nil
}

// interleaved runs ten rounds of one process of each arm, in random order.
func (r *resolver) interleaved(ctx context.Context, benchmark string, trial int) (float64, error) {
	rng := rand.New(rand.NewPCG(uint64(trial), 7))
	values := map[bool][]float64{}
	for range habitRuns {
		first := rng.IntN(2) == 0
		for _, head := range []bool{first, !first} {
			value, err := r.once(ctx, benchmark, 1)
			if err != nil {
				return 0, err
			}
			values[head] = append(values[head], value...)
		}
	}
	return median(values[true])/median(values[false]) - 1, nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
