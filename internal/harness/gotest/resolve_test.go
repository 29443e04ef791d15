package gotest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	xmodule "golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"assay/internal/harness"
	"assay/internal/harness/harnesstest"
	"assay/internal/result"
)

// proxy makes a folder that serves modules, and the environment that uses it
// and nothing else.
func proxy(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	for _, m := range []struct{ path, version, mod, source string }{
		{"example.org/dep", "v1.0.0", "", "package dep\n\nconst Version = 100\n"},
		{"example.org/dep", "v1.1.0", "", "package dep\n\nconst Version = 110\n"},
		{"example.org/more", "v1.0.0", "require example.org/dep v1.1.0\n", "package more\n\nimport \"example.org/dep\"\n\nconst V = dep.Version\n"},
		{"example.org/fork", "v1.0.0", "", "package lone\n\nconst V = 5\n"},
	} {
		source := t.TempDir()
		declared := m.path
		if m.path == "example.org/fork" {
			declared = "example.org/lone" // stands in for it by a replacement
		}
		mod := "module " + declared + "\n\ngo 1.18\n\n" + m.mod
		write(t, filepath.Join(source, "go.mod"), mod)
		write(t, filepath.Join(source, "x.go"), m.source)
		var archive bytes.Buffer
		if err := zip.CreateFromDir(&archive, xmodule.Version{Path: m.path, Version: m.version}, source); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, m.path, "@v", m.version)
		write(t, at+".mod", mod)
		write(t, at+".info", `{"Version":"`+m.version+`"}`)
		write(t, at+".zip", archive.String())
	}
	cache := t.TempDir()
	return []string{"GOPROXY=file://" + dir, "GOSUMDB=off", "GOMODCACHE=" + cache, "GOFLAGS=-modcacherw", "GOWORK="}
}

// goIn runs a go command in a folder.
func goIn(t *testing.T, dir string, env []string, args ...string) {
	t.Helper()
	if _, stderr, err := harnesstest.Exec(t.Context(), result.Command{Argv: append([]string{"go"}, args...), Dir: dir, Env: env}); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
}

const (
	product  = "package m\n\nimport \"example.org/dep\"\n\nconst Product = dep.Version\n"
	baseMod  = "module example.com/m\n\ngo 1.18\n\nrequire example.org/dep v1.0.0\n"
	benchDep = "package m\n\nimport (\n\t\"testing\"\n\n\t\"example.org/more\"\n)\n\nfunc BenchmarkX(b *testing.B) { _ = more.V }\n"
)

// arms makes a head that needs a module more, and a base with head's test file
// put onto it.
func arms(t *testing.T, env []string) (head, base harness.Tree) {
	t.Helper()
	headDir, baseDir := t.TempDir(), t.TempDir()
	write(t, headDir+"/m.go", product)
	write(t, headDir+"/x_test.go", benchDep)
	write(t, headDir+"/go.mod", baseMod+"require example.org/more v1.0.0\n")
	goIn(t, headDir, env, "mod", "tidy")
	write(t, baseDir+"/m.go", product)
	write(t, baseDir+"/go.mod", baseMod)
	goIn(t, baseDir, env, "mod", "tidy")
	write(t, baseDir+"/x_test.go", benchDep)
	return harnesstest.Tree(headDir), harnesstest.Tree(baseDir)
}

func resolve(t *testing.T, head, base harness.Tree, env []string) (layout harness.Layout, edits []result.ManifestEdit, changes []result.DependencyChange, codes []string) {
	t.Helper()
	layout, err := Adapter{}.Detect(t.Context(), head, harness.Query{Dir: ".", Env: env})
	if err != nil {
		t.Fatal(err)
	}
	edits, changes, warnings, err := Adapter{}.Resolve(t.Context(), head, base, layout)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warnings {
		codes = append(codes, w.Code)
		t.Log(w.Code, w.Text)
	}
	return layout, edits, changes, codes
}

// buildsWith builds base with head's unit and the flags of the edits.
func buildsWith(t *testing.T, base harness.Tree, layout harness.Layout, edits []result.ManifestEdit) {
	t.Helper()
	recipe := harnesstest.RecipeOf(base, layout, layout.Units[0])
	for _, edit := range edits {
		recipe.Flags = append(recipe.Flags, edit.BuildFlags...)
	}
	if artifact := harnesstest.Build(t, Adapter{}, recipe); artifact.Failure != nil {
		t.Errorf("base does not build:\n%s", artifact.Failure.Text)
	}
}

func paths(edits []result.ManifestEdit) (out []string) {
	for _, edit := range edits {
		out = append(out, edit.Path)
	}
	return out
}

