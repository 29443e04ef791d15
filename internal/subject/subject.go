// Package subject says where code comes from: it turns git revisions of a
// repository, its dirty working tree included, into read-only source trees in
// the cache folder.
//
// In: a folder inside a repository, names of revisions, edits. Out: resolved
// revisions, folders that hold their files, differences between them. It must
// never change a byte of the repository it is given, `.git` included, never reach
// the network, and never let the user's git configuration decide what a tree or a
// patch contains.
package subject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// WorkTree is the reference that names the files as they are: tracked changes
// plus untracked, not ignored files.
const WorkTree = "WORKTREE"

// Warning is a doubt about a revision or a tree.
type Warning struct {
	Code string // stable, kebab-case
	Text string // for a person; names the remedy where there is one
}

// Codes of warnings.
const (
	WarnLFSPointer       = "lfs-pointer"               // files of the tree are Git LFS pointers, not the content
	WarnSubmoduleEmpty   = "submodule-not-initialised" // the user has not initialised a submodule: its folder is empty
	WarnNestedRepository = "nested-repository"         // an untracked repository inside the working tree was left out
	WarnAmbiguousRef     = "ambiguous-reference"       // the name is a branch and a tag, say; git chose
)

// Revision is one resolved state of the repository.
type Revision struct {
	Ref      string // as it was named, or "merge-base of main"
	Commit   string // full id; of WORKTREE and of derived trees: a commit of the cache's clone
	Tree     string // git tree id: revisions are the same if and only if their trees are
	Subject  string // first line of the message
	Date     string // committer date, RFC 3339
	Dirty    bool   // a snapshot of a working tree with changes
	Warnings []Warning
}

// Repository is a user's git repository, read only, and its clone in the cache.
// Its methods may be called from several goroutines.
type Repository struct {
	plain     git    // no repository chosen, the user's configuration
	user      git    // the user's repository with the user's configuration
	cache     git    // the clone, isolated
	top       string // root of the working tree, empty if there is none
	rel       string
	gitDir    string
	commonDir string // differs from gitDir in a linked worktree
	format    string // sha1 or sha256
	cacheDir  string // as handed to Open, absolute
	home      string // folder of this repository in the cache
	inUse     *lock
}

// Open finds the repository that dir is in and prepares its clone in cacheDir,
// which is created if absent. dir may be a subfolder, a linked worktree, a
// submodule or a bare repository. Close the result. Errors: ErrNoGit, ErrOldGit,
// ErrNotRepository, ErrForeignOwner, ErrCacheInRepository, ErrNoSpace, input and
// output.
func Open(ctx context.Context, dir, cacheDir string) (*Repository, error) {
	g, err := findGit(ctx)
	if err != nil {
		return nil, err
	}
	r, err := discover(ctx, g, dir)
	if err != nil {
		return nil, err
	}
	if err := r.attach(ctx, cacheDir); err != nil {
		return nil, err
	}
	return r, nil
}

// attach prepares the clone in the cache folder.
func (r *Repository) attach(ctx context.Context, cacheDir string) error {
	var err error
	if r.cacheDir, err = filepath.Abs(cacheDir); err != nil {
		return fmt.Errorf("finding the cache folder %s: %w", cacheDir, err)
	}
	for _, root := range []string{r.top, r.commonDir} {
		if root != "" && within(root, r.cacheDir) {
			return &Error{
				Code: ErrCacheInRepository, Text: fmt.Sprintf("the cache folder %s lies inside the repository %s, which must not change", r.cacheDir, root),
				Remedy: "set XDG_CACHE_HOME to a folder outside it",
			}
		}
	}
	return explainSpace(r.prepareClone(ctx), r.cacheDir)
}

// Close ends the use of the clone: from then on Prune may remove it.
func (r *Repository) Close() error { return r.inUse.release() }

// Root is the root of the working tree, absolute; of a bare repository, its git folder.
func (r *Repository) Root() string {
	if r.top == "" {
		return r.commonDir
	}
	return r.top
}

// Rel is the folder handed to Open relative to Root, with slashes, "." for the root.
func (r *Repository) Rel() string { return r.rel }

// Clone is the git folder of the clone in the cache, from which commits of
// snapshots and derived trees can be fetched.
func (r *Repository) Clone() string { return filepath.Join(r.home, gitDir) }

// discover asks git about the folder dir.
func discover(ctx context.Context, g git, dir string) (*Repository, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, &Error{Code: ErrNotRepository, Text: dir + " is not a folder", Remedy: "name a folder inside a git repository", Err: err}
	}
	at := g.at(dir)
	facts, err := at.line(ctx, "rev-parse", "--is-inside-work-tree", "--show-object-format")
	switch {
	case said(err, "not a git repository"):
		return nil, &Error{Code: ErrNotRepository, Text: dir + " is not inside a git repository", Remedy: "name a folder inside one, or make one with `git init` and commit"}
	case said(err, "dubious ownership"):
		return nil, &Error{
			Code: ErrForeignOwner, Text: "the repository of " + dir + " belongs to another user and git refuses to read it",
			Remedy: "if you trust it: git config --global --add safe.directory " + foreignRoot(err, dir), Err: err,
		}
	case err != nil:
		return nil, fmt.Errorf("reading the repository of %s: %w", dir, err)
	}
	inside, format, _ := strings.Cut(facts, "\n")
	r := &Repository{plain: g, format: format, rel: "."}
	ask := func(option string) (path string) { // one at a time: a path may contain a newline
		if err == nil {
			path, err = at.line(ctx, "rev-parse", "--path-format=absolute", option)
		}
		return path
	}
	r.gitDir = filepath.FromSlash(ask("--git-dir"))
	r.commonDir = filepath.FromSlash(ask("--git-common-dir"))
	if inside == "true" {
		r.top = filepath.FromSlash(ask("--show-toplevel"))
		if prefix := ask("--show-prefix"); prefix != "" {
			r.rel = strings.TrimSuffix(prefix, "/")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the repository of %s: %w", dir, err)
	}
	r.user = g.in(r.gitDir)
	return r, nil
}

// foreignRoot reads from git's refusal the folder that safe.directory must name.
func foreignRoot(err error, dir string) string {
	_, rest, found := strings.Cut(err.Error(), "--add safe.directory ")
	if !found {
		return dir
	}
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// within reports whether path is root or lies below it, symbolic links resolved
// as far as path exists.
func within(root, path string) bool {
	rest := []string{}
	real, err := filepath.EvalSymlinks(path)
	for at := path; err != nil && filepath.Dir(at) != at; {
		rest = append(rest, filepath.Base(at))
		at = filepath.Dir(at)
		real, err = filepath.EvalSymlinks(at)
	}
	slices.Reverse(rest)
	real = filepath.Join(append([]string{real}, rest...)...)
	if resolved, err := filepath.EvalSymlinks(root); err == nil {
		root = resolved
	}
	rel, err := filepath.Rel(root, real)
	return err == nil && filepath.IsLocal(rel)
}

// joinErrors keeps the first error and adds that of a clean-up.
func joinErrors(err *error, cleanUp func() error) { *err = errors.Join(*err, cleanUp()) }
