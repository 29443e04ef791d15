package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/build"
	"assay/internal/config"
	"assay/internal/harness"
	"assay/internal/plan"
	"assay/internal/result"
	"assay/internal/subject"
)

// arms are the two trees to compare, ready to be built.
type arms struct {
	repository *subject.Repository
	adapter    harness.Adapter
	config     config.Config
	base, head plan.ArmRequest
	grafts     []result.GraftProof
	patch      []byte
	layout     harness.Layout // of the harness both arms carry
	warnings   []result.Warning
}

// opener finds the arms of a request.
type opener struct {
	env      *Env
	settings *settings
	notes    notes
	out      *arms
	query    harness.Query
}

// open resolves the revisions, grafts the harness and lays out what to build.
// The repository in it must be closed.
func open(ctx context.Context, env *Env, s *settings, n notes) (_ *arms, err error) {
	cache, err := env.cacheDir()
	if err != nil {
		return nil, err
	}
	o := &opener{env: env, settings: s, notes: n, out: &arms{}}
	if o.out.repository, err = subject.Open(ctx, s.dir, cache); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = o.out.repository.Close() // the first error says more
		}
	}()
	if o.out.config, err = o.configuration(); err != nil {
		return nil, err
	}
	s.merge(o.out.config)
	base, head, err := o.revisions(ctx)
	if err != nil {
		return nil, err
	}
	o.query = harness.Query{Dir: o.out.repository.Rel(), Packages: s.packages, Bench: s.bench, Support: o.out.config.Graft}
	for _, setting := range o.out.config.Build.Env {
		o.query.Env = append(o.query.Env, setting.Name+"="+setting.Value)
	}
	o.query.Tags = tagsOf(o.out.config.Build.Flags)
	return o.out, o.layOut(ctx, base, head)
}

// tagsOf reads -tags out of build flags, since they decide which files count.
func tagsOf(flags []string) []string {
	var tags []string
	for i, flag := range flags {
		value, ok := strings.CutPrefix(strings.TrimPrefix(flag, "-"), "-tags=")
		if !ok {
			value, ok = strings.CutPrefix(flag, "-tags=")
		}
		if !ok && strings.TrimLeft(flag, "-") == "tags" && i+1 < len(flags) {
			value, ok = flags[i+1], true
		}
		if ok {
			tags = append(tags, strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })...)
		}
	}
	return tags
}

func (o *opener) configuration() (config.Config, error) {
	if file := o.settings.config; file != "" {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return config.Config{}, usage(fmt.Errorf("--config: there is no file %s", file))
		}
		return config.Load(file)
	}
	return config.Find(o.settings.dir)
}

// revisions resolves and prepares both arms.
func (o *opener) revisions(ctx context.Context) (base, head subject.Revision, err error) {
	r, s := o.out.repository, o.settings
	if head, err = r.Resolve(ctx, s.head); err != nil {
		return base, head, err
	}
	switch {
	case s.aa:
		base = head
	case s.base != "":
		base, err = r.Resolve(ctx, s.base)
	default:
		base, err = r.DefaultBase(ctx, head)
	}
	if err != nil {
		return base, head, err
	}
	if base.Tree == head.Tree && !s.aa {
		return base, head, &Problem{Exit: Refused, Code: "same-tree",
			Text:   fmt.Sprintf("base (%s) and head (%s) are the same tree: there is nothing to compare", base.Ref, head.Ref),
			Remedy: "name other revisions with --base and --head, or measure one tree against itself with --aa"}
	}
	for _, revision := range []subject.Revision{base, head} {
		for _, w := range revision.Warnings {
			o.out.warnings = append(o.out.warnings, result.Warning{Code: w.Code, Text: revision.Ref + ": " + w.Text})
		}
	}
	prepare := o.out.config.Prepare
	o.out.base.Spec = spec(result.Base, base)
	o.out.head.Spec = spec(result.Head, head)
	if base, err = build.Prepare(ctx, r, base, append(slices.Clone(prepare.All), prepare.Base...)); err != nil {
		return base, head, prepareProblem(err)
	}
	if head, err = build.Prepare(ctx, r, head, append(slices.Clone(prepare.All), prepare.Head...)); err != nil {
		return base, head, prepareProblem(err)
	}
	return base, head, nil
}

