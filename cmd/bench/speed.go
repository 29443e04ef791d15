package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/internal/result"
	"assay/internal/store"
)

// speed prints how much of a lockstep run is inside samples, and how long assay
// takes from its start to the first pilot sample with all artifacts cached.
func speed(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "assay-speed-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	if err := efficiency(ctx, o, dir); err != nil {
		return err
	}
	return startUp(ctx, o, dir)
}

// times sums what the records of a run say about where its time went.
type times struct {
	first, last time.Time
	timed       time.Duration // value times iterations, of all samples but warm-ups
	wall        time.Duration // of the calls that took them, lead-in left out
	firstPilot  time.Time
	lockstep    time.Duration // first to last sample of each lockstep round, summed
	spent       time.Duration // inside the samples of those
	round       int
	id          result.CaseID
	start       time.Time
	end         time.Time
}

// Put implements result.Sink.
func (t *times) Put(record result.Record) error {
	m, ok := record.(result.Measurement)
	if !ok {
		return nil
	}
	if m.Pilot {
		if t.firstPilot.IsZero() || m.Start.Before(t.firstPilot) {
			t.firstPilot = m.Start
		}
		return nil
	}
	if m.Metric != "time" {
		return nil
	}
	end := m.Start.Add(time.Duration(m.WallNS))
	if t.first.IsZero() {
		t.first = m.Start
	}
	t.last = end
	if m.Warmup {
		return nil
	}
	spent := time.Duration(m.Value * float64(m.Iterations))
	t.timed += spent
	t.wall += time.Duration(m.WallNS)
	if m.Schedule != result.Lockstep {
		return nil
	}
	if m.Round != t.round || m.ID != t.id {
		t.lockstep += t.end.Sub(t.start)
		t.round, t.id, t.start = m.Round, m.ID, m.Start
	}
	t.end = end
	t.spent += spent
	return nil
}

func efficiency(ctx context.Context, o options, dir string) error {
	repository := filepath.Join(dir, "planted")
	code, err := read("resolution", "code.go")
	if err != nil {
		return err
	}
	bench, err := read("resolution", "bench_test.go")
	if err != nil {
		return err
	}
	files := map[string][]byte{"go.mod": []byte("module example.com/planted\n\ngo 1.24\n"), "code.go": code, "bench_test.go": bench}
	if err := commit(ctx, repository, "one", files); err != nil {
		return err
	}
	out := filepath.Join(dir, "run")
	if _, err := ab(ctx, o, repository, out, "--aa", "--head", "HEAD", "--bench", "Hash|Search", "--budget", "30s", "--fail-on", "none"); err != nil {
		return err
	}
	run, err := store.Open(out)
	if err != nil {
		return err
	}
	var t times
	if err := run.Read(&t); err != nil {
		return err
	}
	t.lockstep += t.end.Sub(t.start)
	total := t.last.Sub(t.first)
	fmt.Printf("share of the wall time between first and last sample that is inside samples:\n")
	fmt.Printf("  timed iterations         %.1f %%\n", 100*t.timed.Seconds()/total.Seconds())
	fmt.Printf("  whole sample calls       %.1f %%\n", 100*t.wall.Seconds()/total.Seconds())
	fmt.Printf("  timed, lockstep passes   %.1f %%\n", 100*t.spent.Seconds()/t.lockstep.Seconds())
	return nil
}

// packages of the module whose start-up is timed.
const packages = 10

func startUp(ctx context.Context, o options, dir string) error {
	repository := filepath.Join(dir, "ten")
	files := map[string][]byte{"go.mod": []byte("module example.com/ten\n\ngo 1.24\n")}
	for version := range 2 {
		for i := range packages {
			name := fmt.Sprintf("p%02d", i)
			files[name+"/code.go"] = fmt.Appendf(nil, "package %s\n\nfunc Op(i int) int {\n\tx := uint64(i) | 1\n\tfor range %d {\n\t\tx ^= x << 13\n\t\tx ^= x >> 7\n\t}\n\treturn int(x & 1)\n}\n", name, 100+version)
			files[name+"/bench_test.go"] = fmt.Appendf(nil, "package %s\n\nimport \"testing\"\n\nvar sink int\n\nfunc BenchmarkOp(b *testing.B) {\n\tfor i := 0; i < b.N; i++ {\n\t\tsink += Op(i)\n\t}\n}\n", name)
		}
		if err := commit(ctx, repository, fmt.Sprint("version ", version), files); err != nil {
			return err
		}
	}
	for try := range 3 {
		out := filepath.Join(dir, fmt.Sprint("start-", try))
		began := time.Now()
		if _, err := ab(ctx, o, repository, out, "--base", "HEAD~1", "--head", "HEAD", "--budget", "12s", "--fail-on", "none"); err != nil {
			return err
		}
		first, err := firstPilot(out)
		if err != nil {
			return err
		}
		state := "artifacts cached"
		if try == 0 {
			state = "everything built"
		}
		fmt.Printf("start of assay ab to the first pilot sample, %d packages, %s: %.2f s\n", packages, state, first.Sub(began).Seconds())
	}
	return nil
}

// firstPilot reads when the first slot of the pilot was started.
func firstPilot(dir string) (time.Time, error) {
	file, err := os.Open(filepath.Join(dir, store.MeasurementsFile))
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = file.Close() }() // read only
	decoder := json.NewDecoder(file)
	for {
		var record struct {
			Kind  result.RecordKind `json:"kind"`
			Start time.Time         `json:"start"`
		}
		if err := decoder.Decode(&record); err != nil {
			return time.Time{}, fmt.Errorf("looking for the first pilot sample: %w", err)
		}
		if record.Kind == result.KindSample {
			return record.Start, nil
		}
	}
}
