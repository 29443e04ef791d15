package report

import (
	"fmt"
	"slices"
	"time"

	"assay/internal/compare"
	"assay/internal/machine"
	"assay/internal/result"
)

func ptr[T any](v T) *T { return &v }

// evil is a name with everything that a sink could trip over.
const evil = "=cmd|'/c calc'!A1 `tick` <img src=x onerror=alert(1)> | pipe\n# head @octocat #123 GH-7 https://evil.example/ [a](javascript:x) **b** \x1b[31mred\x1b]0;title\x07 \u202egnp"

// spreadOver gives n round values around a median, the same every time; n has no
// factor in common with 8.
func spreadOver(median, share float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = median * (1 + share*(float64((i*8)%n)/float64(n-1)-0.5))
	}
	return out
}

func side(values ...float64) *compare.Side {
	sorted := slices.Sorted(slices.Values(values))
	median := sorted[len(sorted)/2]
	return &compare.Side{Median: median, Mean: median, Spread: (sorted[len(sorted)-1] - sorted[0]) / median, Rounds: values}
}

// synthetic is a case with the seed's figures and invented intervals.
func synthetic(title string, base, head, delta, half, spread float64, verdict compare.Verdict) compare.Comparison {
	return compare.Comparison{
		ID: result.CaseID("example.com/hdr.Benchmark/" + title), Title: title, Metric: "time", Unit: "ns/op", Better: "lower", Paired: true, Margin: 0.01,
		Base: side(spreadOver(base, spread, 21)...), Head: side(spreadOver(head, spread/2, 21)...),
		Delta: ptr(delta), RatioOfMedians: ptr(head/base - 1), CI: &[2]float64{delta - half, delta + half}, P: ptr(0.0002), PAdjusted: ptr(0.002),
		Verdict: verdict, Overlap: "none", Resolution: ptr(half), Rounds: 21,
		Typical:      &compare.Estimate{Delta: delta, CI: &[2]float64{delta - half, delta + half}, P: 0.0002, Rounds: 21},
		MeanEstimate: &compare.Estimate{Delta: delta * 1.01, CI: &[2]float64{delta*1.01 - 2*half, delta*1.01 + 2*half}, P: 0.001, Rounds: 21},
		Unfiltered:   ptr(delta), Contaminated: &compare.Shares{Base: 0.07, Head: 0.08},
		Schedule: result.Lockstep, Kind: result.Steady, Rule: result.RuleSwitches, Iterations: 98304,
	}
}

func seedCases() []compare.Comparison {
	url := synthetic("url: realistic", 217.38, 51.66, -0.762, 0.02, 0.136, compare.Faster)
	url.Base = side(191.2, 218.9, 192.9, 220.5, 194.6, 217.4, 220.7)
	url.Head = side(50.6, 53.0, 51.2, 51.5, 52.0, 51.7, 53.1)
	url.Rounds = 7
	url.Warnings = []result.Warning{{Code: "base-bimodal", Text: "url: realistic: base has two clusters about 14 % apart; against its fastest cluster head is 73 % faster"}}
	miss := synthetic("mime: 50 wks-miss fields", 4142.33, 3907.70, -0.057, 0.08, 0.157, compare.Inconclusive)
	miss.PAdjusted, miss.Overlap, miss.RoundsNeeded = ptr(0.31), "partial", 60
	hundred := synthetic("request: 100 fields", 12344.90, 12071.50, -0.022, 0.015, 0.09, compare.Mixed)
	hundred.MeanEstimate = &compare.Estimate{Delta: 0.013, CI: &[2]float64{0.004, 0.022}, P: 0.001, Rounds: 21}
	tokenize := synthetic("wks: tokenize all field names", 2124.73, 2146.28, 0.0112, 0.0008, 0.007, compare.Slower)
	tokenize.SizeUncertain = ptr(0.0104)
	control := synthetic("response: realistic", 320.85, 320.54, -0.0004, 0.0009, 0.055, compare.Equivalent)
	control.Control, control.Overlap = true, "full"
	return []compare.Comparison{
		tokenize, url, miss,
		synthetic("response: 50 dup fields", 2546.03, 1558.11, -0.388, 0.005, 0.03, compare.Faster),
		synthetic("request: realistic (zero-copy)", 367.62, 322.17, -0.124, 0.006, 0.031, compare.Faster),
		synthetic("request: realistic (copy)", 449.94, 403.36, -0.103, 0.007, 0.029, compare.Faster),
		synthetic("request: modern browser (zero-copy)", 643.86, 593.93, -0.078, 0.012, 0.059, compare.Faster),
		hundred, control,
		synthetic("mime: realistic fields", 295.04, 294.4, -0.002, 0.004, 0.039, compare.Equivalent),
		synthetic("wks: tokenize, lowercased (H2)", 2124.30, 2134.43, 0.0046, 0.0009, 0.008, compare.Trivial),
	}
}

