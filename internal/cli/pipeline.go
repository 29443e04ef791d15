package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"assay/internal/build"
	"assay/internal/compare"
	"assay/internal/harness"
	"assay/internal/machine"
	"assay/internal/measure"
	"assay/internal/plan"
	"assay/internal/result"
	"assay/internal/store"
)

// pipeline carries one A/B from the draft to the report. Its methods are the
// stages, in the order in which ab calls them.
type pipeline struct {
	env      *Env
	settings *settings
	notes    notes
	began    time.Time

	arms     *arms
	adapter  harness.Adapter
	topology machine.Topology
	plan     result.Plan
	session  *measure.Session
	pilot    store.Buffer
	close    []func() error
}

// end releases what the stages opened, last first.
func (p *pipeline) end() error {
	var err error
	for _, f := range slices.Backward(p.close) {
		err = errors.Join(err, f())
	}
	p.close = nil
	return err
}

// draft finds the arms and decides all that can be decided before building.
func (p *pipeline) draft(ctx context.Context) error {
	var err error
	if p.arms, err = open(ctx, p.env, p.settings, p.notes); err != nil {
		return err
	}
	p.close = append(p.close, p.arms.repository.Close)
	p.adapter = p.arms.adapter
	p.topology = p.env.Machine.Topology()
	cpus, parallel, reason, err := p.settings.cores(p.topology)
	if err != nil {
		return err
	}
	p.notes.detail("measuring on core %s: %s", machine.FormatCPUList(cpus), reason)
	seed := p.settings.seed
	if seed == 0 {
		seed = rand.New(rand.NewPCG(uint64(p.began.UnixNano()), uint64(os.Getpid()))).Uint64() >> 11 // 53 bits: exact in every JSON reader
	}
	a := p.arms
	p.plan.Format = result.RunFormat
	p.plan.ID = fmt.Sprintf("%s-%04x", p.began.UTC().Format("20060102T150405"), seed&0xffff)
	p.plan.Tool = p.env.tool()
	p.plan.Draft = plan.Draft(plan.Request{
		Created: p.began.UTC(), Repository: a.repository.Root(), Clone: a.repository.Clone(), Invocation: append([]string{"assay"}, p.env.Args...), Options: p.settings.given,
		Harness: a.layout.Harness, Bench: p.settings.bench, Packages: p.settings.packages, Config: a.config, Base: a.base, Head: a.head,
		Grafts: a.grafts, Seed: seed, Alpha: p.settings.alpha, MinEffect: p.settings.margin, Budget: p.settings.budget, Rounds: p.settings.rounds,
		CPUs: cpus, Parallel: parallel, AA: p.settings.aa, Warnings: a.warnings,
	})
	return nil
}

// build makes the artifacts of both arms, or takes them from the cache.
func (p *pipeline) build(ctx context.Context) ([]result.Artifact, error) {
	dir, err := p.env.cacheDir()
	if err != nil {
		return nil, err
	}
	cache := build.Cache{Dir: filepath.Join(dir, "artifacts")}
	var artifacts []result.Artifact
	for _, recipe := range p.plan.Draft.Recipes {
		p.notes.detail("building %s of %s", recipe.Package, recipe.Arm)
		artifact, err := cache.Build(ctx, p.adapter, build.Job{Recipe: recipe, Tree: treeOf(p.plan.Draft, recipe.Arm)})
		if err != nil {
			return nil, err
		}
		artifacts = append(artifacts, artifact)
	}
	if err := p.noBuild(artifacts); err != nil {
		return nil, err
	}
	return artifacts, p.sameSettings(artifacts)
}

// sameSettings refuses arms whose effective settings, read back from the
// binaries, differ from each other or from the plan. What the default GODEBUG
// follows is the go line of go.mod, which is part of the change: that is a note.
func (p *pipeline) sameSettings(artifacts []result.Artifact) error {
	for _, base := range artifacts {
		i := slices.IndexFunc(artifacts, func(a result.Artifact) bool { return a.Package == base.Package && a.Arm == result.Head })
		if base.Arm != result.Base || base.Failure != nil || i < 0 || artifacts[i].Failure != nil {
			continue
		}
		for _, d := range differing(base.Settings, artifacts[i].Settings) {
			text := fmt.Sprintf("%s is built with %s=%q on base and %q on head", base.Package, d.key, d.base, d.head)
			if d.key == "DefaultGODEBUG" {
				p.plan.Draft.Warnings = append(p.plan.Draft.Warnings, result.Warning{Code: "settings-differ", Text: text + ": the go lines of the arms' go.mod differ"})
				continue
			}
			return &Problem{Exit: Refused, Code: "settings-differ", Text: text, Remedy: "give both arms the same settings under build: in assay.yaml"}
		}
	}
	return nil
}

