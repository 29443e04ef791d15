package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/result"
	"assay/internal/store"
)

type collect struct{ records []result.Record }

func (c *collect) Put(r result.Record) error { c.records = append(c.records, r); return nil }

func newPlan(t *testing.T) result.Plan {
	t.Helper()
	plan := result.Plan{Format: result.RunFormat, ID: "20260101T000000-abcd"}
	var err error
	if plan.Expansion.Draft, err = result.Hash(plan.Draft); err != nil {
		t.Fatal(err)
	}
	if plan.Calibration.Expansion, err = result.Hash(plan.Expansion); err != nil {
		t.Fatal(err)
	}
	return plan
}

func sample(seq int64, round, slot int) result.Measurement {
	return result.Measurement{Seq: seq, Round: round, Slot: slot, ID: "p.BenchmarkA", Arm: result.Base, Metric: "time", Unit: "ns/op", Value: 1.5, Status: result.StatusOK}
}

func TestUncommittedRoundIsLeftOutAndMeasuredAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	run, err := store.Create(dir, newPlan(t))
	if err != nil {
		t.Fatal(err)
	}
	w, err := run.Append()
	if err != nil {
		t.Fatal(err)
	}
	put := func(records ...result.Record) {
		for _, r := range records {
			if err := w.Put(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(sample(1, 0, 1), result.Round{Round: 0, ID: "p.BenchmarkA", Slots: []int{1}}, sample(2, 1, 2))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(run.File(store.MeasurementsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"kind":"sample","seq":3,"rou`); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if run, err = store.Open(dir); err != nil {
		t.Fatal(err)
	}
	var before collect
	if err := run.Read(&before); err != nil {
		t.Fatalf("a torn last line must be tolerated: %v", err)
	}
	if w, err = run.Append(); err != nil {
		t.Fatal(err)
	}
	put(sample(4, 1, 3), result.Round{Round: 1, ID: "p.BenchmarkA", Slots: []int{3}}, result.End{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var after collect
	if err := run.Read(&after); err != nil {
		t.Fatal(err)
	}
	var seqs []int64
	for _, r := range after.records {
		if m, ok := r.(result.Measurement); ok {
			seqs = append(seqs, m.Seq)
		}
	}
	if diff := cmp.Diff([]int64{1, 4}, seqs); diff != "" {
		t.Errorf("committed samples (-want +got):\n%s", diff)
	}
	if len(before.records) != 2 {
		t.Errorf("before resuming: %d records, want the committed sample and its round", len(before.records))
	}
}

func TestDamagedLineInTheMiddleNamesFileAndLine(t *testing.T) {
	run, err := store.Create(filepath.Join(t.TempDir(), "run"), newPlan(t))
	if err != nil {
		t.Fatal(err)
	}
	text := "{\"kind\":\"end\",\"time\":\"2026-01-01T00:00:00Z\"}\n{\"kind\":\"sample\",\n{\"kind\":\"end\"}\n"
	if err := os.WriteFile(run.File(store.MeasurementsFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	err = run.Read(&collect{})
	if err == nil || !strings.Contains(err.Error(), "measurements.jsonl:2:") {
		t.Errorf("error %v does not name the file and line 2", err)
	}
}

func TestChangedPlanIsRefused(t *testing.T) {
	run, err := store.Create(filepath.Join(t.TempDir(), "run"), newPlan(t))
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(run.File(store.RunFile))
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(data), `"alpha": 0`, `"alpha": 0.5`, 1)
	if err := os.WriteFile(run.File(store.RunFile), []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(run.Dir); err == nil {
		t.Error("an edited run.json was opened")
	}
}

func TestRunIsNeverOverwritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := store.Create(dir, newPlan(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(dir, newPlan(t)); err == nil {
		t.Error("a second run was written into the folder of the first")
	}
}
