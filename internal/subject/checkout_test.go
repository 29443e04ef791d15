package subject

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestCheckoutIsTheTruth(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first",
		".gitattributes", "subst export-subst\nhidden export-ignore\n*.txt text eol=crlf\n*.bad text\n*.up filter=up\n",
		"subst", "$Format:%H$\n", "hidden", "h\n", "a.txt", "dos\n", "run", "r\n", "c.up", "up\n", "plain", "unix\n")
	if err := os.Chmod(f.path("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("absent target", f.path("link")); err != nil {
		t.Fatal(err)
	}
	// CRLF stored in a file that is declared text: git calls it modified for ever.
	f.commit("second")
	f.git("config", "core.autocrlf", "true")
	f.git("config", "filter.up.smudge", "tr a-z A-Z")
	f.git("config", "core.symlinks", "false")
	f.git("update-index", "--add", "--cacheinfo", "100644,"+hashObject(t, f, "crlf\r\n")+",x.bad")
	f.git("commit", "-q", "-m", "third")
	r := f.open()
	head := resolve(t, r, "HEAD")
	tree := checkout(t, r, head)
	wantFiles(t, tree.Dir, map[string]string{
		".gitattributes": "subst export-subst\nhidden export-ignore\n*.txt text eol=crlf\n*.bad text\n*.up filter=up\n",
		"subst":          "$Format:%H$\n", "hidden": "h\n", "a.txt": "dos\r\n", "run": "r\n (executable)", "c.up": "up\n", "plain": "unix\n",
		"link": "-> absent target", "x.bad": "crlf\r\n",
	})
	if got := runGit(t, tree.Dir, "rev-parse", "HEAD"); got != head.Commit {
		t.Errorf("HEAD of the tree is %s", got)
	}
	for name := range files(t, tree.Dir) {
		info, err := os.Lstat(filepath.Join(tree.Dir, name))
		if err != nil || info.Mode()&fs.ModeSymlink == 0 && !info.ModTime().Equal(treeTime()) {
			t.Errorf("time of %s: %v, %v", name, info.ModTime(), err)
		}
	}
	if content, err := fs.ReadFile(tree.FS(), "plain"); err != nil || string(content) != "unix\n" {
		t.Errorf("FS: %q, %v", content, err)
	}
	first := checkout(t, r, resolve(t, r, "HEAD~2"))
	if len(first.Dir) != len(tree.Dir) || first.Dir == tree.Dir {
		t.Errorf("paths %s and %s", first.Dir, tree.Dir)
	}
	wantSame(t, tree.Dir, checkout(t, r, head).Dir)
}

func hashObject(t *testing.T, f fixture, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x")
	put(t, path, content)
	return f.git("hash-object", "-w", "--no-filters", path)
}

// wantSame fails if b is another folder than a.
func wantSame(t *testing.T, a, b string) {
	t.Helper()
	if a != b {
		t.Errorf("paths %s and %s", a, b)
	}
}

