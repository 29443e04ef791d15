package subject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The oldest git that has GIT_CONFIG_GLOBAL and rev-parse --path-format (release
// notes of git 2.31 and 2.32).
const (
	minMajor = 2
	minMinor = 32
)

// killDelay is how long an interrupted git may take to remove its lock files.
const killDelay = 5 * time.Second

// git starts git with a fixed environment. The zero value is not usable.
type git struct {
	path string
	env  []string
	args []string // before the command
}

// call is one git command.
type call struct {
	args  []string
	env   []string // KEY=VALUE added to the environment
	stdin []byte
}

// kept are the variables of git that say where its configuration is; all other
// GIT_ variables of the caller would redirect what is read or written.
func kept(name string) bool {
	return slices.Contains([]string{"GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
		"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_CONFIG_COUNT"}, name) ||
		strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
}

// findGit looks for git on PATH and checks its version.
func findGit(ctx context.Context) (git, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return git{}, &Error{Code: ErrNoGit, Text: "git is not on PATH", Remedy: "install git " + minVersion() + " or newer", Err: err}
	}
	g := git{path: path}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "GIT_") || kept(name) {
			g.env = append(g.env, entry)
		}
	}
	// Note: GIT_NO_LAZY_FETCH is known to git 2.45 and newer only. Older ones start
	// `git fetch` for an object that a partial clone lacks; with no protocol
	// allowed it ends before it reaches the network.
	g.env = append(g.env, "LC_ALL=C", "LANGUAGE=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1")
	out, err := g.run(ctx, call{args: []string{"version"}})
	if err != nil {
		return git{}, err
	}
	if err := checkVersion(string(out)); err != nil {
		return git{}, err
	}
	g.args = []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		"-c", "core.quotePath=false", "-c", "submodule.recurse=false"}
	return g, nil
}

func minVersion() string { return fmt.Sprintf("%d.%d", minMajor, minMinor) }

func checkVersion(text string) error {
	m := regexp.MustCompile(`(\d+)\.(\d+)`).FindStringSubmatch(text)
	if m == nil {
		return &Error{Code: ErrOldGit, Text: fmt.Sprintf("git does not tell its version: %q", strings.TrimSpace(text)), Remedy: "install git " + minVersion() + " or newer"}
	}
	major, err := strconv.Atoi(m[1])
	if err != nil {
		return fmt.Errorf("reading the version of git: %w", err)
	}
	minor, err := strconv.Atoi(m[2])
	if err != nil {
		return fmt.Errorf("reading the version of git: %w", err)
	}
	if major < minMajor || major == minMajor && minor < minMinor {
		return &Error{Code: ErrOldGit, Text: "git " + m[0] + " is too old", Remedy: "install git " + minVersion() + " or newer"}
	}
	return nil
}

// isolated returns a git that reads no configuration of the user or the system,
// so that trees and patches do not depend on who makes them.
func (g git) isolated() git {
	env := slices.DeleteFunc(slices.Clone(g.env), func(entry string) bool { return strings.HasPrefix(entry, "GIT_CONFIG_") })
	return git{
		path: g.path,
		env:  append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_ATTR_NOSYSTEM=1"),
		args: append(slices.Clone(g.args), "-c", "core.attributesFile="+os.DevNull, "-c", "core.excludesFile="+os.DevNull),
	}
}

// in returns a git that works on the given git folder.
func (g git) in(gitDir string) git {
	g.args = append(slices.Clone(g.args), "--git-dir="+gitDir)
	return g
}

// at returns a git that runs in the folder dir.
func (g git) at(dir string) git {
	g.args = append(slices.Clone(g.args), "-C", dir)
	return g
}

// with returns a git with more environment.
func (g git) with(env ...string) git {
	g.env = append(slices.Clone(g.env), env...)
	return g
}

// run starts git, waits for its end and returns its standard output. A non-zero
// exit is a *gitError.
func (g git) run(ctx context.Context, c call) ([]byte, error) {
	args := append(slices.Clone(g.args), c.args...)
	cmd := exec.CommandContext(ctx, g.path, args...)
	cmd.Env = append(slices.Clone(g.env), c.env...)
	cmd.Stdin = bytes.NewReader(c.stdin)
	// Interrupted, git removes its lock files; killed, it would leave them.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killDelay
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("running git %s: %w", c.args[0], ctx.Err())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return stdout.Bytes(), &gitError{command: c.args[0], exit: exit.ExitCode(), stderr: stderr.String()}
	}
	if err != nil {
		return nil, fmt.Errorf("running git %s: %w", c.args[0], err)
	}
	// `git update-index` exits 0 after it refused a path.
	if strings.Contains(stderr.String(), "Ignoring path ") {
		return nil, &gitError{command: c.args[0], stderr: stderr.String()}
	}
	return stdout.Bytes(), nil
}

// line runs git and returns its output without the final newline.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, call{args: args})
	return strings.TrimSuffix(string(out), "\n"), err
}

// list runs git and returns the NUL-separated items of its output.
func (g git) list(ctx context.Context, args ...string) ([]string, error) {
	out, err := g.run(ctx, call{args: args})
	return splitNUL(out), err
}
