package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/internal/compare"
	"assay/internal/stats"
)

// plant is one pair of programs of which the truth is known from long blocks.
type plant struct {
	name   string
	what   string
	cores  string // of the truth's processes; empty: all
	equal  bool   // the means are equal: neither sign is right
	budget string
}

func plants() []plant {
	return []plant{
		{name: "garbage", what: "base allocates over a live heap, head computes", cores: "1", budget: "60s"},
		{name: "background", what: "head has a goroutine that works now and then", cores: "1", budget: "20s"},
		{name: "caches", what: "head's table has 4 MiB, base's 256 KiB", cores: "1", budget: "20s"},
		{name: "parallel", what: "a mutex against a sharded counter under RunParallel", budget: "20s"},
		{name: "speedup", what: "head does a twentieth of the work", cores: "1", budget: "20s"},
		{name: "shapes", what: "equal means, a quarter of base's samples cost double", cores: "1", equal: true, budget: "20s"},
		{name: "bimodal", what: "equal means, base's processes are fast or slow", cores: "1", equal: true, budget: "20s"},
	}
}

// Size of the truth: rounds of one process of each arm, a second each.
const (
	truthRounds = 8
	truthTime   = "1s"
)

// bias measures every plant in long blocks and with assay and compares the signs.
func bias(ctx context.Context, o options) error {
	fmt.Printf("%-11s %-52s %-26s %-20s %-30s %s\n", "plant", "what", "truth (long blocks)", "verdict", "assay", "sign")
	wrong := 0
	for _, p := range plants() {
		if o.only != "" && o.only != p.name {
			continue
		}
		ok, err := p.run(ctx, o)
		if err != nil {
			return fmt.Errorf("plant %s: %w", p.name, err)
		}
		if !ok {
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d plants got a verdict of the wrong sign", wrong)
	}
	return nil
}

func (p plant) run(ctx context.Context, o options) (bool, error) {
	dir, err := os.MkdirTemp("", "assay-bias-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	repository := filepath.Join(dir, "planted")
	bench, err := read("bias/"+p.name, "bench_test.go")
	if err != nil {
		return false, err
	}
	for _, arm := range []string{"base", "head"} {
		code, err := read("bias/"+p.name, arm+".go")
		if err != nil {
			return false, err
		}
		files := map[string][]byte{"go.mod": []byte("module example.com/planted\n\ngo 1.24\n"), "code.go": code, "bench_test.go": bench}
		if err := commit(ctx, repository, arm, files); err != nil {
			return false, err
		}
	}
	truth, low, high, err := p.truth(ctx, dir, repository)
	if err != nil {
		return false, err
	}
	file, err := ab(ctx, o, repository, filepath.Join(dir, "run"), "--base", "HEAD~1", "--head", "HEAD", "--budget", p.budget, "--fail-on", "none")
	if err != nil {
		return false, err
	}
	c := file.Benchmarks[0]
	ok := p.right(c, low, high)
	fmt.Printf("%-11s %-52s %-26s %-20s %-30s %s\n", p.name, p.what, fmt.Sprintf("%+.1f %% [%+.1f, %+.1f]", 100*truth, 100*low, 100*high), c.Verdict, estimate(c), map[bool]string{true: "right", false: "WRONG"}[ok])
	return ok, nil
}

// right says whether a verdict contradicts the truth: a direction that the
// truth's interval excludes, or any direction when the means are equal.
func (p plant) right(c compare.Comparison, low, high float64) bool {
	failed := []compare.Verdict{compare.FailedBase, compare.FailedHead, compare.FailedBoth, compare.MissingBase, compare.MissingHead}
	if c.Verdict == compare.Faster {
		return !p.equal && low < 0
	}
	if c.Verdict == compare.Slower {
		return !p.equal && high > 0
	}
	if c.Verdict == compare.Equivalent || c.Verdict == compare.IdenticalBinary {
		return p.equal || (low < c.Margin && high > -c.Margin)
	}
	return !slices.Contains(failed, c.Verdict)
}

func estimate(c compare.Comparison) string {
	if c.Delta == nil {
		return "n/a"
	}
	if c.CI == nil {
		return fmt.Sprintf("%+.1f %%", 100**c.Delta)
	}
	return fmt.Sprintf("%+.1f %% [%+.1f, %+.1f]", 100**c.Delta, 100*c.CI[0], 100*c.CI[1])
}

// truth is the ratio of total times minus 1 over long blocks, with a bootstrap
// interval over the rounds.
func (p plant) truth(ctx context.Context, dir, repository string) (delta, low, high float64, err error) {
	binaries := map[string]string{}
	for arm, revision := range map[string]string{"base": "HEAD~1", "head": "HEAD"} {
		binaries[arm] = filepath.Join(dir, arm)
		if err := testBinary(ctx, repository, revision, binaries[arm]); err != nil {
			return 0, 0, 0, err
		}
	}
	var base, head []float64
	for range truthRounds {
		for _, arm := range []string{"base", "head"} {
			argv := []string{binaries[arm], "-test.run=^$", "-test.bench=.", "-test.benchtime=" + truthTime}
			if p.cores != "" {
				argv = append([]string{"taskset", "-c", p.cores}, argv...)
			}
			text, err := output(ctx, dir, argv...)
			if err != nil {
				return 0, 0, 0, err
			}
			value, err := nsPerOp(text)
			if err != nil {
				return 0, 0, 0, err
			}
			if arm == "base" {
				base = append(base, value)
			} else {
				head = append(head, value)
			}
		}
	}
	if p.equal {
		return 0, 0, 0, nil // by construction: the modes are 70 and 130 steps against 100
	}
	interval, _ := stats.BootstrapRatio(head, base, mean, 0.05, stats.Sampling{Seed: 1})
	return mean(head)/mean(base) - 1, interval.Lo - 1, interval.Hi - 1, nil
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// nsPerOp reads the one result of a test binary's output.
func nsPerOp(text string) (float64, error) {
	values, err := allNsPerOp(text)
	if err != nil {
		return math.NaN(), err
	}
	return values[0], nil
}

// allNsPerOp reads every result.
func allNsPerOp(text string) ([]float64, error) {
	var values []float64
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		for i, field := range fields {
			if field != "ns/op" || i == 0 {
				continue
			}
			value, err := strconv.ParseFloat(fields[i-1], 64)
			if err != nil {
				return nil, fmt.Errorf("reading %q: %w", line, err)
			}
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no ns/op in %q", text)
	}
	return values, nil
}
