package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"assay/internal/measure"
	"assay/internal/store"
)

// newAB is `assay ab`: measure base against head.
func newAB(env *Env) *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use:   "ab [DIR]",
		Short: "measure base against head",
		Long: "ab builds two revisions of the repository that DIR (default: here) is in, with one byte-identical benchmark source\n" +
			"on both, measures them side by side and says for every benchmark: faster, slower, equivalent or inconclusive.\n" +
			"Without flags it compares the merge-base with the default branch against the working tree.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(cmd, env, args); err != nil {
				return err
			}
			return runAB(cmd, env, s)
		},
	}
	s.planFlags(cmd.Flags())
	s.runFlags(cmd.Flags())
	return cmd
}

// runAB is the main job: every line a stage.
func runAB(cmd *cobra.Command, env *Env, s *settings) (err error) {
	ctx := cmd.Context()
	n, err := newNotes(env, cmd)
	if err != nil {
		return err
	}
	color, err := env.useColor(cmd)
	if err != nil {
		return err
	}
	p := &pipeline{env: env, settings: s, notes: n, began: env.Now()}
	defer func() { err = errors.Join(err, p.end()) }()
	run, state, err := p.ready(ctx)
	if err != nil {
		return err
	}
	measured := p.measure(ctx, run, state)
	if measured != nil && !errors.Is(measured, measure.ErrInterrupted) {
		return resumable(measured, run)
	}
	if err := p.end(); err != nil {
		return err
	}
	a, err := analyse(run)
	if err != nil {
		return err
	}
	if err := a.write(); err != nil {
		return err
	}
	if err := a.print(env, s.json, color); err != nil {
		return err
	}
	if measured != nil {
		n.say("interrupted: what was measured is kept; go on with: assay ab --resume %s", run.Plan.ID)
		return &Problem{Exit: Interrupted, Code: "interrupted", Text: "interrupted", Told: true}
	}
	return a.verdict(s.failing)
}

// ready brings a new run, or one to be resumed, to its first or next sample.
func (p *pipeline) ready(ctx context.Context) (*store.Run, measure.State, error) {
	if p.settings.resume != "" {
		return p.resume()
	}
	none := measure.State{}
	if err := p.draft(ctx); err != nil {
		return nil, none, err
	}
	if err := p.expand(ctx); err != nil {
		return nil, none, err
	}
	if err := p.calibrate(ctx); err != nil {
		return nil, none, err
	}
	run, err := p.create()
	if err != nil {
		return nil, none, err
	}
	p.notes.detail("run %s in %s", run.Plan.ID, run.Dir)
	return run, none, nil
}

// resumable adds to an error of measuring how to go on.
func resumable(err error, run *store.Run) error {
	problem := explain(err)
	problem.Remedy = joinText(problem.Remedy, fmt.Sprintf("what was measured is kept in %s; go on with: assay ab --resume %s", run.Dir, run.Plan.ID))
	return problem
}

func joinText(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
