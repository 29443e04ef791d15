// Package harness is the contract between assay and a benchmark framework.
//
// An adapter says where benchmarks are, what must be copied so that two arms
// carry the same ones, how they are built, listed and run, and how their output
// is read. In: trees and text. Out: plans, command lines, records.
// Nothing in or below this package may start a process: an adapter that must ask
// a tool does it through the Exec it is handed.
package harness

import (
	"context"
	"io"
	"io/fs"

	"assay/internal/result"
)

// Exec runs a command to its end and returns its standard output and standard
// error. A command that ran and exited non-zero is err with both filled in.
type Exec func(ctx context.Context, cmd result.Command) (stdout, stderr []byte, err error)

// Tree is a read-only source tree of one arm.
type Tree struct {
	Dir  string // absolute root on this machine
	FS   fs.FS  // the same tree
	Exec Exec
}

// Query narrows what is looked for.
type Query struct {
	Dir      string   // folder of the tree the user stands in, relative, slashes, "." for the root
	Packages []string // patterns of --package: import paths or folders, "..." as in Go; empty: everything below Dir
	Bench    string   // pattern of --bench in the harness's own syntax; empty: all
	Tags     []string
	Env      []string // KEY=VALUE added for tools
	Support  []string // extra globs of files that belong to the harness (assay.yaml graft)
}

// Unit is one separately built set of benchmarks (a Go package's test binary).
type Unit struct {
	Package   string   // import path or the harness's own name
	Dir       string   // relative to the tree's root, slashes
	ModuleDir string   // relative
	Language  string   // language level the module asks for, e.g. "1.18", empty if unknown
	Internal  []string // names of benchmarks declared inside the package
	External  []string // names of benchmarks declared in an external test package
	Files     []string // harness files that declare them or what they use, relative to the root
	LeftOut   []string // other test files of the unit, relative to the root
}

// Layout is what Detect found in a tree.
type Layout struct {
	Harness  string
	Units    []Unit
	Settings []result.Setting // toolchain and environment that change code
	Tags     []string         // of the query, for Graft and Resolve
	Env      []string         // of the query
	Support  []string         // of the query: extra globs of harness files
	Warnings []result.Warning
}

// Format reads captures of a harness.
type Format interface {
	Name() string
	// Sniff says whether the first bytes of a file look like this format.
	Sniff(head []byte) bool
	// Parse turns a capture into records of the cell. Damaged results become
	// result.Damaged records; foreign lines are skipped. The error is of reading
	// or of the sink.
	Parse(r io.Reader, cell result.Cell, sink result.Sink) error
}

// Adapter measures benchmarks of one framework.
type Adapter interface {
	Format() Format
	// Detect finds the benchmarks of a tree by reading source. A tree without
	// any gives an empty layout and no error.
	Detect(ctx context.Context, tree Tree, query Query) (Layout, error)
	// Graft says which files of the source tree must be put onto the other arm
	// so that both carry the layout's benchmarks. onto is the arm as it is.
	Graft(source, onto Tree, layout Layout) (result.GraftPlan, error)
	// Build returns the command lines that build the recipe's unit into the file
	// output, and the files that exist for the build alone. The overlay file's
	// path on disk is handed to a command as the argument OverlayArg.
	Build(recipe result.Recipe, output string) ([]result.Command, []result.OverlayFile, error)
	// Diagnose reads a failed build's output: which symbols or packages are missing.
	Diagnose(output string) []string
	// Serve returns the command that starts a worker for cases of the artifact.
	// external selects the worker of the external test package.
	Serve(artifact result.Artifact, external bool) result.Command
}

// OverlayArg in a Command's argument is replaced by the path of the overlay
// description that build writes, OutputArg by the path of the artifact.
const (
	OverlayArg = "{{overlay}}"
	OutputArg  = "{{output}}"
)

// Resolver is implemented by adapters whose manifest must name what the harness
// needs. It runs in the arm's tree after the graft and edits the manifest there.
type Resolver interface {
	Resolve(ctx context.Context, source, onto Tree, layout Layout) ([]result.ManifestEdit, []result.DependencyChange, []result.Warning, error)
}

// Inspector is implemented by adapters that can read effective settings back
// from a finished artifact, without starting a process.
type Inspector interface {
	Inspect(path string) (settings []result.Setting, codeDigest string, err error)
}

// Hider is implemented by adapters whose builds pick up every harness file of a
// unit: LeftOut lists those of the unit's folder on the given tree that are not
// among unit.Files, so that all arms hide them and carry the same benchmarks.
type Hider interface {
	LeftOut(tree fs.FS, unit Unit) ([]string, error)
}

// Matcher is implemented by adapters with a pattern syntax of their own: it says
// whether a listed benchmark's full name is selected by --bench.
type Matcher interface {
	Match(pattern, name string) bool
}

// Named is an adapter with its name, as --harness and assay.yaml use it.
type Named struct {
	Name string
	Adapter
}
