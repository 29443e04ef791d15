package gotest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/harness"
	"assay/internal/harness/harnesstest"
)

const measured = `package m

type shape interface{ area() float64 }

type square struct{ side float64 }

func (s square) area() float64 { return s.side * s.side }

var table = []string{"a", "bb", "ccc"}

func inlined(x int) int {
	if x > 100 {
		panic("large")
	}
	return x*3 + 12345
}

func work(x int) int {
	lengths := map[string]int{}
	for i, s := range table {
		lengths[s] = inlined(i)
	}
	var s shape = square{float64(x)}
	return lengths["bb"] + int(s.area())
}
`

// TestInspect builds variants of one program and compares their digests.
func TestInspect(t *testing.T) {
	t.Parallel()
	inspect := func(source, flags string, trimmed bool) (map[string]string, string) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "go.mod"), "module example.com/m\n\ngo 1.20\n")
		write(t, filepath.Join(dir, "m.go"), source)
		write(t, filepath.Join(dir, "m_test.go"), "package m\n\nimport \"testing\"\n\nfunc BenchmarkM(b *testing.B) {\n\tfor i := 0; i < b.N; i++ {\n\t\twork(i)\n\t}\n}\n")
		tree := harnesstest.Tree(dir)
		layout, err := Adapter{}.Detect(t.Context(), tree, harness.Query{Dir: ".", Tags: []string{"tagged"}})
		if err != nil {
			t.Fatal(err)
		}
		recipe := harnesstest.RecipeOf(tree, layout, layout.Units[0])
		recipe.Trimmed = trimmed
		if flags != "" {
			recipe.Flags = []string{flags}
		}
		artifact := harnesstest.Build(t, Adapter{}, recipe)
		if artifact.Failure != nil {
			t.Fatal(artifact.Failure.Text)
		}
		settings, digest, err := Adapter{}.Inspect(artifact.Path)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{}
		for _, s := range settings {
			values[s.Key] = s.Value
		}
		return values, digest
	}
	settings, digest := inspect(measured, "", true)
	if settings["-trimpath"] != "true" || settings["-tags"] != "tagged" || !strings.HasPrefix(settings["GOVERSION"], "go1.") || settings["CGO_ENABLED"] == "" || settings["DefaultGODEBUG"] == "" {
		t.Errorf("settings %v", settings)
	}
	if !strings.HasPrefix(digest, "sha256:") {
		t.Errorf("digest %q", digest)
	}
	for name, test := range map[string]struct {
		source string
		same   bool
	}{
		"again":           {measured, true},
		"comments":        {"// One line.\n\n// Another.\n" + strings.ReplaceAll(measured, "\tlengths :=", "\t// A comment.\n\t//\n\tlengths :="), true},
		"constant":        {strings.ReplaceAll(measured, "12345", "12346"), false},
		"string constant": {strings.ReplaceAll(measured, `"large"`, `"LARGE"`), false},
		"data":            {strings.ReplaceAll(measured, `"ccc"`, `"ccd"`), false},
		"instruction":     {strings.ReplaceAll(measured, "x*3", "x*5"), false},
	} {
		if _, other := inspect(test.source, "", true); (other == digest) != test.same {
			t.Errorf("%s: digest equal is %v", name, other == digest)
		}
	}
	if settings, unoptimised := inspect(measured, "-gcflags=-N -l", true); settings["-gcflags"] != "-N -l" || unoptimised == digest {
		t.Errorf("unoptimised: %v", settings)
	}
	if settings, _ := inspect(measured, "", false); settings["-trimpath"] == "true" {
		t.Errorf("untrimmed: %v", settings)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no binary"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (Adapter{}).Inspect(text); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("a file that is no binary: %v", err)
	}
}
