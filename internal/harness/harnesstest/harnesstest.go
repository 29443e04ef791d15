// Package harnesstest is the conformance suite that every harness adapter
// passes, and what its tests share: building with the real tools and talking to
// a worker.
//
// In: an adapter, two small trees of its harness, captures. Out: test failures.
// It must never know a harness: what differs between them is in the Subject.
package harnesstest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"assay/internal/harness"
	"assay/internal/result"
)

// Subject is what the suite tries an adapter on.
type Subject struct {
	Adapter harness.Adapter
	// Base and Head are folders with two small trees. Head declares benchmarks
	// that Base lacks, all of which build on Base after the graft.
	Base, Head string
	Query      harness.Query
	// Declared are the names that Detect finds in Head, per package, sorted.
	Declared map[string][]string
	// Grafted are the paths that Graft copies from Head onto Base, sorted.
	Grafted []string
	// Removed are the paths that Graft takes away from Base, sorted.
	Removed []string
	// Listed are the full names that the artifacts of both arms list, sorted.
	Listed []string
	// Count is a listed name whose benchmark reports, as a metric of the unit
	// CountUnit, how many iterations its body made in the timed part.
	Count, CountUnit string
	// Good is a capture with Values values; all its prefixes must read to some of
	// them. Failing is a capture in which a benchmark failed.
	Good    string
	Values  int
	Failing string
}

// Run checks the contract, part by part.
func Run(t *testing.T, s Subject) {
	t.Helper()
	head := Tree(s.Head)
	layout, err := s.Adapter.Detect(t.Context(), head, s.Query)
	if err != nil {
		t.Fatalf("detecting the benchmarks of head: %v", err)
	}
	t.Run("discover", func(t *testing.T) { s.discover(t, head, layout) })
	t.Run("commands", func(t *testing.T) { s.commands(t, head, layout) })
	t.Run("measure", func(t *testing.T) { s.measure(t, head, layout) })
	t.Run("graft", func(t *testing.T) { s.graft(t, head, layout) })
	t.Run("parse", s.parse)
}

func (s Subject) discover(t *testing.T, head harness.Tree, layout harness.Layout) {
	declared := map[string][]string{}
	for _, unit := range layout.Units {
		declared[unit.Package] = slices.Sorted(slices.Values(append(slices.Clone(unit.Internal), unit.External...)))
		for _, name := range append(slices.Clone(unit.Files), unit.LeftOut...) {
			if _, err := fs.Stat(head.FS, name); err != nil {
				t.Errorf("unit %s: %v", unit.Package, err)
			}
		}
	}
	if !reflect.DeepEqual(declared, s.Declared) {
		t.Errorf("declared benchmarks: got %v, want %v", declared, s.Declared)
	}
	again, err := s.Adapter.Detect(t.Context(), head, s.Query)
	if err != nil || !reflect.DeepEqual(again, layout) {
		t.Errorf("the same tree reads differently the second time (error %v)", err)
	}
	empty, err := s.Adapter.Detect(t.Context(), harness.Tree{Dir: t.TempDir(), FS: fstest.MapFS{}, Exec: Exec}, harness.Query{Dir: "."})
	if err != nil || len(empty.Units) != 0 {
		t.Errorf("a tree without benchmarks: units %v, error %v", empty.Units, err)
	}
	none := s.Query
	none.Bench = "NoBenchmarkHasThisName"
	nothing, err := s.Adapter.Detect(t.Context(), head, none)
	if err != nil || len(nothing.Units) != 0 {
		t.Errorf("a pattern that matches nothing: units %v, error %v", nothing.Units, err)
	}
}

