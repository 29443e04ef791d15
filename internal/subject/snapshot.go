package subject

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// workspace is a folder of files with the state git keeps of it.
type workspace struct {
	git       git
	top       string // root of the files
	gitDir    string // its own state: index, HEAD
	commonDir string // configuration, exclude file
	// users: a working tree of the user, where ignored files stay out and Git
	// LFS content is stored as its pointer. Otherwise every file is taken as it is.
	users bool
	// submodule snapshots the submodule at path; an empty commit means that there
	// is none checked out, and the recorded one stays.
	submodule func(ctx context.Context, path string) (Revision, error)
}

// snapshotUser makes a commit in the clone of the user's working tree as it is.
func (r *Repository) snapshotUser(ctx context.Context) (Revision, error) {
	if r.top == "" {
		return Revision{}, &Error{Code: ErrNoWorkTree, Text: r.commonDir + " has no working tree", Remedy: "name a revision: --head REV"}
	}
	var parent Revision
	commit, err := r.user.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err == nil {
		parent, err = r.describe(ctx, commit)
	} else if exitedWith(err, 1) {
		err = nil // no commit yet
	}
	if err != nil {
		return Revision{}, err
	}
	ws := workspace{git: r.plain, top: r.top, gitDir: r.gitDir, commonDir: r.commonDir, users: true, submodule: r.snapshotSubmodule}
	revision, err := r.snapshot(ctx, ws, parent, "working tree of "+r.rootName(parent))
	revision.Ref = WorkTree
	return revision, err
}

func (r *Repository) rootName(parent Revision) string {
	if parent.Commit == "" {
		return "a repository without commits"
	}
	return parent.Commit
}

// snapshotSubmodule snapshots the submodule checked out at path in the user's
// working tree.
func (r *Repository) snapshotSubmodule(ctx context.Context, path string) (revision Revision, err error) {
	dir := filepath.Join(r.top, filepath.FromSlash(path))
	if _, err := os.Lstat(filepath.Join(dir, ".git")); errors.Is(err, fs.ErrNotExist) {
		return Revision{}, nil
	}
	sub, err := r.openSubmodule(ctx, dir)
	if err != nil {
		return Revision{}, fmt.Errorf("reading submodule %s: %w", path, err)
	}
	if sub == nil {
		return Revision{}, nil
	}
	defer joinErrors(&err, sub.Close)
	return sub.snapshotUser(ctx)
}

// snapshot makes a tree and, if it differs from the parent's, a commit in the
// clone of a workspace as it is.
//
// git runs with a folder of its own as the state of the working tree, as if that
// were one more linked worktree: no command can touch the index of the user or
// the lock files, shared index and times beside it.
func (r *Repository) snapshot(ctx context.Context, ws workspace, parent Revision, message string) (revision Revision, err error) {
	dir, err := os.MkdirTemp(filepath.Join(r.home, tmpDir), "snapshot")
	if err != nil {
		return revision, fmt.Errorf("making a snapshot: %w", err)
	}
	defer joinErrors(&err, func() error { return os.RemoveAll(dir) })
	if err := copyState(ws.gitDir, dir); err != nil {
		return revision, fmt.Errorf("copying the index of %s: %w", ws.top, err)
	}
	g := ws.git.at(ws.top).with("GIT_DIR="+dir, "GIT_COMMON_DIR="+ws.commonDir, "GIT_WORK_TREE="+ws.top,
		"GIT_OBJECT_DIRECTORY="+filepath.Join(r.Clone(), "objects"))
	if err := r.expandIndex(ctx, g); err != nil {
		return revision, fmt.Errorf("reading the sparse index of %s: %w", ws.top, err)
	}
	g.args = append(g.args, "-c", "index.sparse=false")
	if ws.users {
		// The clean filter of Git LFS would store the content in the user's `.git`.
		g.args = append(g.args, "-c", "filter.lfs.clean=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false")
	}
	warnings, err := r.updateIndex(ctx, g, ws)
	if err != nil {
		return revision, fmt.Errorf("making a snapshot of %s: %w", ws.top, err)
	}
	tree, err := r.writing(g).line(ctx, "write-tree", "--missing-ok")
	if err != nil {
		return revision, fmt.Errorf("making a snapshot of %s: %w", ws.top, err)
	}
	revision, err = r.commit(ctx, tree, parent, message)
	revision.Warnings = warnings
	return revision, err
}

// copyState copies what git keeps of one working tree. The index keeps its time,
// from which git tells which files may have changed since it was written.
func copyState(from, to string) error {
	if err := os.WriteFile(filepath.Join(to, "HEAD"), []byte("ref: refs/heads/assay\n"), 0o644); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(to, "info"), 0o755); err != nil {
		return err
	}
	names := []string{"index", "config.worktree", filepath.Join("info", "sparse-checkout")}
	shared, err := fs.Glob(os.DirFS(from), "sharedindex.*")
	if err != nil {
		return err
	}
	for _, name := range append(names, shared...) {
		source := filepath.Join(from, name)
		info, err := os.Stat(source)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		content, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o644); err != nil {
			return err
		}
		if err := os.Chtimes(filepath.Join(to, name), time.Time{}, info.ModTime()); err != nil {
			return err
		}
	}
	return nil
}

