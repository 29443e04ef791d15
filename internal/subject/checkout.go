package subject

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// treeTime is the time of every checked-out file, so that nothing built from a
// tree depends on when it was checked out. Any fixed time in the past would do.
func treeTime() time.Time { return time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC) }

// Tree is a checked-out tree. It belongs to assay: a build may read it and leave
// files in it, and the next Checkout then makes it anew.
type Tree struct {
	Dir      string // absolute; of the same length for every tree
	ID       string // git tree id
	Warnings []Warning
}

// FS is the tree as a file system.
func (t Tree) FS() fs.FS { return os.DirFS(t.Dir) }

// sum says what was checked out into a folder.
type sum struct {
	Digest   string    // over paths, kinds, sizes and times of all files
	Clones   []string  // keys of the clones that its files come from
	Warnings []Warning //
}

// place is where files are put (dir) and where they will be found (final).
type place struct {
	dir, final string
	path       string // relative to the tree's root, slashes
}

// Checkout returns the folder with the files of a revision, its submodules
// included: the one made before if it is unchanged, else one made anew. It holds
// what git stores, attributes for line ends and encodings applied, filters not;
// every file has the same fixed time. Warnings of the revision are not repeated.
// Errors: ErrMissingObject, ErrMissingSubmodule, ErrNoSpace, input and output.
func (r *Repository) Checkout(ctx context.Context, revision Revision) (tree Tree, err error) {
	defer func() { err = explainSpace(err, r.cacheDir) }()
	dir := filepath.Join(r.home, treesDir, digest40(revision.Tree))
	unlock, err := r.change(ctx)
	if err != nil {
		return tree, err
	}
	defer joinErrors(&err, unlock)
	if sum, err := readSum(dir); err == nil {
		if digest, err := digestDir(dir); err == nil && digest == sum.Digest {
			return Tree{Dir: dir, ID: revision.Tree, Warnings: sum.Warnings}, nil
		}
	}
	made := filepath.Join(r.home, tmpDir, scratchName())
	if err := os.Mkdir(made, 0o755); err != nil {
		return tree, fmt.Errorf("checking out %s: %w", revision.Ref, err)
	}
	defer joinErrors(&err, func() error { return removeTree(made) })
	ps := &parts{}
	defer joinErrors(&err, ps.close)
	if err := r.materialise(ctx, revision, place{dir: made, final: dir}, ps); err != nil {
		return tree, err
	}
	sum, err := ps.settle(made)
	if err != nil {
		return tree, fmt.Errorf("checking out %s: %w", revision.Ref, err)
	}
	if err := os.RemoveAll(dir + sumSuffix); err != nil {
		return tree, fmt.Errorf("checking out %s: %w", revision.Ref, err)
	}
	if err := replaceDir(made, dir, filepath.Join(r.home, tmpDir)); err != nil {
		return tree, fmt.Errorf("checking out %s: %w", revision.Ref, err)
	}
	content, err := json.Marshal(sum)
	if err != nil {
		return tree, fmt.Errorf("checking out %s: %w", revision.Ref, err)
	}
	if err := r.put(dir+sumSuffix, content); err != nil {
		return tree, err
	}
	return Tree{Dir: dir, ID: revision.Tree, Warnings: sum.Warnings}, nil
}

func scratchName() string { return rand.Text() }

// stateDir is the git folder of the working tree at dir.
func stateDir(home, dir string) string {
	return filepath.Join(home, gitDir, "worktrees", digest40(dir))
}

