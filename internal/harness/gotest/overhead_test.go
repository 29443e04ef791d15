package gotest

import (
	"testing"

	"assay/internal/harness"
)

// BenchmarkOverhead times requests for an empty benchmark, as the coordinator
// sees them: what a sample costs beside its timed part.
func BenchmarkOverhead(b *testing.B) {
	dir := extract(b, "worker.txtar")
	artifact, _ := buildUnit(b, dir, "./")
	for name, request := range map[string]harness.Request{
		"one iteration":       {Op: harness.OpRun, Name: "BenchmarkEmpty", Iterations: 1},
		"thousand iterations": {Op: harness.OpRun, Name: "BenchmarkEmpty", Iterations: 1000},
		"with a lead-in":      {Op: harness.OpRun, Name: "BenchmarkEmpty", Iterations: 1000, Lead: 1000},
	} {
		b.Run(name, func(b *testing.B) {
			w := start(b, artifact, false, "GOMAXPROCS=1")
			for b.Loop() {
				if _, _, err := w.Ask(request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
