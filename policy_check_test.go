package assay_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// policy is what a tree is checked against.
type policy struct {
	module       string
	rules        string
	halves       [2][]string
	testOnly     []string
	bans         []ban
	constructors []string
	names        []string
	exceptions   []exception
}

// finding is one violation. It prints as "gate where text".
type finding struct {
	gate  string
	where string // file or package folder
	line  int    // 0: the whole
	text  string
}

func (f finding) String() string {
	if f.line == 0 {
		return fmt.Sprintf("%s %s %s", f.gate, f.where, f.text)
	}
	return fmt.Sprintf("%s %s:%d %s", f.gate, f.where, f.line, f.text)
}

// sourceFile is a parsed file of non-test code.
type sourceFile struct {
	path      string // relative to the module's root, slashes
	data      []byte
	syntax    *ast.File
	generated bool
}

// sourcePackage is the non-test code of a folder, for every operating system.
type sourcePackage struct {
	dir     string // relative to the module's root, slashes
	name    string // as the rules write it
	files   []*sourceFile
	imports []string // names of packages of the module, sorted
}

// checker collects findings.
type checker struct {
	policy
	fset     *token.FileSet
	findings []finding
}

// check returns the findings in a tree that no exception excuses, sorted by
// gate and place.
func (p policy) check(tree fs.FS) []finding {
	c := &checker{policy: p, fset: token.NewFileSet()}
	packages := c.load(tree)
	c.checkImports(packages)
	for _, pkg := range packages {
		c.checkPackage(pkg)
	}
	return c.excuse()
}

func (c *checker) report(gate, where string, at token.Pos, format string, args ...any) {
	line := 0
	if at.IsValid() {
		line = c.fset.Position(at).Line
	}
	c.findings = append(c.findings, finding{gate, where, line, fmt.Sprintf(format, args...)})
}

func (c *checker) excuse() []finding {
	used := make([]bool, len(c.exceptions))
	kept := slices.DeleteFunc(c.findings, func(f finding) bool {
		for i, e := range c.exceptions {
			if e.gate == f.gate && matches(e.where, f.where) && strings.Contains(f.text, e.text) {
				used[i] = true
				return true
			}
		}
		return false
	})
	for i, e := range c.exceptions {
		if !used[i] {
			kept = append(kept, finding{"exception", e.where, 0, "nothing needs the exception from " + e.gate})
		}
		if e.reason == "" {
			kept = append(kept, finding{"exception", e.where, 0, "no reason is given"})
		}
	}
	slices.SortFunc(kept, func(a, b finding) int {
		if order := strings.Compare(a.gate+" "+a.where, b.gate+" "+b.where); order != 0 {
			return order
		}
		return a.line - b.line
	})
	return kept
}

// load parses the tree. testdata, folders that the go command ignores, nested
// modules and test files are left out.
func (c *checker) load(tree fs.FS) []*sourcePackage {
	byDir := map[string]*sourcePackage{}
	var packages []*sourcePackage
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if file != "." && c.ignored(tree, file) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		source, err := c.parse(tree, file)
		if source == nil {
			return err
		}
		dir := path.Dir(file)
		if byDir[dir] == nil {
			byDir[dir] = &sourcePackage{dir: dir, name: strings.TrimPrefix(dir, "internal/")}
			packages = append(packages, byDir[dir])
		}
		byDir[dir].files = append(byDir[dir].files, source)
		return nil
	})
	if err != nil {
		c.report("parse", ".", token.NoPos, "%v", err)
	}
	return packages
}

func (c *checker) ignored(tree fs.FS, dir string) bool {
	name := path.Base(dir)
	if name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_' {
		return true
	}
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil
}

func (c *checker) parse(tree fs.FS, file string) (*sourceFile, error) {
	data, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(c.fset, file, data, parser.ParseComments)
	if err != nil {
		line, text := 1, err.Error()
		if fields := strings.SplitN(text, ":", 4); len(fields) == 4 {
			line, _ = strconv.Atoi(fields[1])
			text = strings.TrimSpace(fields[3])
		}
		c.findings = append(c.findings, finding{"parse", file, line, text})
		return nil, nil
	}
	return &sourceFile{file, data, syntax, ast.IsGenerated(syntax)}, nil
}

