package subject

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenFindsRepository(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "with space", "ünïcode", "-dash", "quote\"d", "new\nline", "#hash", "a:b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.commit("first", "sub/dir/a.txt", "a\n")
			moved := filepath.Join(t.TempDir(), name)
			if err := os.Rename(f.dir, moved); err != nil {
				t.Skip(err)
			}
			f.dir = moved
			r := f.openAt("sub/dir", filepath.Join(t.TempDir(), "cache "+strings.ReplaceAll(name, "\n", "")))
			if r.Rel() != "sub/dir" || r.Root() != f.dir {
				t.Errorf("root %q, rel %q", r.Root(), r.Rel())
			}
			tree := checkout(t, r, resolve(t, r, "HEAD"))
			wantFiles(t, tree.Dir, map[string]string{"sub/dir/a.txt": "a\n"})
		})
	}
}

func TestOpenBareWorktreeAndSHA256(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.commit("first", "a", "1\n")
	f.git("branch", "other")
	bare := fixture{t, filepath.Join(t.TempDir(), "bare.git")}
	runGit(t, f.dir, "clone", "-q", "--bare", f.dir, bare.dir)
	linked := fixture{t, filepath.Join(t.TempDir(), "linked")}
	f.git("worktree", "add", "-q", linked.dir, "other")
	linked.commit("second", "a", "2\n")
	linked.write("b", "dirty\n")
	f.watch()

	r := bare.open()
	if r.Root() != bare.dir || r.Rel() != "." {
		t.Errorf("bare: root %q, rel %q", r.Root(), r.Rel())
	}
	wantFiles(t, checkout(t, r, resolve(t, r, "main")).Dir, map[string]string{"a": "1\n"})
	_, err := r.Resolve(t.Context(), WorkTree)
	wantError(t, err, ErrNoWorkTree)

	r = linked.open()
	wantFiles(t, checkout(t, r, resolve(t, r, "HEAD")).Dir, map[string]string{"a": "2\n"})
	wantFiles(t, checkout(t, r, resolve(t, r, WorkTree)).Dir, map[string]string{"a": "2\n", "b": "dirty\n"})

	f256 := newFixture(t, "--object-format=sha256")
	commit := f256.commit("first", "a", "1\n")
	f256.write("b", "new\n")
	r = f256.open()
	head := resolve(t, r, "HEAD")
	if head.Commit != commit || len(head.Tree) != 64 {
		t.Errorf("sha256: got %+v", head)
	}
	wantFiles(t, checkout(t, r, resolve(t, r, WorkTree)).Dir, map[string]string{"a": "1\n", "b": "new\n"})
	derived, _, err := r.Derive(t.Context(), head, []Edit{{Path: "a", Remove: true}}, "m")
	if err != nil || len(derived.Tree) != 64 {
		t.Errorf("sha256: derived %+v, %v", derived, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), t.TempDir(), t.TempDir())
	wantError(t, err, ErrNotRepository, "git init")
	_, err = Open(t.Context(), filepath.Join(t.TempDir(), "absent"), t.TempDir())
	wantError(t, err, ErrNotRepository, "absent")

	f := newFixture(t)
	f.commit("first")
	f.watch()
	for _, inside := range []string{"cache", ".git/cache"} {
		_, err = Open(t.Context(), f.dir, f.path(inside))
		wantError(t, err, ErrCacheInRepository, "XDG_CACHE_HOME")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(f.dir, link); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), f.dir, filepath.Join(link, "deep", "cache"))
	wantError(t, err, ErrCacheInRepository)
}

func TestOpenForeignOwner(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can give a folder to another user")
	}
	f := newFixture(t)
	f.commit("first")
	for _, dir := range []string{f.dir, f.path(".git")} {
		if err := os.Chown(dir, 12345, 12345); err != nil {
			t.Skip(err)
		}
	}
	f.watch()
	_, err := Open(t.Context(), f.dir, t.TempDir())
	wantError(t, err, ErrForeignOwner, "git config --global --add safe.directory "+f.dir)
}

func TestNoGit(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Open(t.Context(), t.TempDir(), t.TempDir())
	wantError(t, err, ErrNoGit, "install git")
}

