package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"assay/internal/machine"
	"assay/internal/result"
	"assay/internal/stats/noise"
)

// run is a run under construction: a plan and the records of its cases.
type run struct {
	plan result.Plan
	b    Builder
	seq  int64
}

func newRun() *run {
	load := 1.1
	return &run{plan: result.Plan{
		ID: "test",
		Draft: result.Draft{Seed: 1, Alpha: 0.05, MinEffect: 0.01, CPUs: []int{1}, Looks: []result.Look{{Level: 0.05}},
			Arms: []result.ArmSpec{
				{Name: result.Base, Revision: result.Revision{Ref: "merge-base of main", Commit: "9c69fe1"}},
				{Name: result.Head, Revision: result.Revision{Ref: "WORKTREE", Dirty: true}},
			},
			Recipes: []result.Recipe{{Arm: result.Base, Toolchain: "go1.26.8", Settings: []result.Setting{{Key: "GOAMD64", Value: "v1"}}}},
		},
		Expansion: result.Expansion{Artifacts: []result.Artifact{{Arm: result.Base, Package: "p", Digest: "sha256:00"}, {Arm: result.Head, Package: "p", Digest: "sha256:01"}}},
		Environment: result.Environment{Pinned: true, Start: machine.Snapshot{Load1: &load},
			Machine: machine.Fingerprint{{Key: "cpu_model", Value: "Test CPU"}}},
	}}
}

// add plans a case, in lockstep without block rounds unless change says otherwise.
func (r *run) add(id result.CaseID, change func(*result.Case, *result.CasePlan)) {
	c := result.Case{ID: id, Package: "p", Name: string(id), Margin: 0.01}
	p := result.CasePlan{ID: id, Kind: result.Steady, Schedule: result.Lockstep, Rule: result.RuleSwitches, BlockPhase: -1, Iterations: 100}
	if change != nil {
		change(&c, &p)
	}
	r.plan.Expansion.Cases = append(r.plan.Expansion.Cases, c)
	r.plan.Calibration.Cases = append(r.plan.Calibration.Cases, p)
}

func (r *run) put(record result.Record) {
	if err := r.b.Put(record); err != nil {
		panic(err)
	}
}

// sample puts one time sample with defaults for what m leaves out.
func (r *run) sample(m result.Measurement) {
	r.seq++
	m.Seq, m.Status = r.seq, result.StatusOK
	if m.Metric == "" {
		m.Metric, m.Unit = "time", "ns/op"
	}
	if m.Iterations == 0 {
		m.Iterations = 100
	}
	r.put(m)
}

func (r *run) commit(id result.CaseID, round int, schedule result.Schedule) {
	r.put(result.Round{Round: round, ID: id, Schedule: schedule, Order: []result.Arm{result.Base, result.Head}})
}

// passes puts a committed lockstep round with the given samples of both arms.
func (r *run) passes(id result.CaseID, round int, base, head []float64) {
	for pass := range base {
		r.sample(result.Measurement{ID: id, Round: round, Pass: pass, Arm: result.Base, Value: base[pass], Schedule: result.Lockstep})
		r.sample(result.Measurement{ID: id, Round: round, Pass: pass, Arm: result.Head, Value: head[pass], Schedule: result.Lockstep})
	}
	r.commit(id, round, result.Lockstep)
}

// block puts a committed round of blocks.
func (r *run) block(id result.CaseID, round int, base, head []float64) {
	for pass, v := range base {
		r.sample(result.Measurement{ID: id, Round: round, Pass: pass, Arm: result.Base, Value: v, Schedule: result.Blocks})
	}
	for pass, v := range head {
		r.sample(result.Measurement{ID: id, Round: round, Pass: pass, Arm: result.Head, Value: v, Schedule: result.Blocks})
	}
	r.commit(id, round, result.Blocks)
}

// scatter returns n samples around the value with a normal log-noise.
func scatter(rng *rand.Rand, n int, value, sigma float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = value * math.Exp(sigma*rng.NormFloat64())
	}
	return out
}

// noisy puts n lockstep rounds of a case whose head truly differs by delta.
func (r *run) noisy(id result.CaseID, n int, delta float64, rng *rand.Rand) {
	for i, v := range noise.Rounds(noise.Quiet, n, math.Log1p(delta), rng) {
		// A tenth of the model's noise: one round sees 0.1 %.
		level := math.Log(v.Head/v.Base) - math.Log1p(delta)
		r.passes(id, i, scatter(rng, 12, 200, 0.005), scatter(rng, 12, 200*(1+delta)*math.Exp(level/10), 0.005))
	}
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 42)) }

// only compares a run of one case and returns its confirmatory row.
func (r *run) only(t *testing.T) Comparison {
	t.Helper()
	file := Arms(&r.b, r.plan)
	if len(file.Benchmarks) == 0 {
		t.Fatal("no row")
	}
	return file.Benchmarks[0]
}

func warned(warnings []result.Warning, code string) bool {
	for _, w := range warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func caseName(i int) result.CaseID { return result.CaseID(fmt.Sprintf("p.BenchmarkCase%02d", i)) }