func TestResolveAdds(t *testing.T) {
	t.Parallel()
	env := proxy(t)
	head, base := arms(t, env)
	layout, edits, changes, codes := resolve(t, head, base, env)
	if !reflect.DeepEqual(paths(edits), []string{"go.mod", "go.sum"}) || !strings.Contains(edits[0].Diff, "+\texample.org/more v1.0.0") {
		t.Errorf("edits %+v", edits)
	}
	want := []result.DependencyChange{{Module: "example.org/dep", Before: "v1.0.0", After: "v1.1.0"}, {Module: "example.org/more", After: "v1.0.0"}}
	if !reflect.DeepEqual(changes, want) {
		t.Errorf("changes %+v", changes)
	}
	if !reflect.DeepEqual(codes, []string{result.WarnGraftChangedDependency}) {
		t.Errorf("warnings %v", codes)
	}
	buildsWith(t, base, layout, edits)
	// A second time nothing is missing: no go command may run.
	base.Exec = func(context.Context, result.Command) ([]byte, []byte, error) {
		t.Error("a command ran although nothing is missing")
		return nil, nil, nil
	}
	if _, edits, changes, codes := resolve(t, head, base, env); len(edits)+len(changes)+len(codes) != 0 {
		t.Errorf("resolved again: %v %v %v", edits, changes, codes)
	}
}

func TestResolveVendored(t *testing.T) {
	t.Parallel()
	env := proxy(t)
	head, base := arms(t, env)
	if err := os.Rename(base.Dir+"/x_test.go", base.Dir+"/x_test.away"); err != nil {
		t.Fatal(err)
	}
	goIn(t, base.Dir, env, "mod", "vendor")
	if err := os.Rename(base.Dir+"/x_test.away", base.Dir+"/x_test.go"); err != nil {
		t.Fatal(err)
	}
	layout, edits, _, codes := resolve(t, head, base, env)
	if !reflect.DeepEqual(codes, []string{result.WarnGraftChangedDependency, WarnVendor}) || len(edits) == 0 || !reflect.DeepEqual(edits[0].BuildFlags, []string{"-mod=mod"}) {
		t.Errorf("warnings %v, edits %+v", codes, edits)
	}
	buildsWith(t, base, layout, edits)
}

func TestResolveReplaced(t *testing.T) {
	t.Parallel()
	env := proxy(t)
	head, base := arms(t, env)
	source := strings.ReplaceAll(benchDep, "example.org/more", "example.org/lone")
	source = strings.ReplaceAll(source, "more.V", "lone.V")
	write(t, head.Dir+"/x_test.go", source)
	write(t, base.Dir+"/x_test.go", source)
	write(t, head.Dir+"/go.mod", baseMod+"require example.org/lone v1.0.0\nreplace example.org/lone => example.org/fork v1.0.0\n")
	goIn(t, head.Dir, env, "mod", "tidy")
	layout, edits, changes, codes := resolve(t, head, base, env)
	if !reflect.DeepEqual(codes, []string{WarnManifest}) || len(changes) != 1 || changes[0].Module != "example.org/lone" {
		t.Errorf("warnings %v, changes %v", codes, changes)
	}
	buildsWith(t, base, layout, edits)
}

func TestResolveNoManifest(t *testing.T) {
	t.Parallel()
	env := proxy(t)
	head, base := arms(t, env)
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := os.Remove(filepath.Join(base.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	layout, edits, _, codes := resolve(t, head, base, env)
	if !reflect.DeepEqual(codes, []string{WarnManifest}) || !reflect.DeepEqual(paths(edits), []string{"go.mod", "go.sum"}) {
		t.Errorf("warnings %v, edits %v", codes, paths(edits))
	}
	buildsWith(t, base, layout, edits)
}

// TestResolveOffline: what cannot be had is a warning, and the build says it.
func TestResolveOffline(t *testing.T) {
	t.Parallel()
	env := proxy(t)
	head, base := arms(t, env)
	empty := []string{"GOPROXY=off", "GOSUMDB=off", "GOMODCACHE=" + t.TempDir(), "GOFLAGS=-modcacherw", "GOWORK="}
	layout, edits, changes, codes := resolve(t, head, base, empty)
	if len(codes) == 0 || codes[0] != WarnResolve || len(edits) != 2 || len(changes) != 1 {
		t.Errorf("warnings %v, edits %v, changes %v", codes, paths(edits), changes)
	}
	artifact := harnesstest.Build(t, Adapter{}, harnesstest.RecipeOf(base, layout, layout.Units[0]))
	if artifact.Failure == nil {
		t.Error("base builds without its dependencies")
	}
}

func TestResolveWorkspace(t *testing.T) {
	t.Parallel()
	tree := files("go.work", "go 1.20\n\nuse (\n\t./a\n\t./b\n)\n", "a/go.mod", "module example.com/a\n\ngo 1.20\n", "b/go.mod", "module example.com/b\n\ngo 1.20\n",
		"a/x_test.go", "package a\n\nimport (\n\t\"testing\"\n\n\t_ \"example.com/b/sub\"\n)\n\nfunc BenchmarkX(b *testing.B) {}\n")
	layout := detect(t, tree, harness.Query{})
	onto := harness.Tree{FS: tree, Exec: func(context.Context, result.Command) ([]byte, []byte, error) {
		t.Error("a command ran although the workspace has the module")
		return nil, nil, nil
	}}
	edits, changes, warnings, err := Adapter{}.Resolve(t.Context(), harness.Tree{FS: tree}, onto, layout)
	if err != nil || len(edits)+len(changes)+len(warnings) != 0 {
		t.Errorf("%v %v %v %v", edits, changes, warnings, err)
	}
}