// checkImports compares the imports with the rules, the halves and the depth.
func (c *checker) checkImports(packages []*sourcePackage) {
	rules, err := parseRules(c.rules)
	if err != nil {
		c.report("import", ".", token.NoPos, "%v", err)
		return
	}
	byName := map[string]*sourcePackage{}
	for _, pkg := range packages {
		byName[pkg.name] = pkg
		if !rules.knows(pkg.name) {
			c.report("import", pkg.dir, token.NoPos, "package %s is in no import rule", pkg.name)
		}
		for _, file := range pkg.files {
			for _, spec := range file.syntax.Imports {
				name, ok := c.local(spec)
				if !ok {
					continue
				}
				pkg.imports = append(pkg.imports, name)
				if rules.knows(pkg.name) && !rules.allows(pkg.name, name) {
					c.report("import", file.path, spec.Pos(), "%s may not import %s", pkg.name, name)
				}
				if slices.Contains(c.testOnly, name) {
					c.report("test-only", file.path, spec.Pos(), "%s is for tests", name)
				}
			}
		}
		slices.Sort(pkg.imports)
		pkg.imports = slices.Compact(pkg.imports)
	}
	chains := map[string][]string{}
	for _, pkg := range packages {
		c.checkHalves(pkg, byName)
		if chain := longestChain(pkg.name, byName, chains); len(chain) > maxImportDepth {
			c.report("depth", pkg.dir, token.NoPos, "%d packages on the chain %s, at most %d", len(chain), strings.Join(chain, " "), maxImportDepth)
		}
	}
}

// local returns the name of an imported package of the module.
func (c *checker) local(spec *ast.ImportSpec) (string, bool) {
	imported, _ := strconv.Unquote(spec.Path.Value)
	name, ok := strings.CutPrefix(imported, c.module+"/")
	return strings.TrimPrefix(name, "internal/"), ok
}

func (c *checker) checkHalves(pkg *sourcePackage, byName map[string]*sourcePackage) {
	for side, half := range c.halves {
		if !within(pkg.name, half) {
			continue
		}
		seen := map[string]bool{}
		var visit func(name string)
		visit = func(name string) {
			if seen[name] {
				return
			}
			seen[name] = true
			if within(name, c.halves[1-side]) {
				c.report("halves", pkg.dir, token.NoPos, "reaches %s in the other half", name)
			}
			if next := byName[name]; next != nil {
				for _, imported := range next.imports {
					visit(imported)
				}
			}
		}
		visit(pkg.name)
	}
}

// within says whether name is one of the names or below one.
func within(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return name == n || strings.HasPrefix(name, n+"/") })
}

// longestChain returns the longest chain of imports from a package, itself
// first. chains remembers what was found.
func longestChain(name string, byName map[string]*sourcePackage, chains map[string][]string) []string {
	if chain, ok := chains[name]; ok {
		return chain
	}
	chains[name] = []string{name} // ends a cycle, which the compiler refuses anyway
	var longest []string
	if pkg := byName[name]; pkg != nil {
		for _, imported := range pkg.imports {
			if chain := longestChain(imported, byName, chains); len(chain) > len(longest) {
				longest = chain
			}
		}
	}
	chains[name] = append([]string{name}, longest...)
	return chains[name]
}

func matches(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return ok && err == nil
}

// placesOfThisMachine returns the texts that no tracked file may hold. The hosts
// are written in two halves so that this file does not hold them.
func placesOfThisMachine(t *testing.T) []string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	places := []string{
		"proxy.golang" + ".org", "sum.golang" + ".org", "crates" + ".io", "pypi" + ".org", "pythonhosted" + ".org",
		"registry.npmjs" + ".org", "repo1.maven" + ".org", "repo.maven.apache" + ".org", "deb.debian" + ".org",
	}
	// A root such as /src is too short to tell from other texts.
	if root = filepath.ToSlash(root); strings.Count(root, "/") > 1 {
		places = append(places, root+"/")
	}
	if home, err := os.UserHomeDir(); err == nil && strings.Trim(home, "/") != "" {
		places = append(places, filepath.ToSlash(home)+"/")
	}
	return places
}

// findPlaces returns a finding for each place that a text file holds and that is
// not part of a longer name.
func findPlaces(name string, data []byte, places []string) []finding {
	var found []finding
	if bytes.ContainsRune(data, 0) {
		return nil
	}
	for _, place := range places {
		for at := 0; ; {
			next := bytes.Index(data[at:], []byte(place))
			if next < 0 {
				break
			}
			start := at + next
			at = start + len(place)
			if start > 0 && (isWord(data[start-1]) && strings.HasPrefix(place, "/")) {
				continue
			}
			found = append(found, finding{"place", name, 1 + bytes.Count(data[:start], []byte("\n")), "names " + place})
		}
	}
	return found
}

func isWord(b byte) bool {
	return b == '_' || b == '-' || b == '.' || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}
