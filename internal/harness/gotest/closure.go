package gotest

import (
	"go/ast"
	"go/token"
	"sort"
	"strconv"
	"strings"

	"assay/internal/harness"
)

// index says which test files of a package declare what. Index 0 is the package
// itself, 1 the external test package.
type index struct {
	names   [2]map[string][]*sourceFile // package-level identifiers
	methods [2]map[string][]*sourceFile // by receiver type that a test file declares
	// grown are methods that test files add to the package's own types, by
	// method name: nothing but a selector tells of their use.
	grown map[string][]*sourceFile
}

func side(external bool) int {
	if external {
		return 1
	}
	return 0
}

func newIndex(pkg *testPackage) *index {
	ix := &index{grown: map[string][]*sourceFile{}}
	for s := range ix.names {
		ix.names[s], ix.methods[s] = map[string][]*sourceFile{}, map[string][]*sourceFile{}
	}
	for _, f := range pkg.files {
		names := ix.names[side(f.external)]
		for _, name := range declaredNames(f.syntax) {
			names[name] = append(names[name], f)
		}
	}
	for _, f := range pkg.files {
		s := side(f.external)
		for _, decl := range f.syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || len(fn.Recv.List) == 0 {
				continue
			}
			receiver := receiverType(fn.Recv.List[0].Type)
			if len(ix.names[s][receiver]) > 0 {
				ix.methods[s][receiver] = append(ix.methods[s][receiver], f)
			} else {
				ix.grown[fn.Name.Name] = append(ix.grown[fn.Name.Name], f)
			}
		}
	}
	return ix
}

// declaredNames lists a file's package-level identifiers, methods left out.
func declaredNames(file *ast.File) []string {
	var names []string
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// receiverType gives T of T, *T, T[P] and *T[P].
func receiverType(expr ast.Expr) string {
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.ParenExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// harnessFiles lists the unit's harness files: those that declare a selected
// benchmark or TestMain, and transitively those that declare what these use.
func harnessFiles(pkg *testPackage, unit harness.Unit) []string {
	wanted := map[string]bool{}
	for _, name := range append(append([]string(nil), unit.Internal...), unit.External...) {
		wanted[name] = true
	}
	ix := newIndex(pkg)
	taken := map[*sourceFile]bool{}
	var queue []*sourceFile
	take := func(files ...*sourceFile) {
		for _, f := range files {
			if !taken[f] {
				taken[f] = true
				queue = append(queue, f)
			}
		}
	}
	for _, f := range pkg.files {
		root := f.testMain
		for _, name := range f.benchmarks {
			root = root || wanted[name]
		}
		if root {
			take(f)
		}
	}
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		take(ix.uses(f, unit.Package)...)
	}
	var paths []string
	for f := range taken {
		paths = append(paths, f.path)
	}
	sort.Strings(paths)
	return paths
}

// uses lists the test files that declare what f uses.
func (ix *index) uses(f *sourceFile, ownPath string) []*sourceFile {
	s := side(f.external)
	var files []*sourceFile
	own := map[string]bool{} // local names of the package under test
	dotted := false
	for _, spec := range f.syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != ownPath {
			continue
		}
		switch {
		case spec.Name == nil:
			own[""] = true
		case spec.Name.Name == ".":
			dotted = true
		default:
			own[spec.Name.Name] = true
		}
	}
	for _, ident := range f.syntax.Unresolved {
		files = append(files, ix.names[s][ident.Name]...)
		if dotted {
			files = append(files, ix.names[0][ident.Name]...)
		}
	}
	for _, name := range declaredNames(f.syntax) {
		files = append(files, ix.methods[s][name]...)
	}
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		files = append(files, ix.grown[selector.Sel.Name]...)
		// The unnamed import's local name is the package clause of files that
		// may be missing here; any unresolved qualifier is taken for it.
		if x, ok := selector.X.(*ast.Ident); ok && x.Obj == nil && (own[x.Name] || own[""]) {
			files = append(files, ix.names[0][selector.Sel.Name]...)
		}
		return true
	})
	return files
}

// literals lists the values of a file's string literals, imports left out;
// leading literals of a joined path count as one.
func literals(file *ast.File) []string {
	var values []string
	joined := map[ast.Expr]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case *ast.BasicLit:
			if text, ok := literal(n); ok && !joined[n] {
				values = append(values, text)
			}
		case *ast.CallExpr:
			if parts := joinedParts(n); len(parts) > 0 {
				values = append(values, strings.Join(parts, "/"))
				for _, arg := range n.Args[:len(parts)] {
					joined[arg] = true
				}
			}
		}
		return true
	})
	return values
}

func literal(expr ast.Expr) (string, bool) {
	lit, ok := expr.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// joinedParts gives the leading literal arguments of a call to a function named
// Join, as filepath.Join.
func joinedParts(call *ast.CallExpr) []string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "Join" {
		return nil
	}
	var parts []string
	for _, arg := range call.Args {
		text, ok := literal(arg)
		if !ok {
			break
		}
		parts = append(parts, text)
	}
	return parts
}
