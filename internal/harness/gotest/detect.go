package gotest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"sort"
	"strings"

	"golang.org/x/mod/modfile"

	"assay/internal/harness"
	"assay/internal/result"
)

// module is one go.mod of a tree.
type module struct {
	dir      string // relative to the tree's root, slashes
	path     string
	language string // of the go line, "" if there is none
	ignored  []string
}

// Detect finds the benchmarks below query.Dir, in the module that holds it and
// in modules below it. A test file that does not parse keeps its package in the
// layout, with a warning that names file and line. The error is of reading the
// tree, of the pattern, or of the go command.
func (Adapter) Detect(ctx context.Context, tree harness.Tree, query harness.Query) (harness.Layout, error) {
	layout := harness.Layout{Harness: Name, Tags: query.Tags, Env: query.Env, Support: query.Support}
	chosen, err := parseSelection(query.Bench)
	if err != nil {
		return layout, err
	}
	start := path.Clean(strings.TrimPrefix(query.Dir, "/"))
	if info, err := fs.Stat(tree.FS, start); err != nil || !info.IsDir() {
		layout.Warnings = append(layout.Warnings, result.Warning{Code: "no-folder", Text: fmt.Sprintf("%s: no folder %s in this tree", tree.Dir, start)})
		return layout, nil
	}
	if layout.Settings, err = toolSettings(ctx, tree, start, query.Env); err != nil {
		return layout, err
	}
	layout.Warnings = append(layout.Warnings, instrumented(splitFlags(setting(layout.Settings, "GOFLAGS")))...)
	walk := walker{tree: tree.FS, reader: newReader(tree.FS, layout.Settings, query.Tags), chosen: chosen, wanted: packageFilter(query), layout: &layout}
	above, err := moduleAbove(tree.FS, start)
	if err != nil {
		return layout, err
	}
	if err := walk.folder(ctx, start, above); err != nil {
		return layout, fmt.Errorf("looking for benchmarks below %s: %w", start, err)
	}
	if len(walk.homeless) > 0 {
		layout.Warnings = append(layout.Warnings, result.Warning{Code: WarnNoModule,
			Text: fmt.Sprintf("benchmarks outside any module (no go.mod) in %s: run `go mod init` in a prepare command", strings.Join(walk.homeless, ", "))})
	}
	sort.Slice(layout.Units, func(i, j int) bool { return layout.Units[i].Dir < layout.Units[j].Dir })
	return layout, nil
}

// moduleAbove finds the module that holds dir: the nearest go.mod in it or above.
func moduleAbove(tree fs.FS, dir string) (*module, error) {
	for ; ; dir = path.Dir(dir) {
		m, err := moduleAt(tree, dir)
		if m != nil || err != nil || dir == "." {
			return m, err
		}
	}
}

// moduleAt reads dir's go.mod; nil if it has none.
func moduleAt(tree fs.FS, dir string) (*module, error) {
	name := path.Join(dir, "go.mod")
	data, err := fs.ReadFile(tree, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	parsed, err := modfile.ParseLax(name, data, nil)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if parsed.Module == nil {
		return nil, fmt.Errorf("reading %s: it has no module line", name)
	}
	m := &module{dir: dir, path: parsed.Module.Mod.Path}
	if parsed.Go != nil {
		m.language = parsed.Go.Version
	}
	for _, ignore := range parsed.Ignore {
		m.ignored = append(m.ignored, ignore.Path)
	}
	return m, nil
}

// ignores says whether the module's ignore lines (Go 1.25) leave dir out.
func (m *module) ignores(dir string) bool {
	rel := "/" + relativeTo(m.dir, dir) + "/"
	for _, line := range m.ignored {
		if rooted, ok := strings.CutPrefix(line, "./"); ok {
			if strings.HasPrefix(rel, "/"+path.Clean(rooted)+"/") {
				return true
			}
		} else if strings.Contains(rel, "/"+path.Clean(line)+"/") {
			return true
		}
	}
	return false
}

// importPath is the import path of a folder of the module.
func (m *module) importPath(dir string) string {
	return path.Join(m.path, relativeTo(m.dir, dir))
}

// relativeTo gives dir relative to its ancestor parent.
func relativeTo(parent, dir string) string {
	if parent == "." {
		return dir
	}
	if dir == parent {
		return "."
	}
	return strings.TrimPrefix(dir, parent+"/")
}

// walker visits the folders that the go command's "..." visits.
type walker struct {
	tree     fs.FS
	reader   *reader
	chosen   selection
	wanted   func(importPath, dir string) bool
	layout   *harness.Layout
	homeless []string // folders with benchmarks outside any module
}

func (w *walker) folder(ctx context.Context, dir string, in *module) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(w.tree, dir)
	if err != nil {
		return err
	}
	here, err := moduleAt(w.tree, dir)
	if err != nil {
		return err
	}
	if here != nil {
		in = here
	}
	if in != nil && in.ignores(dir) {
		return nil
	}
	if err := w.unit(dir, in); err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_' {
			continue
		}
		if err := w.folder(ctx, path.Join(dir, name), in); err != nil {
			return err
		}
	}
	return nil
}

