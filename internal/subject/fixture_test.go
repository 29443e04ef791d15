package subject

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMain gives every git of the tests an empty home.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(home) }()
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "GIT_DIR": "/nonexistent", "GIT_INDEX_FILE": "/nonexistent"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// fixture is a user's repository.
type fixture struct {
	t   *testing.T
	dir string
}

func runGit(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out, "\n")
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always", "-C", dir}, args...)...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "GIT_DIR=") || strings.HasPrefix(e, "GIT_INDEX_FILE=")
	}),
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2020-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=2020-01-02T03:04:05Z", "GIT_ALLOW_PROTOCOL=file")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("git %v in %s: %w: %s", args, dir, err, exit.Stderr)
	}
	return string(out), err
}

func newFixture(t *testing.T, options ...string) fixture {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on PATH")
	}
	f := fixture{t, filepath.Join(t.TempDir(), "repo")}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f.git(append([]string{"init", "-q", "-b", "main"}, options...)...)
	return f
}

func (f fixture) git(args ...string) string { f.t.Helper(); return runGit(f.t, f.dir, args...) }

func (f fixture) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// write makes files from pairs of name and content.
func (f fixture) write(pairs ...string) {
	f.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		put(f.t, f.path(pairs[i]), pairs[i+1])
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// commit writes files, commits everything and returns the commit.
func (f fixture) commit(message string, pairs ...string) string {
	f.t.Helper()
	f.write(pairs...)
	f.git("add", "-A")
	f.git("commit", "-q", "--allow-empty", "-m", message)
	return f.git("rev-parse", "HEAD")
}

// open opens the repository with a cache of its own and at the end of the test
// checks that nothing in it was touched since.
func (f fixture) open() *Repository {
	f.t.Helper()
	return f.openAt(".", f.t.TempDir())
}

func (f fixture) openAt(rel, cacheDir string) *Repository {
	f.t.Helper()
	f.watch()
	r, err := Open(f.t.Context(), f.path(rel), cacheDir)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := r.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return r
}

// watch fails the test if any byte, mode or time below the repository, `.git`
// included, differs at its end. It is for tests that do not change it themselves.
func (f fixture) watch() {
	f.t.Helper()
	before := fingerprint(f.t, f.dir)
	f.t.Cleanup(func() {
		if diff := cmp.Diff(before, fingerprint(f.t, f.dir)); diff != "" {
			f.t.Errorf("the user's repository was changed:\n%s", diff)
		}
	})
}

// fingerprint tells content, mode and time of everything below dir.
func fingerprint(t *testing.T, dir string) map[string]string {
	t.Helper()
	prints := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = fmt.Sprintf("%x", sha256.Sum256(data))
		} else if info.Mode()&fs.ModeSymlink != 0 {
			if content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		prints[path] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return prints
}

// files reads a tree: contents of files, targets of links, "dir" for empty folders.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case entry.Name() == ".git":
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			found[rel] = "-> " + target
		case entry.IsDir():
			if below, err := os.ReadDir(path); err == nil && len(below) == 0 {
				found[rel] = "dir"
			}
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found[rel] = string(data)
			if info, err := entry.Info(); err == nil && info.Mode()&0o111 != 0 {
				found[rel] += " (executable)"
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func resolve(t *testing.T, r *Repository, ref string) Revision {
	t.Helper()
	revision, err := r.Resolve(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func checkout(t *testing.T, r *Repository, revision Revision) Tree {
	t.Helper()
	tree, err := r.Checkout(t.Context(), revision)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Errorf("files of %s (-want +got):\n%s", dir, diff)
	}
}

// wantError checks the code of an error and that its text has every word.
func wantError(t *testing.T, err error, code Code, words ...string) {
	t.Helper()
	var typed *Error
	if !errors.Is(err, code) || !errors.As(err, &typed) {
		t.Fatalf("got error %v, want %s", err, code)
	}
	if typed.Text == "" || typed.Remedy == "" {
		t.Errorf("error %v has no text or no remedy", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
}

func wantWarning(t *testing.T, warnings []Warning, code string, words ...string) {
	t.Helper()
	for _, warning := range warnings {
		if warning.Code == code {
			for _, word := range words {
				if !strings.Contains(warning.Text, word) {
					t.Errorf("warning %q does not say %q", warning.Text, word)
				}
			}
			return
		}
	}
	t.Errorf("no warning %s in %v", code, warnings)
}
