package subject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// part is one repository checked out in a folder: the tree's own or a submodule.
type part struct {
	path       string // relative to the tree's root, slashes, empty for the root
	repository *Repository
	revision   Revision
	state      string // git folder of this working tree
}

// parts are the repositories of one checked-out tree; the first is the tree's own.
type parts struct {
	list     []part
	warnings []Warning
}

// close ends the use of the submodules' repositories.
func (ps *parts) close() error {
	var err error
	for i, part := range ps.list {
		if i > 0 {
			joinErrors(&err, part.repository.Close)
		}
	}
	return err
}

// snapshot makes a commit of the files below top, which were checked out as ps.
func (ps *parts) snapshot(ctx context.Context, top, message string) (Revision, error) {
	return ps.snapshotPart(ctx, ps.list[0], top, message)
}

func (ps *parts) snapshotPart(ctx context.Context, p part, top, message string) (Revision, error) {
	r := p.repository
	ws := workspace{git: r.plain.isolated(), top: filepath.Join(top, filepath.FromSlash(p.path)), gitDir: p.state, commonDir: r.Clone()}
	ws.submodule = func(ctx context.Context, below string) (Revision, error) {
		whole := path.Join(p.path, below)
		for _, sub := range ps.list[1:] {
			if sub.path == whole {
				return ps.snapshotPart(ctx, sub, top, message)
			}
		}
		left, err := os.ReadDir(filepath.Join(ws.top, filepath.FromSlash(below)))
		if err != nil {
			return Revision{}, fmt.Errorf("reading submodule %s: %w", whole, err)
		}
		if len(left) > 0 {
			return Revision{}, &Error{
				Code: ErrDirtySubmodule, Text: fmt.Sprintf("files were put into the submodule %q, which %s has not initialised", whole, r.Root()),
				Remedy: "initialise it there instead: git submodule update --init --recursive",
			}
		}
		return Revision{}, nil
	}
	return r.snapshot(ctx, ws, p.revision, message)
}

// submoduleNames maps the paths of a tree's submodules to their names, as its
// .gitmodules has them.
func (r *Repository) submoduleNames(ctx context.Context, tree string, entries []Entry) (map[string]string, error) {
	names := map[string]string{}
	for _, entry := range entries {
		if entry.Path != ".gitmodules" {
			continue
		}
		items, err := r.cache.list(ctx, "config", "--blob", entry.ID, "-z", "--get-regexp", `^submodule\..*\.path$`)
		if err != nil && !exitedWith(err, 1) {
			return nil, fmt.Errorf("reading .gitmodules of tree %s: %w", tree, err)
		}
		for _, item := range items {
			key, path, _ := strings.Cut(item, "\n")
			names[path] = strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
		}
	}
	return names, nil
}

// materialiseSubmodule checks out the commit that entry records. A submodule that
// the user has not initialised stays an empty folder, with a warning.
func (r *Repository) materialiseSubmodule(ctx context.Context, entry Entry, name string, at place, ps *parts) error {
	sub, revision, err := r.findSubmodule(ctx, entry, name)
	if err != nil {
		return err
	}
	if sub == nil {
		ps.warnings = append(ps.warnings, Warning{
			Code: WarnSubmoduleEmpty,
			Text: fmt.Sprintf("submodule %q is not initialised in %s: its folder is empty; if it is needed: git submodule update --init --recursive", at.path, r.Root()),
		})
		return nil
	}
	return sub.materialise(ctx, revision, at, ps)
}

// openSubmodule opens the repository checked out at dir, below the working tree.
// A linked working tree of the same repository is no submodule: nil.
func (r *Repository) openSubmodule(ctx context.Context, dir string) (*Repository, error) {
	sub, err := discover(ctx, r.plain, dir)
	if err != nil || sub.commonDir == r.commonDir {
		return nil, err
	}
	if err := sub.attach(ctx, r.cacheDir); err != nil {
		return nil, err
	}
	return sub, nil
}

// openKept opens the git folder of a submodule without the working tree that its
// configuration names, which may be gone.
func (r *Repository) openKept(ctx context.Context, gitDir string) (*Repository, error) {
	sub := &Repository{plain: r.plain, user: r.plain.in(gitDir).with("GIT_WORK_TREE=" + gitDir), rel: ".", gitDir: gitDir, commonDir: gitDir}
	var err error
	if sub.format, err = sub.user.line(ctx, "rev-parse", "--show-object-format"); err != nil {
		return nil, fmt.Errorf("reading the repository %s: %w", gitDir, err)
	}
	if err := sub.attach(ctx, r.cacheDir); err != nil {
		return nil, err
	}
	return sub, nil
}

// findSubmodule opens the user's repository of a submodule that has the recorded
// commit: the one checked out at its path, else one kept in the git folder. None
// at all is nil.
func (r *Repository) findSubmodule(ctx context.Context, entry Entry, name string) (*Repository, Revision, error) {
	type opener func(ctx context.Context, dir string) (*Repository, error)
	var dirs []string
	var openers []opener
	if dir := filepath.Join(r.top, filepath.FromSlash(entry.Path)); r.top != "" && exists(filepath.Join(dir, ".git")) {
		dirs, openers = append(dirs, dir), append(openers, r.openSubmodule)
	}
	if local := filepath.FromSlash(name); name != "" && filepath.IsLocal(local) {
		for _, above := range slices.Compact([]string{r.gitDir, r.commonDir}) {
			if dir := filepath.Join(above, "modules", local); exists(dir) {
				dirs, openers = append(dirs, dir), append(openers, r.openKept)
			}
		}
	}
	var cause error
	for i, dir := range dirs {
		sub, err := openers[i](ctx, dir)
		if err != nil {
			cause = errors.Join(cause, err)
			continue
		}
		if sub == nil {
			continue
		}
		revision, err := sub.describe(ctx, entry.ID)
		if err == nil {
			return sub, revision, nil
		}
		cause = errors.Join(cause, err, sub.Close())
	}
	if cause == nil {
		return nil, Revision{}, nil
	}
	return nil, Revision{}, &Error{
		Code: ErrMissingSubmodule, Text: fmt.Sprintf("submodule %q of %s lacks the commit %s", entry.Path, r.Root(), entry.ID),
		Remedy: fmt.Sprintf("fetch it: git -C %q fetch origin %s", dirs[0], entry.ID), Err: cause,
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
