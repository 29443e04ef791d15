package subject

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDerive(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", ".gitattributes", "* text eol=crlf\n", "kept", "k\n", "gone", "g\n", "dir/in", "d\n", "file", "f\n", "mode", "m\n", "same", "k\n")
	r := f.open()
	base := resolve(t, r, "HEAD")
	edits := []Edit{
		{Path: "new/ü file", Content: []byte("raw\r\nbytes\x00\n")},
		{Path: "gone", Remove: true}, {Path: "never was", Remove: true},
		{Path: "dir", Content: []byte("a file now\n")},
		{Path: "file/below", Content: []byte("a folder now\n")},
		{Path: "mode", Content: []byte("m\n"), Mode: ModeExecutable},
		{Path: "link", Content: []byte("kept"), Mode: ModeSymlink},
		{Path: "same", Content: []byte("k\n")},
		{Path: "empty", Content: nil},
	}
	derived, tree, err := r.Derive(t.Context(), base, edits, "harness of head\n\nonto base")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := r.List(t.Context(), derived.Tree)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, entry := range entries {
		content, err := r.ReadFile(t.Context(), derived.Tree, entry.Path)
		if err != nil {
			t.Fatal(err)
		}
		got[entry.Path] = string(entry.Mode) + " " + string(content)
	}
	if diff := cmp.Diff(map[string]string{
		".gitattributes": "100644 * text eol=crlf\n", "kept": "100644 k\n", "new/ü file": "100644 raw\r\nbytes\x00\n", "dir": "100644 a file now\n",
		"file/below": "100644 a folder now\n", "mode": "100755 m\n", "link": "120000 kept", "same": "100644 k\n", "empty": "100644 ",
	}, got); diff != "" {
		t.Errorf("derived tree (-want +got):\n%s", diff)
	}
	if derived.Ref != "HEAD" || derived.Dirty || derived.Subject != "harness of head" || len(tree.Dir) != len(checkout(t, r, base).Dir) {
		t.Errorf("got %+v in %s", derived, tree.Dir)
	}
	if target, err := os.Readlink(filepath.Join(tree.Dir, "link")); err != nil || target != "kept" {
		t.Errorf("link: %q, %v", target, err)
	}

	// The same in another cache, and for a reviewer.
	again, _, err := f.open().Derive(t.Context(), base, edits, "harness of head\n\nonto base")
	if err != nil || again.Commit != derived.Commit {
		t.Errorf("in another cache: %s, then %s, %v", derived.Commit, again.Commit, err)
	}
	reviewer := fixture{t, filepath.Join(t.TempDir(), "reviewer")}
	runGit(t, f.dir, "clone", "-q", "file://"+f.dir, reviewer.dir)
	reviewer.git("fetch", "-q", r.Clone(), derived.Commit)
	if parent := reviewer.git("rev-parse", "FETCH_HEAD^"); parent != base.Commit {
		t.Errorf("parent %s", parent)
	}
	reviewer.git("fsck", "--strict", derived.Commit)

	same, tree, err := r.Derive(t.Context(), base, []Edit{{Path: "same", Content: []byte("k\n")}}, "nothing")
	if err != nil || same.Commit != base.Commit || tree.Dir != checkout(t, r, base).Dir {
		t.Errorf("no effect: got %+v, %v", same, err)
	}
	for _, bad := range []string{"../x", ".git/config", "/abs", "a//b", ""} {
		if _, _, err := r.Derive(t.Context(), base, []Edit{{Path: bad, Content: []byte("x")}}, "bad"); err == nil {
			t.Errorf("path %q was accepted", bad)
		}
	}
}

