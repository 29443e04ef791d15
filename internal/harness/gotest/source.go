package gotest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/internal/result"
)

// reader parses the Go files of a tree that the build would use.
type reader struct {
	tree fs.FS
	ctxt *build.Context
	fset *token.FileSet
}

func newReader(tree fs.FS, settings []result.Setting, tags []string) *reader {
	return &reader{tree: tree, ctxt: buildContext(tree, settings, tags), fset: token.NewFileSet()}
}

// sourceFile is one parsed file.
type sourceFile struct {
	path       string // relative to the tree's root
	syntax     *ast.File
	external   bool // belongs to the external test package
	benchmarks []string
	testMain   bool
}

// testPackage is what one folder's test files hold.
type testPackage struct {
	dir      string
	files    []*sourceFile // by name
	warnings []result.Warning
}

// tests parses the _test.go files of a folder that match the build. A file
// with a syntax error is kept as far as it could be read, with a warning.
func (r *reader) tests(dir string) (*testPackage, error) {
	pkg := &testPackage{dir: dir}
	entries, err := fs.ReadDir(r.tree, dir)
	if err != nil {
		return nil, fmt.Errorf("listing the package in %s: %w", dir, err)
	}
	for _, entry := range entries {
		if !isTestFile(entry) {
			continue
		}
		name := path.Join(dir, entry.Name())
		file, warning, err := r.file(dir, entry.Name())
		if err != nil {
			return nil, err
		}
		if warning != "" {
			pkg.warnings = append(pkg.warnings, result.Warning{Code: WarnParse, Text: warning})
		}
		if file == nil {
			continue
		}
		f := &sourceFile{path: name, syntax: file}
		f.external = file.Name != nil && strings.HasSuffix(file.Name.Name, "_test")
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			switch {
			case !ok:
			case isTestFunc(fn, "Benchmark", "B"):
				f.benchmarks = append(f.benchmarks, fn.Name.Name)
			case fn.Name.Name == "TestMain" && isTestFunc(fn, "Test", "M"):
				f.testMain = true
			}
		}
		if warning != "" {
			f.benchmarks, err = r.guess(name, f.benchmarks)
			if err != nil {
				return nil, err
			}
		}
		pkg.files = append(pkg.files, f)
	}
	return pkg, nil
}

// file parses one file; nil if the build would not use it. The warning says
// where it does not parse.
func (r *reader) file(dir, base string) (*ast.File, string, error) {
	name := path.Join(dir, base)
	data, err := fs.ReadFile(r.tree, name)
	if err != nil {
		return nil, "", fmt.Errorf("reading %s: %w", name, err)
	}
	match, matchErr := r.ctxt.MatchFile(dir, base)
	if matchErr == nil && !match {
		return nil, "", nil
	}
	file, err := parser.ParseFile(r.fset, name, data, parser.ParseComments)
	if err == nil {
		err = matchErr // a constraint that does not parse, say
	}
	if err == nil {
		return file, "", nil
	}
	at := name
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		at = fmt.Sprintf("%s:%d: %s", list[0].Pos.Filename, list[0].Pos.Line, list[0].Msg)
	} else {
		at += ": " + err.Error()
	}
	return file, at + " (its package will not build)", nil
}

// guess adds the benchmarks that a damaged file names in lines the parser did
// not reach, so that they fail by name and are not dropped.
func (r *reader) guess(name string, known []string) ([]string, error) {
	data, err := fs.ReadFile(r.tree, name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	seen := map[string]bool{}
	for _, k := range known {
		seen[k] = true
	}
	for _, match := range regexp.MustCompile(`(?m)^func (Benchmark\w*)\(\w+ \*[\w.]*\bB\)`).FindAllSubmatch(data, -1) {
		if n := string(match[1]); !seen[n] && isTestName(n, "Benchmark") {
			seen[n] = true
			known = append(known, n)
		}
	}
	return known, nil
}

// isTestFunc says whether go test would take the function for one of the given
// prefix: a plain function with one parameter *X.arg or *arg and no result.
func isTestFunc(fn *ast.FuncDecl, prefix, arg string) bool {
	params := fn.Type.Params
	if fn.Recv != nil || fn.Type.TypeParams != nil || fn.Type.Results != nil || !isTestName(fn.Name.Name, prefix) ||
		len(params.List) != 1 || len(params.List[0].Names) > 1 {
		return false
	}
	pointer, ok := params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	switch to := pointer.X.(type) {
	case *ast.Ident:
		return to.Name == arg
	case *ast.SelectorExpr:
		return to.Sel.Name == arg
	}
	return false
}

// isTestName: after the prefix comes nothing or no lower-case letter.
func isTestName(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !unicode.IsLower(r)
}

// imports lists the import paths of a file.
func imports(file *ast.File) []string {
	var paths []string
	for _, spec := range file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}
