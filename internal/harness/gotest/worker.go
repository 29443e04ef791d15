package gotest

import (
	"time"

	_ "embed"
	"fmt"
	"path"
	"runtime"
	"strings"
	"text/template"

	"assay/internal/harness"
	"assay/internal/result"
)

// The tests that speak the worker protocol, one in each test package of a
// folder, and the files they are in.
const (
	internalWorker = "TestAssayWorkerInternal"
	externalWorker = "TestAssayWorkerExternal"
	internalFile   = "zz_assay_worker_test.go"
	externalFile   = "zz_assay_worker_x_test.go"
)

// workerSource is the worker's template. It is written in Go 1.0's language, for
// the module under test may ask for any; the library is the toolchain's and must
// be that of Go 1.20 or later (testing.B.Elapsed).
//
// spin is how long a worker that has replied waits for the next request without
// blocking in the kernel; freezing it takes 0.1 ms, or some on a busy machine.
const spin = 10 * time.Millisecond

// settleTries bounds the settling before a sample to 40 windows of 0.1 ms: the
// monitor needs 1 ms and what its own interruptions cost.
const settleTries = 40

//go:embed worker.tmpl
var workerSource string

// workerFile makes the worker of one test package.
func workerFile(recipe result.Recipe, name, clause string, benchmarks []string) (result.OverlayFile, error) {
	test := internalWorker
	if name == externalFile {
		test = externalWorker
	}
	parsed, err := template.New(name).Parse(workerSource)
	if err != nil {
		return result.OverlayFile{}, fmt.Errorf("reading the worker's template: %w", err)
	}
	var text strings.Builder
	err = parsed.Execute(&text, map[string]any{
		"Package": clause, "Test": test, "Benchmarks": benchmarks, "Unix": isUnix(runtime.GOOS),
		"RequestFD": harness.WorkerRequests, "ReplyFD": harness.WorkerReplies, "Protocol": harness.WorkerProtocol, "SpinNS": spin.Nanoseconds(), "SettleTries": settleTries,
		"OpList": harness.OpList, "OpRun": harness.OpRun, "OpProbe": harness.OpProbe,
	})
	if err != nil {
		return result.OverlayFile{}, fmt.Errorf("writing the worker of %s: %w", recipe.Package, err)
	}
	return result.OverlayFile{Path: path.Join(recipe.PackageDir, name), Content: []byte(text.String())}, nil
}

// isUnix says whether package syscall has getrusage on the system.
func isUnix(goos string) bool {
	switch goos {
	case "windows", "plan9", "js", "wasip1":
		return false
	}
	return true
}
