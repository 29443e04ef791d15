package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
)

// Entry is one stored run in a listing.
type Entry struct {
	ID  string
	Dir string
	Run *Run  // nil when it cannot be read
	Err error // why it cannot be read
}

// List returns the runs below root, newest first (ids begin with the time). A
// folder that is no readable run is listed with its error, never left out.
func List(root string) ([]Entry, error) {
	names, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the stored runs: %w", err)
	}
	var entries []Entry
	for _, name := range names {
		if !name.IsDir() {
			continue
		}
		entry := Entry{ID: name.Name(), Dir: filepath.Join(root, name.Name())}
		entry.Run, entry.Err = Open(entry.Dir)
		entries = append(entries, entry)
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].ID > entries[j].ID })
	return entries, nil
}

// Find opens a run by its id below root, by a unique beginning of it, or by the
// path of its folder.
func Find(root, name string) (*Run, error) {
	if _, err := os.Stat(filepath.Join(name, RunFile)); err == nil {
		return Open(name)
	}
	matches, err := filepath.Glob(filepath.Join(root, name+"*", RunFile))
	if err != nil {
		return nil, fmt.Errorf("looking for run %q: %w", name, err)
	}
	switch len(matches) {
	case 0:
		return nil, fmt.Errorf("no run %q; `assay runs` lists the stored ones", name)
	case 1:
		return Open(filepath.Dir(matches[0]))
	}
	for _, match := range matches {
		if filepath.Base(filepath.Dir(match)) == name {
			return Open(filepath.Dir(match))
		}
	}
	return nil, fmt.Errorf("%d runs begin with %q; give more of the id", len(matches), name)
}

// Remove deletes a run's folder. It refuses a folder that holds no run.
func Remove(run *Run) error {
	if _, err := os.Stat(run.File(RunFile)); err != nil {
		return fmt.Errorf("removing run %s: %w", run.Dir, err)
	}
	if err := os.RemoveAll(run.Dir); err != nil {
		return fmt.Errorf("removing run %s: %w", run.Dir, err)
	}
	return nil
}
