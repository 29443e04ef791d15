package gotest

import (
	"io/fs"

	"assay/internal/harness"
)

// Match implements harness.Matcher with the syntax of go test -bench.
func (Adapter) Match(pattern, name string) bool { return Match(pattern, name) }

// LeftOut implements harness.Hider.
func (Adapter) LeftOut(tree fs.FS, unit harness.Unit) ([]string, error) { return LeftOut(tree, unit) }
