package simulate

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/harness"
	"assay/internal/harness/gotest"
	"assay/internal/result"
)

// Name is the harness's name in layouts and recipes.
const Name = "simulate"

// The two files of a package: the benchmarks, and the code that they use. Their
// concatenation is the binary.
const (
	BenchFile = "bench.sim"
	ImplFile  = "impl.sim"
)

// ImportPath is the import path of the package in the root of a tree.
const ImportPath = "example.com/sim"

// Adapter is a harness.Adapter for trees of program files. A benchmark that uses
// a function which impl.sim does not define does not build. Building needs sh,
// grep, sed and cat.
type Adapter struct{}

var (
	_ harness.Adapter   = Adapter{}
	_ harness.Inspector = Adapter{}
	_ harness.Matcher   = Adapter{}
)

// Format implements harness.Adapter: simulated workers print as package testing.
func (Adapter) Format() harness.Format { return gotest.Format{} }

// Match implements harness.Matcher with the patterns of go test.
func (Adapter) Match(pattern, name string) bool { return gotest.Match(pattern, name) }

// Detect implements harness.Adapter: every folder with a bench.sim is a unit.
func (a Adapter) Detect(_ context.Context, tree harness.Tree, query harness.Query) (harness.Layout, error) {
	layout := harness.Layout{Harness: Name, Tags: query.Tags, Env: query.Env, Support: query.Support}
	err := fs.WalkDir(tree.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != BenchFile || !wanted(path.Dir(name), query) {
			return err
		}
		unit, err := a.unit(tree.FS, name, query.Bench)
		if err == nil && len(unit.Internal)+len(unit.External) > 0 {
			layout.Units = append(layout.Units, unit)
		}
		return err
	})
	if err != nil {
		return layout, fmt.Errorf("looking for simulated benchmarks: %w", err)
	}
	return layout, nil
}

func (a Adapter) unit(tree fs.FS, name, pattern string) (harness.Unit, error) {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return harness.Unit{}, err
	}
	dir := path.Dir(name)
	unit := harness.Unit{Package: path.Join(ImportPath, dir), Dir: dir, ModuleDir: ".", Language: "1.26", Files: []string{name}}
	for _, fields := range lines(text) {
		function := top(fields[0])
		if !strings.HasPrefix(function, "Benchmark") || pattern != "" && !a.Match(pattern, fields[0]) {
			continue
		}
		side := &unit.Internal
		if slices.Contains(fields, "external") {
			side = &unit.External
		}
		if !slices.Contains(*side, function) {
			*side = append(*side, function)
		}
	}
	return unit, nil
}

// lines are the words of every line that is no comment.
func lines(text []byte) [][]string {
	var out [][]string
	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		line, _, _ := strings.Cut(scanner.Text(), "#")
		if fields := strings.Fields(line); len(fields) > 0 {
			out = append(out, fields)
		}
	}
	return out
}

// wanted says whether the query selects a folder.
func wanted(dir string, query harness.Query) bool {
	patterns := query.Packages
	if len(patterns) == 0 {
		patterns = []string{path.Join(".", query.Dir, "...")}
	}
	for _, pattern := range patterns {
		pattern = path.Clean(strings.TrimPrefix(strings.TrimPrefix(pattern, ImportPath), "/"))
		root, deep := strings.CutSuffix(pattern, "...")
		root = path.Clean(root)
		if dir == root || deep && (root == "." || strings.HasPrefix(dir, root+"/")) {
			return true
		}
	}
	return false
}

// Graft implements harness.Adapter: bench.sim and the testdata beside it.
func (Adapter) Graft(source, onto harness.Tree, layout harness.Layout) (result.GraftPlan, error) {
	var plan result.GraftPlan
	for _, unit := range layout.Units {
		for _, file := range unit.Files {
			plan.Copy = append(plan.Copy, result.GraftFile{Path: file, Kind: "test"})
		}
		from, err := filesBelow(source.FS, path.Join(unit.Dir, "testdata"))
		if err != nil {
			return plan, err
		}
		for _, file := range from {
			plan.Copy = append(plan.Copy, result.GraftFile{Path: file, Kind: "testdata"})
		}
		have, err := filesBelow(onto.FS, path.Join(unit.Dir, "testdata"))
		if err != nil {
			return plan, err
		}
		for _, file := range have {
			if !slices.Contains(from, file) {
				plan.Remove = append(plan.Remove, file)
			}
		}
	}
	return plan, nil
}

func filesBelow(tree fs.FS, dir string) ([]string, error) {
	var out []string
	err := fs.WalkDir(tree, dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return out, err
}

// buildScript joins the two files and fails, as a compiler would, where a
// function is used and not defined.
const buildScript = `set -e
cat bench.sim impl.sim > "$1"
undefined=0
for f in $(sed -n 's/#.*//; s/.* uses=\([^ ]*\).*/\1/p' bench.sim | sort -u); do
	if ! grep -q "^$f[ ]" impl.sim; then
		echo "error: undefined: $f" >&2
		undefined=1
	fi
done
exit $undefined`

// Build implements harness.Adapter.
func (Adapter) Build(recipe result.Recipe, output string) ([]result.Command, []result.OverlayFile, error) {
	return []result.Command{{
		Argv: []string{"sh", "-c", buildScript, "build", output},
		Dir:  filepath.Join(recipe.Dir, filepath.FromSlash(recipe.PackageDir)), Env: recipe.Env,
	}}, nil, nil
}

// Diagnose implements harness.Adapter.
func (Adapter) Diagnose(output string) []string {
	var missing []string
	for line := range strings.Lines(output) {
		if _, symbol, ok := strings.Cut(strings.TrimSpace(line), "error: undefined: "); ok {
			missing = append(missing, symbol)
		}
	}
	return missing
}

// Serve implements harness.Adapter.
func (Adapter) Serve(artifact result.Artifact, external bool) result.Command {
	command := result.Command{Argv: []string{artifact.Path}, Dir: artifact.RunDir}
	if external {
		command.Argv = append(command.Argv, "external")
	}
	return command
}

// Inspect implements harness.Inspector. The settings are those of the line
// "program KEY=VALUE"; the code is the text without comments and white space, so
// that a change of a comment gives identical binaries.
func (Adapter) Inspect(file string) ([]result.Setting, string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, "", fmt.Errorf("inspecting a simulated binary: %w", err)
	}
	p, err := parse(file, string(text))
	if err != nil {
		return nil, "", fmt.Errorf("inspecting a simulated binary: %w", err)
	}
	var settings []result.Setting
	for _, setting := range p.settings {
		key, value, _ := strings.Cut(setting, "=")
		settings = append(settings, result.Setting{Key: key, Value: value, Source: "the binary"})
	}
	sum := sha256.New()
	for _, fields := range lines(text) {
		_, _ = fmt.Fprintln(sum, strings.Join(fields, " ")) // hash.Hash never returns an error
	}
	return settings, "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}
