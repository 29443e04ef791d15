package cli

import (
	"fmt"
	"path/filepath"
	"slices"

	"assay/internal/build"
	"assay/internal/harness"
	"assay/internal/machine"
	"assay/internal/measure"
	"assay/internal/result"
	"assay/internal/store"
)

// resume opens an interrupted run and refuses to go on if anything that matters
// differs from it.
func (p *pipeline) resume() (*store.Run, measure.State, error) {
	state := measure.State{Committed: map[measure.Done]bool{}, Failed: map[result.CaseID]bool{}}
	root, err := p.env.runsDir()
	if err != nil {
		return nil, state, err
	}
	run, err := store.Find(root, p.settings.resume)
	if err != nil {
		return nil, state, &Problem{Exit: Failed, Code: "no-run", Text: err.Error(), Remedy: "see the stored runs with `assay runs`", Err: err}
	}
	progress, err := run.Progress()
	if err != nil {
		return nil, state, err
	}
	p.plan = run.Plan
	if p.adapter, err = p.adapterOf(run.Plan.Draft.Harness); err != nil {
		return nil, state, err
	}
	p.topology = p.env.Machine.Topology()
	if err := p.contradictions(run); err != nil {
		return nil, state, err
	}
	for _, round := range progress.Committed {
		state.Committed[measure.Done{Round: round.Round, ID: round.ID}] = true
	}
	for _, failure := range progress.Failed {
		state.Failed[failure.ID] = true
	}
	state.Looks, state.LastSlot, state.LastSeq = progress.Looks, progress.LastSlot, progress.LastSeq
	plan := p.plan
	if err := p.start(); err != nil {
		return nil, state, err
	}
	p.plan = plan // the run's own: start notes the machine of a new one
	p.notes.say("going on with run %s", run.Plan.ID)
	return run, state, nil
}

// contradictions compares flags, binaries and machine with the run's.
func (p *pipeline) contradictions(run *store.Run) error {
	refuse := func(what, have, want string) error {
		return &Problem{Exit: Refused, Code: "contradicts-run", Text: fmt.Sprintf("run %s cannot go on: %s is %q, but the run has %q", run.Plan.ID, what, have, want),
			Remedy: "start a new run, or undo the difference"}
	}
	if dir, out := p.settings.dir, p.settings.out; dir != p.env.Dir && !inside(run.Plan.Draft.Repository, dir) {
		return refuse("DIR", dir, run.Plan.Draft.Repository)
	} else if out != "" && p.env.path(out) != run.Dir {
		return refuse("--out", p.env.path(out), run.Dir)
	}
	for _, given := range p.settings.given {
		want := "not given"
		if i := slices.IndexFunc(run.Plan.Draft.Options, func(s result.Setting) bool { return s.Key == given.Key }); i >= 0 {
			want = run.Plan.Draft.Options[i].Value
		}
		if given.Value != want {
			return refuse("--"+given.Key, given.Value, want)
		}
	}
	for _, artifact := range run.Plan.Expansion.Artifacts {
		if artifact.Failure != nil {
			continue
		}
		digest, err := build.Digest(artifact.Path)
		if err != nil {
			return refuse("the binary of "+artifact.Package+" on "+string(artifact.Arm), "gone ("+err.Error()+")", artifact.Digest)
		}
		if digest != artifact.Digest {
			return refuse("the binary of "+artifact.Package+" on "+string(artifact.Arm), digest, artifact.Digest)
		}
	}
	now := p.env.Machine.Fingerprint()
	for _, fact := range run.Plan.Environment.Machine {
		if fact.Class == machine.Hard && fact.Value != machine.UnknownValue && now.Get(fact.Key) != fact.Value {
			return refuse("the machine's "+fact.Key, now.Get(fact.Key), fact.Value)
		}
	}
	return nil
}

// inside reports whether a folder is root or lies below it.
func inside(root, dir string) bool {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(root, resolved)
	return err == nil && filepath.IsLocal(rel)
}

// adapterOf finds the adapter of a stored run.
func (p *pipeline) adapterOf(name string) (harness.Adapter, error) {
	for _, known := range p.env.Adapters {
		if known.Name == name {
			return known.Adapter, nil
		}
	}
	return nil, &Problem{Exit: Failed, Code: "no-adapter", Text: fmt.Sprintf("the run was made with the harness %q, which this assay does not know", name), Remedy: "use the assay that made it"}
}
