package gotest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/mod/modfile"

	"assay/internal/harness"
	"assay/internal/result"
)

// Resolve lets the manifests of onto name what the grafted harness imports. It
// writes go.mod, go.sum and go.work.sum below onto.Dir, which must be a private
// copy with the graft in it. No go command runs when nothing is missing, which is
// decided by reading imports and manifests. What the go command cannot complete
// is a warning: the build then says what is missing.
func (Adapter) Resolve(ctx context.Context, source, onto harness.Tree, layout harness.Layout) ([]result.ManifestEdit, []result.DependencyChange, []result.Warning, error) {
	units := map[string][]harness.Unit{}
	var dirs []string
	for _, unit := range layout.Units {
		if len(units[unit.ModuleDir]) == 0 {
			dirs = append(dirs, unit.ModuleDir)
		}
		units[unit.ModuleDir] = append(units[unit.ModuleDir], unit)
	}
	sort.Strings(dirs)
	all := &resolver{source: source, onto: onto, layout: layout}
	for _, dir := range dirs {
		if err := all.module(ctx, dir, units[dir]); err != nil {
			return nil, nil, nil, fmt.Errorf("resolving the dependencies of the harness in %s: %w", path.Join(dir, "go.mod"), err)
		}
	}
	return all.edits, all.changes, all.warnings, nil
}

// resolver collects the outcome over the modules of a layout.
type resolver struct {
	source, onto harness.Tree
	layout       harness.Layout
	edits        []result.ManifestEdit
	changes      []result.DependencyChange
	warnings     []result.Warning
}

