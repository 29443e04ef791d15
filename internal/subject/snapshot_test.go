package subject

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// addAll is the oracle of a snapshot: the tree that `git add -A` makes in a copy.
func addAll(t *testing.T, f fixture) string {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", f.dir, clone).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	runGit(t, clone, "add", "-A")
	return runGit(t, clone, "write-tree")
}

// dirty changes a committed repository in every way a working tree can differ.
func dirty(t *testing.T, f fixture) {
	t.Helper()
	f.write(".git/info/exclude", "excluded\n")
	f.commit("first", ".gitignore", "*.o\n", "kept", "k\n", "edited", "1\n", "gone", "g\n", "moved", "m\n", "mode", "x\n",
		"file", "f\n", "dir/in", "d\n", "cached", "c\n", "staged", "s\n", "forced.o", "o\n", "link", "l\n")
	f.git("add", "-f", "forced.o")
	f.git("commit", "-q", "--amend", "--no-edit")
	f.write("edited", "2\n", "untracked file", "u\n", "sub/ünï", "u\n", "ignored.o", "i\n", "excluded", "e\n", "forced.o", "changed\n", "intent", "later\n", "staged", "t\n")
	f.git("add", "staged")
	f.write("staged", "u\n")
	f.git("add", "-N", "intent")
	f.git("mv", "moved", "renamed")
	f.git("rm", "-q", "--cached", "cached")
	for _, err := range []error{
		os.Remove(f.path("gone")), os.Chmod(f.path("mode"), 0o755),
		os.Remove(f.path("file")), os.MkdirAll(f.path("file"), 0o755), os.WriteFile(f.path("file/now a dir"), []byte("x"), 0o644),
		os.RemoveAll(f.path("dir")), os.WriteFile(f.path("dir"), []byte("now a file"), 0o644),
		os.Remove(f.path("link")), os.Symlink("kept", f.path("link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSnapshotEqualsAddAll(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(f fixture){
		"plain":           func(fixture) {},
		"split index":     func(f fixture) { f.git("update-index", "--split-index") },
		"untracked cache": func(f fixture) { f.git("update-index", "--untracked-cache"); f.git("status") },
		"file mode off":   func(f fixture) { f.git("config", "core.fileMode", "false") },
		"autocrlf":        func(f fixture) { f.git("config", "core.autocrlf", "true"); f.write("edited", "dos\r\n") },
		"crlf in the index": func(f fixture) {
			f.git("config", "core.autocrlf", "false")
			f.write("staged", "dos\r\n")
			f.git("add", "staged")
			f.git("config", "core.autocrlf", "input")
			f.write("staged", "dos\r\nmore\r\n")
		},
		"clean filter": func(f fixture) {
			f.write(".gitattributes", "edited filter=up\n")
			f.git("config", "filter.up.clean", "tr a-z A-Z")
		},
		"excludes file": func(f fixture) {
			f.write(".git/mine", "sub\n")
			f.git("config", "core.excludesFile", f.path(".git/mine"))
		},
		"worktree config": func(f fixture) {
			f.git("config", "extensions.worktreeConfig", "true")
			f.git("config", "--worktree", "core.fileMode", "false")
		},
		"assume unchanged": func(f fixture) { f.git("update-index", "--assume-unchanged", "edited") },
		"no index":         func(f fixture) { _ = os.Remove(f.path(".git/index")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			dirty(t, f)
			prepare(f)
			want := addAll(t, f)
			r := f.openAt("sub", t.TempDir())
			head := resolve(t, r, WorkTree)
			if head.Tree != want {
				d, err := r.Diff(t.Context(), f.git("rev-parse", "HEAD^{tree}"), head.Tree)
				t.Errorf("got tree %s, want %s\n%s %v", head.Tree, want, d.Stat, err)
			}
			if !head.Dirty || head.Ref != WorkTree || head.Commit == "" {
				t.Errorf("got %+v", head)
			}
			again := f.open()
			if second := resolve(t, again, WorkTree); second.Commit != head.Commit {
				t.Errorf("snapshot of the same files in another cache: %s, then %s", head.Commit, second.Commit)
			}
			parent := runGit(t, r.Clone(), "rev-parse", head.Commit+"^")
			if parent != f.git("rev-parse", "HEAD") {
				t.Errorf("parent %s", parent)
			}
		})
	}
}

func TestSnapshotCleanIsHead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	commit := f.commit("first", "a", "1\n", ".gitignore", "out\n")
	f.write("out", "ignored\n")
	head := resolve(t, f.open(), WorkTree)
	if head.Dirty || head.Commit != commit || head.Ref != WorkTree {
		t.Errorf("got %+v", head)
	}
}

// A file that changed in the same instant as the index was written, to the same
// length, looks unchanged unless the index keeps its time.
func TestSnapshotSeesRacyEdit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", "a", "1\n")
	instant := time.Now().Add(-time.Hour).Truncate(time.Second)
	for _, step := range []func() error{
		func() error { return os.Chtimes(f.path("a"), instant, instant) },
		func() error {
			f.git("config", "core.trustctime", "false")
			f.git("update-index", "--refresh")
			return nil
		},
		func() error { return os.Chtimes(f.path(".git/index"), instant, instant) },
		func() error { return os.WriteFile(f.path("a"), []byte("2\n"), 0o644) },
		func() error { return os.Chtimes(f.path("a"), instant, instant) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	r := f.open()
	wantFiles(t, checkout(t, r, resolve(t, r, WorkTree)).Dir, map[string]string{"a": "2\n"})
}

func TestSnapshotSparse(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"--no-sparse-index", "--sparse-index"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.commit("first", "in/a", "1\n", "out/b", "1\n")
			f.git("sparse-checkout", "set", "--cone", option, "in")
			f.write("in/a", "2\n", "elsewhere/new", "n\n")
			r := f.open()
			wantFiles(t, checkout(t, r, resolve(t, r, WorkTree)).Dir, map[string]string{"in/a": "2\n", "out/b": "1\n", "elsewhere/new": "n\n"})
		})
	}
}

