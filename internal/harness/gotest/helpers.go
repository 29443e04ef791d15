package gotest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"

	"assay/internal/harness"
)

// helperImport is a package of the same module that the harness imports.
type helperImport struct {
	dir    string
	module string // folder of the module
}

// helpers adds the module's own packages that the harness imports, that only
// test code imports, whose path says that they serve tests, and that differ
// between the trees. A package with benchmarks of its own is no helper: it may
// be what is measured.
func (g *grafter) helpers(layout harness.Layout) error {
	modules := map[string]*module{}
	product := map[*module]map[string]bool{} // what non-test code imports
	var queue []helperImport
	seen := map[string]bool{}
	push := func(m *module, importPaths []string) {
		for _, p := range importPaths {
			dir, ok := m.folderOf(p)
			if ok && !seen[dir] && servesTests(relativeTo(m.dir, dir)) {
				seen[dir] = true
				queue = append(queue, helperImport{dir: dir, module: m.dir})
			}
		}
	}
	for _, unit := range layout.Units {
		m, err := moduleAt(g.source, unit.ModuleDir)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		modules[m.dir] = m
		for _, name := range unit.Files {
			paths, err := importsOf(g.source, name)
			if err != nil {
				return err
			}
			push(m, paths)
		}
	}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		m := modules[next.module]
		if product[m] == nil {
			imported, err := productImports(g.source, m, layout.Units)
			if err != nil {
				return err
			}
			product[m] = imported
		}
		measured, err := mentionsBenchmarks(g.source, next.dir)
		if err != nil {
			return err
		}
		if measured || product[m][m.importPath(next.dir)] {
			continue
		}
		files, err := packageFiles(g.source, next.dir)
		if err != nil {
			return err
		}
		for _, name := range files {
			paths, err := importsOf(g.source, name)
			if err != nil {
				return err
			}
			push(m, paths)
		}
		if err := g.helper(next.dir, files); err != nil {
			return err
		}
	}
	return nil
}

// helper adds a helper package if the trees differ in it.
func (g *grafter) helper(dir string, files []string) error {
	theirs, err := packageFiles(g.onto, dir)
	if err != nil {
		return err
	}
	differ := len(theirs) != len(files)
	have := map[string]bool{}
	for _, name := range files {
		have[name] = true
		same, err := sameFile(g.source, g.onto, name)
		if err != nil {
			return err
		}
		differ = differ || !same
	}
	if !differ {
		return nil
	}
	for _, name := range files {
		g.add(name, kindSupport)
		if err := g.reads(dir, name); err != nil {
			return err
		}
	}
	for _, name := range theirs {
		if !have[name] {
			g.removed[name] = true
		}
	}
	return nil
}

// folderOf gives the folder of an import path of the module.
func (m *module) folderOf(importPath string) (string, bool) {
	if importPath == m.path {
		return m.dir, true
	}
	rest, ok := strings.CutPrefix(importPath, m.path+"/")
	return path.Join(m.dir, rest), ok
}

// servesTests says whether a path has an element that names test code.
func servesTests(dir string) bool {
	for _, element := range strings.Split(dir, "/") {
		for _, word := range []string{"test", "bench", "mock", "fixture"} {
			if strings.Contains(strings.ToLower(element), word) {
				return true
			}
		}
	}
	return false
}

// productImports lists what the code of a module imports that is neither a test
// nor below a folder that serves tests. Commands count in the units' own folders
// only: no package that is measured elsewhere can import them.
func productImports(tree fs.FS, m *module, units []harness.Unit) (map[string]bool, error) {
	measured := map[string]bool{}
	for _, unit := range units {
		measured[unit.Dir] = true
	}
	imported := map[string]bool{}
	err := fs.WalkDir(tree, m.dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			if name != m.dir && (base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_') || servesTests(relativeTo(m.dir, name)) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(base) != ".go" || isTestFile(entry) {
			return nil
		}
		file, err := importClause(tree, name)
		if file == nil || (file.Name.Name == "main" && !measured[path.Dir(name)]) {
			return err
		}
		for _, p := range imports(file) {
			imported[p] = true
		}
		return err
	})
	return imported, err
}

// packageFiles lists the files of a package that go into its build.
func packageFiles(tree fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(tree, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", dir, err)
	}
	var files []string
	for _, entry := range entries {
		switch path.Ext(entry.Name()) {
		case ".go", ".s", ".c", ".h", ".cc", ".cpp", ".hpp", ".syso":
			if !entry.IsDir() && !isTestFile(entry) {
				files = append(files, path.Join(dir, entry.Name()))
			}
		}
	}
	return files, nil
}

// sameFile says whether both trees have the same bytes under a name.
func sameFile(a, b fs.FS, name string) (bool, error) {
	one, err := fs.ReadFile(a, name)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", name, err)
	}
	two, err := fs.ReadFile(b, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", name, err)
	}
	return bytes.Equal(one, two), nil
}

// importsOf lists the import paths of a Go file; none if it is no Go file or
// its imports do not parse (the build will say so).
func importsOf(tree fs.FS, name string) ([]string, error) {
	if path.Ext(name) != ".go" {
		return nil, nil
	}
	file, err := importClause(tree, name)
	if file == nil {
		return nil, err
	}
	return imports(file), nil
}

// importClause parses a Go file as far as its imports; nil if they do not parse
// (Detect has warned of it and the build names it).
func importClause(tree fs.FS, name string) (*ast.File, error) {
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ImportsOnly)
	if err != nil {
		return nil, nil //nolint:nilerr // said above
	}
	return file, nil
}
