package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/internal/config"
	"assay/internal/machine"
	"assay/internal/plan"
	"assay/internal/result"
	"assay/internal/subject"
)

// settings are the flags of assay ab and assay plan.
type settings struct {
	dir       string
	base      string
	head      string
	bench     string
	packages  []string
	harness   string
	config    string
	budget    time.Duration
	rounds    int
	alpha     float64
	minEffect string
	seed      uint64
	cpu       string
	graft     string
	failOn    []string
	aa        bool
	resume    string
	out       string
	json      bool

	margin  float64          // of minEffect, a fraction
	given   []result.Setting // flags of the plan that were given
	cpus    []int            // of --cpu
	failing failing
}

// planFlags adds the flags that decide what is measured.
func (s *settings) planFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.base, "base", "", "revision to compare with (default: the merge-base of head with the default branch)")
	flags.StringVar(&s.head, "head", subject.WorkTree, "revision to judge; WORKTREE is the files as they are")
	flags.StringVar(&s.bench, "bench", "", "benchmarks to measure, in the harness's own pattern syntax (Go: as go test -bench)")
	flags.StringArrayVar(&s.packages, "package", nil, "packages to measure, as in Go (may be repeated; default: all below DIR)")
	flags.StringVar(&s.harness, "harness", "", "benchmark framework (default: what is found)")
	flags.StringVar(&s.config, "config", "", "read this file instead of DIR/assay.yaml")
	flags.DurationVar(&s.budget, "budget", 0, "whole measuring time (default 60s plus 3s for each case above 20)")
	flags.IntVar(&s.rounds, "rounds", 0, "rounds of fresh processes (default: from the pilot and the budget)")
	flags.Float64Var(&s.alpha, "alpha", plan.DefaultAlpha, "chance that any unchanged case is called changed")
	flags.StringVar(&s.minEffect, "min-effect", "1%", "practical margin: an effect below it does not matter")
	flags.Uint64Var(&s.seed, "seed", 0, "seed of every order (default: from the time, recorded)")
	flags.StringVar(&s.cpu, "cpu", "", "cores of the benchmarks, e.g. 3 or 2,3 (default: one; parallel cases: all)")
	flags.StringVar(&s.graft, "graft", "head", "whose benchmark source both arms carry: head, base, none or a revision")
	flags.BoolVar(&s.aa, "aa", false, "measure one tree as both arms: nothing may be called changed")
	flags.BoolVar(&s.json, "json", false, "print JSON, errors included")
}

// runFlags adds the flags that only a run has.
func (s *settings) runFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&s.failOn, "fail-on", []string{"slower"}, "verdicts that make the exit code 3 or 4: slower, faster, changed, inconclusive, a metric's name, none")
	flags.StringVar(&s.resume, "resume", "", "go on with an interrupted run")
	flags.StringVar(&s.out, "out", "", "folder of the run (default: in assay's state folder)")
}

// notOfPlan are the flags that --resume may be given with.
func notOfPlan() []string {
	return []string{"resume", "out", "json", "fail-on", "quiet", "verbose", "color", "help"}
}

// check validates the values and notes which flags were given.
func (s *settings) check(cmd *cobra.Command, env *Env, args []string) error {
	s.dir = env.Dir
	if len(args) > 0 {
		s.dir = env.path(args[0])
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(notOfPlan(), f.Name) {
			s.given = append(s.given, result.Setting{Key: f.Name, Value: f.Value.String(), Source: "flag"})
		}
	})
	var err error
	if s.margin, err = config.Percent(s.minEffect); err != nil {
		return usage(fmt.Errorf("--min-effect: %w", err))
	}
	switch {
	case !(s.alpha > 0 && s.alpha < 1): // NaN fails both
		return usage(fmt.Errorf("--alpha is a probability between 0 and 1, not %v", s.alpha))
	case s.budget < 0:
		return usage(fmt.Errorf("--budget is a duration like 90s, not %v", s.budget))
	case s.rounds < 0:
		return usage(fmt.Errorf("--rounds is a positive number, not %d", s.rounds))
	case s.aa && cmd.Flags().Changed("base"):
		return usage(errors.New("--aa measures one tree, named by --head, as both arms: leave --base out"))
	}
	if s.cpu != "" {
		if s.cpus, err = machine.ParseCPUList(s.cpu); err != nil {
			return usage(fmt.Errorf("--cpu: %w", err))
		}
	}
	if cmd.Flags().Changed("fail-on") && len(s.failOn) == 0 {
		return usage(errors.New("--fail-on is empty: name verdicts, or none"))
	}
	s.failing, err = parseFailing(s.failOn)
	return err
}

// cores picks the cores of ordinary and of parallel cases.
func (s *settings) cores(t machine.Topology) (cpus, parallel []int, reason string, err error) {
	if len(s.cpus) > 0 {
		for _, cpu := range s.cpus {
			if len(t.Allowed) > 0 && !slices.Contains(t.Allowed, cpu) {
				return nil, nil, "", usage(fmt.Errorf("--cpu: core %d is not among those this process may use (%s)", cpu, machine.FormatCPUList(t.Allowed)))
			}
		}
		return s.cpus, s.cpus, "named by --cpu", nil
	}
	cpu, reason, ok := machine.DefaultCPU(t)
	if !ok {
		return nil, t.Allowed, reason, nil
	}
	return []int{cpu}, t.Allowed[:min(len(t.Allowed), maxParallel)], reason, nil
}

// maxParallel bounds the cores of parallel cases: more than eight say more about
// the machine than about a change.
const maxParallel = 8

// merge lets flags win over assay.yaml.
func (s *settings) merge(cfg config.Config) {
	if s.harness == "" {
		s.harness = cfg.Harness
	}
	if s.bench == "" {
		s.bench = cfg.Bench
	}
	if len(s.packages) == 0 {
		s.packages = cfg.Packages
	}
}

// failing is what --fail-on names.
type failing struct {
	verdicts []string
	metrics  []string
}

func parseFailing(list []string) (failing, error) {
	var f failing
	for _, word := range list {
		word = strings.TrimSpace(word)
		switch word {
		case "none":
			if len(list) > 1 {
				return f, usage(errors.New("--fail-on none stands alone"))
			}
		case "slower", "faster", "changed", "inconclusive":
			f.verdicts = append(f.verdicts, word)
		default:
			if !regexp.MustCompile(`^[A-Za-z][^ ,]*$`).MatchString(word) {
				return f, usage(fmt.Errorf("--fail-on: %q is neither slower, faster, changed, inconclusive, none nor the name of a metric", word))
			}
			f.metrics = append(f.metrics, word)
		}
	}
	return f, nil
}