// difference is one setting that two binaries do not share.
type difference struct{ key, base, head string }

// differing compares settings read back from two binaries.
func differing(base, head []result.Setting) []difference {
	values := map[string][2]string{}
	var keys []string
	for side, list := range [][]result.Setting{base, head} {
		for _, s := range list {
			v, known := values[s.Key]
			if !known {
				keys = append(keys, s.Key)
			}
			v[side] = s.Value
			values[s.Key] = v
		}
	}
	var out []difference
	for _, key := range keys {
		if v := values[key]; v[0] != v[1] {
			out = append(out, difference{key, v[0], v[1]})
		}
	}
	return out
}

func treeOf(draft result.Draft, arm result.Arm) string {
	for _, spec := range draft.Arms {
		if spec.Name == arm {
			return spec.Tree
		}
	}
	return ""
}

// noBuild is the error of a run in which an arm has no artifact at all.
func (p *pipeline) noBuild(artifacts []result.Artifact) error {
	built := map[result.Arm]bool{}
	var first *result.Artifact
	for i, a := range artifacts {
		if a.Failure == nil {
			built[a.Arm] = true
		} else if first == nil {
			first = &artifacts[i]
		}
	}
	if built[result.Base] && built[result.Head] || first == nil {
		return nil
	}
	return &Problem{Exit: Failed, Code: "build-failed",
		Text:   fmt.Sprintf("%s does not build on %s:\n%s", first.Package, first.Arm, first.Failure.Text),
		Remedy: first.Failure.Remedy}
}

// expand asks the artifacts for their benchmarks and joins the answers. A
// package that fails on an arm when built with trimmed paths is built once more
// with real ones, since some programs look for their sources.
func (p *pipeline) expand(ctx context.Context) error {
	artifacts, err := p.build(ctx)
	if err != nil {
		return err
	}
	if err := p.start(); err != nil {
		return err
	}
	listings, err := p.session.List(ctx, p.plan.Draft, artifacts)
	if err != nil {
		return err
	}
	if retry := untrim(p.plan.Draft.Recipes, listings); len(retry) > 0 {
		artifacts, listings, err = p.untrimmed(ctx, artifacts, listings, retry)
		if err != nil {
			return err
		}
	}
	match := plan.Match(func(string, string) bool { return true })
	if matcher, ok := p.adapter.(harness.Matcher); ok {
		match = matcher.Match
	}
	if p.plan.Expansion, err = plan.Expand(p.plan.Draft, artifacts, listings, match); err != nil {
		return err
	}
	if len(p.plan.Expansion.Cases) == 0 {
		return nothingListed(p.plan.Draft, listings)
	}
	return nil
}

// nothingListed is the error of a run without a single case.
func nothingListed(draft result.Draft, listings []plan.Listing) error {
	for _, l := range listings {
		for _, f := range l.Failed {
			return &Problem{Exit: Failed, Code: "no-benchmarks", Text: fmt.Sprintf("%s lists no benchmark on %s: %s", l.Package, l.Arm, f.Text),
				Remedy: "run it by hand: go test -run '^$' -bench . -benchtime 1x"}
		}
		if len(l.Skipped) > 0 {
			return &Problem{Exit: Failed, Code: "no-benchmarks", Text: fmt.Sprintf("all benchmarks skip themselves (%s on %s, for one)", l.Skipped[0], l.Arm),
				Remedy: "give them what they skip for want of"}
		}
	}
	return &Problem{Exit: Failed, Code: "no-match", Text: fmt.Sprintf("no benchmark matches --bench %q", draft.Bench), Remedy: "see the names with `assay plan --pilot`, without --bench"}
}

// untrim lists the packages in which something failed when built trimmed.
func untrim(recipes []result.Recipe, listings []plan.Listing) []string {
	var out []string
	for _, l := range listings {
		for _, f := range l.Failed {
			trimmed := slices.ContainsFunc(recipes, func(r result.Recipe) bool { return r.Package == l.Package && r.Trimmed })
			if trimmed && f.Reason != result.FailBuild && !slices.Contains(out, l.Package) {
				out = append(out, l.Package)
			}
		}
	}
	return out
}

