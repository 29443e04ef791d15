package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/result"
)

func draftOf(arms ...result.ArmSpec) result.Draft {
	return result.Draft{Arms: arms, Seed: 7, Alpha: DefaultAlpha, MinEffect: DefaultMinEffect, CPUs: []int{1},
		ParallelCPUs: []int{0, 1}, Looks: []result.Look{{Level: DefaultAlpha}}}
}

func twoArms() result.Draft {
	return draftOf(append([]result.ArmSpec{{Name: result.Base}, {Name: result.Head}}, Planted()...)...)
}

func prefixMatch(pattern, name string) bool {
	return len(name) >= len(pattern) && name[:len(pattern)] == pattern
}

func expand(t *testing.T, draft result.Draft, artifacts []result.Artifact, listings ...Listing) []result.Case {
	t.Helper()
	e, err := Expand(draft, artifacts, listings, prefixMatch)
	if err != nil {
		t.Fatal(err)
	}
	if hash, err := result.Hash(draft); err != nil || e.Draft != hash {
		t.Errorf("the expansion holds %q, the draft's hash is %q (%v)", e.Draft, hash, err)
	}
	return e.Cases
}

func built(arm result.Arm, pkg, code string) result.Artifact {
	return result.Artifact{Arm: arm, Package: pkg, CodeDigest: code, Digest: string(arm) + code}
}

