package cli_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs testdata/*.txtar, one file per behaviour of the command line.
//
// Commands they have besides the usual ones:
//
//	exits CODE program arg...   the program ends with that exit code
//	commits DIR FOLDER...       DIR is a repository with one commit per folder,
//	                            whose files it then has; tags are the folders' names
//	hashes DIR FILE             writes mode, time and hash of everything below DIR
//	json FILE PATH VALUE        the value at PATH, e.g. benchmarks:id=x.BenchmarkA:verdict
//	samejson A B KEY...         two JSON files are equal but for these top-level keys
//	ab CODE arg...              exits CODE assay ab --seed=7 --rounds=10 --budget=3s arg...
//	appears PATTERN             waits until a file of that name exists
//	mounted DIR arg...          mount arg... DIR, undone at the end
func TestScripts(t *testing.T) {
	t.Parallel()
	run(t, "testdata/*.txtar", inMemory)
}

// TestReal runs scripts on this machine with the real Go harness.
func TestReal(t *testing.T) {
	t.Parallel()
	var env []string
	for _, tool := range []string{"git", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not on PATH", tool)
		}
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOTOOLCHAIN", "GOPROXY"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	run(t, "testdata/real/*.txtar", func(e *testscript.Env) error {
		e.Vars = append(e.Vars, append(env, "GOFLAGS=-mod=mod")...)
		return nil
	})
}

// inMemory puts assay's folders where a sync costs nothing: a simulated run
// measures for a minute in a fraction of a second and syncs as often.
func inMemory(e *testscript.Env) error {
	dir, err := os.MkdirTemp("/dev/shm", "assay-test-")
	if err != nil {
		return nil // then they are on the disk
	}
	e.Defer(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"cache", "state"} {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, name), 0o755), os.Symlink(filepath.Join(dir, name), filepath.Join(e.WorkDir, name))); err != nil {
			return err
		}
	}
	return nil
}

func run(t *testing.T, pattern string, setup func(*testscript.Env) error) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not on PATH")
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts %s: %v, %v", pattern, files, err)
	}
	testscript.Run(t, testscript.Params{
		Files: files, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "HOME="+e.WorkDir+"/home", "XDG_CACHE_HOME="+e.WorkDir+"/cache", "XDG_STATE_HOME="+e.WorkDir+"/state",
				"RUNS="+e.WorkDir+"/state/assay/runs", "RUN="+e.WorkDir+"/state/assay/runs/20260901T101500-0007",
				"BIN="+filepath.Dir(lookPath("assay")), "GIT="+lookPath("git"), "GO="+lookPath("go"),
				"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
				"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
				"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z")
			return setup(e)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "tmpfs" {
				return canMount(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "ab": ab, "appears": appears, "mounted": mounted, "commits": commits, "hashes": hashes, "json": jsonValue, "samejson": sameJSON,
		},
	})
}

// lookPath is where a program is, empty if nowhere.
func lookPath(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// canMount says whether this user may mount a small file system.
func canMount() bool {
	dir, err := os.MkdirTemp("", "assay-mount-")
	if err != nil {
		return false
	}
	defer func() { _ = os.Remove(dir) }()
	if exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "assay-test", dir).Run() != nil {
		return false
	}
	return exec.Command("umount", dir).Run() == nil
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE program arg...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code, status := 0, (*exec.ExitError)(nil)
	if errors.As(err, &status) {
		code, err = status.ExitCode(), nil
	}
	ts.Check(err)
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func ab(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: ab CODE arg...")
	}
	exits(ts, false, append([]string{args[0], "assay", "ab", "--seed=7", "--rounds=10", "--budget=3s"}, args[1:]...))
}

func appears(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: appears PATTERN")
	}
	for range 6000 { // a minute; go test has its own limit
		if found, err := filepath.Glob(ts.MkAbs(args[0])); err != nil || len(found) > 0 {
			ts.Check(err)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s never appeared", args[0])
}

func mounted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: mounted DIR arg...")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(ts.Exec("mount", append(args[1:], dir)...))
	ts.Defer(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			ts.Logf("unmounting %s: %v: %s", dir, err, out)
		}
	})
}

func commits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: commits DIR FOLDER...")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	git := func(args ...string) { ts.Check(ts.Exec("git", append([]string{"-C", dir}, args...)...)) }
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		git("init", "--quiet", "--initial-branch=main")
	}
	for _, folder := range args[1:] {
		entries, err := os.ReadDir(dir)
		ts.Check(err)
		for _, entry := range entries {
			if entry.Name() != ".git" {
				ts.Check(os.RemoveAll(filepath.Join(dir, entry.Name())))
			}
		}
		ts.Check(os.CopyFS(dir, os.DirFS(ts.MkAbs(folder))))
		git("add", "--all")
		git("commit", "--quiet", "--allow-empty", "--message", "commit of "+folder)
		git("tag", folder)
	}
}

func hashes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hashes DIR FILE")
	}
	root := ts.MkAbs(args[0])
	var out strings.Builder
	ts.Check(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
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
		}
		_, err = fmt.Fprintf(&out, "%v %v %s %s\n", info.Mode(), info.ModTime().UnixNano(), strings.TrimPrefix(path, root), content)
		return err
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(out.String()), 0o644))
}

func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH VALUE")
	}
	value, err := lookUp(decode(ts, args[0]), args[1])
	ts.Check(err)
	got, err := json.Marshal(value)
	ts.Check(err)
	text := string(got)
	if s, ok := value.(string); ok {
		text = s
	}
	if (text == args[2]) == neg {
		ts.Fatalf("%s is %s", args[1], text)
	}
}

func decode(ts *testscript.TestScript, file string) any {
	decoder := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		ts.Fatalf("%s is no JSON: %v", file, err)
	}
	if decoder.More() {
		ts.Fatalf("%s has more than one JSON value", file)
	}
	return value
}

// lookUp follows keys joined by ":". On a list a number is an index, len the length
// and KEY=VALUE the first element that has it. A key that is absent is null.
func lookUp(value any, path string) (any, error) {
	for key := range strings.SplitSeq(path, ":") {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			name, want, search := strings.Cut(key, "=")
			if search {
				i := slices.IndexFunc(v, func(e any) bool { m, ok := e.(map[string]any); return ok && fmt.Sprint(m[name]) == want })
				if i < 0 {
					return nil, fmt.Errorf("nothing has %s", key)
				}
				value = v[i]
				continue
			}
			if key == "len" {
				return len(v), nil
			}
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(v) {
				return nil, fmt.Errorf("no element %s of %d", key, len(v))
			}
			value = v[i]
		default:
			return nil, fmt.Errorf("%s: nothing below %v", path, value)
		}
	}
	return value, nil
}

func sameJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: samejson A B KEY...")
	}
	a, b := decode(ts, args[0]).(map[string]any), decode(ts, args[1]).(map[string]any)
	for _, key := range args[2:] {
		if a[key] == nil || b[key] == nil {
			ts.Fatalf("no key %q", key)
		}
		delete(a, key)
		delete(b, key)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		ts.Fatalf("%s and %s differ:\n%s", args[0], args[1], diff)
	}
}
