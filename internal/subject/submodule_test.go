package subject

import (
	"os"
	"path/filepath"
	"testing"
)

// withSubmodules is a repository with a submodule "libs/sub dir" that has itself
// a submodule "inner".
func withSubmodules(t *testing.T) (f, middle fixture) {
	t.Helper()
	inner := newFixture(t)
	inner.commit("inner", "i", "inner\n")
	middle = newFixture(t)
	middle.git("submodule", "--quiet", "add", "--name", "odd name", inner.dir, "inner")
	middle.commit("middle", "m", "middle\n")
	f = newFixture(t)
	f.git("submodule", "--quiet", "add", middle.dir, "libs/sub dir")
	f.git("submodule", "--quiet", "update", "--init", "--recursive")
	f.commit("top", "a", "top\n")
	return f, middle
}

func withModules(f fixture) string {
	content, err := os.ReadFile(f.path(".gitmodules"))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(content)
}

func TestSubmodules(t *testing.T) {
	t.Parallel()
	f, middle := withSubmodules(t)
	want := map[string]string{
		".gitmodules": withModules(f), "a": "top\n", "libs/sub dir/.gitmodules": withModules(middle), "libs/sub dir/m": "middle\n", "libs/sub dir/inner/i": "inner\n",
	}
	r := f.open()
	head := resolve(t, r, "HEAD")
	tree := checkout(t, r, head)
	wantFiles(t, tree.Dir, want)
	if len(tree.Warnings) > 0 {
		t.Errorf("warnings %v", tree.Warnings)
	}
	if clean := resolve(t, r, WorkTree); clean.Dirty || clean.Commit != head.Commit {
		t.Errorf("clean: got %+v", clean)
	}
	// A file changed in a submodule of the tree is seen.
	put(t, filepath.Join(tree.Dir, "libs/sub dir/inner/i"), "tampered\n")
	wantFiles(t, checkout(t, r, head).Dir, want)

	// The submodule's own repository is a repository like any other.
	sub, err := Open(t.Context(), f.path("libs/sub dir"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if sub.Root() != f.path("libs/sub dir") {
		t.Errorf("root %s", sub.Root())
	}
	wantFiles(t, checkout(t, sub, resolve(t, sub, "HEAD")).Dir, map[string]string{".gitmodules": withModules(middle), "m": "middle\n", "inner/i": "inner\n"})
	if err := sub.Close(); err != nil {
		t.Error(err)
	}

	_, _, err = r.Derive(t.Context(), head, []Edit{{Path: "libs/sub dir/m", Content: []byte("x")}}, "graft")
	wantError(t, err, ErrDirtySubmodule, "libs/sub dir")
}

func TestDirtySubmoduleIsPartOfWorkTree(t *testing.T) {
	t.Parallel()
	f, middle := withSubmodules(t)
	base := f.git("rev-parse", "HEAD")
	f.write("libs/sub dir/inner/i", "changed\n", "libs/sub dir/new", "n\n")
	cache := t.TempDir()
	r := f.openAt(".", cache)
	head := resolve(t, r, WorkTree)
	if !head.Dirty {
		t.Error("not dirty")
	}
	wantFiles(t, checkout(t, r, head).Dir, map[string]string{
		".gitmodules": withModules(f), "a": "top\n", "libs/sub dir/.gitmodules": withModules(middle), "libs/sub dir/m": "middle\n",
		"libs/sub dir/inner/i": "changed\n", "libs/sub dir/new": "n\n",
	})
	got, err := r.DefaultBase(t.Context(), head)
	if err != nil || got.Commit != base {
		t.Errorf("base %+v, %v", got, err)
	}
	if again := resolve(t, f.open(), WorkTree); again.Commit != head.Commit {
		t.Errorf("in another cache: %s, then %s", head.Commit, again.Commit)
	}
}

func TestSubmoduleMovedOnOrRemoved(t *testing.T) {
	t.Parallel()
	f, _ := withSubmodules(t)
	sub := fixture{t, f.path("libs/sub dir")}
	sub.commit("newer", "m", "newer\n")
	r := f.openAt(".", t.TempDir())
	got := files(t, checkout(t, r, resolve(t, r, WorkTree)).Dir)
	if got["libs/sub dir/m"] != "newer\n" {
		t.Errorf("got %v", got)
	}
	got = files(t, checkout(t, r, resolve(t, r, "HEAD")).Dir)
	if got["libs/sub dir/m"] != "middle\n" {
		t.Errorf("got %v", got)
	}

	gone, _ := withSubmodules(t)
	if err := os.RemoveAll(gone.path("libs")); err != nil {
		t.Fatal(err)
	}
	r = gone.open()
	wantFiles(t, checkout(t, r, resolve(t, r, WorkTree)).Dir, map[string]string{".gitmodules": withModules(gone), "a": "top\n"})
	// Its objects are still in the git folder.
	got = files(t, checkout(t, r, resolve(t, r, "HEAD")).Dir)
	if got["libs/sub dir/inner/i"] != "inner\n" {
		t.Errorf("got %v", got)
	}
}

func TestSubmoduleNotInitialisedOrIncomplete(t *testing.T) {
	t.Parallel()
	origin, middle := withSubmodules(t)
	plain := fixture{t, filepath.Join(t.TempDir(), "plain")}
	runGit(t, origin.dir, "clone", "-q", origin.dir, plain.dir)
	r := plain.open()
	tree := checkout(t, r, resolve(t, r, "HEAD"))
	wantFiles(t, tree.Dir, map[string]string{".gitmodules": withModules(origin), "a": "top\n", "libs/sub dir": "dir"})
	wantWarning(t, tree.Warnings, WarnSubmoduleEmpty, "libs/sub dir", "git submodule update --init")
	if head := resolve(t, r, WorkTree); head.Dirty {
		t.Errorf("got %+v", head)
	}

	// A commit recorded that the submodule's repository has not fetched.
	lacking := fixture{t, filepath.Join(t.TempDir(), "lacking")}
	runGit(t, origin.dir, "clone", "-q", origin.dir, lacking.dir)
	lacking.git("submodule", "--quiet", "update", "--init")
	newer := middle.commit("newer", "m", "newer\n")
	lacking.git("update-index", "--cacheinfo", "160000,"+newer+",libs/sub dir")
	lacking.git("commit", "-q", "-m", "bump")
	r = lacking.open()
	_, err := r.Checkout(t.Context(), resolve(t, r, "HEAD"))
	wantError(t, err, ErrMissingSubmodule, "libs/sub dir", newer, "fetch origin")

	// A recorded commit that no .gitmodules names, as in many old repositories.
	stray := newFixture(t)
	stray.git("update-index", "--add", "--cacheinfo", "160000,"+newer+",stray")
	stray.git("commit", "-q", "-m", "stray")
	r = stray.open()
	wantWarning(t, checkout(t, r, resolve(t, r, "HEAD")).Warnings, WarnSubmoduleEmpty, "stray")
}

func TestScratchInSubmodules(t *testing.T) {
	t.Parallel()
	f, middle := withSubmodules(t)
	r := f.open()
	head := resolve(t, r, "HEAD")
	s, err := r.Scratch(t.Context(), head)
	if err != nil {
		t.Fatal(err)
	}
	same, err := s.Revision(t.Context(), "prepare")
	if err != nil || same.Commit != head.Commit {
		t.Errorf("unchanged: got %+v, %v", same, err)
	}
	put(t, filepath.Join(s.Dir, "libs/sub dir/inner/i"), "prepared\n")
	prepared, err := s.Revision(t.Context(), "prepare")
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, checkout(t, r, prepared).Dir, map[string]string{
		".gitmodules": withModules(f), "a": "top\n", "libs/sub dir/.gitmodules": withModules(middle), "libs/sub dir/m": "middle\n", "libs/sub dir/inner/i": "prepared\n",
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}

	origin := f
	plain := fixture{t, filepath.Join(t.TempDir(), "plain")}
	runGit(t, origin.dir, "clone", "-q", origin.dir, plain.dir)
	r = plain.open()
	s, err = r.Scratch(t.Context(), resolve(t, r, "HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	wantWarning(t, s.Warnings, WarnSubmoduleEmpty)
	put(t, filepath.Join(s.Dir, "libs/sub dir/m"), "fetched by a command\n")
	_, err = s.Revision(t.Context(), "prepare")
	wantError(t, err, ErrDirtySubmodule, "libs/sub dir", "git submodule update")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
