package assay_test

import (
	"bytes"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// checkPackage runs every gate that looks at one package.
func (c *checker) checkPackage(pkg *sourcePackage) {
	var comments []string
	for _, file := range pkg.files {
		if file.syntax.Doc != nil {
			comments = append(comments, path.Base(file.path))
		}
		if !file.generated {
			c.checkShape(file)
			c.checkComments(file)
		}
		c.checkUses(pkg, file)
		c.checkVariables(pkg, file)
	}
	name := pkg.files[0].syntax.Name.Name
	if len(comments) != 1 {
		c.report("package-comment", pkg.dir, token.NoPos, "package %s has %d package comments %v, want one", name, len(comments), comments)
	}
	for _, element := range append(strings.Split(pkg.dir, "/"), name) {
		if slices.Contains(c.names, element) {
			c.report("package-name", pkg.dir, token.NoPos, "%q says nothing of what the package does", element)
			break
		}
	}
}

// checkShape counts lines, parameters and methods.
func (c *checker) checkShape(file *sourceFile) {
	lines := bytes.Count(file.data, []byte("\n"))
	if lines > maxFileLines {
		c.report("file-size", file.path, file.syntax.FileStart, "%d lines, at most %d", lines, maxFileLines)
	}
	ast.Inspect(file.syntax, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncDecl:
			c.checkLength(file, n, n.Name.Name)
		case *ast.FuncLit:
			c.checkLength(file, n, "a function literal")
		case *ast.FuncType:
			if count := n.Params.NumFields(); count > maxParameters {
				c.report("parameters", file.path, n.Pos(), "%d parameters, at most %d", count, maxParameters)
			}
		case *ast.InterfaceType:
			if count := n.Methods.NumFields(); count > maxMethods {
				c.report("methods", file.path, n.Pos(), "%d methods in an interface, at most %d", count, maxMethods)
			}
		}
		return true
	})
}

func (c *checker) checkLength(file *sourceFile, node ast.Node, what string) {
	lines := c.fset.Position(node.End()).Line - c.fset.Position(node.Pos()).Line + 1
	if lines > maxFunctionLines {
		c.report("function-size", file.path, node.Pos(), "%s has %d lines, at most %d", what, lines, maxFunctionLines)
	}
}

// checkComments asks for a comment on every public name. A group's comment
// serves the constants and variables in it. An exported method of an unexported
// type is not public.
func (c *checker) checkComments(file *sourceFile) {
	for _, decl := range file.syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
				c.report("comment", file.path, d.Pos(), "%s has no comment", d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
						c.report("comment", file.path, s.Pos(), "%s has no comment", s.Name.Name)
					}
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
							c.report("comment", file.path, name.Pos(), "%s has no comment", name.Name)
						}
					}
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	receiver := d.Recv.List[0].Type
	for {
		switch t := receiver.(type) {
		case *ast.StarExpr:
			receiver = t.X
		case *ast.IndexExpr:
			receiver = t.X
		case *ast.IndexListExpr:
			receiver = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return true
		}
	}
}

// checkUses finds banned names, by whatever name the file imports their package,
// and imports that hide where a name comes from or work by being imported.
func (c *checker) checkUses(pkg *sourcePackage, file *sourceFile) {
	imported := map[string]string{} // name in this file -> import path
	for _, spec := range file.syntax.Imports {
		full, _ := strconv.Unquote(spec.Path.Value)
		name := importName(spec, full)
		switch {
		case name == "_" && full != "embed":
			c.report("blank-import", file.path, spec.Pos(), "imports %s for its side effects", full)
		case name == ".":
			c.report("dot-import", file.path, spec.Pos(), "imports %s without a name", full)
		default:
			imported[name] = full
		}
	}
	ast.Inspect(file.syntax, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		left, ok := selector.X.(*ast.Ident)
		if !ok || left.Obj != nil || imported[left.Name] == "" {
			return true // Obj is set when the name is declared in the file: no import
		}
		for _, b := range c.bans {
			if b.path == imported[left.Name] && b.has(selector.Sel.Name) && !within(pkg.name, b.allowed) {
				c.report(b.gate(selector.Sel.Name), file.path, selector.Pos(), "%s.%s: %s", b.path, selector.Sel.Name, b.reason)
			}
		}
		return true
	})
}

func importName(spec *ast.ImportSpec, full string) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	name := path.Base(full)
	if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
		name = path.Base(path.Dir(full))
	}
	return name
}

// has says whether the name is banned.
func (b ban) has(name string) bool {
	return slices.ContainsFunc(b.names, func(p string) bool { return matches(p, name) }) && !slices.Contains(b.names, "!"+name)
}