func prepareProblem(err error) error {
	return &Problem{Exit: Failed, Code: "prepare-failed", Text: err.Error(), Remedy: "correct the command under prepare: in assay.yaml", Err: err}
}

func spec(arm result.Arm, r subject.Revision) result.ArmSpec {
	return result.ArmSpec{Name: arm, Revision: result.Revision{Ref: r.Ref, Commit: r.Commit, Tree: r.Tree, Subject: r.Subject, Date: r.Date, Dirty: r.Dirty}}
}

// layOut grafts and detects, so that both arms know what to build.
func (o *opener) layOut(ctx context.Context, base, head subject.Revision) error {
	trees := map[result.Arm]subject.Tree{}
	revisions := map[result.Arm]subject.Revision{result.Base: base, result.Head: head}
	for _, arm := range []result.Arm{result.Base, result.Head} {
		tree, err := o.out.repository.Checkout(ctx, revisions[arm])
		if err != nil {
			return err
		}
		for _, w := range tree.Warnings {
			o.out.warnings = append(o.out.warnings, result.Warning{Code: w.Code, Text: revisions[arm].Ref + ": " + w.Text})
		}
		trees[arm] = tree
	}
	source, err := o.source(ctx, revisions, trees)
	if err != nil {
		return err
	}
	o.out.layout = source.Layout
	o.out.warnings = append(o.out.warnings, source.Layout.Warnings...)
	for _, arm := range []result.Arm{result.Base, result.Head} {
		request := &o.out.base
		if arm == result.Head {
			request = &o.out.head
		}
		target := build.Target{Arm: arm, Revision: revisions[arm], Tree: trees[arm]}
		if err := o.arm(ctx, source, target, request); err != nil {
			return err
		}
	}
	if len(o.out.grafts) == 0 {
		o.out.grafts = []result.GraftProof{{From: "none"}}
		if o.settings.graft == "none" && !o.settings.aa {
			o.out.warnings = append(o.out.warnings, result.Warning{Code: result.WarnHarnessDiffers,
				Text: "without a graft each arm is measured with its own benchmark source: a difference may be the benchmark's"})
		}
	}
	return nil
}

// source finds the revision whose harness both arms will carry, and its adapter.
func (o *opener) source(ctx context.Context, revisions map[result.Arm]subject.Revision, trees map[result.Arm]subject.Tree) (build.Source, error) {
	source := build.Source{Name: o.settings.graft}
	switch source.Name {
	case "head", "none":
		source.Revision, source.Tree = revisions[result.Head], trees[result.Head]
	case "base":
		source.Revision, source.Tree = revisions[result.Base], trees[result.Base]
	default:
		var err error
		if source.Revision, err = o.out.repository.Resolve(ctx, source.Name); err != nil {
			return source, err
		}
		if source.Tree, err = o.out.repository.Checkout(ctx, source.Revision); err != nil {
			return source, err
		}
	}
	adapter, layout, err := o.detect(ctx, source.Tree)
	o.out.adapter, source.Layout = adapter, layout
	return source, err
}

// detect asks the adapters for benchmarks; the first that finds any is taken.
func (o *opener) detect(ctx context.Context, tree subject.Tree) (harness.Adapter, harness.Layout, error) {
	var last harness.Layout
	known := []string{}
	for _, adapter := range o.env.Adapters {
		known = append(known, adapter.Name)
		if o.settings.harness != "" && adapter.Name != o.settings.harness {
			continue
		}
		layout, err := o.find(ctx, adapter, tree)
		if err != nil {
			return nil, layout, err
		}
		if len(layout.Units) > 0 {
			return adapter.Adapter, layout, nil
		}
		last = layout
	}
	if o.settings.harness != "" && !slices.Contains(known, o.settings.harness) {
		return nil, last, usage(fmt.Errorf("no harness %q; there are: %s", o.settings.harness, strings.Join(known, ", ")))
	}
	problem := &Problem{Exit: Failed, Code: "no-benchmarks", Text: "no benchmark was found below " + path.Join(filepath.Base(o.out.repository.Root()), o.query.Dir),
		Remedy: "write one (Go: func BenchmarkXxx(b *testing.B) in a _test.go file), or name another folder"}
	if o.settings.bench != "" || len(o.settings.packages) > 0 {
		problem.Code = "no-match"
		problem.Text = fmt.Sprintf("no benchmark matches --bench %q in the packages asked for", o.settings.bench)
		problem.Remedy = "see the names with `assay plan`, without --bench and --package"
	}
	for _, w := range last.Warnings {
		problem.Text += "; " + w.Text
	}
	return nil, last, problem
}