// unit adds the package of a folder when it declares a selected benchmark.
func (w *walker) unit(dir string, in *module) error {
	if in != nil && !w.wanted(in.importPath(dir), dir) {
		return nil
	}
	if mentioned, err := mentionsBenchmarks(w.tree, dir); err != nil || !mentioned {
		return err
	}
	pkg, err := w.reader.tests(dir)
	if err != nil {
		return err
	}
	unit := harness.Unit{Dir: dir}
	for _, f := range pkg.files {
		for _, name := range f.benchmarks {
			if !w.chosen.matchTop(name) {
				continue
			}
			if f.external {
				unit.External = append(unit.External, name)
			} else {
				unit.Internal = append(unit.Internal, name)
			}
		}
	}
	if len(unit.Internal)+len(unit.External) == 0 {
		return nil
	}
	if in == nil {
		w.homeless = append(w.homeless, dir)
		return nil
	}
	w.layout.Warnings = append(w.layout.Warnings, pkg.warnings...)
	unit.Package, unit.ModuleDir, unit.Language = in.importPath(dir), in.dir, in.language
	sort.Strings(unit.Internal)
	sort.Strings(unit.External)
	unit.Files = harnessFiles(pkg, unit)
	if unit.LeftOut, err = LeftOut(w.tree, unit); err != nil {
		return err
	}
	w.layout.Units = append(w.layout.Units, unit)
	return nil
}

// mentionsBenchmarks says whether a test file of the folder holds the word: only
// then is it worth parsing.
func mentionsBenchmarks(tree fs.FS, dir string) (bool, error) {
	entries, err := fs.ReadDir(tree, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("listing %s: %w", dir, err)
	}
	for _, entry := range entries {
		if !isTestFile(entry) {
			continue
		}
		data, err := fs.ReadFile(tree, path.Join(dir, entry.Name()))
		if err != nil {
			return false, err
		}
		if bytes.Contains(data, []byte("Benchmark")) {
			return true, nil
		}
	}
	return false, nil
}

// LeftOut lists the test files of a unit's folder on the given tree that are
// not among unit.Files: both arms hide them from the build. The folder may be
// missing on the tree.
func LeftOut(tree fs.FS, unit harness.Unit) ([]string, error) {
	entries, err := fs.ReadDir(tree, unit.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the test files of %s: %w", unit.Dir, err)
	}
	kept := map[string]bool{}
	for _, file := range unit.Files {
		kept[file] = true
	}
	var out []string
	for _, entry := range entries {
		if name := path.Join(unit.Dir, entry.Name()); isTestFile(entry) && !kept[name] {
			out = append(out, name)
		}
	}
	return out, nil
}

func isTestFile(entry fs.DirEntry) bool {
	return !entry.IsDir() && strings.HasSuffix(entry.Name(), "_test.go")
}

// packageFilter says which packages the query names: by import path, or by
// folder relative to query.Dir or to the root, with "..." as in Go.
func packageFilter(query harness.Query) func(importPath, dir string) bool {
	if len(query.Packages) == 0 {
		return func(string, string) bool { return true }
	}
	var patterns []*regexp.Regexp
	for _, text := range query.Packages {
		folder := path.Join(query.Dir, text)
		patterns = append(patterns, wildcard(text), wildcard(folder), wildcard(path.Clean(text)))
	}
	return func(importPath, dir string) bool {
		for _, p := range patterns {
			if p.MatchString(importPath) || p.MatchString(dir) {
				return true
			}
		}
		return false
	}
}

// wildcard compiles a package pattern: "..." stands for any text, and a last
// "/..." for nothing as well (go help packages).
func wildcard(pattern string) *regexp.Regexp {
	if pattern == "..." {
		return regexp.MustCompile("")
	}
	expression := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\.\.\.`, `.*`)
	if strings.HasSuffix(expression, "/.*") {
		expression = strings.TrimSuffix(expression, "/.*") + "(/.*)?"
	}
	return regexp.MustCompile("^" + expression + "$")
}
