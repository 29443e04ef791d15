package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Error is one mistake in a configuration.
type Error struct {
	File   string
	Line   int // from 1; 0 when the mistake has no place in the file
	Column int // from 1
	Text   string
}

// Error returns "file:line:column: text".
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Parse reads the bytes of an assay.yaml; name stands for the file in errors.
// The error joins one *Error for each mistake, in the order of the file.
func Parse(name string, data []byte) (Config, error) {
	r := &reader{file: name}
	config := Config{File: name}
	file, err := parser.ParseBytes([]byte(strings.TrimPrefix(string(data), "\uFEFF")), 0)
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax):
		r.fail(syntax.GetToken(), "%s", syntax.GetMessage())
	case err != nil:
		r.fail(nil, "%v", err)
	case len(file.Docs) > 1:
		r.fail(file.Docs[1].Start, "a second document: assay.yaml is one document")
	case len(file.Docs) == 1 && file.Docs[0].Body != nil:
		readKeys(r, &config, file.Docs[0].Body, configKeys())
	}
	if len(r.mistakes) > 0 {
		return Config{}, errors.Join(r.mistakes...)
	}
	return config, nil
}

// reader collects the mistakes found on the way through the tree.
type reader struct {
	file     string
	mistakes []error
}

func (r *reader) fail(at *token.Token, format string, args ...any) {
	mistake := &Error{File: r.file, Text: fmt.Sprintf(format, args...)}
	if at != nil && at.Position != nil {
		mistake.Line, mistake.Column = at.Position.Line, at.Position.Column
	}
	r.mistakes = append(r.mistakes, mistake)
}

// entries returns the pairs of a mapping in the order of the file. what says
// what the mapping should hold.
func (r *reader) entries(node ast.Node, what string) []entry {
	mapping, ok := node.(ast.MapNode)
	if !ok {
		r.fail(node.GetToken(), "%s where %s should be", describe(node), what)
		return nil
	}
	var entries []entry
	seen := map[string]bool{}
	for pairs := mapping.MapRange(); pairs.Next(); {
		name, ok := scalar(pairs.Key())
		at := pairs.Key().GetToken()
		switch {
		case !ok:
			r.fail(at, "%s where a key should be", describe(pairs.Key()))
		case seen[name]:
			r.fail(at, "key %q is here twice", name)
		default:
			seen[name] = true
			entries = append(entries, entry{name, at, pairs.Value()})
		}
	}
	return entries
}

type entry struct {
	name  string
	at    *token.Token
	value ast.Node
}

// readKeys fills into from a mapping by its table of keys.
func readKeys[T any](r *reader, into *T, node ast.Node, keys []key[T]) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	what := "a mapping with keys such as " + names[0]
next:
	for _, e := range r.entries(node, what) {
		for _, k := range keys {
			if k.name == e.name {
				k.shape.read(r, into, e.value)
				continue next
			}
		}
		r.fail(e.at, "unknown key %q, the nearest is %q (known here: %s)", e.name, nearest(e.name, names), strings.Join(names, ", "))
	}
}

// scalar returns the text of a scalar as the file writes it. Null has none.
func scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return node.GetToken().Value, true
	default:
		return "", false
	}
}

// checked returns the text of a scalar that passes the check; on any mistake it
// is reported and ok is false.
func (r *reader) checked(node ast.Node, what string, valid check) (text string, ok bool) {
	text, ok = scalar(node)
	if !ok {
		r.fail(node.GetToken(), "%s where %s should be", describe(node), what)
		return "", false
	}
	if err := valid(text); err != nil {
		r.fail(node.GetToken(), "%q %v", text, err)
		return "", false
	}
	return text, true
}

// describe names what a node is, for a person.
func describe(node ast.Node) string {
	switch node.(type) {
	case *ast.NullNode:
		return "nothing"
	case ast.MapNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or alias (write the value out)"
	case *ast.TagNode:
		return "a tag (leave it out)"
	default:
		return fmt.Sprintf("%q", node.GetToken().Value)
	}
}

// nearest returns the name with the smallest edit distance to text, the first
// in a tie.
func nearest(text string, names []string) string {
	best, least := "", -1
	for _, name := range names {
		if d := distance(strings.ToLower(text), name); least < 0 || d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is the number of bytes to insert, delete or replace to get from a
// to b (Levenshtein 1966).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