func TestScratch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", ".gitignore", "*.gen\n", "go.mod", "module m\n", "old", "o\n", "dir/x", "x\n")
	f.git("config", "core.excludesFile", f.path(".gitignore"))
	r := f.open()
	base := resolve(t, r, "HEAD")
	s, err := r.Scratch(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := s.Revision(t.Context(), "prepare"); err != nil || same.Commit != base.Commit {
		t.Errorf("unchanged: got %+v, %v", same, err)
	}
	if got := runGit(t, s.Dir, "rev-parse", "HEAD"); got != base.Commit {
		t.Errorf("HEAD of the copy is %s", got)
	}
	put(t, filepath.Join(s.Dir, "go.mod"), "module n\n")
	put(t, filepath.Join(s.Dir, "made.gen"), "generated\n")
	if err := errors.Join(os.Remove(filepath.Join(s.Dir, "old")), os.Chmod(filepath.Join(s.Dir, "dir"), 0o555)); err != nil {
		t.Fatal(err)
	}
	prepared, err := s.Revision(t.Context(), "prepare")
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Revision(t.Context(), "prepare")
	if err != nil || again.Commit != prepared.Commit {
		t.Errorf("again: got %+v, %v", again, err)
	}
	if prepared.Dirty || prepared.Ref != "HEAD" {
		t.Errorf("got %+v", prepared)
	}
	wantFiles(t, checkout(t, r, prepared).Dir, map[string]string{".gitignore": "*.gen\n", "go.mod": "module n\n", "made.gen": "generated\n", "dir/x": "x\n"})
	other, err := r.Scratch(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	if other.Dir == s.Dir {
		t.Error("two scratch copies share a folder")
	}
	if err := errors.Join(s.Close(), other.Close()); err != nil {
		t.Error(err)
	}
	if exists(s.Dir) {
		t.Error("the scratch copy is still there")
	}
	wantFiles(t, checkout(t, r, base).Dir, map[string]string{".gitignore": "*.gen\n", "go.mod": "module m\n", "old": "o\n", "dir/x": "x\n"})
}

func TestDiff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", "a ü", "1\n2\n", "bin", "\x00\x01", "moved", strings.Repeat("m\n", 50), "sub/x", "x\n", "attr", "1\n", ".gitattributes", "attr -diff\n")
	f.git("mv", "moved", "renamed")
	f.commit("second", "a ü", "1\n3\n", "bin", "\x00\x02", "sub/y", "y\n", "attr", "2\n")
	for key, value := range map[string]string{
		"diff.noprefix": "true", "diff.renames": "copies", "color.ui": "always", "color.diff": "always", "diff.external": "false",
		"core.quotePath": "true", "diff.mnemonicPrefix": "true", "diff.context": "0", "log.showSignature": "true", "diff.algorithm": "patience",
	} {
		f.git("config", key, value)
	}
	r := f.open()
	base, head := resolve(t, r, "HEAD~1"), resolve(t, r, "HEAD")
	d, err := r.Diff(t.Context(), base.Tree, head.Tree)
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{{"a ü", "M"}, {"attr", "M"}, {"bin", "M"}, {"moved", "D"}, {"renamed", "A"}, {"sub/y", "A"}}
	if diff := cmp.Diff(want, d.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if !strings.Contains(d.Stat, "a ü") || !strings.Contains(d.Stat, "6 files changed") {
		t.Errorf("stat:\n%s", d.Stat)
	}
	for _, says := range []string{"--- a/a ü", "+++ b/a ü", "GIT binary patch", "\n-2\n+3\n"} {
		if !strings.Contains(string(d.Patch), says) {
			t.Errorf("the patch does not say %q", says)
		}
	}
	// The patch turns base into head.
	other := fixture{t, filepath.Join(t.TempDir(), "other")}
	runGit(t, f.dir, "clone", "-q", "file://"+f.dir, other.dir)
	other.git("checkout", "-q", base.Commit)
	patch := filepath.Join(t.TempDir(), "graft.patch")
	put(t, patch, string(d.Patch))
	other.git("apply", "--index", patch)
	if tree := other.git("write-tree"); tree != head.Tree {
		t.Errorf("patched tree %s, want %s", tree, head.Tree)
	}

	narrow, err := r.Diff(t.Context(), base.Tree, head.Tree, "sub", "a *")
	if err != nil || len(narrow.Changes) != 1 || narrow.Changes[0].Path != "sub/y" {
		t.Errorf("narrowed: %v, %v", narrow.Changes, err)
	}
	none, err := r.Diff(t.Context(), base.Tree, base.Tree)
	if err != nil || len(none.Changes) != 0 || none.Stat != "" || len(none.Patch) != 0 {
		t.Errorf("same: %+v, %v", none, err)
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", "-dash", "d\n", "sub/:odd *", "o\n", "a", "no newline")
	r := f.open()
	tree := resolve(t, r, "HEAD").Tree
	for path, want := range map[string]string{"-dash": "d\n", "sub/:odd *": "o\n", "a": "no newline"} {
		if got, err := r.ReadFile(t.Context(), tree, path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{"b", "sub", "a/b", "sub/*"} {
		if _, err := r.ReadFile(t.Context(), tree, path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

func TestLogTouching(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.commit("base", "a", "1\n")
	f.commit("other", "b", "1\n")
	second := f.commit("second ü", "a", "2\n")
	third := f.commit("third", "a", "3\n")
	r := f.open()
	got, err := r.LogTouching(t.Context(), base, third, []string{"a"}, 10)
	if diff := cmp.Diff([]Commit{{third, "third"}, {second, "second ü"}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = r.LogTouching(t.Context(), base, third, []string{"a"}, 1)
	if err != nil || len(got) != 1 {
		t.Errorf("limited: %v, %v", got, err)
	}
	got, err = r.LogTouching(t.Context(), base, third, []string{"absent"}, 5)
	if err != nil || len(got) != 0 {
		t.Errorf("absent: %v, %v", got, err)
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	if pruned, err := Prune(t.Context(), filepath.Join(cache, "absent"), nil); err != nil || pruned != (Pruned{}) {
		t.Errorf("absent: %+v, %v", pruned, err)
	}
	f, _ := withSubmodules(t)
	f.commit("second", "a", "2\n")
	open := func() *Repository {
		r, err := Open(t.Context(), f.dir, cache)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := open()
	first, second := checkout(t, r, resolve(t, r, "HEAD~1")), checkout(t, r, resolve(t, r, "HEAD"))
	prune := func(keep []string, want Pruned) {
		t.Helper()
		if pruned, err := Prune(t.Context(), cache, keep); err != nil || pruned != want {
			t.Errorf("got %+v, %v, want %+v", pruned, err, want)
		}
	}
	prune([]string{first.Dir, second.Dir}, Pruned{Busy: 1})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	prune([]string{first.Dir}, Pruned{Trees: 1})
	if exists(second.Dir) || !exists(first.Dir) || exists(second.Dir+sumSuffix) {
		t.Error("the wrong tree was removed")
	}
	// The kept tree's submodules still have their clones.
	runGit(t, filepath.Join(first.Dir, "libs/sub dir/inner"), "rev-parse", "HEAD")
	prune(nil, Pruned{Trees: 1, Clones: 3})
	if left, err := os.ReadDir(filepath.Join(cache, clonesDir)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	r = open()
	wantSame(t, first.Dir, checkout(t, r, resolve(t, r, "HEAD~1")).Dir)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
