package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"assay/internal/unit"
)

var update = flag.Bool("update", false, "write the golden files")

// everything uses each key once.
const everything = `harness: gotest
packages: [./..., ./sub]
bench: ^BenchmarkURL$/^realistic$
prepare:
  all: go generate ./...
  base:
    - go mod init example.com/hdr
    - |
      go mod tidy
      go vet ./...
  head: []
graft: [testdata/*.http]
build:
  env: {GOAMD64: v3, CGO_ENABLED: 0, EMPTY: ""}
  flags: -tags=purego
  options:
    race: false
benchmarks:
  example.com/hdr.BenchmarkURL/realistic:
    title: "url: realistic"
    margin: 1.5%
  "BenchmarkWks":
    control: true
    better: higher
    metric: MB/s
    margin: 2
history:
  sources: [tags]
  releases: [v0.9.0, v0.10.0]
  order: [v0.9.0, v0.10.0]
  pattern: ^v\d
  isolation: shared
  toolchain: 1.20
  profile: release
  metric: time
  aliases: {old/name: new/name}
`

func TestParseEverything(t *testing.T) {
	t.Parallel()
	want := Config{
		File:     "assay.yaml",
		Harness:  "gotest",
		Packages: []string{"./...", "./sub"},
		Bench:    "^BenchmarkURL$/^realistic$",
		Prepare: Prepare{
			All:  []string{"go generate ./..."},
			Base: []string{"go mod init example.com/hdr", "go mod tidy\ngo vet ./...\n"},
		},
		Graft: []string{"testdata/*.http"},
		Build: Build{
			Env:     []Setting{{"GOAMD64", "v3"}, {"CGO_ENABLED", "0"}, {"EMPTY", ""}},
			Flags:   []string{"-tags=purego"},
			Options: []Setting{{"race", "false"}},
		},
		Benchmarks: []Benchmark{
			{Match: "example.com/hdr.BenchmarkURL/realistic", Title: "url: realistic", Margin: 0.015},
			{Match: "BenchmarkWks", Control: true, Better: unit.Higher, Metric: "MB/s", Margin: 0.02},
		},
		History: History{
			Sources: []string{"tags"}, Releases: []string{"v0.9.0", "v0.10.0"}, Order: []string{"v0.9.0", "v0.10.0"},
			Pattern: `^v\d`, Isolation: IsolationShared, Toolchain: "1.20", Profile: "release", Metric: "time",
			Aliases: []Setting{{"old/name", "new/name"}},
		},
	}
	for name, text := range map[string]string{
		"as it is":   everything,
		"CRLF":       strings.ReplaceAll(everything, "\n", "\r\n"),
		"a BOM":      "\uFEFF" + everything,
		"a document": "---\n" + everything,
	} {
		got, err := Parse("assay.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestParseNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", "# only a comment\n", "{}\n"} {
		got, err := Parse("f", []byte(text))
		if diff := cmp.Diff(Config{File: "f"}, got); err != nil || diff != "" {
			t.Errorf("Parse(%q) = %v, %s", text, err, diff)
		}
	}
}

// TestMistakes holds one file per mistake and the errors it gives. -update
// writes the errors.
func TestMistakes(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "mistakes.txtar")
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		input, golden := archive.Files[i], &archive.Files[i+1]
		if golden.Name != input.Name+": errors" {
			t.Fatalf("%s: %q stands where the errors of %q should", path, golden.Name, input.Name)
		}
		_, err := Parse("assay.yaml", input.Data)
		if err == nil {
			t.Errorf("%s: no error", input.Name)
			continue
		}
		var mistake *Error
		if !errors.As(err, &mistake) || mistake.Line < 1 || mistake.Column < 1 {
			t.Errorf("%s: %v has no line and column", input.Name, err)
		}
		got := err.Error() + "\n"
		if *update {
			golden.Data = []byte(got)
		} else if diff := cmp.Diff(string(golden.Data), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", input.Name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got, err := Find(dir); err != nil || got.File != "" {
		t.Errorf("without a file: %v, %v", got, err)
	}
	yml, yaml := filepath.Join(dir, "assay.yml"), filepath.Join(dir, "assay.yaml")
	write(t, yml, "harness: gotest\n")
	if got, err := Find(dir); err != nil || got.File != yml || got.Harness != "gotest" {
		t.Errorf("with assay.yml: %v, %v", got, err)
	}
	write(t, yaml, "harness: gotest\n")
	var mistake *Error
	if _, err := Find(dir); !errors.As(err, &mistake) || !strings.Contains(err.Error(), "remove one") {
		t.Errorf("with both: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "absent.yaml")); !errors.Is(err, os.ErrNotExist) || errors.As(err, &mistake) {
		t.Errorf("Load of an absent file: %v", err)
	}
	if _, err := Load(dir); err == nil {
		t.Error("Load of a folder: no error")
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "doc", "assay.schema.json")
	got, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run go test ./internal/config -update (-want +got):\n%s", diff)
	}
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	found := Detected{
		Harness:  "gotest",
		Packages: []string{"example.com/hdr", "example.com/hdr/mime"},
		Benchmarks: []string{
			"example.com/hdr.BenchmarkURL/realistic",
			"example.com/hdr.BenchmarkRequest/realistic_(zero-copy)",
			"example.com/hdr.BenchmarkX/[a_\"quoted\"_name",
			"example.com/hdr.BenchmarkURL/realistic",
		},
	}
	golden(t, "template.yaml", Template(found))
	golden(t, "template-empty.yaml", Template(Detected{}))
	got, err := Parse("assay.yaml", Template(Detected{}))
	if diff := cmp.Diff(Config{File: "assay.yaml"}, got); err != nil || diff != "" {
		t.Errorf("an empty template: %v %s", err, diff)
	}
}

// TestTemplateNamesEveryKey: a key of the table that Template does not write is
// missing from a first assay.yaml.
func TestTemplateNamesEveryKey(t *testing.T) {
	t.Parallel()
	text := string(Template(Detected{}))
	for _, k := range configKeys() {
		if !strings.Contains(text, "\n# "+k.name+":") {
			t.Errorf("no %q in\n%s", k.name, text)
		}
	}
}

// TestTemplateParsesBack: whatever names a tree has, the file that init writes
// is valid and says what was detected.
func TestTemplateParsesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ -~µ日🙂\t\n]{0,8}[!-~]`)
		found := Detected{
			Harness:    name.Draw(t, "harness"),
			Packages:   rapid.SliceOfN(name, 0, 3).Draw(t, "packages"),
			Benchmarks: rapid.SliceOfNDistinct(name, 1, 4, rapid.ID[string]).Draw(t, "benchmarks"),
		}
		text := Template(found)
		got, err := Parse("assay.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if got.Harness != found.Harness || len(got.Packages) != len(found.Packages) {
			t.Fatalf("got %+v\n%s", got, text)
		}
		for i, p := range found.Packages {
			if got.Packages[i] != p {
				t.Fatalf("package %q came back as %q\n%s", p, got.Packages[i], text)
			}
		}
		if len(got.Benchmarks) == 0 {
			t.Fatalf("no benchmarks\n%s", text)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	archive, err := txtar.ParseFile(filepath.Join("testdata", "mistakes.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(archive.Files); i += 2 {
		f.Add(archive.Files[i].Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Parse("f", data)
		if err == nil {
			return
		}
		if diff := cmp.Diff(Config{}, got); diff != "" {
			t.Errorf("a config beside the error %v: %s", err, diff)
		}
		var mistake *Error
		if !errors.As(err, &mistake) {
			t.Errorf("%v is no *Error", err)
		}
	})
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		write(t, path, string(got))
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
