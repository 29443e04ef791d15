package cli

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/harness"
	"assay/internal/machine"
	"assay/internal/plan"
	"assay/internal/result"
)

// newPlan is `assay plan`: what ab would do.
func newPlan(env *Env) *cobra.Command {
	s := &settings{}
	pilot := false
	cmd := &cobra.Command{
		Use:   "plan [DIR]",
		Short: "print what ab would do, and run nothing",
		Long: "plan prints the draft of a run: trees, grafted files, build commands, benchmarks found in source, budget.\n" +
			"With --pilot it also builds, lists and calibrates, and prints the schedule and the time.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := s.check(cmd, env, args); err != nil {
				return err
			}
			n, err := newNotes(env, cmd)
			if err != nil {
				return err
			}
			p := &pipeline{env: env, settings: s, notes: n, began: env.Now()}
			defer func() { err = errors.Join(err, p.end()) }()
			if err := p.draft(cmd.Context()); err != nil {
				return err
			}
			if pilot {
				if err := p.expand(cmd.Context()); err != nil {
					return err
				}
				if err := p.calibrate(cmd.Context()); err != nil {
					return err
				}
			}
			if err := p.chain(); err != nil {
				return err
			}
			if s.json {
				return writeJSON(env.Stdout, p.plan)
			}
			return p.printPlan(pilot)
		},
	}
	s.planFlags(cmd.Flags())
	cmd.Flags().BoolVar(&pilot, "pilot", false, "also build, list and calibrate")
	return cmd
}

func (p *pipeline) printPlan(pilot bool) error {
	out := &lines{w: p.env.Stdout}
	d := p.plan.Draft
	for _, arm := range d.Arms {
		if arm.Of == "" {
			out.printf("%-5s %s  tree %.12s  %s  %s\n", arm.Name, arm.Revision.Ref, arm.Revision.Tree, short12(arm.Revision.Commit), arm.Revision.Subject)
		}
	}
	for _, g := range append([]result.GraftProof{d.Graft}, d.MoreGrafts...) {
		p.printGraft(out, g)
	}
	for _, r := range d.Recipes {
		commands, _, err := p.adapter.Build(r, harness.OutputArg)
		if err != nil {
			return err
		}
		out.printf("build %s of %s\n", r.Package, r.Arm)
		for _, c := range commands {
			out.printf("  (in %s) %s %s\n", r.ModuleDir, strings.Join(c.Env, " "), strings.Join(c.Argv, " "))
		}
		if r.Arm == result.Head {
			for _, name := range slices.Concat(r.Internal, r.External) {
				out.printf("  benchmark %s\n", plan.CaseIDOf(r.Package, name))
			}
		}
	}
	out.printf("cores %s; parallel cases %s; seed %d; alpha %g; margin %g %%\n", machine.FormatCPUList(d.CPUs), machine.FormatCPUList(d.ParallelCPUs), d.Seed, d.Alpha, 100*d.MinEffect)
	for _, w := range slices.Concat(d.Warnings, p.plan.Calibration.Warnings) {
		out.printf("note: %s\n", w.Text)
	}
	if pilot {
		p.printSchedule(out)
	} else if d.BudgetNS > 0 {
		out.printf("budget %v\n", time.Duration(d.BudgetNS))
	} else {
		out.printf("budget %v for up to 20 cases, 3s more for each case above\n", plan.DefaultBudget(0))
	}
	return out.err
}

func (p *pipeline) printGraft(out *lines, g result.GraftProof) {
	if g.From == "none" {
		out.printf("graft: none\n")
		return
	}
	out.printf("graft: harness of %s onto %s\n", g.From, g.Onto)
	for _, f := range g.Files {
		state := "same"
		switch {
		case f.After == "":
			state = "removed"
		case f.Before == "":
			state = "added"
		case f.Before != f.After:
			state = "replaced"
		}
		out.printf("  %-8s %-8s %s\n", f.Kind, state, f.Path)
	}
	for _, e := range g.Edits {
		out.printf("  edited            %s\n", e.Path)
	}
}

func (p *pipeline) printSchedule(out *lines) {
	c := p.plan.Calibration
	out.printf("%d rounds, about %v\n", c.Rounds, time.Duration(c.ExpectedNS).Round(time.Second))
	for i, k := range c.Cases {
		title := p.plan.Expansion.Cases[i].Title
		if k.Skip != "" {
			out.printf("  %-40s not measured: %s\n", title, k.Skip)
			continue
		}
		out.printf("  %-40s %s, %s: %d iterations a sample, %d passes and %d block samples a round, rule %s, %v a round\n", title, k.Kind, k.Schedule,
			k.Iterations, k.Passes, k.BlockSamples, k.Rule, time.Duration(k.CostNS).Round(time.Millisecond))
	}
}

func short12(id string) string { return id[:min(12, len(id))] }