// untrimmed builds packages with real paths on both arms and keeps them so if
// that makes fewer benchmarks fail.
func (p *pipeline) untrimmed(ctx context.Context, artifacts []result.Artifact, listings []plan.Listing, packages []string) ([]result.Artifact, []plan.Listing, error) {
	before := p.plan.Draft.Recipes
	recipes := slices.Clone(before)
	for i := range recipes {
		if slices.Contains(packages, recipes[i].Package) {
			recipes[i].Trimmed = false
		}
	}
	p.plan.Draft.Recipes = recipes
	again, err := p.build(ctx)
	if err != nil {
		return nil, nil, err
	}
	other, err := p.session.List(ctx, p.plan.Draft, again)
	if err != nil {
		return nil, nil, err
	}
	if failures(other) >= failures(listings) {
		p.plan.Draft.Recipes = before
		return artifacts, listings, nil
	}
	p.plan.Draft.Warnings = append(p.plan.Draft.Warnings, result.Warning{Code: "untrimmed",
		Text: fmt.Sprintf("%v fails when built with trimmed paths: both arms are built with real ones, of equal length", packages)})
	return again, other, nil
}

func failures(listings []plan.Listing) int {
	n := 0
	for _, l := range listings {
		n += len(l.Failed)
	}
	return n
}

// start readies the machine for slots and moves assay off their cores.
func (p *pipeline) start() error {
	cache, err := p.env.cacheDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return fmt.Errorf("making the cache folder: %w", err)
	}
	scratch, err := os.MkdirTemp(cache, "slots-")
	if err != nil {
		return fmt.Errorf("making a folder for slots: %w", err)
	}
	p.close = append(p.close, func() error { return os.RemoveAll(scratch) })
	world, end := p.env.Launch(scratch)
	p.close = append(p.close, end)
	seat, err := p.env.Machine.KeepOff(p.topology, p.plan.Draft.CPUs)
	if err != nil {
		return err
	}
	p.close = append(p.close, seat.Restore)
	p.notes.detail("%s", seat.Text)
	if seat.Shared && len(p.plan.Draft.CPUs) > 0 {
		p.plan.Draft.Warnings = append(p.plan.Draft.Warnings, result.Warning{Code: result.WarnSharedCore, Text: seat.Text})
	}
	p.plan.Environment = result.Environment{Machine: p.env.Machine.Fingerprint(), Start: world.Snapshot(), Pinned: len(p.plan.Draft.CPUs) > 0, Freezes: world.Freezes()}
	progress := newProgress(p.env, p.notes)
	p.close = append(p.close, func() error { progress.close(); return nil })
	p.session = &measure.Session{Machine: world, Serve: p.adapter.Serve, Format: p.adapter.Format(), Progress: progress.event, Patience: p.env.Patience}
	return nil
}

// calibrate runs the label-blind pilot and sets the schedule from it.
func (p *pipeline) calibrate(ctx context.Context) error {
	began := p.session.Machine.Now()
	facts, err := p.session.Pilot(ctx, p.plan.Draft, p.plan.Expansion, &p.pilot)
	if err != nil {
		return err
	}
	builder := &compare.Builder{}
	if err := p.pilot.Records(builder); err != nil {
		return err
	}
	summary := compare.Pilot(builder, facts)
	spent := p.session.Machine.Now().Sub(began)
	if p.plan.Calibration, err = plan.Calibrate(p.plan.Draft, p.plan.Expansion, summary, spent); err != nil {
		return err
	}
	for _, w := range p.plan.Calibration.Warnings {
		p.notes.say("note: %s", w.Text)
	}
	return nil
}

// create makes the run's folder, with the plan and the pilot's records in it.
func (p *pipeline) create() (*store.Run, error) {
	dir := p.settings.out
	if dir == "" {
		root, err := p.env.runsDir()
		if err != nil {
			return nil, err
		}
		dir = filepath.Join(root, p.plan.ID)
	} else {
		dir = p.env.path(dir)
	}
	if len(p.arms.patch) > 0 {
		p.plan.Draft.Graft.Patch = store.PatchFile
	}
	if err := p.chain(); err != nil {
		return nil, err
	}
	run, err := store.Create(dir, p.plan)
	if err != nil {
		return nil, err
	}
	if len(p.arms.patch) > 0 {
		if err := run.Write(store.PatchFile, p.arms.patch); err != nil {
			return nil, err
		}
	}
	return run, nil
}

// chain writes the hash of each stage into its successor. The stages are final
// from here on: only now are all notes of starting up in the draft.
func (p *pipeline) chain() error {
	var err error
	if p.plan.Expansion.Draft, err = result.Hash(p.plan.Draft); err != nil {
		return err
	}
	p.plan.Calibration.Expansion, err = result.Hash(p.plan.Expansion)
	return err
}

// measure runs the plan into the run's folder.
func (p *pipeline) measure(ctx context.Context, run *store.Run, state measure.State) (err error) {
	writer, err := run.Append()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, writer.Close()) }()
	if err := p.pilot.Replay(writer); err != nil {
		return err
	}
	never := func(int) ([]result.CaseID, error) { return nil, nil } // the plan has one look, the last
	return p.session.Resume(ctx, context.WithoutCancel(ctx), p.plan, state, measure.Options{Stop: never, Sink: writer})
}