// expandIndex replaces folders of a sparse index by their files. git stores trees
// when it does that, so it gets what it reads among the objects that assay made.
func (r *Repository) expandIndex(ctx context.Context, g git) error {
	if sparse, err := g.line(ctx, "config", "--type=bool", "index.sparse"); err != nil || sparse != "true" {
		return ignoreExit(err, 1) // not set
	}
	items, err := g.list(ctx, "ls-files", "-z", "--sparse", "--stage")
	if err != nil {
		return err
	}
	var folders strings.Builder
	for _, item := range items {
		entry, err := parseStaged(item)
		if err != nil {
			return err
		}
		if entry.Mode == modeFolder {
			folders.WriteString(entry.ID + "\n")
		}
	}
	if folders.Len() == 0 {
		return nil
	}
	trees, err := g.run(ctx, call{args: []string{"rev-list", "--objects", "--no-object-names", "--filter=blob:none", "--stdin"}, stdin: []byte(folders.String())})
	if err != nil {
		return err
	}
	if err := r.copyObjects(ctx, trees); err != nil {
		return err
	}
	_, err = r.writing(g).run(ctx, call{args: []string{"-c", "index.sparse=false", "update-index", "--force-write-index"}})
	return err
}

// copyObjects copies those of the objects named, one id a line, that the
// repository has to those that assay made.
func (r *Repository) copyObjects(ctx context.Context, ids []byte) error {
	out, err := r.cache.run(ctx, call{args: []string{"cat-file", "--batch-check=%(objectname)"}, stdin: ids})
	if err != nil {
		return err
	}
	var present strings.Builder // a partial clone lacks some
	for line := range strings.Lines(string(out)) {
		if !strings.HasSuffix(line, " missing\n") {
			present.WriteString(line)
		}
	}
	_, err = r.cache.run(ctx, call{args: []string{"pack-objects", "-q", filepath.Join(r.own(), "pack", "pack")}, stdin: []byte(present.String())})
	return err
}

// updateIndex brings the copied index to the state of the files.
func (r *Repository) updateIndex(ctx context.Context, g git, ws workspace) ([]Warning, error) {
	changed, err := r.changedFiles(ctx, g)
	if err != nil {
		return nil, err
	}
	others := []string{"ls-files", "-z", "--others"}
	if ws.users {
		others = append(others, "--exclude-standard")
	}
	untracked, err := g.list(ctx, others...)
	if err != nil {
		return nil, err
	}
	var warnings []Warning
	for _, path := range untracked {
		if strings.HasSuffix(path, "/") {
			warnings = append(warnings, Warning{Code: WarnNestedRepository, Text: fmt.Sprintf("%q is a repository of its own and was left out of the snapshot", path)})
			continue
		}
		changed = append(changed, path)
	}
	if _, err := r.writing(g).run(ctx, call{args: []string{"update-index", "--add", "--remove", "--replace", "-z", "--stdin"}, stdin: joinNUL(changed)}); err != nil {
		return nil, err
	}
	items, err := g.list(ctx, "ls-files", "-z", "--stage")
	if err != nil {
		return nil, err
	}
	var info []string
	modes := map[string]Mode{}
	for _, item := range items {
		entry, err := parseStaged(item)
		if err != nil {
			return nil, err
		}
		modes[entry.Path] = entry.Mode
		if entry.Mode != ModeSubmodule {
			continue
		}
		line, more, err := submoduleLine(ctx, ws, entry)
		if err != nil {
			return nil, err
		}
		info, warnings = append(info, line...), append(warnings, more...)
	}
	if ws.users {
		pointers, err := r.lfsPointers(ctx, g, changed, modes)
		if err != nil {
			return nil, err
		}
		info = append(info, pointers...)
	}
	_, err = g.run(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: joinNUL(info)})
	return warnings, err
}

