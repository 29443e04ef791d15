// Package store keeps runs on disk: a folder per run with run.json, the stream
// of records, the raw output of slots and whatever is rendered from them.
//
// In: plans and records as they come. Out: the same, read back. Files are only
// ever added to: run.json is written once, measurements.jsonl is append-only.
// It must never change a record, and never hand out records of a round that was
// not committed.
package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"assay/internal/result"
)

// Names of the files of a run's folder.
const (
	RunFile          = "run.json"
	MeasurementsFile = "measurements.jsonl"
	ComparisonFile   = "comparison.json"
	ReportFile       = "report.md"
	DetailsFile      = "details.md"
	HTMLFile         = "report.html"
	NotesFile        = "notes.md"
	PatchFile        = "graft.patch"
	ChartsDir        = "charts"
	CapturesDir      = "captures"
)

// Run is an open run folder.
type Run struct {
	Dir  string
	Plan result.Plan
}

// Create makes the folder of a run and writes run.json, synced. An existing
// run.json is an error: a run is never overwritten.
func Create(dir string, plan result.Plan) (*Run, error) {
	if err := os.MkdirAll(filepath.Join(dir, CapturesDir), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the run: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, RunFile)); err == nil {
		return nil, fmt.Errorf("folder %s already holds a run; name another with --out or continue it with --resume", dir)
	}
	data, err := json.MarshalIndent(plan, "", " ")
	if err != nil {
		return nil, fmt.Errorf("encoding the plan: %w", err)
	}
	run := &Run{Dir: dir, Plan: plan}
	if err := run.Write(RunFile, append(data, '\n')); err != nil {
		return nil, err
	}
	return run, nil
}

// Open reads the plan of a stored run.
func Open(dir string) (*Run, error) {
	data, err := os.ReadFile(filepath.Join(dir, RunFile))
	if err != nil {
		return nil, fmt.Errorf("reading run %s: %w", dir, err)
	}
	run := &Run{Dir: dir}
	if err := json.Unmarshal(data, &run.Plan); err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Join(dir, RunFile), err)
	}
	if run.Plan.Format != result.RunFormat {
		return nil, fmt.Errorf("reading %s: format %q is not %q; it was written by another version of assay", filepath.Join(dir, RunFile), run.Plan.Format, result.RunFormat)
	}
	if err := run.checkChain(); err != nil {
		return nil, err
	}
	return run, nil
}

// checkChain verifies that every stage of the plan holds its predecessor's hash.
func (r *Run) checkChain() error {
	draft, err := result.Hash(r.Plan.Draft)
	if err != nil {
		return err
	}
	expansion, err := result.Hash(r.Plan.Expansion)
	if err != nil {
		return err
	}
	if draft != r.Plan.Expansion.Draft || expansion != r.Plan.Calibration.Expansion {
		return fmt.Errorf("run %s: %s was changed after it was written: the stages of the plan do not hold each other's hashes", r.Dir, RunFile)
	}
	return nil
}

// File returns the path of a file of the run, for reading.
func (r *Run) File(name string) string { return filepath.Join(r.Dir, filepath.FromSlash(name)) }

// Write puts a rendered file into the run's folder: whole or not at all, and on
// disk when it returns.
func (r *Run) Write(name string, data []byte) error {
	path := r.File(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".assay-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	_, err = temp.Write(data)
	if err == nil {
		err = temp.Chmod(0o644)
	}
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(temp.Name())))
	}
	return nil
}

// InputHash is the hash of everything a comparison is derived from.
func (r *Run) InputHash() (string, error) {
	sum := sha256.New()
	for _, name := range []string{RunFile, MeasurementsFile} {
		if err := hashInto(sum, r.File(name)); err != nil {
			return "", err
		}
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

func hashInto(sum io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("hashing the run: %w", err)
	}
	defer func() { _ = file.Close() }() // read only: nothing to lose
	if _, err := io.Copy(sum, file); err != nil {
		return fmt.Errorf("hashing %s: %w", path, err)
	}
	return nil
}

// Notes returns the author's own notes, empty if there are none.
func (r *Run) Notes() (string, error) {
	data, err := os.ReadFile(r.File(NotesFile))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the notes: %w", err)
	}
	return string(bytes.TrimSpace(data)), nil
}