func TestCheckoutReusesOrMakesAnew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", "a", "1\n", "dir/b", "2\n", ".gitignore", "*.o\n")
	if err := os.Symlink("a", f.path("link")); err != nil {
		t.Fatal(err)
	}
	f.commit("second")
	r := f.open()
	head := resolve(t, r, "HEAD")
	want := map[string]string{"a": "1\n", "dir/b": "2\n", ".gitignore": "*.o\n", "link": "-> a"}
	for name, tamper := range map[string]func(dir string) error{
		"nothing": nil,
		"edit":    func(dir string) error { return os.WriteFile(filepath.Join(dir, "a"), []byte("9\n"), 0o644) },
		"extra":   func(dir string) error { return os.WriteFile(filepath.Join(dir, "dir", "c"), nil, 0o644) },
		"ignored": func(dir string) error { return os.WriteFile(filepath.Join(dir, "x.o"), nil, 0o644) },
		"delete":  func(dir string) error { return os.Remove(filepath.Join(dir, "dir", "b")) },
		"mode":    func(dir string) error { return os.Chmod(filepath.Join(dir, "a"), 0o755) },
		"relinked": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "link")), os.Symlink("dir/b", filepath.Join(dir, "link")))
		},
		"no sum":   func(dir string) error { return os.Remove(dir + sumSuffix) },
		"half sum": func(dir string) error { return os.Truncate(dir+sumSuffix, 10) },
		"gone":     os.RemoveAll,
	} {
		tree := checkout(t, r, head)
		marker, err := os.Open(tree.Dir) // keeps the inode from being used again
		if err != nil {
			t.Fatal(err)
		}
		before, err := marker.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if tamper != nil {
			if err := tamper(tree.Dir); err != nil {
				t.Fatal(err)
			}
		}
		wantSame(t, tree.Dir, checkout(t, r, head).Dir)
		wantFiles(t, tree.Dir, want)
		after, err := os.Stat(tree.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if os.SameFile(before, after) != (tamper == nil) {
			t.Errorf("%s: reused is %v", name, os.SameFile(before, after))
		}
		if err := marker.Close(); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(filepath.Join(r.home, tmpDir))
	if err != nil || len(left) > 0 {
		t.Errorf("left in tmp: %v, %v", left, err)
	}
}

func TestCheckoutSurvivesGarbageCollectionAndMoves(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", "a", "1\n")
	lost := f.commit("lost", "a", "2\n")
	cache := t.TempDir()
	r, err := Open(t.Context(), f.dir, cache)
	if err != nil {
		t.Fatal(err)
	}
	gone := resolve(t, r, lost)
	tree := checkout(t, r, gone)
	f.git("reset", "-q", "--hard", "HEAD~1")
	f.git("reflog", "expire", "--expire=now", "--all")
	f.git("gc", "-q", "--prune=now")
	wantSame(t, tree.Dir, checkout(t, r, gone).Dir)
	if err := os.RemoveAll(tree.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err = r.Checkout(t.Context(), gone); err == nil {
		t.Error("a tree that no longer exists was checked out")
	}
	wantError(t, err, ErrMissingObject, "git fsck")
	_, err = r.Resolve(t.Context(), lost)
	wantError(t, err, ErrUnknownRevision)
	later := f.commit("later", "a", "3\n")
	wantFiles(t, checkout(t, r, resolve(t, r, later)).Dir, map[string]string{"a": "3\n"})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	moved := fixture{t, filepath.Join(t.TempDir(), "moved")}
	if err := os.Rename(f.dir, moved.dir); err != nil {
		t.Fatal(err)
	}
	again := moved.openAt(".", cache)
	wantFiles(t, checkout(t, again, resolve(t, again, later)).Dir, map[string]string{"a": "3\n"})

	// Another repository in the old place, and a damaged clone.
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f.git("init", "-q", "-b", "main")
	f.commit("other", "b", "b\n")
	if err := os.RemoveAll(filepath.Join(r.Clone(), "HEAD")); err != nil {
		t.Fatal(err)
	}
	other := f.openAt(".", cache)
	wantFiles(t, checkout(t, other, resolve(t, other, "main")).Dir, map[string]string{"b": "b\n"})
}

func TestAlternates(t *testing.T) {
	t.Parallel()
	origin := newFixture(t)
	origin.commit("first", "a", "1\n")
	f := fixture{t, filepath.Join(t.TempDir(), "borrower")}
	runGit(t, origin.dir, "clone", "-q", "--shared", origin.dir, f.dir)
	origin.watch()
	r := f.open()
	wantFiles(t, checkout(t, r, resolve(t, r, "origin/main")).Dir, map[string]string{"a": "1\n"})
}

func TestPartialClone(t *testing.T) {
	t.Parallel()
	origin := newFixture(t)
	origin.git("config", "uploadpack.allowFilter", "true")
	origin.commit("first", "docs/big ü.bin", "old\n", "code", "1\n")
	origin.commit("second", "docs/big ü.bin", "new\n", "code", "2\n")
	origin.watch()
	for filter, says := range map[string]string{"blob:none": "docs/big ü.bin", "tree:0": "/"} {
		t.Run(filter, func(t *testing.T) {
			t.Parallel()
			f := fixture{t, filepath.Join(t.TempDir(), "partial")}
			runGit(t, origin.dir, "clone", "-q", "--filter="+filter, "file://"+origin.dir, f.dir)
			f.write("code", "3\n")
			r := f.open()
			wantFiles(t, checkout(t, r, resolve(t, r, "HEAD")).Dir, map[string]string{"docs/big ü.bin": "new\n", "code": "2\n"})
			wantFiles(t, checkout(t, r, resolve(t, r, WorkTree)).Dir, map[string]string{"docs/big ü.bin": "new\n", "code": "3\n"})
			base, err := r.DefaultBase(t.Context(), resolve(t, r, "HEAD~1"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Checkout(t.Context(), base)
			wantError(t, err, ErrMissingObject, says, "partial clone", "git fetch")
			_, err = r.Diff(t.Context(), base.Tree, resolve(t, r, "HEAD").Tree)
			wantError(t, err, ErrMissingObject, says)
			_, err = r.Resolve(t.Context(), strings.Repeat("1", 40))
			wantError(t, err, ErrUnknownRevision)
		})
	}
}

// The index of a partial clone may name files that it never fetched.
func TestPartialCloneWithoutCheckout(t *testing.T) {
	t.Parallel()
	origin := newFixture(t)
	origin.git("config", "uploadpack.allowFilter", "true")
	origin.commit("first", "code", "1\n", "other", "2\n")
	f := fixture{t, filepath.Join(t.TempDir(), "partial")}
	runGit(t, origin.dir, "clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+origin.dir, f.dir)
	f.git("read-tree", "HEAD")
	f.write("code", "3\n")
	origin.watch()
	r := f.open()
	wantFiles(t, checkout(t, r, resolve(t, r, WorkTree)).Dir, map[string]string{"code": "3\n"})
	for name, g := range map[string]git{"user": r.user, "clone": r.cache} {
		if out, err := g.line(t.Context(), "cat-file", "blob", "HEAD:other"); err == nil {
			t.Errorf("%s: a missing file was fetched: %q", name, out)
		}
	}
}

func TestDamagedRepository(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", "a", "1\n", "dir/lost file", "2\n")
	id := f.git("rev-parse", "HEAD:dir/lost file")
	if err := os.Remove(f.path(".git/objects/" + id[:2] + "/" + id[2:])); err != nil {
		t.Fatal(err)
	}
	r := f.open()
	head := resolve(t, r, "HEAD")
	_, err := r.Checkout(t.Context(), head)
	wantError(t, err, ErrMissingObject, "dir/lost file", "git fsck")
	_, err = r.ReadFile(t.Context(), head.Tree, "dir/lost file")
	wantError(t, err, ErrMissingObject, "dir/lost file")
	// Without the file the rest can be used.
	_, tree, err := r.Derive(t.Context(), head, []Edit{{Path: "dir/lost file", Remove: true}}, "leave out")
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, tree.Dir, map[string]string{"a": "1\n"})
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC},
		&gitError{command: "read-tree", exit: 128, stderr: "fatal: cannot write: No space left on device\n"},
	} {
		wantError(t, explainSpace(err, "/cache"), ErrNoSpace, "/cache", "assay runs rm")
	}
	if err := explainSpace(fs.ErrExist, "/cache"); !errors.Is(err, fs.ErrExist) || errors.Is(err, ErrNoSpace) {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", "a", "1\n")
	f.commit("second", "a", "2\n")
	f.write("a", "3\n")
	f.watch()
	cache := t.TempDir()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			r, err := Open(t.Context(), f.dir, cache)
			if err != nil {
				t.Error(err)
				return
			}
			for ref, want := range map[string]string{"HEAD~1": "1\n", "HEAD": "2\n", WorkTree: "3\n"} {
				revision, err := r.Resolve(t.Context(), ref)
				if err != nil {
					t.Error(err)
					continue
				}
				tree, err := r.Checkout(t.Context(), revision)
				if err != nil {
					t.Error(err)
					continue
				}
				if got, err := os.ReadFile(filepath.Join(tree.Dir, "a")); err != nil || string(got) != want {
					t.Errorf("%s: %q, %v", ref, got, err)
				}
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", "a", "1\n")
	r := f.open()
	head := resolve(t, r, "HEAD")
	unlock, err := r.change(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Checkout(ctx, head); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("locked: got %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Resolve(ctx, WorkTree); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("snapshot: got %v", err)
	}
	checkout(t, r, head)
}
