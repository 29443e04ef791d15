//go:build unix

package simulate

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/harness"
	"assay/internal/harness/harnesstest"
	"assay/internal/result"
)

// tree writes files into a new folder.
func tree(t *testing.T, files map[string]string) harness.Tree {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return harnesstest.Tree(dir)
}

func headTree(t *testing.T) harness.Tree {
	return tree(t, map[string]string{
		"bench.sim":            "# the harness\nBenchmarkA uses=parse\nBenchmarkA/sub uses=parse setup=1ms\nBenchmarkX uses=format external\n",
		"impl.sim":             "parse 1000 alloc=64\nformat 10\n",
		"deep/er/bench.sim":    "BenchmarkD uses=d\n",
		"deep/er/impl.sim":     "program GOAMD64=v1\nd 5\n",
		"testdata/in/put.txt":  "x",
		"unrelated/readme.txt": "BenchmarkNo",
	})
}

func detect(t *testing.T, from harness.Tree, query harness.Query) harness.Layout {
	t.Helper()
	layout, err := Adapter{}.Detect(t.Context(), from, query)
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

func TestDetect(t *testing.T) {
	t.Parallel()
	head := headTree(t)
	got := detect(t, head, harness.Query{Dir: "."}).Units
	want := []harness.Unit{
		{Package: "example.com/sim", Dir: ".", ModuleDir: ".", Language: "1.26", Internal: []string{"BenchmarkA"}, External: []string{"BenchmarkX"}, Files: []string{"bench.sim"}},
		{Package: "example.com/sim/deep/er", Dir: "deep/er", ModuleDir: ".", Language: "1.26", Internal: []string{"BenchmarkD"}, Files: []string{"deep/er/bench.sim"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct {
		query harness.Query
		want  string
	}{
		"below a folder":   {harness.Query{Dir: "deep"}, "deep/er"},
		"a folder":         {harness.Query{Dir: ".", Packages: []string{"./deep/er"}}, "deep/er"},
		"an import path":   {harness.Query{Dir: ".", Packages: []string{"example.com/sim/deep/..."}}, "deep/er"},
		"the root alone":   {harness.Query{Dir: ".", Packages: []string{"example.com/sim"}}, "."},
		"everything":       {harness.Query{Dir: ".", Packages: []string{"./..."}}, ". deep/er"},
		"a benchmark":      {harness.Query{Dir: ".", Bench: "D$"}, "deep/er"},
		"no such folder":   {harness.Query{Dir: "de"}, ""},
		"a sub-benchmark":  {harness.Query{Dir: ".", Bench: "A/sub"}, "."},
		"no such package":  {harness.Query{Dir: ".", Packages: []string{"nothing"}}, ""},
		"nothing selected": {harness.Query{Dir: ".", Bench: "Nothing"}, ""},
	} {
		var dirs []string
		for _, unit := range detect(t, head, test.query).Units {
			dirs = append(dirs, unit.Dir)
		}
		if got := strings.Join(dirs, " "); got != test.want {
			t.Errorf("%s: units in %q, want %q", name, got, test.want)
		}
	}
}

// TestGraftAndBuild: head's harness on a base that lacks a function does not
// build and says which; on one that has it both arms list the same.
func TestGraftAndBuild(t *testing.T) {
	t.Parallel()
	head := headTree(t)
	layout := detect(t, head, harness.Query{Dir: "."})
	for name, impl := range map[string]string{"complete": "parse 1200\nformat 10\n", "lacking": "parse 1200\nformatter 3\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := tree(t, map[string]string{"bench.sim": "BenchmarkOld uses=parse\n", "impl.sim": impl, "testdata/stale": "", "deep/er/impl.sim": "d 5 # another comment\n"})
			plan, err := Adapter{}.Graft(head, base, layout)
			if err != nil {
				t.Fatal(err)
			}
			want := result.GraftPlan{Remove: []string{"testdata/stale"}, Copy: []result.GraftFile{
				{Path: "bench.sim", Kind: "test"}, {Path: "testdata/in/put.txt", Kind: "testdata"}, {Path: "deep/er/bench.sim", Kind: "test"}}}
			if diff := cmp.Diff(want, plan); diff != "" {
				t.Fatalf("graft (-want +got):\n%s", diff)
			}
			harnesstest.Apply(t, head, base.Dir, plan)
			artifact := harnesstest.Build(t, Adapter{}, harnesstest.RecipeOf(base, layout, layout.Units[0]))
			if name == "lacking" {
				if artifact.Failure == nil || !slices.Equal(artifact.Failure.Missing, []string{"format"}) {
					t.Errorf("failure %+v", artifact.Failure)
				}
				return
			}
			if artifact.Failure != nil {
				t.Fatalf("%+v", artifact.Failure)
			}
			p, err := read(artifact.Path)
			if err != nil || !slices.Equal(p.order, []string{"BenchmarkA", "BenchmarkA/sub", "BenchmarkX"}) || p.code(p.functions["BenchmarkA"]).ns != 1200 {
				t.Errorf("%v, %+v", err, p)
			}
		})
	}
}

// TestInspect: settings are read back, and comments are no code.
func TestInspect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	digest := func(text string) ([]result.Setting, string) {
		file := filepath.Join(dir, "binary")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		settings, code, err := Adapter{}.Inspect(file)
		if err != nil {
			t.Fatal(err)
		}
		return settings, code
	}
	settings, code := digest("program GOAMD64=v1\nBenchmarkA 10\n")
	if !cmp.Equal(settings, []result.Setting{{Key: "GOAMD64", Value: "v1", Source: "the binary"}}) {
		t.Errorf("settings %v", settings)
	}
	if _, same := digest("# new\n\nprogram GOAMD64=v1\nBenchmarkA   10 # note\n"); same != code {
		t.Error("a comment changes the code")
	}
	if _, other := digest("program GOAMD64=v1\nBenchmarkA 11\n"); other == code {
		t.Error("another cost is the same code")
	}
	for _, bad := range []string{path.Join(dir, "none")} {
		if _, _, err := (Adapter{}).Inspect(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	a := result.Artifact{Path: "/cache/binary", RunDir: "/tree"}
	if got := (Adapter{}).Serve(a, false); !cmp.Equal(got, result.Command{Argv: []string{"/cache/binary"}, Dir: "/tree"}) {
		t.Errorf("%+v", got)
	}
	if got := (Adapter{}).Serve(a, true); !cmp.Equal(got.Argv, []string{"/cache/binary", "external"}) {
		t.Errorf("%+v", got)
	}
}