func oddCases() []compare.Comparison {
	bare := func(id string, verdict compare.Verdict) compare.Comparison {
		return compare.Comparison{ID: result.CaseID(id), Metric: "time", Unit: "ns/op", Better: "lower", Paired: true, Margin: 0.01, Verdict: verdict}
	}
	failed := bare("example.com/hdr.BenchmarkCrash", compare.FailedHead)
	failed.Base = side(10, 11, 12)
	failed.Failures = []result.Failure{{Arm: result.Head, Package: "example.com/hdr", ID: failed.ID, Round: 2, Reason: result.FailCrash,
		Text: "panic: \x1b[31mindex out of range\x1b[0m\n\ngoroutine 1 [running]:\n```\n</details><script>alert(1)</script>\n"}}
	missing := bare("example.com/hdr.BenchmarkRenamed", compare.MissingBase)
	missing.Head, missing.Partner = side(5, 6, 7), "BenchmarkOldName"
	unbounded := synthetic("few rounds", 100, 103, 0.03, 0, 0.02, compare.Inconclusive)
	unbounded.CI, unbounded.Rounds, unbounded.RoundsNeeded, unbounded.PAdjusted, unbounded.Resolution = nil, 6, 8, ptr(0.4), nil
	schedule := synthetic("cache: 4 MiB table", 100, 180, 0.8, 0.1, 0.02, compare.ScheduleDependent)
	schedule.Lockstep = &compare.Estimate{Delta: 0.8, CI: &[2]float64{0.7, 0.9}, P: 0.001, Rounds: 15}
	schedule.Blocks = &compare.Estimate{Delta: 0.52, CI: &[2]float64{0.5, 0.55}, P: 0.001, Rounds: 6}
	odd := synthetic(evil, 10, 10, 0, 0.005, 0.02, compare.Equivalent)
	odd.ID = evil
	wide := synthetic("日本語のベンチマーク: 解析", 1e6, 1.2e6, 0.2, 0.01, 0.02, compare.Slower)
	return []compare.Comparison{failed, missing, unbounded, schedule, odd, wide, bare("example.com/hdr.BenchmarkSame", compare.IdenticalBinary)}
}

func metricCases() []compare.Comparison {
	allocs := compare.Comparison{ID: "example.com/hdr.Benchmark/url: realistic", Title: "url: realistic", Metric: "allocations", Unit: "allocs/op", Better: "lower",
		Base: side(0, 0), Head: side(16, 16), Absolute: ptr(16.0), Exact: true, Exploratory: true, Verdict: compare.Worse}
	allocs.Base.Spread, allocs.Head.Spread = 0, 0
	bytes := allocs
	bytes.Metric, bytes.Unit, bytes.Base, bytes.Head = "bytes", "B/op", side(65536, 65536), side(4096, 4096)
	bytes.Delta, bytes.Absolute, bytes.Verdict = ptr(-0.9375), ptr(-61440.0), compare.Better
	same := bytes
	same.Title, same.ID, same.Head, same.Delta, same.Absolute, same.Verdict = "response: realistic", "example.com/hdr.Benchmark/response: realistic", bytes.Base, ptr(0.0), ptr(0.0), compare.Same
	return []compare.Comparison{bytes, allocs, same}
}

