package subject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Edit is one change of a file of a tree.
type Edit struct {
	Path    string // relative to the root, slashes
	Content []byte // of a symbolic link, its target
	Mode    Mode   // ModeFile if empty
	Remove  bool   // the file is taken out; one that does not exist is no error
}

// Derive puts edits onto a revision: a commit in the clone whose parent is the
// revision's and whose id depends on nothing else, and the checked-out tree. Ref
// and Dirty are the revision's. Without effect on the tree the revision itself is
// returned. Errors: as of Checkout, and ErrDirtySubmodule.
func (r *Repository) Derive(ctx context.Context, from Revision, edits []Edit, message string) (Revision, Tree, error) {
	derived, err := r.derive(ctx, from, edits, message)
	if err != nil {
		return Revision{}, Tree{}, explainSpace(fmt.Errorf("deriving a tree from %s: %w", from.Ref, err), r.cacheDir)
	}
	derived.Ref, derived.Dirty, derived.Warnings = from.Ref, from.Dirty, from.Warnings
	tree, err := r.Checkout(ctx, derived)
	return derived, tree, err
}

func (r *Repository) derive(ctx context.Context, from Revision, edits []Edit, message string) (revision Revision, err error) {
	if err := r.outsideSubmodules(ctx, from, edits); err != nil {
		return revision, err
	}
	dir, err := os.MkdirTemp(filepath.Join(r.home, tmpDir), "derive")
	if err != nil {
		return revision, err
	}
	defer joinErrors(&err, func() error { return os.RemoveAll(dir) })
	var names strings.Builder
	for i, edit := range edits {
		if edit.Remove {
			continue
		}
		name := strconv.Itoa(i)
		if err := os.WriteFile(filepath.Join(dir, name), edit.Content, 0o644); err != nil {
			return revision, err
		}
		names.WriteString(name + "\n")
	}
	g := r.cache.at(dir).with("GIT_INDEX_FILE=" + filepath.Join(dir, "index"))
	out, err := r.writing(g).run(ctx, call{args: []string{"hash-object", "-w", "--no-filters", "--stdin-paths"}, stdin: []byte(names.String())})
	if err != nil {
		return revision, err
	}
	ids := strings.Fields(string(out))
	var info []string
	for _, edit := range edits {
		switch {
		case edit.Remove:
			info = append(info, removalLine(from.Tree, edit.Path))
		case len(ids) == 0:
			return revision, errors.New("git stored fewer files than it was given")
		default:
			mode := edit.Mode
			if mode == "" {
				mode = ModeFile
			}
			info = append(info, indexLine(mode, ids[0], edit.Path))
			ids = ids[1:]
		}
	}
	if _, err := g.run(ctx, call{args: []string{"read-tree", from.Tree}}); err != nil {
		return revision, r.explainMissing(ctx, err, from.Tree)
	}
	if _, err := g.run(ctx, call{args: []string{"update-index", "-z", "--index-info"}, stdin: joinNUL(info)}); err != nil {
		return revision, err
	}
	tree, err := r.writing(g).line(ctx, "write-tree", "--missing-ok")
	if err != nil {
		return revision, err
	}
	return r.commit(ctx, tree, from, message)
}

// outsideSubmodules refuses edits of files that belong to a submodule.
func (r *Repository) outsideSubmodules(ctx context.Context, from Revision, edits []Edit) error {
	entries, err := r.List(ctx, from.Tree)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		for _, edit := range edits {
			if entry.Mode == ModeSubmodule && strings.HasPrefix(edit.Path, entry.Path+"/") {
				return &Error{
					Code: ErrDirtySubmodule, Text: fmt.Sprintf("%q belongs to the submodule %q", edit.Path, entry.Path),
					Remedy: "measure the submodule's own repository, or use --graft none",
				}
			}
		}
	}
	return nil
}

// Scratch is a private copy of a tree in which commands may change files. Close
// removes it.
type Scratch struct {
	Dir      string // absolute; never used twice, because Go indexes sources by path, time and size
	Warnings []Warning

	repository *Repository
	from       Revision
	parts      *parts
}

// Scratch makes a private copy of a revision's tree. Errors: as of Checkout.
func (r *Repository) Scratch(ctx context.Context, from Revision) (s *Scratch, err error) {
	dir := filepath.Join(r.home, tmpDir, scratchName())
	s = &Scratch{Dir: dir, repository: r, from: from, parts: &parts{}}
	defer func() {
		if err != nil {
			joinErrors(&err, s.Close)
			err = explainSpace(err, r.cacheDir)
			s = nil
		}
	}()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return s, fmt.Errorf("making a scratch copy of %s: %w", from.Ref, err)
	}
	if err := r.materialise(ctx, from, place{dir: dir, final: dir}, s.parts); err != nil {
		return s, err
	}
	sum, err := s.parts.settle(dir)
	if err != nil {
		return s, fmt.Errorf("making a scratch copy of %s: %w", from.Ref, err)
	}
	s.Warnings = sum.Warnings
	return s, nil
}

// Revision makes a commit in the clone of the copy as it is now, ignored files
// included, on the revision it was made from: that revision itself if nothing
// changed. Files changed inside submodules are part of it.
func (s *Scratch) Revision(ctx context.Context, message string) (Revision, error) {
	revision, err := s.parts.snapshot(ctx, s.Dir, message)
	if err != nil {
		return Revision{}, explainSpace(err, s.repository.cacheDir)
	}
	revision.Ref, revision.Dirty = s.from.Ref, s.from.Dirty
	return revision, nil
}

// Close removes the copy.
func (s *Scratch) Close() error {
	err := errors.Join(s.parts.close(), removeTree(s.Dir))
	for _, part := range s.parts.list {
		joinErrors(&err, func() error { return os.RemoveAll(part.state) })
	}
	return err
}