func (s Subject) commands(t *testing.T, head harness.Tree, layout harness.Layout) {
	for _, unit := range layout.Units {
		recipe := RecipeOf(head, layout, unit)
		commands, files, err := s.Adapter.Build(recipe, "/out/artifact")
		if err != nil || len(commands) == 0 {
			t.Fatalf("unit %s: %d commands, error %v", unit.Package, len(commands), err)
		}
		again, filesAgain, err := s.Adapter.Build(recipe, "/out/artifact")
		if err != nil || !reflect.DeepEqual(commands, again) || !reflect.DeepEqual(files, filesAgain) {
			t.Errorf("unit %s: the same recipe gives other commands the second time (error %v)", unit.Package, err)
		}
		for _, file := range files {
			if !fs.ValidPath(file.Path) {
				t.Errorf("unit %s: overlay path %q is not relative to the tree", unit.Package, file.Path)
			}
			if _, err := fs.Stat(head.FS, file.Path); file.Content != nil && err == nil {
				t.Errorf("unit %s: the overlay replaces %s, which the tree has", unit.Package, file.Path)
			}
		}
		for _, command := range commands {
			if command.Dir != "" && !strings.HasPrefix(command.Dir, s.Head) {
				t.Errorf("unit %s: command runs in %s, outside the tree", unit.Package, command.Dir)
			}
		}
	}
	if found := s.Adapter.Diagnose("everything is fine\n"); len(found) != 0 {
		t.Errorf("diagnosis of output that names nothing: %v", found)
	}
}