func comparisonOf(cases ...[]compare.Comparison) compare.File {
	f := compare.File{Format: compare.Format, Run: "20260901T101500-3f2a", Input: "sha256:00ff", Alpha: 0.05, Confidence: 0.95, MinEffect: 0.01,
		Arms: map[result.Arm]compare.ArmSummary{result.Base: {Revision: "9c69fe1bcc0123456789abcdef0123456789abcd", Digest: "sha256:aa"},
			result.Head: {Revision: "7e9255ff40123456789abcdef0123456789abcde", Digest: "sha256:bb"}},
		Benchmarks:   slices.Concat(cases...),
		AA:           &compare.AA{Cases: 3, Floor: 0.006},
		Planted:      []compare.Planted{{True: 0.01, ID: "example.com/hdr.Benchmark/url: realistic", Found: true, Estimate: &compare.Estimate{Delta: 0.0098, CI: &[2]float64{0.009, 0.0106}, Rounds: 20}}, {True: 0.02, ID: "example.com/hdr.Benchmark/url: realistic"}},
		NotSupported: []string{"Real-world impact: these are microbenchmarks in isolation.", "Other compilers: go1.26.8 only."},
	}
	for _, c := range f.Benchmarks {
		countVerdict(&f.Summary, c)
	}
	return f
}

// countVerdict stands in for compare's summary in fixtures.
func countVerdict(s *compare.Summary, c compare.Comparison) {
	counters := map[compare.Verdict]*int{compare.Faster: &s.Faster, compare.Slower: &s.Slower, compare.Changed: &s.Changed, compare.Trivial: &s.Trivial,
		compare.Equivalent: &s.Equivalent, compare.Inconclusive: &s.Inconclusive, compare.Mixed: &s.Mixed, compare.ScheduleDependent: &s.ScheduleDependent,
		compare.IdenticalBinary: &s.Identical, compare.FailedHead: &s.Failed, compare.MissingBase: &s.Missing}
	if n := counters[c.Verdict]; n != nil && !c.Exploratory {
		*n++
	}
}

func planFixture() result.Plan {
	const base, head = "9c69fe1bcc0123456789abcdef0123456789abcd", "7e9255ff40123456789abcdef0123456789abcde"
	start := machine.Snapshot{Time: time.Date(2026, 9, 1, 10, 15, 0, 0, time.UTC), Load1: ptr(1.02), Steal: []int64{100, 200}, Throttles: ptr(int64(0))}
	build := func(arm result.Arm) result.Artifact {
		return result.Artifact{Arm: arm, Package: "example.com/hdr", Digest: "sha256:" + string(arm),
			Commands: []result.Command{{Argv: []string{"go", "test", "-c", "-trimpath", "-ldflags=-s -w", "-o", "hdr.test", "./hdr"}, Dir: "/cache/" + string(arm), Env: []string{"GOTOOLCHAIN=go1.26.8"}}},
			Settings: []result.Setting{{Key: "-trimpath", Value: "true"}, {Key: "GOAMD64", Value: "v1"}}}
	}
	p := result.Plan{Format: result.RunFormat, ID: "20260901T101500-3f2a", Tool: result.Tool{Name: "assay", Version: "0.1.0", Go: "go1.26.8"}}
	p.Draft = result.Draft{Created: start.Time, Repository: "/repo", Clone: "/cache/clone/git", Invocation: []string{"ab", "--base", "9c69fe1bcc", "--seed", "1", "--bench", "URL|MIME"}, Harness: "gotest",
		Arms: []result.ArmSpec{
			{Name: result.Base, Dir: "/cache/base", Revision: result.Revision{Ref: "merge-base of main", Commit: base, Tree: "t1", Subject: "hdrs: fix #123 for @octocat", Date: "2026-07-01T10:00:00Z"}},
			{Name: result.Head, Dir: "/cache/head", Revision: result.Revision{Ref: "fast-url", Commit: head, Tree: "t2", Subject: "hdrs: one | fused `scan`"}},
		},
		Recipes: []result.Recipe{{Arm: result.Base, Toolchain: "go1.26.8"}, {Arm: result.Head, Toolchain: "go1.26.8"}},
		Seed:    1, Alpha: 0.05, MinEffect: 0.01, CPUs: []int{1},
		Graft: result.GraftProof{From: "head", Onto: result.Base, Patch: "graft.patch", Commit: "aaaabbbbccccddddeeeeffff0000111122223333",
			Files:        []result.GraftFile{{Path: "hdr/bench_test.go", Kind: "test", After: "sha256:0123456789abcdef0123456789abcdef"}, {Path: "hdr/testdata/url|s.txt", Kind: "testdata", Before: "sha256:1111111111111111111111111111", After: "sha256:2222222222222222222222222222"}},
			LeftOut:      []string{"hdr/hdr_test.go"},
			Stat:         " hdr/bench_test.go | 813 +++++++++++++++++++++\n 1 file changed, 813 insertions(+)",
			Differ:       []string{"hdr/url.go", "hdr/mime.go"},
			Edits:        []result.ManifestEdit{{Path: "go.mod", Diff: "--- a/go.mod\n+++ b/go.mod\n+require example.com/x v1.0.0\n"}},
			Dependencies: []result.DependencyChange{{Module: "example.com/x", After: "v1.0.0"}},
			Commits:      []string{"ccf437f9551234567890ccf437f9551234567890 bench: parse --iters"},
			Warnings:     []result.Warning{{Code: result.WarnGraftChangedDependency, Text: "the graft moved example.com/y from v1.0.0 to v1.1.0"}}},
	}
	p.Expansion.Artifacts = []result.Artifact{build(result.Base), build(result.Head)}
	p.Calibration = result.Calibration{Rounds: 21, BudgetNS: 60e9}
	for _, c := range seedCases() {
		p.Calibration.Cases = append(p.Calibration.Cases, result.CasePlan{ID: c.ID, Kind: result.Steady, Schedule: result.Lockstep, Iterations: 98304, Lead: 1000, Passes: 20, BlockSamples: 40, Rule: result.RuleSwitches})
	}
	p.Environment = result.Environment{Pinned: true, Freezes: "cgroup.freeze", Start: start, Machine: machine.Fingerprint{
		{Key: "cpu_model", Value: "Example CPU 9000", Class: machine.Hard}, {Key: "kernel", Value: "6.1.0", Class: machine.Hard}, {Key: "governor", Value: machine.UnknownValue, Class: machine.Hard}}}
	return p
}

