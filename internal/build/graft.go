package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"assay/internal/harness"
	"assay/internal/result"
	"assay/internal/subject"
)

// harnessCommits is how many commits that touched the harness a proof lists.
const harnessCommits = 20

// Source is the arm or revision whose harness is copied.
type Source struct {
	Name     string // "head", "base" or the revision as named
	Revision subject.Revision
	Tree     subject.Tree
	Layout   harness.Layout
}

// Target is the arm that gets the harness.
type Target struct {
	Arm      result.Arm
	Revision subject.Revision
	Tree     subject.Tree
}

// Grafted is an arm with the source's harness on it.
type Grafted struct {
	Revision subject.Revision
	Tree     subject.Tree
	Proof    result.GraftProof
	Patch    []byte // what was put onto the arm, for `git apply`
}

// Grafter puts the harness of one revision onto arms.
type Grafter struct {
	Repository *subject.Repository
	Adapter    harness.Adapter
}

// HarnessTree is a subject's tree as adapters see it.
func HarnessTree(tree subject.Tree) harness.Tree {
	return harness.Tree{Dir: tree.Dir, FS: tree.FS(), Exec: Exec}
}

// Graft copies the harness files of the source byte for byte onto the target, has
// the manifest resolved again, and proves from the resulting trees that the
// harness is the same on both.
func (g Grafter) Graft(ctx context.Context, source Source, target Target) (out Grafted, err error) {
	out.Proof = result.GraftProof{From: source.Name, Onto: target.Arm}
	plan, err := g.Adapter.Graft(HarnessTree(source.Tree), HarnessTree(target.Tree), source.Layout)
	if err != nil {
		return out, fmt.Errorf("finding the harness files of %s: %w", source.Name, err)
	}
	scratch, err := g.Repository.Scratch(ctx, target.Revision)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	for _, file := range plan.Copy {
		if err := copyInto(source.Tree.Dir, scratch.Dir, &file); err != nil {
			return out, fmt.Errorf("grafting %s onto %s: %w", file.Path, target.Arm, err)
		}
		out.Proof.Files = append(out.Proof.Files, file)
	}
	for _, path := range plan.Remove {
		before, err := removeFrom(scratch.Dir, path)
		if err != nil {
			return out, fmt.Errorf("removing %s from %s: %w", path, target.Arm, err)
		}
		out.Proof.Files = append(out.Proof.Files, result.GraftFile{Path: path, Kind: "removed", Before: before})
	}
	if resolver, ok := g.Adapter.(harness.Resolver); ok {
		onto := harness.Tree{Dir: scratch.Dir, FS: os.DirFS(scratch.Dir), Exec: Exec}
		edits, changes, warnings, err := resolver.Resolve(ctx, HarnessTree(source.Tree), onto, source.Layout)
		if err != nil {
			return out, fmt.Errorf("resolving the dependencies of %s with the harness of %s: %w", target.Arm, source.Name, err)
		}
		out.Proof.Edits, out.Proof.Dependencies, out.Proof.Warnings = edits, changes, warnings
	}
	out.Revision, err = scratch.Revision(ctx, fmt.Sprintf("assay: the harness of %s on %s", source.Name, target.Arm))
	if err != nil {
		return out, err
	}
	if out.Tree, err = g.Repository.Checkout(ctx, out.Revision); err != nil {
		return out, err
	}
	return out, g.prove(ctx, source, target, &out)
}

// prove fills in what the trees say of each other.
func (g Grafter) prove(ctx context.Context, source Source, target Target, out *Grafted) error {
	paths := harnessPaths(out.Proof)
	put, err := g.Repository.Diff(ctx, target.Revision.Tree, out.Revision.Tree)
	if err != nil {
		return err
	}
	out.Proof.Stat, out.Patch = put.Stat, put.Patch
	if out.Revision.Tree != target.Revision.Tree {
		out.Proof.Commit = out.Revision.Commit
	}
	if len(paths) > 0 {
		left, err := g.Repository.Diff(ctx, out.Revision.Tree, source.Revision.Tree, paths...)
		if err != nil {
			return err
		}
		out.Proof.HarnessDiff = string(left.Patch)
		if err := g.touched(ctx, source, target, paths, &out.Proof); err != nil {
			return err
		}
	}
	if len(out.Proof.HarnessDiff) > 0 {
		return fmt.Errorf("grafting the harness of %s onto %s: the files still differ afterwards (do git attributes or a prepare command rewrite them?):\n%s",
			source.Name, target.Arm, out.Proof.HarnessDiff)
	}
	differ, err := g.Repository.Diff(ctx, out.Revision.Tree, source.Revision.Tree)
	if err != nil {
		return err
	}
	for _, change := range differ.Changes {
		out.Proof.Differ = append(out.Proof.Differ, change.Path)
	}
	return nil
}

// touched lists the commits between the arms that changed the harness.
func (g Grafter) touched(ctx context.Context, source Source, target Target, paths []string, proof *result.GraftProof) error {
	commits, err := g.Repository.LogTouching(ctx, target.Revision.Commit, source.Revision.Commit, paths, harnessCommits)
	if err != nil {
		return err
	}
	for _, c := range commits {
		proof.Commits = append(proof.Commits, c.ID[:min(12, len(c.ID))]+" "+c.Subject)
	}
	return nil
}

// harnessPaths are the files of a proof, sorted.
func harnessPaths(proof result.GraftProof) []string {
	var paths []string
	for _, file := range proof.Files {
		paths = append(paths, file.Path)
	}
	sort.Strings(paths)
	return slices.Compact(paths)
}

// copyInto copies one file with its mode and notes its hashes.
func copyInto(from, to string, file *result.GraftFile) error {
	source, target := filepath.Join(from, filepath.FromSlash(file.Path)), filepath.Join(to, filepath.FromSlash(file.Path))
	if before, err := hashAny(target); err == nil {
		file.Before = before
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	info, err := os.Lstat(source)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := os.Readlink(source)
		if err == nil {
			err = os.Symlink(link, target)
		}
		if err != nil {
			return err
		}
	} else {
		data, err := os.ReadFile(source)
		if err == nil {
			err = os.WriteFile(target, data, info.Mode().Perm())
		}
		if err != nil {
			return err
		}
	}
	file.After, err = hashAny(target)
	return err
}

// hashAny is the digest of a file's content, of a link's target.
func hashAny(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		link, err := os.Readlink(path)
		return digest([]byte(link)), err
	}
	data, err := os.ReadFile(path)
	return digest(data), err
}

func removeFrom(dir, path string) (before string, err error) {
	target := filepath.Join(dir, filepath.FromSlash(path))
	if before, err = hashAny(target); err != nil {
		return before, err
	}
	return before, os.Remove(target)
}

// Prepare runs the shell commands of assay.yaml in a private copy of an arm's
// tree and returns what came out as a revision of its own. Without commands it is
// the revision itself.
func Prepare(ctx context.Context, repository *subject.Repository, revision subject.Revision, commands []string) (out subject.Revision, err error) {
	if len(commands) == 0 {
		return revision, nil
	}
	scratch, err := repository.Scratch(ctx, revision)
	if err != nil {
		return revision, err
	}
	defer func() { err = errors.Join(err, scratch.Close()) }()
	for _, line := range commands {
		_, stderr, err := Exec(ctx, result.Command{Argv: []string{"sh", "-c", line}, Dir: scratch.Dir})
		if err != nil {
			return revision, fmt.Errorf("preparing %s with %q: %w\n%s", revision.Ref, line, err, stderr)
		}
	}
	return scratch.Revision(ctx, "assay: prepared")
}