// graft puts head's harness onto base and measures it there.
func (s Subject) graft(t *testing.T, head harness.Tree, layout harness.Layout) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(s.Base)); err != nil {
		t.Fatal(err)
	}
	base := Tree(dir)
	plan, err := s.Adapter.Graft(head, base, layout)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, file := range plan.Copy {
		paths = append(paths, file.Path)
		if file.Kind == "" {
			t.Errorf("%s has no kind", file.Path)
		}
	}
	if !reflect.DeepEqual(paths, s.Grafted) || !reflect.DeepEqual(plan.Remove, s.Removed) {
		t.Errorf("graft: copies %q, removes %q; want %q and %q", paths, plan.Remove, s.Grafted, s.Removed)
	}
	Apply(t, head, dir, plan)
	second, err := s.Adapter.Graft(head, base, layout)
	if err != nil || len(second.Remove) > 0 {
		t.Errorf("a graft upon the graft still removes %v (error %v)", second.Remove, err)
	}
	if resolver, ok := s.Adapter.(harness.Resolver); ok {
		if _, _, _, err := resolver.Resolve(t.Context(), head, base, layout); err != nil {
			t.Fatal(err)
		}
	}
	for i, unit := range layout.Units {
		layout.Units[i].LeftOut = nil
		if hider, ok := s.Adapter.(harness.Hider); ok {
			if layout.Units[i].LeftOut, err = hider.LeftOut(base.FS, unit); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("base", func(t *testing.T) { s.measure(t, base, layout) })
}

// Apply carries out a graft plan in a folder.
func Apply(t *testing.T, source harness.Tree, dir string, plan result.GraftPlan) {
	t.Helper()
	for _, file := range plan.Copy {
		data, err := fs.ReadFile(source.FS, file.Path)
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, filepath.FromSlash(file.Path))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range plan.Remove {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
}

// measure builds every unit of an arm, lists it and runs one of its benchmarks.
func (s Subject) measure(t *testing.T, tree harness.Tree, layout harness.Layout) {
	var listed []string
	for _, unit := range layout.Units {
		artifact := Build(t, s.Adapter, RecipeOf(tree, layout, unit))
		if artifact.Failure != nil {
			t.Fatalf("unit %s does not build: %v\n%s", unit.Package, artifact.Failure.Missing, artifact.Failure.Text)
		}
		for external, names := range map[bool][]string{false: unit.Internal, true: unit.External} {
			if len(names) == 0 {
				continue
			}
			w := Start(t, s.Adapter.Serve(artifact, external))
			if err := w.Hello(); err != nil {
				t.Fatal(err)
			}
			reply, progress, err := w.Ask(harness.Request{Op: harness.OpList})
			if err != nil || reply.Error != "" {
				t.Fatalf("listing: %v %s", err, reply.Error)
			}
			if !reflect.DeepEqual(slices.Sorted(slices.Values(progress)), names) {
				t.Errorf("progress of the list: %v, want %v", progress, names)
			}
			for _, one := range reply.Listed {
				listed = append(listed, one.Name)
				if one.Name == s.Count {
					s.exactly(t, w, unit)
				}
			}
			if err := w.Close(); err != nil {
				t.Errorf("the worker ended with %v at the end of its requests", err)
			}
		}
	}
	slices.Sort(listed)
	if !reflect.DeepEqual(listed, s.Listed) {
		t.Errorf("listed: got %q, want %q", listed, s.Listed)
	}
}

// exactly runs the counting benchmark for given numbers of iterations.
func (s Subject) exactly(t *testing.T, w *Worker, unit harness.Unit) {
	for _, n := range []int64{1, 2, 137} {
		reply, _, err := w.Ask(harness.Request{Op: harness.OpRun, Name: s.Count, Iterations: n, Lead: 3})
		if err != nil || reply.Error+reply.Failed != "" {
			t.Fatalf("running %s: %v %s %s", s.Count, err, reply.Error, reply.Failed)
		}
		records := Parse(t, s.Adapter.Format(), reply.Text, result.Cell{Package: unit.Package, Procs: reply.Procs})
		counted := false
		for _, m := range records.Measurements() {
			if m.Iterations != n {
				t.Errorf("%s: %d iterations reported, %d asked for", s.Count, m.Iterations, n)
			}
			if m.Unit == s.CountUnit {
				counted = true
				if m.Value != float64(n) {
					t.Errorf("%s: the body ran %v times, %d asked for", s.Count, m.Value, n)
				}
			}
		}
		if !counted {
			t.Errorf("%s: no value in %s in %q", s.Count, s.CountUnit, reply.Text)
		}
	}
}

// parse reads the captures whole, cut, with other line ends, failing and empty.
func (s Subject) parse(t *testing.T) {
	format := s.Adapter.Format()
	cell := result.Cell{Source: "capture", Arm: result.Head, Package: "example.com/default"}
	good := Parse(t, format, s.Good, cell).Measurements()
	if len(good) != s.Values {
		t.Errorf("good capture: %d values, want %d", len(good), s.Values)
	}
	if !format.Sniff([]byte(s.Good)) {
		t.Error("the good capture is not recognised")
	}
	known := map[string]bool{}
	for _, m := range good {
		if m.Status != result.StatusOK || m.Arm != result.Head || m.ID == "" || m.Metric == "" || m.Unit == "" {
			t.Errorf("incomplete measurement %+v", m)
		}
		known[fmt.Sprint(m.ID, m.Unit, m.Value)] = true
	}
	for cut := range len(s.Good) {
		for _, m := range Parse(t, format, s.Good[:cut], cell).Measurements() {
			if !known[fmt.Sprint(m.ID, m.Unit, m.Value)] {
				t.Fatalf("cut after %d bytes: invented %s %v %s", cut, m.ID, m.Value, m.Unit)
			}
		}
	}
	windows := Parse(t, format, strings.ReplaceAll(s.Good, "\n", "\r\n"), cell).Measurements()
	if !reflect.DeepEqual(windows, good) {
		t.Errorf("with CRLF line ends the capture reads differently: %v", windows)
	}
	failures := 0
	for _, record := range Parse(t, format, s.Failing, cell) {
		switch record.(type) {
		case result.Failure, result.Damaged:
			failures++
		}
	}
	if failures == 0 {
		t.Error("the failing capture gives neither a failure nor a damaged record")
	}
	if records := Parse(t, format, "", cell); len(records) != 0 {
		t.Errorf("an empty capture gives %v", records)
	}
	if format.Sniff(nil) {
		t.Error("an empty file is recognised")
	}
}

// Records is a result.Sink that keeps everything.
type Records []result.Record

// Put implements result.Sink.
func (r *Records) Put(record result.Record) error {
	*r = append(*r, record)
	return nil
}

// Measurements are the values among the records.
func (r Records) Measurements() []result.Measurement {
	var out []result.Measurement
	for _, record := range r {
		if m, ok := record.(result.Measurement); ok {
			out = append(out, m)
		}
	}
	return out
}

// Parse reads a capture given as text.
func Parse(t *testing.T, format harness.Format, text string, cell result.Cell) Records {
	t.Helper()
	var records Records
	if err := format.Parse(strings.NewReader(text), cell, &records); err != nil {
		t.Fatal(err)
	}
	return records
}