// materialise checks a revision out into at, an existing empty folder, as a
// linked working tree of the clone, and its submodules below it.
func (r *Repository) materialise(ctx context.Context, revision Revision, at place, ps *parts) error {
	state := stateDir(r.home, at.final)
	ps.list = append(ps.list, part{path: at.path, repository: r, revision: revision, state: state})
	if err := register(state, filepath.Join(at.dir, ".git"), filepath.Join(at.final, ".git"), revision.Commit); err != nil {
		return fmt.Errorf("checking out %s: %w", revision.Ref, err)
	}
	g := r.cache.in(state).with("GIT_WORK_TREE=" + at.dir)
	if _, err := g.run(ctx, call{args: []string{"read-tree", "--reset", "-u", revision.Tree}}); err != nil {
		return fmt.Errorf("checking out %s: %w", revision.Ref, r.explainMissing(ctx, err, revision.Tree))
	}
	entries, err := r.List(ctx, revision.Tree)
	if err != nil {
		return err
	}
	names, err := r.submoduleNames(ctx, revision.Tree, entries)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Mode != ModeSubmodule {
			continue
		}
		below := place{
			dir: filepath.Join(at.dir, filepath.FromSlash(entry.Path)), final: filepath.Join(at.final, filepath.FromSlash(entry.Path)),
			path: path.Join(at.path, entry.Path),
		}
		if err := r.materialiseSubmodule(ctx, entry, names[entry.Path], below, ps); err != nil {
			return err
		}
	}
	return nil
}

// register makes the folder state the git folder of a working tree, and the file
// link, to be found at final, point at it (git: gitrepository-layout, worktrees).
//
// Note: `git worktree add` would check out in place; here the files are complete
// before they appear under their final name.
func register(state, link, final, commit string) error {
	if err := os.RemoveAll(state); err != nil {
		return err
	}
	if err := os.MkdirAll(state, 0o755); err != nil {
		return err
	}
	for _, file := range [][2]string{
		{filepath.Join(state, "HEAD"), commit},
		{filepath.Join(state, "commondir"), "../.."},
		{filepath.Join(state, "gitdir"), filepath.ToSlash(final)},
		{link, "gitdir: " + filepath.ToSlash(state)},
	} {
		if err := os.WriteFile(file[0], []byte(file[1]+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// settle gives every file its fixed time, looks for Git LFS pointers and sums up
// what is in the folder.
func (ps *parts) settle(dir string) (sum, error) {
	s := sum{Warnings: ps.warnings}
	for _, part := range ps.list {
		s.Clones = append(s.Clones, filepath.Base(part.repository.home))
	}
	var pointers []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		if pointer, err := pointerAt(path, entry); err != nil {
			return err
		} else if pointer {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			pointers = append(pointers, filepath.ToSlash(rel))
		}
		return os.Chtimes(path, treeTime(), treeTime())
	})
	if err != nil {
		return s, err
	}
	if len(pointers) > 0 {
		s.Warnings = append(s.Warnings, Warning{
			Code: WarnLFSPointer,
			Text: "Git LFS content is not checked out, these files are pointers: " + quoteSome(pointers) + "; a `prepare` command can fetch it (git lfs pull)",
		})
	}
	s.Digest, err = digestDir(dir)
	return s, err
}

func pointerAt(path string, entry fs.DirEntry) (bool, error) {
	if !entry.Type().IsRegular() {
		return false, nil
	}
	info, err := entry.Info()
	if err != nil || info.Size() < int64(len(lfsPrefix)) || info.Size() >= lfsLimit {
		return false, err
	}
	content, err := os.ReadFile(path)
	return isPointer(content), err
}

// digestDir is a hash over what can be told of the files below dir without
// reading them: path, kind, permissions, size and time, or the target of a link.
func digestDir(dir string) (string, error) {
	hash := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		facts := ""
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			if facts, err = os.Readlink(path); err != nil {
				return err
			}
		case !info.IsDir(): // a folder's time changes with every temporary file in it
			facts = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
		}
		_, err = fmt.Fprintf(hash, "%q %v %q\n", rel, info.Mode(), facts)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil)), err
}

// readSum reads what was checked out into the folder dir.
func readSum(dir string) (sum, error) {
	var s sum
	content, err := os.ReadFile(dir + sumSuffix)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(content, &s)
}