// full is a synthetic run with something of everything.
func full() Input {
	in := Input{Plan: planFixture(), Comparison: comparisonOf(seedCases(), oddCases(), metricCases()), Captures: []string{"captures"},
		Notes: "# wks\n\nMost likely the fused `scan-and-hash` trades standalone\ntokenize cost. <b>Not</b> profiled.\n\n- item one\n- item two with `code`\n"}
	in.Comparison.Warnings = []result.Warning{{Code: "too-few-rounds", Text: "21 rounds cannot carry 40 cases"}, {Code: "not-trusted", Text: "a control moved by 3 %"}}
	end := in.Plan.Environment.Start
	end.Time, end.Load1, end.Steal = end.Time.Add(2*time.Minute), ptr(1.1), []int64{150, 260}
	in.End = &result.End{Time: end.Time, Snapshot: end}
	in.Damaged = []result.Damaged{{Source: "captures/0007.txt", Line: 12, Text: "BenchmarkX 100 NaN ns/op", Reason: "not a number"}}
	return in
}

// seedRun is a synthetic run of the seed's eleven cases and nothing odd.
func seedRun() Input {
	in := full()
	in.Comparison = comparisonOf(seedCases(), metricCases())
	in.Damaged = nil
	in.Plan.Draft.Graft.Warnings = nil
	return in
}

// many is a synthetic run of n cases with long names.
func many(n int) Input {
	in := seedRun()
	var cases []compare.Comparison
	for i := range n {
		c := synthetic(fmt.Sprintf("BenchmarkDecode/a-name-as-long-as-they-come/with=many,parts/and|pipes/%d", i), 100, 90, -0.1, 0.01, 0.02, compare.Faster)
		c.Warnings = []result.Warning{{Code: "shape-changed", Text: "the arms' distributions differ in shape"}}
		cases = append(cases, c)
	}
	in.Comparison = comparisonOf(cases)
	return in
}
