package examples_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"assay/examples"
)

func hdrParse(t *testing.T) (base, head examples.Commit) {
	t.Helper()
	commits, err := examples.HdrParse()
	if err != nil {
		t.Fatal(err)
	}
	if len(commits) != 2 {
		t.Fatalf("%d commits", len(commits))
	}
	return commits[0], commits[1]
}

func paths(files []examples.File) []string {
	var all []string
	for _, f := range files {
		all = append(all, f.Path)
	}
	return all
}

func content(t *testing.T, c examples.Commit, path string) []byte {
	t.Helper()
	for _, f := range c.Files {
		if f.Path == path {
			return f.Content
		}
	}
	t.Fatalf("no %s in %q", path, c.Message)
	return nil
}

func TestHdrParseCommits(t *testing.T) {
	t.Parallel()
	base, head := hdrParse(t)
	both := []string{
		"README.md", "authority.go", "chars.go", "fields.go", "go.mod", "hdrparse.go", "hdrparse_test.go",
		"message.go", "names.go", "testdata/vectors.txt", "token.go", "url.go",
	}
	if diff := cmp.Diff(both, paths(base.Files)); diff != "" {
		t.Errorf("base: %s", diff)
	}
	onlyHead := append([]string{"assay.yaml", "bench_test.go"}, both...)
	slices.Sort(onlyHead)
	if diff := cmp.Diff(onlyHead, sorted(paths(head.Files))); diff != "" {
		t.Errorf("head: %s", diff)
	}
	var changed []string
	for _, path := range both {
		if !bytes.Equal(content(t, base, path), content(t, head, path)) {
			changed = append(changed, path)
		}
	}
	if diff := cmp.Diff([]string{"chars.go", "fields.go", "token.go", "url.go"}, changed); diff != "" {
		t.Errorf("files that the second commit changes: %s", diff)
	}
	for _, c := range []examples.Commit{base, head} {
		if !slices.IsSorted(paths(c.Files)) {
			t.Errorf("%q: files are not sorted", c.Message)
		}
	}
	if !head.Date.After(base.Date) {
		t.Error("the second commit is not later than the first")
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// TestHdrParseBuilds builds and tests both commits, base with head's benchmark
// source, without network. Every benchmark of each has a title in assay.yaml.
func TestHdrParseBuilds(t *testing.T) {
	t.Parallel()
	base, head := hdrParse(t)
	var config struct {
		Harness    string
		Benchmarks map[string]struct{ Title string }
	}
	if err := yaml.UnmarshalWithOptions(content(t, head, "assay.yaml"), &config, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	ids := slices.Sorted(maps.Keys(config.Benchmarks))
	if config.Harness != "gotest" || len(ids) != 11 {
		t.Errorf("assay.yaml has harness %q and %d benchmarks", config.Harness, len(ids))
	}
	base.Files = append(base.Files, examples.File{Path: "bench_test.go", Content: content(t, head, "bench_test.go")})
	for name, c := range map[string]examples.Commit{"base": base, "head": head} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, f := range c.Files {
				path := filepath.Join(dir, filepath.FromSlash(f.Path))
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, f.Content, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			goCommand(t, dir, "vet", "./...")
			out := goCommand(t, dir, "test", "-bench", ".", "-benchtime", "1x", "-cpu", "1", "./...")
			var found []string
			for line := range strings.Lines(out) {
				if fields := strings.Fields(line); len(fields) > 3 && strings.HasPrefix(line, "Benchmark") {
					found = append(found, examples.HdrParseModule+"."+fields[0])
				}
			}
			if diff := cmp.Diff(ids, sorted(found)); diff != "" {
				t.Errorf("assay.yaml against the benchmarks that ran: %s", diff)
			}
		})
	}
}

func goCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