func (r *resolver) warn(code, format string, args ...any) {
	r.warnings = append(r.warnings, result.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}

// module resolves one module.
func (r *resolver) module(ctx context.Context, dir string, units []harness.Unit) error {
	theirs, err := readManifest(r.source.FS, dir)
	if err != nil {
		return err
	}
	ours, err := readManifest(r.onto.FS, dir)
	if err != nil {
		return err
	}
	if theirs.mod == nil {
		return nil // Detect found the units below another go.mod: nothing to take
	}
	manifests := r.snapshot(dir)
	if ours.mod == nil {
		r.warn(WarnManifest, "%s has no go.mod: the one of the harness's arm is used, with its versions of all dependencies", path.Join(dir, "."))
		if err := r.write(dir, "go.mod", theirs.text); err != nil {
			return err
		}
		if err := r.write(dir, "go.sum", theirs.sum); err != nil {
			return err
		}
		return r.finish(manifests, nil)
	}
	missing, err := r.missing(ours, units)
	if err != nil || len(missing) == 0 {
		return err
	}
	before := r.versions(ctx, dir, ours.mod)
	if err := r.require(ours, theirs, missing); err != nil {
		return err
	}
	r.complete(ctx, dir, units)
	after, err := readManifest(r.onto.FS, dir)
	if err != nil {
		return err
	}
	r.compare(before, r.versions(ctx, dir, after.mod))
	var flags []string
	if ours.vendored {
		flags = []string{"-mod=mod"}
		r.warn(WarnVendor, "%s/vendor lacks %s, which the harness imports: both arms are built with -mod=mod from the module cache", dir, strings.Join(missing, ", "))
	}
	return r.finish(manifests, flags)
}

// manifest is what a module says of its dependencies.
type manifest struct {
	dir      string
	text     []byte
	mod      *modfile.File // nil: there is no go.mod
	sum      []byte
	vendored bool
	siblings []string // module paths of the workspace
}

func readManifest(tree fs.FS, dir string) (*manifest, error) {
	m := &manifest{dir: dir}
	var err error
	if m.text, err = readIfThere(tree, path.Join(dir, "go.mod")); err != nil || m.text == nil {
		return m, err
	}
	if m.mod, err = modfile.Parse(path.Join(dir, "go.mod"), m.text, nil); err != nil {
		return nil, err
	}
	if m.sum, err = readIfThere(tree, path.Join(dir, "go.sum")); err != nil {
		return nil, err
	}
	modules, err := readIfThere(tree, path.Join(dir, "vendor/modules.txt"))
	if err != nil {
		return nil, err
	}
	if minor, ok := 0, false; modules != nil && m.mod.Go != nil {
		minor, ok = goMinor(m.mod.Go.Version)
		m.vendored = ok && minor >= 14 // the go command's own rule (go help modules)
	}
	m.siblings, err = workspace(tree, dir)
	return m, err
}

// workspace lists the module paths of the go.work in dir or above.
func workspace(tree fs.FS, dir string) ([]string, error) {
	for ; ; dir = path.Dir(dir) {
		name := path.Join(dir, "go.work")
		text, err := readIfThere(tree, name)
		if err != nil {
			return nil, err
		}
		if text != nil {
			work, err := modfile.ParseWork(name, text, nil)
			if err != nil {
				return nil, err
			}
			var paths []string
			for _, use := range work.Use {
				if m, err := moduleAt(tree, path.Join(dir, filepath.ToSlash(use.Path))); err == nil && m != nil {
					paths = append(paths, m.path)
				}
			}
			return paths, nil
		}
		if dir == "." {
			return nil, nil
		}
	}
}

func readIfThere(tree fs.FS, name string) ([]byte, error) {
	text, err := fs.ReadFile(tree, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// missing lists the packages that the harness imports and onto cannot resolve
// as it stands, sorted.
func (r *resolver) missing(ours *manifest, units []harness.Unit) ([]string, error) {
	m := &module{dir: ours.dir, path: ours.mod.Module.Mod.Path}
	seen := map[string]bool{}
	var missing []string
	var queue []string
	for _, unit := range units {
		queue = append(queue, unit.Files...)
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if _, err := fs.Stat(r.onto.FS, name); err != nil {
			continue // not grafted: the build names what is missing
		}
		paths, err := importsOf(r.onto.FS, name)
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			if seen[p] {
				continue
			}
			seen[p] = true
			if dir, ok := m.folderOf(p); ok {
				if servesTests(relativeTo(m.dir, dir)) {
					files, err := packageFiles(r.onto.FS, dir)
					if err != nil {
						return nil, err
					}
					queue = append(queue, files...)
				}
			} else if !r.resolves(ours, p) {
				missing = append(missing, p)
			}
		}
	}
	sort.Strings(missing)
	return missing, nil
}

// resolves says whether the manifest names the module of a package and its
// check sum, or has it vendored.
func (r *resolver) resolves(m *manifest, importPath string) bool {
	if root, _, _ := strings.Cut(importPath, "/"); !strings.Contains(root, ".") {
		return true // the standard library, or "C"
	}
	for _, sibling := range m.siblings {
		if within(importPath, sibling) {
			return true
		}
	}
	if m.vendored {
		_, err := fs.Stat(r.onto.FS, path.Join(m.dir, "vendor", importPath))
		return err == nil
	}
	best := providing(m.mod, importPath)
	if best == nil {
		return false
	}
	name, version := best.Mod.Path, best.Mod.Version
	for _, replace := range m.mod.Replace {
		if replace.Old.Path == name && (replace.Old.Version == "" || replace.Old.Version == version) {
			name, version = replace.New.Path, replace.New.Version
		}
	}
	return version == "" || strings.Contains("\n"+string(m.sum), "\n"+name+" "+version+" h1:")
}

// providing finds the required module with the longest path that holds a package.
func providing(mod *modfile.File, importPath string) *modfile.Require {
	var best *modfile.Require
	for _, require := range mod.Require {
		if within(importPath, require.Mod.Path) && (best == nil || len(require.Mod.Path) > len(best.Mod.Path)) {
			best = require
		}
	}
	return best
}

func within(importPath, modulePath string) bool {
	return importPath == modulePath || strings.HasPrefix(importPath, modulePath+"/")
}

// require adds the missing modules to onto's go.mod at the versions of the
// harness's arm, with its replacements, and its check sums to go.sum.
func (r *resolver) require(ours, theirs *manifest, missing []string) error {
	for _, importPath := range missing {
		need := providing(theirs.mod, importPath)
		if need == nil || providing(ours.mod, importPath) != nil {
			continue // in the workspace, or only the check sum is missing
		}
		if err := ours.mod.AddRequire(need.Mod.Path, need.Mod.Version); err != nil {
			return err
		}
		for _, replace := range theirs.mod.Replace {
			if replace.Old.Path != need.Mod.Path {
				continue
			}
			if err := ours.mod.AddReplace(replace.Old.Path, replace.Old.Version, replace.New.Path, replace.New.Version); err != nil {
				return err
			}
			r.warn(WarnManifest, "%s: the replacement of %s by %s was taken over with the harness", path.Join(ours.dir, "go.mod"), replace.Old.Path, replace.New.Path)
		}
	}
	ours.mod.Cleanup()
	text, err := ours.mod.Format()
	if err != nil {
		return err
	}
	if err := r.write(ours.dir, "go.mod", text); err != nil {
		return err
	}
	if err := r.write(ours.dir, "go.sum", mergedSums(ours.sum, theirs.sum)); err != nil {
		return err
	}
	if ours.siblings == nil {
		return nil
	}
	return r.workSums(ours.dir)
}

// workSums merges the check sums of the workspace above dir.
func (r *resolver) workSums(dir string) error {
	for ; ; dir = path.Dir(dir) {
		if _, err := fs.Stat(r.onto.FS, path.Join(dir, "go.work")); err == nil {
			name := path.Join(dir, "go.work.sum")
			theirs, err := readIfThere(r.source.FS, name)
			if err != nil || theirs == nil {
				return err
			}
			ours, err := readIfThere(r.onto.FS, name)
			if err != nil {
				return err
			}
			return r.write(dir, "go.work.sum", mergedSums(ours, theirs))
		}
		if dir == "." {
			return nil
		}
	}
}

// mergedSums is the union of two go.sum files, sorted as the go command does.
func mergedSums(a, b []byte) []byte {
	seen := map[string]bool{}
	var lines []string
	for _, line := range strings.Split(string(a)+"\n"+string(b), "\n") {
		if line != "" && !seen[line] {
			seen[line] = true
			lines = append(lines, line)
		}
	}
	sort.Strings(lines)
	if len(lines) == 0 {
		return nil
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// write replaces a manifest of onto; nothing is written for no text.
func (r *resolver) write(dir, name string, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	at := filepath.Join(r.onto.Dir, filepath.FromSlash(dir), name)
	if err := os.WriteFile(at, text, 0o666); err != nil {
		return fmt.Errorf("writing the manifest of the grafted arm: %w", err)
	}
	return nil
}

// complete lets the go command add what the new requirements need themselves.
func (r *resolver) complete(ctx context.Context, dir string, units []harness.Unit) {
	argv := []string{"go", "list", "-mod=mod", "-e", "-deps", "-test", "-f", "{{with .Error}}{{.}}{{end}}"}
	for _, unit := range units {
		argv = append(argv, "./"+relativeTo(dir, unit.Dir))
	}
	stdout, stderr, err := r.run(ctx, dir, argv)
	if err != nil {
		r.warn(WarnResolve, "go list could not complete %s: %v: %s", path.Join(dir, "go.mod"), err, strings.TrimSpace(string(stderr)))
	} else if text := strings.TrimSpace(string(stdout)); text != "" {
		r.warn(WarnResolve, "after the graft, packages that %s cannot resolve: %s", path.Join(dir, "go.mod"), text)
	}
}

// run starts a go command in a module of onto. A workspace does not allow
// -mod=mod, so it is left out of the way.
func (r *resolver) run(ctx context.Context, dir string, argv []string) (stdout, stderr []byte, err error) {
	if r.onto.Exec == nil {
		return nil, nil, errors.New("no way to run it was given")
	}
	env := append([]string{"GOWORK=off"}, r.layout.Env...)
	return r.onto.Exec(ctx, result.Command{Argv: argv, Dir: filepath.Join(r.onto.Dir, filepath.FromSlash(dir)), Env: env})
}

// selected is the version of each module, and whether the go command said it.
type selected struct {
	versions map[string]string
	required map[string]string // of go.mod alone
	listed   bool
}

func (r *resolver) versions(ctx context.Context, dir string, mod *modfile.File) selected {
	s := selected{versions: map[string]string{}, required: map[string]string{}}
	for _, require := range mod.Require {
		s.required[require.Mod.Path] = require.Mod.Version
	}
	stdout, _, err := r.run(ctx, dir, []string{"go", "list", "-mod=readonly", "-m", "-f", "{{.Path}} {{.Version}}", "all"})
	if s.listed = err == nil; s.listed {
		for _, line := range strings.Split(string(stdout), "\n") {
			if name, version, ok := strings.Cut(line, " "); ok && version != "" {
				s.versions[name] = version
			}
		}
	}
	return s
}

// compare reports the modules that the graft added or moved.
func (r *resolver) compare(before, after selected) {
	old, now := before.versions, after.versions
	if !before.listed || !after.listed {
		old, now = before.required, after.required
	}
	names := map[string]bool{}
	for name := range old {
		names[name] = true
	}
	for name := range now {
		names[name] = true
	}
	var sorted []string
	for name := range names {
		if old[name] != now[name] {
			sorted = append(sorted, name)
		}
	}
	sort.Strings(sorted)
	for _, name := range sorted {
		r.changes = append(r.changes, result.DependencyChange{Module: name, Before: old[name], After: now[name]})
		if old[name] != "" {
			r.warn(result.WarnGraftChangedDependency, "the graft moved %s from %s to %s: base is measured with another version than it was released with", name, old[name], now[name])
		}
	}
}

// snapshot keeps the manifests as they are, by name.
func (r *resolver) snapshot(dir string) [][2]string {
	names := []string{path.Join(dir, "go.mod"), path.Join(dir, "go.sum")}
	for at := dir; ; at = path.Dir(at) {
		names = append(names, path.Join(at, "go.work.sum"))
		if at == "." {
			break
		}
	}
	var kept [][2]string
	for _, name := range names {
		text, err := fs.ReadFile(r.onto.FS, name)
		if err != nil {
			text = nil
		}
		kept = append(kept, [2]string{name, string(text)})
	}
	return kept
}

// finish reports what has become of the manifests.
func (r *resolver) finish(before [][2]string, flags []string) error {
	edited := false
	for _, kept := range before {
		now, err := readIfThere(r.onto.FS, kept[0])
		if err != nil {
			return err
		}
		if change := diff.Diff("a/"+kept[0], []byte(kept[1]), "b/"+kept[0], now); len(change) > 0 {
			edit := result.ManifestEdit{Path: kept[0], Diff: string(change)}
			if !edited {
				edit.BuildFlags = flags
			}
			edited = true
			r.edits = append(r.edits, edit)
		}
	}
	if !edited && len(flags) > 0 {
		r.edits = append(r.edits, result.ManifestEdit{Path: before[0][0], BuildFlags: flags})
	}
	return nil
}