// changedFiles lists the tracked files that differ from the index, and copies
// what the index has of them to the objects that assay made: to convert line ends
// git looks at the old content, while it writes and sees no others.
func (r *Repository) changedFiles(ctx context.Context, g git) ([]string, error) {
	if _, err := g.run(ctx, call{args: []string{"update-index", "-q", "--refresh", "--ignore-submodules"}}); ignoreExit(err, 1) != nil { // 1: some do differ
		return nil, err
	}
	raw, err := g.list(ctx, "diff-files", "-z", "--raw", "--no-abbrev", "--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	var changed []string
	var ids strings.Builder
	for i := 0; i+1 < len(raw); i += 2 {
		// ":mode mode id id status", then the path.
		field := strings.Fields(raw[i])
		if len(field) != 5 {
			return nil, fmt.Errorf("reading a git index: unexpected entry %q", raw[i])
		}
		if strings.Trim(field[2], "0") != "" {
			ids.WriteString(field[2] + "\n")
		}
		changed = append(changed, raw[i+1])
	}
	if ids.Len() > 0 {
		err = r.copyObjects(ctx, []byte(ids.String()))
	}
	return changed, err
}

// parseStaged reads "mode id stage TAB path".
func parseStaged(item string) (Entry, error) {
	facts, path, ok := strings.Cut(item, "\t")
	field := strings.Fields(facts)
	if !ok || len(field) != 3 {
		return Entry{}, fmt.Errorf("reading a git index: unexpected entry %q", item)
	}
	return Entry{Path: path, Mode: Mode(field[0]), ID: field[1]}, nil
}

// indexLine is an entry as `git update-index --index-info` reads it.
func indexLine(mode Mode, id, path string) string { return string(mode) + " " + id + "\t" + path }

// removalLine takes a path out of the index. like is any object id of the
// repository, for its length.
func removalLine(like, path string) string {
	return indexLine("0", strings.Repeat("0", len(like)), path)
}

// submoduleLine is the index entry of a submodule as it is checked out, nothing
// if the recorded one stays.
func submoduleLine(ctx context.Context, ws workspace, entry Entry) ([]string, []Warning, error) {
	if _, err := os.Lstat(filepath.Join(ws.top, filepath.FromSlash(entry.Path))); errors.Is(err, fs.ErrNotExist) {
		return []string{removalLine(entry.ID, entry.Path)}, nil, nil
	}
	sub, err := ws.submodule(ctx, entry.Path)
	if err != nil {
		return nil, nil, err
	}
	if sub.Commit == "" || sub.Commit == entry.ID {
		return nil, sub.Warnings, nil
	}
	return []string{indexLine(ModeSubmodule, sub.Commit, entry.Path)}, sub.Warnings, nil
}

// lfsPrefix starts every Git LFS pointer, which has at most lfsLimit bytes (Git
// LFS specification).
const (
	lfsPrefix = "version https://git-lfs.github.com/spec/v1\n"
	lfsLimit  = 1024
)

func isPointer(content []byte) bool {
	return len(content) < lfsLimit && bytes.HasPrefix(content, []byte(lfsPrefix))
}

// lfsPointer is the Git LFS pointer to the content of a file, empty if the file
// is a pointer already.
func lfsPointer(path string) (pointer string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer joinErrors(&err, file.Close)
	start := make([]byte, lfsLimit)
	n, err := io.ReadFull(file, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	if isPointer(start[:n]) {
		return "", nil
	}
	hash := sha256.New()
	size, err := io.Copy(hash, io.MultiReader(bytes.NewReader(start[:n]), file))
	return fmt.Sprintf("%soid sha256:%x\nsize %d\n", lfsPrefix, hash.Sum(nil), size), err
}

// lfsPointers returns index entries with the pointer in place of the content for
// those of paths that Git LFS keeps.
func (r *Repository) lfsPointers(ctx context.Context, g git, paths []string, modes map[string]Mode) ([]string, error) {
	out, err := g.run(ctx, call{args: []string{"check-attr", "-z", "--stdin", "filter"}, stdin: joinNUL(paths)})
	if err != nil {
		return nil, err
	}
	fields := splitNUL(out)
	var lines []string
	for i := 0; i+2 < len(fields); i += 3 {
		path, filter := fields[i], fields[i+2]
		if filter != "lfs" || modes[path] != ModeFile && modes[path] != ModeExecutable {
			continue
		}
		pointer, err := lfsPointer(filepath.Join(r.top, filepath.FromSlash(path)))
		if err != nil {
			return nil, err
		}
		if pointer == "" {
			continue
		}
		id, err := r.writing(g).run(ctx, call{args: []string{"hash-object", "-w", "--stdin"}, stdin: []byte(pointer)})
		if err != nil {
			return nil, err
		}
		lines = append(lines, indexLine(modes[path], strings.TrimSpace(string(id)), path))
	}
	return lines, nil
}

// commit returns the parent if it has that tree, else makes a commit in the
// clone. Author and dates are fixed (the date is the parent's), so that the same
// tree on the same parent has the same id wherever it is made.
func (r *Repository) commit(ctx context.Context, tree string, parent Revision, message string) (Revision, error) {
	if tree == parent.Tree {
		return parent, nil
	}
	text := "tree " + tree + "\n"
	var date time.Time // of a commit without a parent: 1970
	if parent.Commit != "" {
		var err error
		if date, err = time.Parse(time.RFC3339, parent.Date); err != nil {
			return Revision{}, fmt.Errorf("reading the date of commit %s: %w", parent.Commit, err)
		}
		text += "parent " + parent.Commit + "\n"
	}
	who := fmt.Sprintf("assay <assay@localhost> %d +0000\n", max(date.Unix(), 0))
	text += "author " + who + "committer " + who + "\n" + message + "\n"
	// Note: `git commit-tree` reads the parent, so it must see the user's objects.
	out, err := r.writing(r.cache).run(ctx, call{args: []string{"hash-object", "-w", "-t", "commit", "--stdin"}, stdin: []byte(text)})
	if err != nil {
		return Revision{}, fmt.Errorf("making a commit of tree %s: %w", tree, err)
	}
	revision, err := r.describe(ctx, strings.TrimSpace(string(out)))
	revision.Ref, revision.Dirty = parent.Ref, true
	return revision, err
}