func TestSnapshotInAMerge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("base", "a", "0\n")
	f.git("switch", "-q", "-c", "other")
	f.commit("theirs", "a", "1\n")
	f.git("switch", "-q", "main")
	f.commit("ours", "a", "2\n")
	if _, err := tryGit(f.dir, "merge", "other"); err == nil {
		t.Fatal("the merge did not conflict")
	}
	r := f.open()
	got := files(t, checkout(t, r, resolve(t, r, WorkTree)).Dir)
	if !strings.Contains(got["a"], "<<<<<<<") {
		t.Errorf("got %q", got["a"])
	}
}

func TestSnapshotLeavesOutNestedRepository(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", "a", "1\n")
	runGit(t, f.dir, "init", "-q", "nested")
	f.write("nested/x", "x\n", "b", "2\n")
	r := f.open()
	head := resolve(t, r, WorkTree)
	wantWarning(t, head.Warnings, WarnNestedRepository, "nested/")
	wantFiles(t, checkout(t, r, head).Dir, map[string]string{"a": "1\n", "b": "2\n"})
}

func TestSnapshotLFS(t *testing.T) {
	t.Parallel()
	pointer := func(content string) string {
		cmd := exec.Command("sha256sum")
		cmd.Stdin = strings.NewReader(content)
		out, err := cmd.Output()
		if err != nil {
			t.Skip(err)
		}
		return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", out[:64], len(content))
	}
	f := newFixture(t)
	f.commit("first", ".gitattributes", "*.bin filter=lfs\n", "old.bin", pointer("old content"))
	f.git("config", "filter.lfs.clean", "touch .git/ran; cat")
	f.git("config", "filter.lfs.process", "touch .git/ran; false")
	f.git("config", "filter.lfs.required", "true")
	f.write("old.bin", "old content", "new.bin", "new content", "old2.bin", pointer("x"))
	r := f.open()
	head := resolve(t, r, WorkTree)
	tree := checkout(t, r, head)
	wantFiles(t, tree.Dir, map[string]string{
		".gitattributes": "*.bin filter=lfs\n", "old.bin": pointer("old content"), "new.bin": pointer("new content"), "old2.bin": pointer("x"),
	})
	wantWarning(t, tree.Warnings, WarnLFSPointer, "new.bin")
	wantWarning(t, checkout(t, r, head).Warnings, WarnLFSPointer, "old.bin")
}

func TestReadOnlyRepository(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", "a", "1\n")
	f.write("b", "2\n")
	chmod := func(file, dir os.FileMode) {
		for path := range fingerprint(t, f.dir) {
			mode := file
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				mode = dir
			}
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	chmod(0o444, 0o555)
	t.Cleanup(func() { chmod(0o644, 0o755) })
	r := f.open()
	wantFiles(t, checkout(t, r, resolve(t, r, WorkTree)).Dir, map[string]string{"a": "1\n", "b": "2\n"})
}

func TestSnapshotWithAWorkTreeRecordedAsSubmodule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", "a", "1\n")
	f.git("worktree", "add", "-q", "linked")
	f.commit("second")
	f.write("linked/a", "2\n")
	r := f.open()
	head := resolve(t, r, WorkTree)
	if head.Dirty {
		t.Errorf("got %+v", head)
	}
	tree := checkout(t, r, head)
	wantFiles(t, tree.Dir, map[string]string{"a": "1\n", "linked": "dir"})
	wantWarning(t, tree.Warnings, WarnSubmoduleEmpty, "linked")
}
