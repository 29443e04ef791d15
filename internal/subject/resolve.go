package subject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Resolve finds the commit that ref names in the user's repository: a branch, a
// tag, an id, HEAD~2, or WorkTree for a snapshot of the files as they are.
// Errors: ErrUnknownRevision, ErrNoCommits, ErrNoWorkTree, ErrMissingObject.
func (r *Repository) Resolve(ctx context.Context, ref string) (Revision, error) {
	if ref == WorkTree {
		revision, err := r.snapshotUser(ctx)
		return revision, explainSpace(err, r.cacheDir)
	}
	commit, warnings, err := r.commitOf(ctx, ref)
	if err != nil {
		return Revision{}, err
	}
	revision, err := r.describe(ctx, commit)
	revision.Ref, revision.Warnings = ref, warnings
	return revision, err
}

// commitOf returns the id of the commit that ref names.
func (r *Repository) commitOf(ctx context.Context, ref string) (string, []Warning, error) {
	unknown := &Error{
		Code: ErrUnknownRevision, Text: fmt.Sprintf("%q names no commit in %s", ref, r.Root()),
		Remedy: "see `git log --oneline --all`, or fetch it with `git fetch`",
	}
	if ref == "" || strings.ContainsAny(ref, "\n\x00") {
		return "", nil, unknown
	}
	commit, err := r.user.line(ctx, "rev-parse", "--verify", "--end-of-options", ref+"^{commit}")
	if err == nil {
		return commit, r.ambiguity(ctx, ref), nil
	}
	if exitedWith(err, 128) {
		if r.empty(ctx) {
			return "", nil, r.noCommits()
		}
		if said(err, "expected commit type") {
			unknown.Text = fmt.Sprintf("%q names something in %s that is not a commit", ref, r.Root())
		}
		return "", nil, unknown
	}
	return "", nil, fmt.Errorf("resolving %q in %s: %w", ref, r.Root(), err)
}

// ambiguity warns of a name that is both a branch and a tag.
func (r *Repository) ambiguity(ctx context.Context, ref string) []Warning {
	refs, err := r.user.line(ctx, "for-each-ref", "--format=%(refname)", "refs/heads/"+ref, "refs/tags/"+ref)
	names := strings.Fields(refs)
	if err != nil || len(names) < 2 || names[0] != "refs/heads/"+ref || names[1] != "refs/tags/"+ref {
		return nil
	}
	return []Warning{{
		Code: WarnAmbiguousRef,
		Text: fmt.Sprintf("%q is a branch and a tag; git takes the tag: write refs/heads/%s for the branch", ref, ref),
	}}
}

func (r *Repository) noCommits() *Error {
	return &Error{Code: ErrNoCommits, Text: r.Root() + " has no commits", Remedy: "commit the code first"}
}

// empty reports whether the repository has no reference at all, a detached HEAD
// included.
func (r *Repository) empty(ctx context.Context) bool {
	out, err := r.user.line(ctx, "for-each-ref", "--count=1")
	_, headErr := r.user.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD")
	return err == nil && out == "" && exitedWith(headErr, 1)
}

// describe reads the facts of a commit through the clone.
func (r *Repository) describe(ctx context.Context, commit string) (Revision, error) {
	out, err := r.cache.line(ctx, "log", "-1", "--no-show-signature", "--no-color", "--format=%T%x00%cI%x00%s", commit)
	if err != nil {
		return Revision{}, fmt.Errorf("reading commit %s of %s: %w", commit, r.Root(), r.explainMissing(ctx, err, ""))
	}
	part := strings.SplitN(out, "\x00", 3)
	if len(part) != 3 {
		return Revision{}, fmt.Errorf("reading commit %s of %s: git printed %q", commit, r.Root(), out)
	}
	return Revision{Ref: commit, Commit: commit, Tree: part[0], Date: part[1], Subject: part[2]}, nil
}

// DefaultBase is the merge-base of head with the default branch: origin/HEAD,
// else main, else master, each first as a local branch and then as one of origin.
// On the default branch itself that is head, or HEAD if head is a snapshot.
// Errors: ErrNoDefaultBranch (a usage error: --base is needed), ErrNoMergeBase.
func (r *Repository) DefaultBase(ctx context.Context, head Revision) (Revision, error) {
	name, branch, err := r.defaultBranch(ctx)
	if err != nil {
		return Revision{}, err
	}
	base, err := r.cache.line(ctx, "merge-base", branch, head.Commit)
	if exitedWith(err, 1) {
		return Revision{}, r.noMergeBase(head, name)
	}
	if err != nil && r.shallow() {
		return Revision{}, errors.Join(r.noMergeBase(head, name), err)
	}
	if err != nil {
		return Revision{}, fmt.Errorf("finding the merge-base of %s and %s: %w", head.Ref, name, r.explainMissing(ctx, err, ""))
	}
	revision, err := r.describe(ctx, base)
	revision.Ref = "merge-base of " + name
	return revision, err
}