func TestExpandGolden(t *testing.T) {
	t.Parallel()
	draft := twoArms()
	draft.Bench = "Benchmark"
	draft.Cases = []result.CaseSettings{
		{Match: "^p\\.", Margin: 0.05, Title: "all of p"},
		{Match: "p.BenchmarkA", Title: "the first", Better: "higher"},
		{Match: "BenchmarkC$", Control: true},
		{Match: "p.BenchmarkB(", Margin: 0.5}, // neither a pattern nor an id
	}
	got := expand(t, draft, []result.Artifact{built(result.Base, "p", "1"), built(result.Head, "p", "2"), built(result.Base, "q", "3"), built(result.Head, "q", "3")},
		Listing{Arm: result.Base, Package: "p", Names: []string{"BenchmarkA", "BenchmarkOld"}},
		Listing{Arm: result.Head, Package: "p", Names: []string{"BenchmarkC", "BenchmarkA", "Ignored"}},
		Listing{Arm: result.Base, Package: "q", Names: []string{"BenchmarkQ"}, External: true},
		Listing{Arm: result.Head, Package: "q", Names: []string{"BenchmarkQ"}, External: true})
	want := []result.Case{
		{ID: "p.BenchmarkC", Package: "p", Name: "BenchmarkC", Title: "all of p", Margin: 0.05, Control: true, Missing: []result.Arm{result.Base}, Partner: "BenchmarkOld"},
		{ID: "p.BenchmarkA", Package: "p", Name: "BenchmarkA", Title: "the first", Margin: 0.05, Better: "higher"},
		{ID: "q.BenchmarkQ", Package: "q", Name: "BenchmarkQ", External: true, Title: "BenchmarkQ", Margin: 0.01, Identical: true, Control: true},
		{ID: "p.BenchmarkOld", Package: "p", Name: "BenchmarkOld", Title: "all of p", Margin: 0.05, Missing: []result.Arm{result.Head}, Partner: "BenchmarkC"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
}

// TestExpandFailed: a benchmark that ended its process is known by its top-level
// name, and fails for every sub-benchmark that the other arm lists; what a whole
// package lacks is a failure of each of its cases, on its own side alone.
func TestExpandFailed(t *testing.T) {
	t.Parallel()
	crash := func(id result.CaseID) result.Failure {
		return result.Failure{Arm: result.Base, Package: "p", ID: id, Reason: result.FailCrash, Text: "boom"}
	}
	for name, test := range map[string]struct {
		base result.Failure
		ext  bool // the base listing is that of the external side
		head []string
		want map[result.CaseID]string // state on base
	}{
		"one":           {crash("p.BenchmarkA"), false, []string{"BenchmarkA", "BenchmarkB"}, map[result.CaseID]string{"p.BenchmarkA": "crash", "p.BenchmarkB": "missing"}},
		"subs":          {crash("p.BenchmarkA"), false, []string{"BenchmarkA/x", "BenchmarkA/y", "BenchmarkAB"}, map[result.CaseID]string{"p.BenchmarkA/x": "crash", "p.BenchmarkA/y": "crash", "p.BenchmarkAB": "missing"}},
		"unknown":       {crash("p.BenchmarkZ"), false, []string{"BenchmarkA"}, map[result.CaseID]string{"p.BenchmarkA": "missing", "p.BenchmarkZ": "crash"}},
		"package":       {crash(""), false, []string{"BenchmarkA", "BenchmarkB"}, map[result.CaseID]string{"p.BenchmarkA": "crash", "p.BenchmarkB": "crash"}},
		"external side": {crash(""), true, []string{"BenchmarkA"}, map[result.CaseID]string{"p.BenchmarkA": "missing"}},
		"build": {result.Failure{Arm: result.Base, Package: "p", Reason: result.FailBuild}, true, []string{"BenchmarkA"},
			map[result.CaseID]string{"p.BenchmarkA": "build"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cases := expand(t, twoArms(), nil,
				Listing{Arm: result.Base, Package: "p", External: test.ext, Failed: []result.Failure{test.base}},
				Listing{Arm: result.Head, Package: "p", Names: test.head})
			got := map[result.CaseID]string{}
			for _, c := range cases {
				switch {
				case len(c.Failed) == 1 && c.Failed[0].ID == c.ID && c.Failed[0].Arm == result.Base:
					got[c.ID] = string(c.Failed[0].Reason)
				case len(c.Missing) == 1 && c.Missing[0] == result.Base:
					got[c.ID] = "missing"
				}
				if Measured(twoArms(), c) {
					t.Errorf("%s would be measured", c.ID)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("states on base (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIdenticalControls(t *testing.T) {
	t.Parallel()
	names := []string{"Benchmark1", "Benchmark2", "Benchmark3", "Benchmark4", "Benchmark5"}
	same := []Listing{{Arm: result.Base, Package: "same", Names: names}, {Arm: result.Head, Package: "same", Names: names}}
	other := []Listing{{Arm: result.Base, Package: "other", Names: names[:1]}, {Arm: result.Head, Package: "other", Names: names[:1]}}
	identical := []result.Artifact{built(result.Base, "same", "1"), built(result.Head, "same", "1")}
	differing := append([]result.Artifact{built(result.Base, "other", "1"), built(result.Head, "other", "2")}, identical...)
	for name, test := range map[string]struct {
		aa        bool
		artifacts []result.Artifact
		listings  []Listing
		controls  int
		measured  int
	}{
		"all identical":            {false, identical, same, 0, 0},
		"three beside a different": {false, differing, append(other, same...), 3, 4},
		"A/A measures all":         {true, identical, same, 0, 5},
		"unknown digests differ":   {false, []result.Artifact{{Arm: result.Base, Package: "same"}, {Arm: result.Head, Package: "same"}}, same, 0, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draft := twoArms()
			draft.AA = test.aa
			controls, measured := 0, 0
			for _, c := range expand(t, draft, test.artifacts, test.listings...) {
				if c.Control {
					controls++
				}
				if Measured(draft, c) {
					measured++
				}
			}
			if controls != test.controls || measured != test.measured {
				t.Errorf("%d controls and %d measured, want %d and %d", controls, measured, test.controls, test.measured)
			}
		})
	}
}

func TestPartners(t *testing.T) {
	t.Parallel()
	cases := expand(t, twoArms(), nil,
		Listing{Arm: result.Base, Package: "p", Names: []string{"BenchmarkParseURL", "BenchmarkX", "BenchmarkEncodeTheWholeOfAVeryLongBody"}},
		Listing{Arm: result.Head, Package: "p", Names: []string{"BenchmarkParseUrl", "BenchmarkX"}},
		Listing{Arm: result.Base, Package: "q"},
		Listing{Arm: result.Head, Package: "q", Names: []string{"BenchmarkParseURLs"}})
	want := map[string]string{"BenchmarkParseURL": "BenchmarkParseUrl", "BenchmarkParseUrl": "BenchmarkParseURL",
		"BenchmarkX": "", "BenchmarkEncodeTheWholeOfAVeryLongBody": "", "BenchmarkParseURLs": ""}
	got := map[string]string{}
	for _, c := range cases {
		got[c.Name] = c.Partner
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("partners (-want +got):\n%s", diff)
	}
}

func TestArms(t *testing.T) {
	t.Parallel()
	draft := twoArms()
	if got := CaseArms(draft, false); !cmp.Equal(got, []result.Arm{result.Base, result.Head}) {
		t.Errorf("built arms %v", got)
	}
	if got := CaseArms(draft, true); !cmp.Equal(got, []result.Arm{result.Base, result.Head, result.PlantedOne, result.PlantedTwo}) {
		t.Errorf("arms with the planted control %v", got)
	}
	if a, s := ArtifactArm(draft, result.PlantedTwo), Scale(draft, result.PlantedTwo); a != result.Base || s != 1.02 {
		t.Errorf("planted-2 runs the artifact of %s scaled by %v", a, s)
	}
	if a, s := ArtifactArm(draft, result.Head), Scale(draft, result.Head); a != result.Head || s != 1 {
		t.Errorf("head runs the artifact of %s scaled by %v", a, s)
	}
}