func (o *opener) find(ctx context.Context, adapter harness.Adapter, tree subject.Tree) (harness.Layout, error) {
	layout, err := adapter.Detect(ctx, build.HarnessTree(tree), o.query)
	if err != nil {
		return layout, fmt.Errorf("looking for benchmarks: %w", err)
	}
	return layout, nil
}

// arm grafts the source's harness onto one arm, unless it is the source or no
// graft is wanted, and lays it out.
func (o *opener) arm(ctx context.Context, source build.Source, target build.Target, out *plan.ArmRequest) error {
	layout := source.Layout
	out.Absent = map[string]bool{}
	if target.Revision.Tree != source.Revision.Tree {
		if o.settings.graft != "none" {
			out.Absent = absent(layout, source.Tree, target.Tree)
			grafted, err := build.Grafter{Repository: o.out.repository, Adapter: o.out.adapter}.Graft(ctx, source, target)
			if err != nil {
				return err
			}
			target.Revision, target.Tree = grafted.Revision, grafted.Tree
			o.out.grafts = append(o.out.grafts, grafted.Proof)
			o.out.warnings = append(o.out.warnings, grafted.Proof.Warnings...)
			o.out.patch = append(o.out.patch, grafted.Patch...)
			for _, edit := range grafted.Proof.Edits {
				o.out.config.Build.Flags = append(o.out.config.Build.Flags, edit.BuildFlags...)
			}
		}
		own, err := o.find(ctx, o.out.adapter, target.Tree)
		if err != nil {
			return err
		}
		if layout, err = o.carried(layout, own, target.Tree); err != nil {
			return err
		}
	}
	out.Spec.Tree, out.Spec.Commit, out.Spec.Dir = target.Revision.Tree, target.Revision.Commit, target.Tree.Dir
	out.Layout = layout
	return nil
}

// carried is the layout of an arm that carries the source's harness: the same
// units, with what is particular to the arm: its settings, its language levels
// and the files it must hide. Without a graft it is the arm's own.
func (o *opener) carried(source, own harness.Layout, tree subject.Tree) (harness.Layout, error) {
	if o.settings.graft == "none" {
		return own, nil
	}
	out := source
	out.Settings = own.Settings
	out.Units = slices.Clone(source.Units)
	for i := range out.Units {
		for _, unit := range own.Units {
			if unit.Package == out.Units[i].Package {
				out.Units[i].Language, out.Units[i].ModuleDir = unit.Language, unit.ModuleDir
			}
		}
		if hider, ok := o.out.adapter.(harness.Hider); ok {
			hidden, err := hider.LeftOut(tree.FS(), out.Units[i])
			if err != nil {
				return out, err
			}
			out.Units[i].LeftOut = hidden
		}
	}
	return out, nil
}

// absent lists the packages whose folder holds code under test in the source but
// does not exist on the target: their cases are missing there, not failed.
func absent(layout harness.Layout, source, target subject.Tree) map[string]bool {
	out := map[string]bool{}
	for _, unit := range layout.Units {
		if _, err := fs.Stat(target.FS(), unit.Dir); err == nil {
			continue
		}
		entries, err := fs.ReadDir(source.FS(), unit.Dir)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			name := path.Join(unit.Dir, entry.Name())
			if !entry.IsDir() && !slices.Contains(unit.Files, name) && !slices.Contains(unit.LeftOut, name) {
				out[unit.Package] = true
			}
		}
	}
	return out
}