func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"git version 2.39.5", "git version 2.32.0 (Apple Git-154)", "git version 3.0.rc1"} {
		if err := checkVersion(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"git version 1.8.3", "git version 2.31.9", "something"} {
		wantError(t, checkVersion(bad), ErrOldGit)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.commit("first ünïcode", "a", "1\n")
	second := f.commit("second", "a", "2\n")
	f.git("tag", "-a", "-m", "annotated", "v1", first)
	f.git("branch", "both", first)
	f.git("tag", "both", second)
	f.git("update-ref", "refs/heads/-dash", first)
	f.git("replace", second, first)
	r := f.open()
	for _, c := range []struct{ ref, commit string }{
		{"HEAD", second}, {"main", second}, {"HEAD~1", first}, {"v1", first}, {first, first}, {first[:10], first}, {"-dash", first}, {"main@{0}", second},
	} {
		if got := resolve(t, r, c.ref); got.Commit != c.commit || got.Ref != c.ref {
			t.Errorf("%s: got %+v, want %s", c.ref, got, c.commit)
		}
	}
	got := resolve(t, r, first)
	want := Revision{Ref: first, Commit: first, Tree: f.git("rev-parse", first+"^{tree}"), Subject: "first ünïcode", Date: "2020-01-02T03:04:05Z"}
	if got.Ref != want.Ref || got.Tree != want.Tree || got.Subject != want.Subject || !strings.HasPrefix(got.Date, "2020-01-02T03:04:05") || got.Dirty {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := resolve(t, r, second); got.Tree == want.Tree {
		t.Error("a replaced commit was followed")
	}
	wantWarning(t, resolve(t, r, "both").Warnings, WarnAmbiguousRef, "refs/heads/both")
	for _, bad := range []string{"nope", "", "HEAD:a", "HEAD^{tree}", "--all", strings.Repeat("1", 40), "HEAD~99", "a\nb"} {
		_, err := r.Resolve(t.Context(), bad)
		wantError(t, err, ErrUnknownRevision)
	}
}

func TestNoCommits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("a", "new\n")
	r := f.open()
	_, err := r.Resolve(t.Context(), "HEAD")
	wantError(t, err, ErrNoCommits, "commit")
	head := resolve(t, r, WorkTree)
	wantFiles(t, checkout(t, r, head).Dir, map[string]string{"a": "new\n"})
	_, err = r.DefaultBase(t.Context(), head)
	wantError(t, err, ErrNoCommits)
}

func TestDefaultBase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		make func(f fixture) (base, ref string) // leaves HEAD where head is
		code Code
		says string
	}{
		{name: "main", make: func(f fixture) (string, string) {
			base := f.commit("base")
			f.git("switch", "-q", "-c", "feature")
			f.commit("work")
			f.git("update-ref", "refs/heads/master", "HEAD")
			return base, "merge-base of main"
		}},
		{name: "on main", make: func(f fixture) (string, string) {
			f.commit("base")
			return f.commit("work"), "merge-base of main"
		}},
		{name: "master", make: func(f fixture) (string, string) {
			base := f.commit("base")
			f.git("branch", "-m", "main", "master")
			f.git("switch", "-q", "-c", "feature")
			f.commit("work")
			return base, "merge-base of master"
		}},
		{name: "origin HEAD wins", make: func(f fixture) (string, string) {
			base := f.commit("base")
			f.git("update-ref", "refs/remotes/origin/trunk", base)
			f.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
			f.commit("work")
			return base, "merge-base of origin/trunk"
		}},
		{name: "origin HEAD dangles", make: func(f fixture) (string, string) {
			f.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")
			return f.commit("base"), "merge-base of main"
		}},
		{name: "only a remote main", make: func(f fixture) (string, string) {
			base := f.commit("base")
			f.git("update-ref", "refs/remotes/origin/main", base)
			f.git("branch", "-m", "main", "feature")
			f.commit("work")
			return base, "merge-base of origin/main"
		}},
		{name: "none", code: ErrNoDefaultBranch, says: "--base", make: func(f fixture) (string, string) {
			f.commit("base")
			f.git("branch", "-m", "main", "feature")
			return "", ""
		}},
		{name: "unrelated", code: ErrNoMergeBase, says: "--base", make: func(f fixture) (string, string) {
			f.commit("base")
			f.git("switch", "-q", "--orphan", "feature")
			f.commit("work")
			return "", ""
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			want, ref := c.make(f)
			f.write("dirty", "1\n")
			r := f.open()
			for _, head := range []string{"HEAD", WorkTree} {
				base, err := r.DefaultBase(t.Context(), resolve(t, r, head))
				if c.code != "" {
					wantError(t, err, c.code, c.says)
				} else if err != nil || base.Commit != want || base.Ref != ref {
					t.Errorf("%s: got %+v, %v, want %s", head, base, err, want)
				}
			}
		})
	}
}

func TestShallowClone(t *testing.T) {
	t.Parallel()
	origin := newFixture(t)
	origin.commit("0", "a", "0\n")
	fork := origin.commit("1", "a", "1\n")
	origin.git("switch", "-q", "-c", "feature")
	origin.commit("2", "b", "2\n")
	origin.git("switch", "-q", "main")
	origin.commit("3", "a", "3\n")
	shallow := func(depth string) fixture {
		f := fixture{t, filepath.Join(t.TempDir(), "shallow")}
		runGit(t, origin.dir, "clone", "-q", "--depth", depth, "--no-single-branch", "--branch", "feature", "file://"+origin.dir, f.dir)
		return f
	}
	f := shallow("1")
	r := f.open()
	head := resolve(t, r, "HEAD")
	_, err := r.DefaultBase(t.Context(), head)
	wantError(t, err, ErrNoMergeBase, "git fetch --unshallow", "--base")
	wantFiles(t, checkout(t, r, head).Dir, map[string]string{"a": "1\n", "b": "2\n"})
	// A derived commit of a shallow clone can still be fetched by a reviewer.
	derived, _, err := r.Derive(t.Context(), head, []Edit{{Path: "c", Content: []byte("c")}}, "graft")
	if err != nil {
		t.Fatal(err)
	}
	reviewer := shallow("1")
	reviewer.git("fetch", "-q", r.Clone(), derived.Commit)

	r = shallow("2").open()
	base, err := r.DefaultBase(t.Context(), resolve(t, r, "HEAD"))
	if err != nil || base.Commit != fork {
		t.Errorf("deep enough: got %+v, %v, want %s", base, err, fork)
	}
}