// gate is the gate's name in findings: sleep has its own, so that an exception
// from it excuses no clock.
func (b ban) gate(name string) string {
	if b.path == "time" && name == "Sleep" {
		return "sleep"
	}
	return "call"
}

// checkVariables finds package-level state and init functions. A variable passes
// that no one can change: blank, embedded, or unexported or an error, set where
// it is declared to a literal or by one of the constructors, and never written.
func (c *checker) checkVariables(pkg *sourcePackage, file *sourceFile) {
	for _, decl := range file.syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				c.report("init", file.path, d.Pos(), "function init")
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				s := spec.(*ast.ValueSpec)
				for i, name := range s.Names {
					if name.Name != "_" && !embedded(d, s) && !c.constant(pkg, s, i) {
						c.report("variable", file.path, name.Pos(), "package-level variable %s", name.Name)
					}
				}
			}
		}
	}
}

func embedded(d *ast.GenDecl, s *ast.ValueSpec) bool {
	for _, group := range []*ast.CommentGroup{d.Doc, s.Doc} {
		if group != nil && slices.ContainsFunc(group.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	return false
}

func (c *checker) constant(pkg *sourcePackage, s *ast.ValueSpec, i int) bool {
	name := s.Names[i].Name
	if i >= len(s.Values) || ast.IsExported(name) && !strings.HasPrefix(name, "Err") {
		return false
	}
	return c.fixed(s.Values[i]) && !slices.ContainsFunc(pkg.files, func(f *sourceFile) bool { return writes(f.syntax, name) })
}

// fixed says whether a value is made of literals, names, constructors and
// function literals called on the spot, which compute a table. The address of a
// literal, a function and a made map or channel are not.
func (c *checker) fixed(value ast.Expr) bool {
	fixed := true
	ast.Inspect(value, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.UnaryExpr:
			fixed = fixed && n.Op != token.AND
		case *ast.FuncLit:
			fixed = false
		case *ast.CallExpr:
			if literal, ok := n.Fun.(*ast.FuncLit); ok && len(n.Args) == 0 {
				fixed = fixed && valueResults(literal.Type)
				return false
			}
			name := ""
			if selector, ok := n.Fun.(*ast.SelectorExpr); ok {
				if left, ok := selector.X.(*ast.Ident); ok {
					name = left.Name + "." + selector.Sel.Name
				}
			}
			fixed = fixed && slices.ContainsFunc(c.constructors, func(p string) bool { return matches(p, name) })
		}
		return fixed
	})
	return fixed
}

// valueResults says whether no result of a function is written as a reference.
func valueResults(function *ast.FuncType) bool {
	values := true
	ast.Inspect(function.Results, func(node ast.Node) bool {
		switch node.(type) {
		case *ast.StarExpr, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType:
			values = false
		}
		return values
	})
	return values
}

// writes says whether a file writes to what the package-level name holds, hands
// out its address, or passes it to a function that may change it in place.
func writes(file *ast.File, name string) bool {
	found := false
	touch := func(targets ...ast.Expr) {
		for _, target := range targets {
			if id := root(target); id != nil && id.Name == name && (id.Obj == nil || id.Obj == file.Scope.Lookup(name)) {
				found = true
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				touch(n.Lhs...)
			}
		case *ast.IncDecStmt:
			touch(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				touch(n.Key, n.Value)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				touch(n.X)
			}
		case *ast.CallExpr:
			if len(n.Args) > 0 && changesArgument(n.Fun) {
				touch(n.Args[0])
			}
		}
		return !found
	})
	return found
}

func changesArgument(function ast.Expr) bool {
	switch f := function.(type) {
	case *ast.Ident:
		return f.Name == "delete" || f.Name == "clear" || f.Name == "copy" || f.Name == "append"
	case *ast.SelectorExpr:
		left, ok := f.X.(*ast.Ident)
		if !ok {
			return false
		}
		switch left.Name {
		case "sort":
			return !strings.HasPrefix(f.Sel.Name, "Search") && !strings.Contains(f.Sel.Name, "Sorted")
		case "slices":
			return strings.HasPrefix(f.Sel.Name, "Sort") && !strings.HasPrefix(f.Sel.Name, "Sorted") ||
				slices.Contains([]string{"Reverse", "Compact", "CompactFunc", "Delete", "DeleteFunc", "Insert", "Replace"}, f.Sel.Name)
		case "maps":
			return f.Sel.Name == "Copy" || f.Sel.Name == "DeleteFunc" || f.Sel.Name == "Insert"
		}
	}
	return false
}

// root is the name at the left end of an expression such as name[i].f, nil when
// there is none.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.Ident:
			return x
		default:
			return nil
		}
	}
}
