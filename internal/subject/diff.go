package subject

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Mode is the kind of a file in a git tree. Closed set.
type Mode string

// The modes that git stores.
const (
	ModeFile       Mode = "100644"
	ModeExecutable Mode = "100755"
	ModeSymlink    Mode = "120000"
	ModeSubmodule  Mode = "160000"
	modeFolder     Mode = "040000"
)

// Entry is one file of a tree.
type Entry struct {
	Path string // relative to the root, slashes
	Mode Mode
	ID   string // of the blob; of a submodule, its commit
}

// Change is one path in which two trees differ. Renames are a removal and an
// addition.
type Change struct {
	Path   string
	Status string // A added, D deleted, M modified, T another kind of file
}

// Difference is how tree B differs from tree A.
type Difference struct {
	Changes []Change // in git's order of paths
	Stat    string   // as of `git diff --stat`
	Patch   []byte   // for `git apply`, binary files included
}

// Commit is one line of history.
type Commit struct {
	ID      string
	Subject string
}

// List returns the files of a tree, subfolders included, in git's order of paths.
// Files of submodules are not in it.
func (r *Repository) List(ctx context.Context, tree string) ([]Entry, error) {
	items, err := r.cache.list(ctx, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return nil, fmt.Errorf("listing tree %s of %s: %w", tree, r.Root(), r.explainMissing(ctx, err, ""))
	}
	entries := make([]Entry, 0, len(items))
	for _, item := range items {
		entry, err := parseEntry(item)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// parseEntry reads "mode type id TAB path".
func parseEntry(item string) (Entry, error) {
	facts, path, ok := strings.Cut(item, "\t")
	field := strings.Fields(facts)
	if !ok || len(field) != 3 {
		return Entry{}, fmt.Errorf("reading a git tree: unexpected entry %q", item)
	}
	return Entry{Path: path, Mode: Mode(field[0]), ID: field[2]}, nil
}

// ReadFile returns the content of one file of a tree as git stores it. A path
// that is not a file of the tree is fs.ErrNotExist.
func (r *Repository) ReadFile(ctx context.Context, tree, path string) ([]byte, error) {
	items, err := r.cache.list(ctx, "ls-tree", "-z", "--full-tree", tree, "--", path)
	if err != nil {
		return nil, fmt.Errorf("reading %s of tree %s: %w", path, tree, r.explainMissing(ctx, err, ""))
	}
	if len(items) != 1 {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	entry, err := parseEntry(items[0])
	if err != nil {
		return nil, err
	}
	if entry.Path != path || entry.Mode == modeFolder || entry.Mode == ModeSubmodule {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	content, err := r.cache.run(ctx, call{args: []string{"cat-file", "blob", entry.ID}})
	if err != nil {
		return nil, fmt.Errorf("reading %s of tree %s: %w", path, tree, r.explainMissing(ctx, err, tree))
	}
	return content, nil
}

// Diff compares two trees, narrowed to paths (files or folders, taken literally)
// if any are given. No configuration and no attribute changes what it says.
func (r *Repository) Diff(ctx context.Context, treeA, treeB string, paths ...string) (Difference, error) {
	var d Difference
	base := []string{"diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none"}
	run := func(options ...string) ([]byte, error) {
		args := append(append(append([]string{}, base...), options...), treeA, treeB, "--")
		out, err := r.cache.run(ctx, call{args: append(args, paths...)})
		if err != nil {
			return nil, fmt.Errorf("comparing trees %s and %s of %s: %w", treeA, treeB, r.Root(), r.explainEither(ctx, err, treeA, treeB))
		}
		return out, nil
	}
	names, err := run("-z", "--name-status")
	if err != nil {
		return d, err
	}
	fields := splitNUL(names)
	for i := 0; i+1 < len(fields); i += 2 {
		d.Changes = append(d.Changes, Change{Status: fields[i], Path: fields[i+1]})
	}
	// 120 columns hold most paths whole; longer ones are cut at the front.
	stat, err := run("--stat=120,100")
	if err != nil {
		return d, err
	}
	d.Stat = string(stat)
	d.Patch, err = run("-p", "--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short")
	return d, err
}

// explainEither is explainMissing for a command that reads two trees.
func (r *Repository) explainEither(ctx context.Context, err error, treeA, treeB string) error {
	if len(r.missingPaths(ctx, treeA)) > 0 {
		return r.explainMissing(ctx, err, treeA)
	}
	return r.explainMissing(ctx, err, treeB)
}

// LogTouching lists the commits that are in to but not in from and that touched
// any of paths, newest first, at most limit. from and to are commits.
func (r *Repository) LogTouching(ctx context.Context, from, to string, paths []string, limit int) ([]Commit, error) {
	args := append([]string{"log", "-z", "--no-show-signature", "--no-color", "--format=%H %s", "-n", strconv.Itoa(limit), "^" + from, to, "--"}, paths...)
	items, err := r.cache.list(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("listing commits between %s and %s of %s: %w", from, to, r.Root(), r.explainMissing(ctx, err, ""))
	}
	commits := make([]Commit, 0, len(items))
	for _, item := range items {
		id, subject, _ := strings.Cut(item, " ")
		commits = append(commits, Commit{ID: id, Subject: subject})
	}
	return commits, nil
}
