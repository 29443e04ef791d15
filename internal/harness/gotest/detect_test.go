package gotest

import (
	"context"
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"assay/internal/harness"
	"assay/internal/result"
)

// files makes a tree of path, text, path, text.
func files(pairs ...string) fstest.MapFS {
	tree := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		tree[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return tree
}

// bench is a test file with plain benchmarks.
func bench(pkg string, names ...string) string {
	text := "package " + pkg + "\n\nimport \"testing\"\n"
	for _, name := range names {
		text += "\nfunc " + name + "(b *testing.B) {}\n"
	}
	return text
}

func detect(t *testing.T, tree fs.FS, query harness.Query) harness.Layout {
	t.Helper()
	if query.Dir == "" {
		query.Dir = "."
	}
	layout, err := Adapter{}.Detect(t.Context(), harness.Tree{Dir: "/nowhere", FS: tree}, query)
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// found lists package:benchmark, external ones with a plus.
func found(layout harness.Layout) []string {
	var out []string
	for _, unit := range layout.Units {
		for _, name := range unit.Internal {
			out = append(out, unit.Package+":"+name)
		}
		for _, name := range unit.External {
			out = append(out, unit.Package+":+"+name)
		}
	}
	return out
}

func manyModules() fstest.MapFS {
	return files(
		"go.mod", "module example.com/m\n\ngo 1.18\n\nignore ./left/out\n",
		"a_test.go", bench("m", "BenchmarkRoot"),
		"a/x_test.go", bench("a", "BenchmarkA1", "BenchmarkA2"),
		"a/x_windows_test.go", bench("a", "BenchmarkWindows"),
		"a/x_plan9_arm_test.go", bench("a", "BenchmarkPlan9"),
		"a/out_test.go", bench("a_test", "BenchmarkOut"),
		"a/tag_test.go", "//go:build special\n\n"+bench("a", "BenchmarkSpecial"),
		"a/new_test.go", "//go:build go1.1\n\n"+bench("a", "BenchmarkNew"),
		"b/deep/y_test.go", bench("deep", "BenchmarkDeep"),
		"nested/go.mod", "module example.com/other\n\ngo 1.21\n",
		"nested/n_test.go", bench("nested", "BenchmarkNested"),
		"vendor/v/v_test.go", bench("v", "BenchmarkVendored"),
		"testdata/t_test.go", bench("t", "BenchmarkData"),
		"_x/t_test.go", bench("x", "BenchmarkUnderscore"),
		".x/t_test.go", bench("x", "BenchmarkDot"),
		"left/out/t_test.go", bench("out", "BenchmarkIgnored"),
		"plain/p.go", "package plain\n\nfunc BenchmarkNotATest() {}\n",
	)
}

func TestDetect(t *testing.T) {
	t.Parallel()
	everything := []string{"example.com/m:BenchmarkRoot", "example.com/m/a:BenchmarkA1", "example.com/m/a:BenchmarkA2", "example.com/m/a:BenchmarkNew",
		"example.com/m/a:+BenchmarkOut", "example.com/m/b/deep:BenchmarkDeep", "example.com/other:BenchmarkNested"}
	for name, test := range map[string]struct {
		query harness.Query
		want  []string
	}{
		"all":             {harness.Query{}, everything},
		"tags":            {harness.Query{Tags: []string{"special"}, Bench: "Special"}, []string{"example.com/m/a:BenchmarkSpecial"}},
		"below":           {harness.Query{Dir: "b"}, []string{"example.com/m/b/deep:BenchmarkDeep"}},
		"module below":    {harness.Query{Dir: "nested"}, []string{"example.com/other:BenchmarkNested"}},
		"pattern":         {harness.Query{Bench: "A/sub|^BenchmarkDeep$/x/y"}, []string{"example.com/m/a:BenchmarkA1", "example.com/m/a:BenchmarkA2", "example.com/m/b/deep:BenchmarkDeep"}},
		"import path":     {harness.Query{Packages: []string{"example.com/m/b/..."}}, []string{"example.com/m/b/deep:BenchmarkDeep"}},
		"folder":          {harness.Query{Packages: []string{"./a"}, Bench: "Out"}, []string{"example.com/m/a:+BenchmarkOut"}},
		"folder from dir": {harness.Query{Dir: "b", Packages: []string{"./deep", "./none"}}, []string{"example.com/m/b/deep:BenchmarkDeep"}},
		"dots":            {harness.Query{Packages: []string{"./..."}}, everything},
		"bare folder":     {harness.Query{Packages: []string{"b/deep"}}, []string{"example.com/m/b/deep:BenchmarkDeep"}},
		"here":            {harness.Query{Packages: []string{"."}}, []string{"example.com/m:BenchmarkRoot"}},
		"nothing":         {harness.Query{Packages: []string{"example.com/z"}}, nil},
		"no such folder":  {harness.Query{Dir: "gone"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := found(detect(t, manyModules(), test.query)); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	layout := detect(t, manyModules(), harness.Query{Bench: "Nested|Deep"})
	if deep, nested := layout.Units[0], layout.Units[1]; deep.Language != "1.18" || deep.ModuleDir != "." || nested.Language != "1.21" || nested.ModuleDir != "nested" {
		t.Errorf("modules: %+v %+v", deep, nested)
	}
	if _, err := (Adapter{}).Detect(t.Context(), harness.Tree{FS: manyModules()}, harness.Query{Dir: ".", Bench: "("}); err == nil || !strings.Contains(err.Error(), `"("`) {
		t.Errorf("a bad pattern: %v", err)
	}
}

func TestDetectFunctions(t *testing.T) {
	t.Parallel()
	text := `package m

import tt "testing"

type s struct{}

func Benchmark(b *tt.B)         {}
func Benchmark_x(b *tt.B)       {}
func Benchmark1(b *tt.B)        {}
func BenchmarkÄ(*tt.B)          {}
func Benchmarkä(b *tt.B)        {}
func (s) BenchmarkMethod(b *tt.B) {}
func BenchmarkGeneric[T any](b *tt.B) {}
func BenchmarkTwo(b, c *tt.B)   {}
func BenchmarkMore(b *tt.B, n int) {}
func BenchmarkResult(b *tt.B) int { return 0 }
func BenchmarkTest(t *tt.T)     {}
func BenchmarkNone()            {}
`
	got := found(detect(t, files("go.mod", "module m\n", "m_test.go", text), harness.Query{}))
	if want := []string{"m:Benchmark", "m:Benchmark1", "m:Benchmark_x", "m:BenchmarkÄ"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDetectDamaged(t *testing.T) {
	t.Parallel()
	layout := detect(t, files("go.mod", "module m\n",
		"a/a_test.go", "package a\n\nimport \"testing\"\n\nfunc BenchmarkFirst(b *testing.B) {\n\tx := := 1\n}\n\nfunc BenchmarkSecond(b *testing.B) {}\n"), harness.Query{})
	if got := found(layout); !reflect.DeepEqual(got, []string{"m/a:BenchmarkFirst", "m/a:BenchmarkSecond"}) {
		t.Errorf("a file with a syntax error: %q", got)
	}
	if len(layout.Warnings) != 1 || layout.Warnings[0].Code != WarnParse || !strings.Contains(layout.Warnings[0].Text, "a/a_test.go:6") {
		t.Errorf("warnings %v", layout.Warnings)
	}
	homeless := detect(t, files("x/a_test.go", bench("x", "BenchmarkX")), harness.Query{})
	if len(homeless.Units) != 0 || len(homeless.Warnings) != 1 || homeless.Warnings[0].Code != WarnNoModule || !strings.Contains(homeless.Warnings[0].Text, "in x:") {
		t.Errorf("no go.mod: %+v", homeless)
	}
	_, err := Adapter{}.Detect(t.Context(), harness.Tree{FS: files("go.mod", "modul m\n")}, harness.Query{Dir: "."})
	if err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("a broken go.mod: %v", err)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	var asked result.Command
	tree := harness.Tree{Dir: "/tree", FS: files("go.mod", "module m\n", "m_test.go", "//go:build fromflags && go1.19 && !go1.20\n\n"+bench("m", "BenchmarkTagged"))}
	tree.Exec = func(_ context.Context, cmd result.Command) ([]byte, []byte, error) {
		asked = cmd
		return []byte(`{"GOVERSION":"go1.19.4","GOAMD64":"v3","GOFLAGS":"-tags=fromflags -race","GOWORK":"/tree/go.work","GOPATH":"/x"}`), nil, nil
	}
	layout, err := Adapter{}.Detect(t.Context(), tree, harness.Query{Dir: ".", Env: []string{"A=b"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := found(layout); !reflect.DeepEqual(got, []string{"m:BenchmarkTagged"}) {
		t.Errorf("tags of GOFLAGS and the toolchain's version: %q", got)
	}
	want := []result.Setting{{Key: "GOVERSION", Value: "go1.19.4", Source: "go env"}, {Key: "GOAMD64", Value: "v3", Source: "go env"},
		{Key: "GOFLAGS", Value: "-tags=fromflags -race", Source: "go env"}, {Key: "GOWORK", Value: "go.work", Source: "go env"}}
	if !reflect.DeepEqual(layout.Settings, want) {
		t.Errorf("settings %v", layout.Settings)
	}
	if !reflect.DeepEqual(asked.Env, []string{"A=b"}) || asked.Dir != "/tree" {
		t.Errorf("asked %+v", asked)
	}
	if len(layout.Warnings) != 1 || layout.Warnings[0].Code != WarnInstrumented {
		t.Errorf("warnings %v", layout.Warnings)
	}
	tree.Exec = func(context.Context, result.Command) ([]byte, []byte, error) {
		return nil, []byte("no such thing"), errors.New("exit status 1")
	}
	if _, err := (Adapter{}).Detect(t.Context(), tree, harness.Query{Dir: "."}); err == nil || !strings.Contains(err.Error(), "no such thing") {
		t.Errorf("without a go command: %v", err)
	}
}
