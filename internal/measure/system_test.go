//go:build unix

package measure_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/harness/gotest"
	"assay/internal/measure"
	"assay/internal/plan"
	"assay/internal/result"
)

const (
	// spins take 2 ms or so, in which an idle worker that is not frozen burns more
	// than half a millisecond.
	spins = 20_000
	// stopTail: the kernel calls a task frozen when it is about to leave its core.
	// The rest of that way is charged later (1-35 us in 0.1 % of samples).
	stopTail = 200_000
)

// TestSystem measures a real process: samples are taken and idle processes
// frozen, what hangs, exits or babbles is ended and told apart, and every slot
// ran a copy of the binary that is gone at the end.
func TestSystem(t *testing.T) {
	t.Parallel()
	scratch := t.TempDir()
	binary := filepath.Join(t.TempDir(), "worker")
	if out, err := exec.Command("go", "build", "-o", binary, "./testdata/worker").CombinedOutput(); err != nil {
		t.Fatalf("building the worker: %v\n%s", err, out)
	}
	system := measure.NewSystem(scratch)
	defer func() {
		if err := system.Close(); err != nil {
			t.Error(err)
		}
	}()
	l := &lab{T: t, draft: result.Draft{Seed: 4, Arms: []result.ArmSpec{{Name: result.Base}, {Name: result.Head}}}}
	for _, arm := range []result.Arm{result.Base, result.Head} {
		l.artifacts = append(l.artifacts, result.Artifact{Arm: arm, Package: pkg, Path: binary, RunDir: t.TempDir()})
		l.draft.Recipes = append(l.draft.Recipes, result.Recipe{Arm: arm, Package: pkg, Internal: []string{"BenchmarkSpin"}})
	}
	serve := func(a result.Artifact, _ bool) result.Command {
		return result.Command{Argv: []string{a.Path}, Dir: a.RunDir}
	}
	session := &measure.Session{Machine: system, Serve: serve, Format: gotest.Format{}}
	c := lockstep(1)
	c.Iterations = spins
	p := l.schedule(2, c, "BenchmarkSpin", "BenchmarkHang", "BenchmarkExit", "BenchmarkBabble")
	p.Calibration.Cases[1].TimeoutNS = int64(200 * time.Millisecond)
	sink := &recorder{T: t}
	if err := session.Run(context.Background(), context.Background(), p, nil, quiet{sink}); err != nil {
		t.Fatal(err)
	}
	checkSystemRun(t, sink, scratch, system.Freezes() != "")

	listings, err := session.List(context.Background(), l.draft, l.artifacts[:1])
	if err != nil {
		t.Fatal(err)
	}
	// The worker ignores what it is asked to leave out: blamed once, then given up.
	f := listings[0].Failed
	if len(f) != 2 || f[0].ID != plan.CaseIDOf(pkg, "BenchmarkExit") || f[1].ID != "" || !strings.Contains(f[0].Text, "exit status 4") || !strings.Contains(f[0].Text, "listing ends here") {
		t.Errorf("failures of the list: %+v", f)
	}
	left, err := os.ReadDir(scratch)
	if err != nil || len(left) != 0 {
		t.Errorf("copies are left: %v, %v", left, err)
	}
}

// quiet is a recorder without a machine to trace.
type quiet struct{ *recorder }

func (quiet) Sync() error { return nil }

func checkSystemRun(t *testing.T, sink *recorder, scratch string, freezes bool) {
	t.Helper()
	paths := map[string]bool{}
	for _, slot := range of[result.Slot](sink) {
		words := strings.Fields(sink.outputs[slot.Slot])
		if len(words) < 4 || filepath.Dir(words[1]) != scratch || paths[words[1]] || words[3] != strconv.Itoa(slot.Padding) {
			t.Errorf("slot %d with padding %d printed %q", slot.Slot, slot.Padding, words)
			continue
		}
		paths[words[1]] = true
	}
	values := 0
	for _, m := range of[result.Measurement](sink) {
		if m.Metric == "time" {
			values++
		}
		if m.Value < 0 || m.Iterations != spins || m.Metric == "time" && (m.Value <= 0 || m.WallNS <= 0) {
			t.Errorf("%+v", m)
		}
		if freezes && m.FrozenCPUNS > stopTail {
			t.Errorf("frozen arms used %d ns during sample %d", m.FrozenCPUNS, m.Seq)
		}
	}
	// Lockstep: 2 arms of 1 + 2 samples; blocks: 2 arms of 1 + 3.
	if lockstep := 2*3 + 2*4; freezes && values != lockstep {
		t.Errorf("%d samples, want %d", values, lockstep)
	}
	if n := len(sink.committed()); n != 2 {
		t.Errorf("%d rounds are committed, want those of the one case that works", n)
	}
	want := map[result.CaseID]struct {
		reason result.FailureReason
		text   []string
	}{
		plan.CaseIDOf(pkg, "BenchmarkHang"):   {result.FailHang, []string{"no answer within 200ms", "hangs"}},
		plan.CaseIDOf(pkg, "BenchmarkExit"):   {result.FailCrash, []string{"exit status 3", "says good-bye"}},
		plan.CaseIDOf(pkg, "BenchmarkBabble"): {result.FailCrash, []string{"not JSON"}},
	}
	failures := of[result.Failure](sink)
	for _, f := range failures {
		w, ok := want[f.ID]
		for _, text := range w.text {
			ok = ok && strings.Contains(f.Text, text)
		}
		if !ok || f.Reason != w.reason {
			t.Errorf("failure %+v, want %+v", f, w)
		}
	}
	if len(failures) != len(want) {
		t.Errorf("%d failures, want %d", len(failures), len(want))
	}
}

// TestSystemMissingBinary: what cannot be started is an error. It is not parallel:
// a child of one system that has not yet become its program holds the copies of
// another open for writing, and those could not be started.
func TestSystemMissingBinary(t *testing.T) {
	scratch := t.TempDir()
	system := measure.NewSystem(scratch)
	defer func() {
		if err := system.Close(); err != nil {
			t.Error(err)
		}
	}()
	script := filepath.Join(t.TempDir(), "no-program")
	if err := os.WriteFile(script, []byte("nothing that can run"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{script, script + ".gone"} {
		_, err := system.Launch(context.Background(), result.Command{Argv: []string{path}}, measure.Placement{Copy: path})
		if err == nil {
			t.Errorf("%s was started", path)
		}
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) != 0 {
		t.Errorf("copies are left: %v, %v", left, err)
	}
}
