// Package gotest measures Go benchmarks: the functions that `go test -bench` runs.
//
// In: source trees, the output of the go command, captures in Go's benchmark
// format. Out: layouts, graft plans, build command lines, worker source that
// exists for one build alone, records. It must never start a process itself,
// write into a tree (Resolve alone edits manifests, in the scratch copy it is
// handed), or change a byte of the benchmark source.
package gotest

import (
	"assay/internal/harness"
	"assay/internal/result"
)

// Name is the harness's name in layouts, recipes and assay.yaml.
const Name = "gotest"

// Warning codes of this adapter.
const (
	WarnParse        = "source-does-not-parse" // a test file has a syntax error; the build of its package will fail
	WarnInstrumented = "instrumented-build"    // -race, -cover, -msan or -asan change what is measured
	WarnNoModule     = "no-module"             // benchmarks or a manifest outside any module
	WarnManifest     = "graft-manifest"        // a manifest was taken from the harness's arm
	WarnVendor       = "graft-left-vendor"     // vendored packages do not hold what the harness needs
	WarnResolve      = "graft-resolve-failed"  // the go command could not complete the manifest
)

// Adapter is the harness.Adapter of Go's testing package. It has no state.
type Adapter struct{}

// The optional contracts the adapter keeps as well.
var (
	_ harness.Adapter   = Adapter{}
	_ harness.Resolver  = Adapter{}
	_ harness.Inspector = Adapter{}
	_ harness.Matcher   = Adapter{}
	_ harness.Hider     = Adapter{}
)

// Format returns the reader of Go's benchmark text.
func (Adapter) Format() harness.Format { return Format{} }

// calmMonitor keeps the runtime's monitor thread from sleeping through a stopped
// world: woken from that it looks for work every 20 microseconds, each time a
// context switch on a slot's one core, and a fresh or thawed process stays so for
// many samples (measured 2026-11: a quarter of all lockstep samples, up to half
// longer). schedtrace has no other effect than a line every so many milliseconds,
// here 24 days (runtime, Go 1.20 to 1.26).
const calmMonitor = "GODEBUG+=schedtrace=2147483647"

// Serve returns the command that starts a worker of the artifact: the test
// binary itself, with the one test that speaks the worker protocol selected, so
// that the package's TestMain runs as it does under go test.
func (Adapter) Serve(artifact result.Artifact, external bool) result.Command {
	test := internalWorker
	if external {
		test = externalWorker
	}
	return result.Command{
		Argv: []string{artifact.Path, "-test.run=^" + test + "$", "-test.timeout=0", "-test.count=1", "-test.benchmem=true"},
		Dir:  artifact.RunDir,
		Env:  []string{calmMonitor},
	}
}
