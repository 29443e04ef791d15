package gotest

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"assay/internal/harness"
	"assay/internal/result"
)

// graft detects in source and grafts onto the other tree: "kind path" for what
// is copied, "- path" for what is removed.
func graft(t *testing.T, source, onto fstest.MapFS, query harness.Query) []string {
	t.Helper()
	layout := detect(t, source, query)
	plan, err := Adapter{}.Graft(harness.Tree{FS: source}, harness.Tree{FS: onto}, layout)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, file := range plan.Copy {
		out = append(out, file.Kind+" "+file.Path)
	}
	for _, name := range plan.Remove {
		out = append(out, "- "+name)
	}
	return out
}

func TestGraftFiles(t *testing.T) {
	t.Parallel()
	const mod = "module m\n"
	user := func(body string) string {
		return "package m\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) {\n" + body + "\n}\n"
	}
	outside := func(imports, body string) string {
		return "package m_test\n\nimport (\n\"testing\"\n" + imports + "\n)\n\nfunc BenchmarkX(b *testing.B) {\n" + body + "\n}\n"
	}
	for name, test := range map[string]struct {
		source fstest.MapFS
		want   []string
	}{
		"alone": {files("x_test.go", user(""), "y_test.go", "package m\n\nfunc unused() {}\n"), []string{"test x_test.go"}},
		"transitive": {files("x_test.go", user("one()"), "y_test.go", "package m\n\nfunc one() { two = 1 }\n", "z_test.go", "package m\n\nvar two int\n", "w_test.go", "package m\n\nfunc x() { one() }\n"),
			[]string{"test x_test.go", "test y_test.go", "test z_test.go"}},
		"local names shadow": {files("x_test.go", user("one := 1; _ = one"), "y_test.go", "package m\n\nfunc one() {}\n"), []string{"test x_test.go"}},
		"methods follow types": {files("x_test.go", user("var t T; _ = t"), "y_test.go", "package m\n\ntype T struct{}\n", "z_test.go", "package m\n\nfunc (*T) m() {}\n"),
			[]string{"test x_test.go", "test y_test.go", "test z_test.go"}},
		"methods on generic types": {files("x_test.go", user("var t T[int]; _ = t"), "y_test.go", "package m\n\ntype T[P any] struct{}\n", "z_test.go", "package m\n\nfunc (*T[P]) m() {}\n"),
			[]string{"test x_test.go", "test y_test.go", "test z_test.go"}},
		"methods that tests add": {files("m.go", "package m\n\ntype P struct{}\n", "x_test.go", user("P{}.Grown()"), "y_test.go", "package m\n\nfunc (P) Grown() {}\n", "z_test.go", "package m\n\nfunc (P) Other() {}\n"),
			[]string{"test x_test.go", "test y_test.go"}},
		"TestMain": {files("x_test.go", user(""), "main_test.go", "package m\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) { setup() }\n", "s_test.go", "package m\n\nfunc setup() {}\n"),
			[]string{"test main_test.go", "test s_test.go", "test x_test.go"}},
		"exports": {files("x_test.go", outside(`"m"`, "m.Hidden()"), "export_test.go", "package m\n\nvar Hidden = deeper\n", "d_test.go", "package m\n\nfunc deeper() {}\n", "o_test.go", "package m\n\nvar Other = 1\n"),
			[]string{"test d_test.go", "test export_test.go", "test x_test.go"}},
		"exports, renamed import": {files("x_test.go", outside(`q "m"`, "q.Hidden()\nother.Other()"), "export_test.go", "package m\n\nvar Hidden = 1\n", "o_test.go", "package m\n\nvar Other = 1\n"),
			[]string{"test export_test.go", "test x_test.go"}},
		"exports, dot import": {files("x_test.go", outside(`. "m"`, "Hidden()"), "export_test.go", "package m\n\nvar Hidden = 1\n"),
			[]string{"test export_test.go", "test x_test.go"}},
		"data": {files("x_test.go", user(`open("data/in.json"); open("../up.txt"); open("words"); open(filepath.Join("big", "set", name)); open("/etc/passwd"); open("."); open("missing.txt")`),
			"data/in.json", "", "words/a.txt", "", "words/b.txt", "", "big/set/1", "", "big/other", "", "testdata/t.txt", "", "testdata/code/c.go", "package c", "etc/passwd", ""),
			[]string{"testdata big/set/1", "testdata data/in.json", "testdata testdata/code/c.go", "testdata testdata/t.txt", "testdata words/a.txt", "testdata words/b.txt", "test x_test.go"}},
		"product is not data": {files("x_test.go", user(`open("m.go"); open("lib"); open("table.bin"); open("go.mod"); open("lib/l.s")`),
			"m.go", "package m\n\nimport _ \"embed\"\n\n//go:embed table.bin\nvar table []byte\n", "table.bin", "", "lib/l.go", "package lib", "lib/l.s", ""),
			[]string{"test x_test.go"}},
		"embedded": {files("x_test.go", "package m\n\nimport (\n\"embed\"\n\"testing\"\n)\n\n//go:embed one.txt \"two words.txt\" dir\n//go:embed all:every *.csv\nvar fs embed.FS\n\nfunc BenchmarkX(b *testing.B) {}\n",
			"one.txt", "", "two words.txt", "", "dir/a", "", "dir/.hidden", "", "dir/sub/_h", "", "dir/sub/b", "", "every/.hidden", "", "t.csv", "", "not.txt", ""),
			[]string{"embed dir/a", "embed dir/sub/b", "embed every/.hidden", "embed one.txt", "embed t.csv", "embed two words.txt", "test x_test.go"}},
		"helpers": {files("x_test.go", outside("\"m/internal/testutil\"\n\"m/lib\"\n\"m/testused\"\n\"m/mock\"", ""),
			"mock/m.go", "package mock\n", "mock/m_test.go", bench("mock", "BenchmarkMock"),
			"internal/testutil/u.go", "package testutil\n\nimport _ \"m/internal/mockdb\"\n", "internal/testutil/u_test.go", "package testutil\n", "internal/mockdb/d.go", "package mockdb\n",
			"lib/l.go", "package lib\n\nimport _ \"m/testused\"\n", "testused/t.go", "package testused\n"),
			[]string{"support internal/mockdb/d.go", "support internal/testutil/u.go", "test mock/m_test.go", "test x_test.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.source["go.mod"] = &fstest.MapFile{Data: []byte(mod)}
			got := graft(t, test.source, files("go.mod", mod), harness.Query{})
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestGraftOnto(t *testing.T) {
	t.Parallel()
	source := files("go.mod", "module m\n", "x_test.go", "package m\n\nimport (\n\"testing\"\n_ \"m/internal/testutil\"\n)\n\nfunc BenchmarkX(b *testing.B) {}\n",
		"testdata/a", "new", "internal/testutil/u.go", "package testutil\n", "bench/data/deep/in.json", "", "other/in.json", "")
	onto := files("go.mod", "module m\n", "x_test.go", "package m\n", "y_test.go", "package m\n", "testdata/a", "old", "testdata/sub/b", "", "internal/testutil/u.go", "package testutil\n",
		"bench/data/old.json", "")
	want := []string{"testdata testdata/a", "test x_test.go", "- testdata/sub/b"}
	if got := graft(t, source, onto, harness.Query{}); !reflect.DeepEqual(got, want) {
		t.Errorf("an equal helper package is no part of the graft: %q", got)
	}
	onto["internal/testutil/more.go"] = &fstest.MapFile{Data: []byte("package testutil\n")}
	want = []string{"support bench/data/deep/in.json", "support internal/testutil/u.go", "testdata testdata/a", "test x_test.go",
		"- bench/data/old.json", "- internal/testutil/more.go", "- testdata/sub/b"}
	if got := graft(t, source, onto, harness.Query{Support: []string{"bench/**/*.json"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("helper and support files: %q, want %q", got, want)
	}
	for _, glob := range []string{"../x", "/abs", "."} {
		if _, err := globExpression(glob); err == nil {
			t.Errorf("the pattern %q is taken", glob)
		}
	}
}

func TestLeftOut(t *testing.T) {
	t.Parallel()
	tree := files("p/a_test.go", "", "p/b_test.go", "", "p/c.go", "", "p/testdata/d_test.go", "")
	unit := harness.Unit{Dir: "p", Files: []string{"p/a_test.go", "p/new_test.go"}}
	got, err := LeftOut(tree, unit)
	if err != nil || !reflect.DeepEqual(got, []string{"p/b_test.go"}) {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := LeftOut(files("q/a.go", ""), unit); err != nil || got != nil {
		t.Errorf("a missing folder: %q, %v", got, err)
	}
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	output := `# example.com/m [example.com/m.test]
./a_test.go:5:2: undefined: NewThing
./a_test.go:6:4: m.Hidden undefined (type *T has no field or method Hidden)
./a_test.go:7:2: undefined: lib.Grown
./a_test.go:8:2: undefined: NewThing
./a_test.go:9:9: unknown field Speed in struct literal of type Options
./a_test.go:10:14: cannot use T{} (value of struct type T) as I value in variable declaration: T does not implement I (missing method Run)
./a_test.go:11:4: not enough arguments in call to Parse
b_test.go:4:2: no required module provides package github.com/x/y; to add it:
	go get github.com/x/y
c_test.go:3:2: package m/internal/new is not in std (/usr/lib/go/src/m/internal/new)
c_test.go:4:8: no required module provides package github.com/x/y; to add it:
import cycle not allowed in test
a_test.go:12:60: predeclared any requires go1.18 or later (-lang was set to go1.17; check go.mod)
a_test.go:13:60: type parameter requires go1.18 or later (-lang was set to go1.17; check go.mod)
d_test.go:9:12: pattern data/*.bin: no matching files found
e.go:3:2: missing go.sum entry for module providing package golang.org/x/text/language; to add:
go: example.org/d@v1.0.0: missing go.sum entry for go.mod file; to add it:
f.go:3:8: module example.org/e@latest found (v1.0.0), but does not contain package example.org/e/sub
go: go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)
./g.go:7:4: x.hidden undefined (cannot refer to unexported field hidden)
go: go.mod file not found in current directory or any parent directory; see 'go help modules'
`
	want := []string{"NewThing", "m.Hidden (*T has no Hidden)", "lib.Grown", "field Speed of Options",
		"cannot use T{} (value of struct type T) as I value in variable declaration", "T does not implement I: method Run",
		"Parse with these parameters", "package github.com/x/y", "package m/internal/new", "import cycle not allowed in test", "language level go1.18 (go.mod says go1.17)",
		"embedded file data/*.bin", "go.sum entry for package golang.org/x/text/language",
		"go.sum entry for example.org/d@v1.0.0", "package example.org/e/sub", "Go 1.99 or later", "x.hidden", "go.mod (go.mod file not found)"}
	if got := (Adapter{}).Diagnose(output); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestBuildFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/sub/p/p_test.go", bench("p", "BenchmarkP"))
	recipe := result.Recipe{Dir: dir, Package: "m/p", PackageDir: "sub/p", ModuleDir: "sub", Internal: []string{"BenchmarkP"}, LeftOut: []string{"sub/p/old_test.go"},
		Flags: []string{"-mod=mod", "-tags", "b,c"}, Tags: []string{"a"}, Env: []string{"GOAMD64=v2"}, Toolchain: "go1.2.3", Trimmed: true,
		Settings: []result.Setting{{Key: "GOFLAGS", Value: "'-ldflags=-X a.b=c' -tags=d"}}}
	commands, overlay, err := Adapter{}.Build(recipe, "{{output}}")
	if err != nil {
		t.Fatal(err)
	}
	want := []result.Command{{Dir: dir + "/sub", Env: []string{"GOTOOLCHAIN=go1.2.3", "GOAMD64=v2"}, Argv: []string{"go", "test", "-c", "-o", "{{output}}", "-buildvcs=false", "-vet=off",
		"-overlay", "{{overlay}}", "-trimpath=true", "-mod=mod", "-ldflags=-X a.b=c -buildid=", "-tags=a,b,c,d", "./p"}}}
	if !reflect.DeepEqual(commands, want) {
		t.Errorf("got %q", commands)
	}
	if len(overlay) != 2 || overlay[0].Path != "sub/p/old_test.go" || overlay[0].Content != nil || overlay[1].Path != "sub/p/"+internalFile {
		t.Errorf("overlay %v", overlay)
	}
	recipe.Flags = []string{"-ldflags=-w"}
	recipe.Trimmed = false
	if commands, _, err = (Adapter{}).Build(recipe, "x"); err != nil || !strings.Contains(strings.Join(commands[0].Argv, " "), "-trimpath=false -ldflags=-w -buildid= -tags=a,d") {
		t.Errorf("got %q, %v", commands, err)
	}
	recipe.Internal = []string{"BenchmarkGone"}
	if _, _, err := (Adapter{}).Build(recipe, "x"); err == nil || !strings.Contains(err.Error(), "BenchmarkGone") {
		t.Errorf("a benchmark that no file declares: %v", err)
	}
	recipe.Internal, recipe.Flags = []string{"BenchmarkP"}, []string{"-overlay=mine.json"}
	if _, _, err := (Adapter{}).Build(recipe, "x"); err == nil || !strings.Contains(err.Error(), "-overlay") {
		t.Errorf("a flag that is assay's own: %v", err)
	}
}
