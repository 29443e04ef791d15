package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// schema is a JSON Schema in the form that encoding/json writes.
type schema = map[string]any

// shape is what the value of a key may be: how it fills its field of T and how
// an editor is told of it.
type shape[T any] struct {
	read   func(r *reader, into *T, node ast.Node)
	schema schema
}

// scalarSchema is what text fields accept: numbers and booleans are taken as
// they are written, so that CGO_ENABLED: 0 and toolchain: 1.26 need no quotes.
func scalarSchema() schema {
	return schema{"type": []string{"string", "number", "boolean"}}
}

func text[T any](field func(*T) *string, valid check) shape[T] {
	return shape[T]{
		schema: scalarSchema(),
		read: func(r *reader, into *T, node ast.Node) {
			if value, ok := r.checked(node, "a text", valid); ok {
				*field(into) = value
			}
		},
	}
}

// list is a list of texts; a single text is a list of one.
func list[T any](field func(*T) *[]string, valid check) shape[T] {
	return shape[T]{
		schema: schema{"anyOf": []schema{scalarSchema(), {"type": "array", "items": scalarSchema()}}},
		read: func(r *reader, into *T, node ast.Node) {
			items := []ast.Node{node}
			if sequence, ok := node.(*ast.SequenceNode); ok {
				items = sequence.Values
			}
			for _, item := range items {
				if value, ok := r.checked(item, "a text", valid); ok {
					*field(into) = append(*field(into), value)
				}
			}
		},
	}
}

func boolean[T any](field func(*T) *bool) shape[T] {
	return shape[T]{
		schema: schema{"type": "boolean"},
		read: func(r *reader, into *T, node ast.Node) {
			if value, ok := node.(*ast.BoolNode); ok {
				*field(into) = value.Value
			} else {
				r.fail(node.GetToken(), "%s where true or false should be", describe(node))
			}
		},
	}
}

func percent[T any](field func(*T) *float64) shape[T] {
	return shape[T]{
		schema: schema{"anyOf": []schema{
			{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 100},
			{"type": "string", "pattern": `^[0-9.]+\s*%?$`},
		}},
		read: func(r *reader, into *T, node ast.Node) {
			valid := func(text string) (err error) {
				*field(into), err = Percent(text)
				return err
			}
			r.checked(node, "a percentage", valid)
		},
	}
}

func choice[T any, E ~string](field func(*T) *E, values ...E) shape[T] {
	names := make([]string, len(values))
	for i, value := range values {
		names[i] = string(value)
	}
	allowed := strings.Join(names, " or ")
	return shape[T]{
		schema: schema{"enum": names},
		read: func(r *reader, into *T, node ast.Node) {
			valid := func(text string) error {
				for _, value := range values {
					if text == string(value) {
						return nil
					}
				}
				return fmt.Errorf("should be %s", allowed)
			}
			if value, ok := r.checked(node, allowed, valid); ok {
				*field(into) = E(value)
			}
		},
	}
}

// settings is a mapping of names, which must be valid, to texts.
func settings[T any](field func(*T) *[]Setting, valid check) shape[T] {
	return shape[T]{
		schema: schema{"type": "object", "additionalProperties": scalarSchema()},
		read: func(r *reader, into *T, node ast.Node) {
			anything := func(string) error { return nil }
			for _, e := range r.entries(node, "a mapping of names to texts") {
				if err := valid(e.name); err != nil {
					r.fail(e.at, "%q %v", e.name, err)
				} else if value, ok := r.checked(e.value, "a text", anything); ok {
					*field(into) = append(*field(into), Setting{e.name, value})
				}
			}
		},
	}
}

func object[T, O any](field func(*T) *O, keys []key[O]) shape[T] {
	return shape[T]{
		schema: objectSchema(keys),
		read: func(r *reader, into *T, node ast.Node) {
			readKeys(r, field(into), node, keys)
		},
	}
}

// objects is a mapping of names, which must be valid, to objects.
func objects[T, O any](field func(*T) *[]O, named func(string) O, valid check, keys []key[O]) shape[T] {
	return shape[T]{
		schema: schema{"type": "object", "additionalProperties": objectSchema(keys)},
		read: func(r *reader, into *T, node ast.Node) {
			for _, e := range r.entries(node, "a mapping of benchmarks to their settings") {
				if err := valid(e.name); err != nil {
					r.fail(e.at, "%q %v", e.name, err)
					continue
				}
				value := named(e.name)
				readKeys(r, &value, e.value, keys)
				*field(into) = append(*field(into), value)
			}
		},
	}
}

func objectSchema[T any](keys []key[T]) schema {
	properties := schema{}
	for _, k := range keys {
		described := schema{"description": k.doc}
		for name, value := range k.shape.schema {
			described[name] = value
		}
		properties[k.name] = described
	}
	return schema{"type": "object", "properties": properties, "additionalProperties": false}
}

// Schema returns the JSON Schema (draft-07) of assay.yaml, indented, ending in
// a line break.
func Schema() ([]byte, error) {
	root := objectSchema(configKeys())
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "assay.yaml"
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema of assay.yaml: %w", err)
	}
	return append(data, '\n'), nil
}
