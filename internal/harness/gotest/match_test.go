package gotest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay/internal/harness/harnesstest"
	"assay/internal/result"
)

// testMatch compares Match with what the real testing package runs.
func testMatch(t *testing.T, artifact result.Artifact) {
	var names []string
	for _, name := range oddNames() {
		names = append(names, "BenchmarkNames/"+name)
	}
	names = append(names, "BenchmarkEmpty", "BenchmarkPrints", "BenchmarkPrintsSub/x")
	const only = "^Benchmark(Names|Empty|Prints|PrintsSub)$"
	for _, pattern := range []string{
		"Names", "^Names", "Names/a", "Names/^a$", "Names/a/b", "Names/a/b/c", "Names//b", "Names/a|Empty", "Empty|Names/^a$/^b$",
		"Names/a/b|Names", "Names|Names/a/b", "Names/sp ace", "Names/x=\\[1/2", "Names/x=[[]1/2]", "(Names|Empty)", "(Names/a|Empty)", "Names/[a/]",
		"Names/#00", "Names/é", "Names/\x01", "Names/5 MB/s", "Names/a#01", "Names/.*/", "Prints$|Sub/y", "Sub/", "/x", "|Names", ".", "Names/\\/", "P/x)",
	} {
		if CheckPattern(pattern) != nil {
			continue // testing ends the process; TestCheckPattern has these
		}
		command := Adapter{}.Serve(artifact, false)
		command.Argv = []string{artifact.Path, "-test.run=^$", "-test.benchtime=1x", "-test.bench=" + pattern, "-test.skip=Benchmark(Z|Child|Fatal|Skip|Parent|Loop|Counted|Ready|Bytes|OwnTime|Spin|RunParallel|Background|Silences|Outside)"}
		command.Env = []string{"GOMAXPROCS=1"}
		stdout, _, err := harnesstest.Exec(t.Context(), command)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		ran := map[string]bool{}
		for _, line := range strings.Split(string(stdout), "\n") {
			if name, _, ok := strings.Cut(line, "\t"); ok && strings.HasPrefix(name, "Benchmark") {
				ran[strings.TrimRight(name, " ")] = true
			}
		}
		var want, got []string
		for _, name := range names {
			if Match(only, name) && ran[name] {
				want = append(want, name)
			}
			if Match(pattern, name) {
				got = append(got, name)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("-bench %q: Match selects %q, testing ran %q", pattern, got, want)
		}
	}
}

func TestCheckPattern(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"(", "A/[", "A|B/(", "P/x)", "*"} {
		if CheckPattern(pattern) == nil || Match(pattern, "BenchmarkA") {
			t.Errorf("%q is taken for a pattern", pattern)
		}
	}
	if CheckPattern("") != nil || !Match("", "BenchmarkA/b") {
		t.Error("no pattern does not match all")
	}
}

func TestSplitFlags(t *testing.T) {
	t.Parallel()
	got := splitFlags(` -mod=mod '-ldflags=-X "a.b=c d" -s'  "-tags=x y" -race`)
	want := []string{"-mod=mod", `-ldflags=-X "a.b=c d" -s`, "-tags=x y", "-race"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if v, ok := flagValue(got, "tags"); !ok || v != "x y" {
		t.Errorf("tags: %q %v", v, ok)
	}
	if !switchedOn(got, "race") || switchedOn([]string{"-race", "--race=false"}, "race") || switchedOn(got, "cover") {
		t.Error("boolean flags misread")
	}
}
