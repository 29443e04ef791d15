package measure_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"assay/internal/harness/gotest"
	"assay/internal/measure"
	"assay/internal/measure/simulate"
	"assay/internal/plan"
	"assay/internal/result"
)

// lab is a simulated machine with two programs and a session on it.
type lab struct {
	*testing.T
	machine   *simulate.Machine
	session   *measure.Session
	artifacts []result.Artifact
	draft     result.Draft
}

const pkg = "example.com/sim"

// newLab writes the programs of the arms.
func newLab(t *testing.T, config simulate.Config, base, head string) *lab {
	t.Helper()
	l := &lab{T: t, draft: result.Draft{Seed: 11, Alpha: 0.05, MinEffect: 0.01, CPUs: []int{1}, ParallelCPUs: []int{0, 1}, Looks: []result.Look{{Level: 0.05}},
		Arms: append([]result.ArmSpec{{Name: result.Base}, {Name: result.Head}}, plan.Planted()...)}}
	dir := t.TempDir()
	for _, p := range []struct {
		arm  result.Arm
		text string
	}{{result.Base, base}, {result.Head, head}} {
		path := filepath.Join(dir, string(p.arm)+".sim")
		if err := os.WriteFile(path, []byte(p.text), 0o644); err != nil {
			t.Fatal(err)
		}
		l.artifacts = append(l.artifacts, result.Artifact{Arm: p.arm, Package: pkg, Path: path, Digest: "sha256:" + string(p.arm), CodeDigest: string(p.arm)})
		l.draft.Recipes = append(l.draft.Recipes, result.Recipe{Arm: p.arm, Package: pkg, Internal: []string{"Benchmark"}})
	}
	l.boot(config)
	return l
}

// boot starts a new machine and session: what a new process of assay sees.
func (l *lab) boot(config simulate.Config) {
	l.machine = simulate.New(config)
	l.session = &measure.Session{Machine: l.machine, Serve: simulate.Adapter{}.Serve, Format: gotest.Format{}}
}

// freezing is a quiet machine that can freeze.
func freezing() simulate.Config { return simulate.Config{Seed: 3, Freezes: "simulated"} }

// schedule makes a plan of the named cases without a pilot.
func (l *lab) schedule(rounds int, c result.CasePlan, names ...string) result.Plan {
	p := result.Plan{Draft: l.draft, Expansion: result.Expansion{Artifacts: l.artifacts}}
	p.Calibration.Rounds = rounds
	for _, name := range names {
		id := plan.CaseIDOf(pkg, name)
		p.Expansion.Cases = append(p.Expansion.Cases, result.Case{ID: id, Package: pkg, Name: name, Title: name})
		c.ID = id
		if c.Rule == "" {
			c.Rule = result.RuleNone
		}
		if c.TimeoutNS == 0 {
			c.TimeoutNS = 20e9
		}
		p.Calibration.Cases = append(p.Calibration.Cases, c)
	}
	return p
}

// lockstep is a small lockstep case; its rounds run as blocks in the phase.
func lockstep(phase int) result.CasePlan {
	return result.CasePlan{Kind: result.Steady, Schedule: result.Lockstep, Iterations: 1000, Lead: 50, Warmup: 1, Passes: 2, BlockSamples: 3, BlockPhase: phase, CostNS: 1e6}
}

// run measures a plan on the lab's machine and checks that no process is left.
func (l *lab) run(p result.Plan, stop measure.Stopper) *recorder {
	l.Helper()
	sink := &recorder{T: l.T, machine: l.machine}
	if err := l.session.Run(context.Background(), context.Background(), p, stop, sink); err != nil {
		l.Fatal(err)
	}
	if n := l.machine.Alive(); n != 0 {
		l.Errorf("%d processes are left", n)
	}
	return sink
}

// recorder is a RunSink in memory.
type recorder struct {
	*testing.T
	machine *simulate.Machine
	records []result.Record
	outputs map[int]string
	notes   []note
}

// note is a line to be put into the machine's trace.
type note struct {
	at   int
	text string
}

func (r *recorder) Put(record result.Record) error {
	r.records = append(r.records, record)
	return nil
}

func (r *recorder) Output(slot int, raw []byte) error {
	if r.outputs == nil {
		r.outputs = map[int]string{}
	}
	r.outputs[slot] = string(raw)
	return nil
}

// Sync notes what the last record was: it is on disk now.
func (r *recorder) Sync() error {
	if len(r.records) > 0 {
		r.note(r.records[len(r.records)-1])
	}
	return nil
}

// of returns the records of one kind, in order.
func of[T result.Record](r *recorder) []T {
	var out []T
	for _, record := range r.records {
		if v, ok := record.(T); ok {
			out = append(out, v)
		}
	}
	return out
}

// counted returns the samples that count, time alone.
func (r *recorder) counted() []result.Measurement {
	var out []result.Measurement
	for _, m := range of[result.Measurement](r) {
		if !m.Warmup && !m.Pilot && m.Metric == "time" {
			out = append(out, m)
		}
	}
	return out
}

// committed returns the rounds that count by round and case. One committed twice
// is an error.
func (r *recorder) committed() map[measure.Done]result.Round {
	out := map[measure.Done]result.Round{}
	for _, round := range of[result.Round](r) {
		done := measure.Done{Round: round.Round, ID: round.ID}
		if _, twice := out[done]; twice {
			r.Errorf("%v is committed twice", done)
		}
		if !round.Pilot {
			out[done] = round
		}
	}
	return out
}

// state is what a store hands to the session that resumes.
func (r *recorder) state() measure.State {
	s := measure.State{Committed: map[measure.Done]bool{}, Failed: map[result.CaseID]bool{}, Looks: of[result.LookResult](r)}
	for done := range r.committed() {
		s.Committed[done] = true
	}
	for _, f := range of[result.Failure](r) {
		s.Failed[f.ID] = true
	}
	for _, slot := range of[result.Slot](r) {
		s.LastSlot = max(s.LastSlot, slot.Slot)
	}
	for _, m := range of[result.Measurement](r) {
		s.LastSeq = max(s.LastSeq, m.Seq)
	}
	return s
}