// defaultBranch returns the name and the commit of the default branch.
func (r *Repository) defaultBranch(ctx context.Context) (name, commit string, err error) {
	for _, ref := range []string{"refs/remotes/origin/HEAD", "refs/heads/main", "refs/remotes/origin/main", "refs/heads/master", "refs/remotes/origin/master"} {
		commit, err := r.user.line(ctx, "rev-parse", "--verify", "--quiet", ref+"^{commit}")
		if err != nil {
			if ctx.Err() != nil {
				return "", "", err
			}
			continue
		}
		if target, err := r.user.line(ctx, "symbolic-ref", "--quiet", ref); err == nil {
			ref = target
		}
		return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/remotes/"), commit, nil
	}
	if r.empty(ctx) {
		return "", "", r.noCommits()
	}
	return "", "", &Error{
		Code: ErrNoDefaultBranch, Text: r.Root() + " has no origin/HEAD, main or master branch to compare with",
		Remedy: "name the revision to compare with: --base REV",
	}
}

func (r *Repository) noMergeBase(head Revision, branch string) *Error {
	if r.shallow() {
		return &Error{
			Code: ErrNoMergeBase, Text: fmt.Sprintf("%s and %s have no common commit in %s, whose history is cut off (a shallow clone)", head.Ref, branch, r.Root()),
			Remedy: "get the whole history with `git fetch --unshallow`, or name the base: --base REV",
		}
	}
	return &Error{
		Code: ErrNoMergeBase, Text: fmt.Sprintf("%s and %s have no common commit in %s", head.Ref, branch, r.Root()),
		Remedy: "name the revision to compare with: --base REV",
	}
}

// shallow reports whether the repository's history is cut off.
func (r *Repository) shallow() bool {
	info, err := os.Stat(filepath.Join(r.commonDir, "shallow"))
	return err == nil && info.Size() > 0
}

// partial reports whether the repository was cloned with a filter.
func (r *Repository) partial(ctx context.Context) bool {
	out, err := r.user.line(ctx, "config", "--get-regexp", `^(remote\..*\.promisor|extensions\.partialclone)$`)
	return err == nil && out != ""
}

// explainMissing turns git's complaint about an object it cannot read into
// ErrMissingObject, with the paths that are missing in tree (empty: not known).
// Other errors are returned as they are.
func (r *Repository) explainMissing(ctx context.Context, err error, tree string) error {
	var failed *gitError
	if !errors.As(err, &failed) {
		return err
	}
	var paths []string
	if tree != "" {
		paths = r.missingPaths(ctx, tree)
	}
	lost := len(paths) > 0
	for _, text := range []string{"unable to read", "could not read", "bad object", "missing blob", "missing tree", "not a tree object", "failed to read", "Could not read", "bad tree object"} {
		lost = lost || strings.Contains(failed.stderr, text)
	}
	if !lost {
		return err
	}
	what := "an object"
	if len(paths) > 0 {
		what = quoteSome(paths)
	}
	missing := &Error{Code: ErrMissingObject, Text: fmt.Sprintf("%s lacks %s", r.Root(), what), Err: err}
	if r.partial(ctx) {
		missing.Text += " (it is a partial clone, and nothing is fetched unasked)"
		missing.Remedy = "fetch what is missing: `git fetch --refetch --no-filter`, or for one revision `git archive REV >/dev/null`"
	} else {
		missing.Remedy = "the repository is damaged: run `git fsck` there, then `git fetch` or a fresh clone"
	}
	return missing
}

// missingPaths lists the files of a tree whose content cannot be read, and the
// first folder whose listing cannot.
func (r *Repository) missingPaths(ctx context.Context, tree string) []string {
	entries, listErr := r.List(ctx, tree)
	if listErr != nil {
		return r.missingFolder(ctx, tree, "")
	}
	var input strings.Builder
	var paths []string
	for _, entry := range entries {
		if entry.Mode != ModeSubmodule {
			input.WriteString(entry.ID + "\n")
			paths = append(paths, entry.Path)
		}
	}
	out, err := r.cache.run(ctx, call{args: []string{"cat-file", "--batch-check=%(objecttype)"}, stdin: []byte(input.String())})
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || len(lines) != len(paths) {
		return nil
	}
	var missing []string
	for i, line := range lines {
		if strings.HasSuffix(line, " missing") {
			missing = append(missing, paths[i])
		}
	}
	return missing
}

// missingFolder finds the first folder below path whose listing is missing.
func (r *Repository) missingFolder(ctx context.Context, tree, path string) []string {
	items, err := r.cache.list(ctx, "ls-tree", "-z", tree)
	if err != nil {
		return []string{path + "/"}
	}
	for _, item := range items {
		entry, err := parseEntry(item)
		if err == nil && entry.Mode == modeFolder {
			if found := r.missingFolder(ctx, entry.ID, strings.TrimPrefix(path+"/"+entry.Path, "/")); found != nil {
				return found
			}
		}
	}
	return nil
}

// quoteSome names at most three of a list.
func quoteSome(names []string) string {
	const most = 3
	quoted := make([]string, 0, most)
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	text := strings.Join(quoted, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
