package plan

import (
	"go/version"
	"sort"
	"strings"
	"time"

	"assay/internal/config"
	"assay/internal/harness"
	"assay/internal/result"
)

// Request is what a draft is made from: what was asked for and what the trees are.
type Request struct {
	Created    time.Time
	Repository string
	Clone      string
	Invocation []string
	Options    []result.Setting // flags that were given
	Harness    string
	Bench      string
	Packages   []string
	Config     config.Config
	Base, Head ArmRequest
	Grafts     []result.GraftProof
	Seed       uint64
	Alpha      float64
	MinEffect  float64
	Budget     time.Duration
	Rounds     int
	CPUs       []int
	Parallel   []int
	AA         bool
	Warnings   []result.Warning
}

// ArmRequest is one arm as it will be built.
type ArmRequest struct {
	Spec   result.ArmSpec
	Layout harness.Layout  // of the arm as it is built
	Absent map[string]bool // packages that the arm does not have
}

// Draft decides all that can be decided before anything is built.
func Draft(r Request) result.Draft {
	d := result.Draft{
		Created: r.Created, Repository: r.Repository, Clone: r.Clone, Invocation: r.Invocation, Options: r.Options, Harness: r.Harness,
		Bench: r.Bench, Packages: r.Packages, Seed: r.Seed, Alpha: r.Alpha, MinEffect: r.MinEffect,
		BudgetNS: int64(r.Budget), Rounds: r.Rounds, Rules: result.Rules(), CPUs: r.CPUs, ParallelCPUs: r.Parallel, AA: r.AA,
		Looks: []result.Look{{Level: r.Alpha}}, Warnings: r.Warnings,
	}
	if len(r.Grafts) > 0 {
		d.Graft, d.MoreGrafts = r.Grafts[0], r.Grafts[1:]
	}
	d.Arms = append([]result.ArmSpec{r.Base.Spec, r.Head.Spec}, Planted()...)
	for _, b := range r.Config.Benchmarks {
		d.Cases = append(d.Cases, result.CaseSettings{Match: b.Match, Title: b.Title, Margin: b.Margin, Control: b.Control, Better: string(b.Better), Metric: b.Metric})
	}
	toolchain := Toolchain(r.Base.Layout, r.Head.Layout)
	for _, arm := range []ArmRequest{r.Base, r.Head} {
		for _, unit := range arm.Layout.Units {
			if !arm.Absent[unit.Package] {
				d.Recipes = append(d.Recipes, recipe(r, arm, unit, toolchain))
			}
		}
	}
	return d
}

func recipe(r Request, arm ArmRequest, unit harness.Unit, toolchain string) result.Recipe {
	recipe := result.Recipe{
		Arm: arm.Spec.Name, Harness: r.Harness, Dir: arm.Spec.Dir, Package: unit.Package, PackageDir: unit.Dir, ModuleDir: unit.ModuleDir,
		Internal: unit.Internal, External: unit.External, LeftOut: unit.LeftOut, Flags: r.Config.Build.Flags, Tags: arm.Layout.Tags,
		Language: oldest(unit.Package, r.Base.Layout, r.Head.Layout), Toolchain: toolchain, Settings: arm.Layout.Settings, Trimmed: true,
	}
	for _, s := range r.Config.Build.Env {
		recipe.Env = append(recipe.Env, s.Name+"="+s.Value)
	}
	return recipe
}

// Toolchain is the newest toolchain that any of the layouts asks for: one fixed
// version for all arms. Empty if none is recorded.
func Toolchain(layouts ...harness.Layout) string {
	newest := ""
	for _, l := range layouts {
		for _, s := range l.Settings {
			if s.Key == "GOVERSION" && (newest == "" || version.Compare(plainVersion(s.Value), plainVersion(newest)) > 0) {
				newest = s.Value
			}
		}
	}
	return newest
}

// plainVersion cuts what a vendor or an experiment adds: "go1.26.8 X:foo".
func plainVersion(text string) string {
	plain, _, _ := strings.Cut(text, " ")
	return plain
}

// oldest is the lowest language level at which the arms build a package: the
// worker must compile in all of them.
func oldest(pkg string, layouts ...harness.Layout) string {
	var levels []string
	for _, l := range layouts {
		for _, unit := range l.Units {
			if unit.Package == pkg && unit.Language != "" {
				levels = append(levels, unit.Language)
			}
		}
	}
	sort.Slice(levels, func(i, j int) bool { return version.Compare("go"+levels[i], "go"+levels[j]) < 0 })
	if len(levels) == 0 {
		return ""
	}
	return levels[0]
}
