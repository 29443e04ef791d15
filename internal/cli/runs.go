package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/result"
	"assay/internal/store"
	"assay/internal/subject"
)

// runRow is one line of the listing.
type runRow struct {
	ID         string    `json:"id"`
	Dir        string    `json:"dir"`
	Created    time.Time `json:"created,omitzero"`
	Repository string    `json:"repository,omitempty"`
	Base       string    `json:"base,omitempty"`
	Head       string    `json:"head,omitempty"`
	Cases      int       `json:"cases,omitempty"`
	State      string    `json:"state"` // finished, interrupted, unreadable
	Error      string    `json:"error,omitempty"`
}

// newRuns is `assay runs`: list stored runs; `assay runs rm` removes.
func newRuns(env *Env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "list stored runs, or remove them",
		Long:  "runs lists the stored runs, newest first.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			rows, err := listRuns(env)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(env.Stdout, struct {
					Format string   `json:"format"`
					Runs   []runRow `json:"runs"`
				}{"assay.runs/1", rows})
			}
			out := &lines{w: env.Stdout}
			for _, r := range rows {
				if r.Error != "" {
					out.printf("%s  %-12s %s\n", r.ID, r.State, r.Error)
					continue
				}
				out.printf("%s  %-12s %3d cases  %.10s..%.10s  %s\n", r.ID, r.State, r.Cases, r.Base, r.Head, r.Repository)
			}
			if len(rows) == 0 {
				out.printf("no runs are stored\n")
			}
			return out.err
		},
	}
	cmd.PersistentFlags().BoolVar(&asJSON, "json", false, "print JSON, errors included")
	cmd.AddCommand(newRunsRm(env))
	return cmd
}

func listRuns(env *Env) ([]runRow, error) {
	root, err := env.runsDir()
	if err != nil {
		return nil, err
	}
	entries, err := store.List(root)
	if err != nil {
		return nil, err
	}
	rows := []runRow{}
	for _, e := range entries {
		row := runRow{ID: e.ID, Dir: e.Dir, State: "unreadable"}
		if e.Err != nil {
			row.Error = e.Err.Error()
			rows = append(rows, row)
			continue
		}
		p := e.Run.Plan
		row.Created, row.Repository, row.Cases = p.Draft.Created, p.Draft.Repository, len(p.Expansion.Cases)
		for _, arm := range p.Draft.Arms {
			switch arm.Name {
			case result.Base:
				row.Base = arm.Revision.Commit
			case result.Head:
				row.Head = arm.Revision.Commit
			case result.BaseAA, result.PlantedOne, result.PlantedTwo:
			}
		}
		progress, err := e.Run.Progress()
		switch {
		case err != nil:
			row.Error = err.Error()
		case progress.Ended:
			row.State = "finished"
		default:
			row.State = "interrupted"
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// newRunsRm is `assay runs rm`: remove runs and what only they used.
func newRunsRm(env *Env) *cobra.Command {
	all := false
	cmd := &cobra.Command{
		Use:   "rm RUN...",
		Short: "remove stored runs, and the trees and binaries that no other run uses",
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return usage(errors.New("name the runs to remove, or --all"))
			}
			root, err := env.runsDir()
			if err != nil {
				return err
			}
			entries, err := store.List(root)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if all && e.Err == nil {
					args = append(args, e.Dir)
				}
			}
			for _, name := range args {
				run, err := findRun(env, name)
				if err != nil {
					return err
				}
				if err := store.Remove(run); err != nil {
					return err
				}
			}
			return prune(cmd, env, root)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove every run")
	return cmd
}

// prune removes trees and binaries of the cache that no stored run refers to.
func prune(cmd *cobra.Command, env *Env, root string) error {
	entries, err := store.List(root)
	if err != nil {
		return err
	}
	var trees []string
	binaries := map[string]bool{}
	for _, e := range entries {
		if e.Err != nil {
			continue
		}
		for _, arm := range e.Run.Plan.Draft.Arms {
			trees = append(trees, arm.Dir)
		}
		for _, a := range e.Run.Plan.Expansion.Artifacts {
			binaries[filepath.Dir(a.Path)] = true
		}
	}
	cache, err := env.cacheDir()
	if err != nil {
		return err
	}
	pruned, err := subject.Prune(cmd.Context(), cache, trees)
	if err != nil {
		return err
	}
	removed := 0
	if pruned.Busy == 0 { // else a run that is not stored yet may use any of them
		if removed, err = pruneArtifacts(filepath.Join(cache, "artifacts"), binaries); err != nil {
			return err
		}
	}
	out := &lines{w: env.Stdout}
	out.printf("removed from the cache: %d trees, %d clones, %d binaries\n", pruned.Trees, pruned.Clones, removed)
	return out.err
}

// pruneArtifacts removes the artifacts that are not kept.
func pruneArtifacts(dir string, keep map[string]bool) (removed int, err error) {
	artifacts, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return 0, fmt.Errorf("listing the artifacts: %w", err)
	}
	for _, artifact := range artifacts {
		if keep[artifact] {
			continue
		}
		if err := os.RemoveAll(artifact); err != nil {
			return removed, fmt.Errorf("removing artifact %s: %w", artifact, err)
		}
		removed++
	}
	return removed, nil
}
