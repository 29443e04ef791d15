// Package build turns recipes into artifacts: it runs an adapter's build
// commands with one fixed toolchain, reads the effective settings back, and
// keeps what came out by content.
//
// In: trees of source, recipes, an adapter. Out: artifacts with digests, the
// proof of the graft. It must never write into a tree except a scratch copy, and
// never report a setting that it has not read back.
package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/harness"
	"assay/internal/result"
)

// Exec runs commands for adapters and builds, in the inherited environment with
// the command's own variables on top. It implements harness.Exec.
func Exec(ctx context.Context, command result.Command) (stdout, stderr []byte, err error) {
	cmd := exec.CommandContext(ctx, command.Argv[0], command.Argv[1:]...)
	cmd.Dir = command.Dir
	cmd.Env = append(os.Environ(), command.Env...)
	if cmd.Dir != "" {
		cmd.Env = append(cmd.Env, "PWD="+cmd.Dir)
	}
	cmd.WaitDelay = 5 * time.Second // a grandchild may hold the pipes open
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.Bytes(), errs.Bytes(), fmt.Errorf("running %s: %w", strings.Join(command.Argv, " "), err)
	}
	return out.Bytes(), errs.Bytes(), nil
}

// Cache keeps artifacts below a folder, by the hash of everything that went into
// them.
type Cache struct{ Dir string }

// key is what an artifact is cached under. Paths of this machine are left out
// where the build is trimmed: the same tree gives the same bytes anywhere.
type key struct {
	Tree     string
	Recipe   result.Recipe
	Commands []result.Command
	Overlay  []overlayEntry
}

type overlayEntry struct {
	Path   string
	Digest string // empty: hidden
}

// Job is one recipe with the tree it builds.
type Job struct {
	Recipe result.Recipe
	Tree   string // git tree id
}

// Build makes the artifact of a job, or takes it from the cache. A build that
// fails is an artifact with a Failure, not an error.
func (c Cache) Build(ctx context.Context, adapter harness.Adapter, job Job) (result.Artifact, error) {
	r := job.Recipe
	artifact := result.Artifact{Arm: r.Arm, Package: r.Package, PackageDir: r.PackageDir, RunDir: filepath.Join(r.Dir, filepath.FromSlash(r.PackageDir))}
	commands, overlay, err := adapter.Build(r, harness.OutputArg)
	if err != nil {
		return artifact, fmt.Errorf("planning the build of %s on arm %s: %w", r.Package, r.Arm, err)
	}
	hash, err := job.hash(commands, overlay)
	if err != nil {
		return artifact, err
	}
	dir := filepath.Join(c.Dir, hash)
	if cached, ok := c.lookup(dir, artifact); ok {
		return cached, nil
	}
	m := making{cache: c, adapter: adapter, recipe: r, dir: dir, artifact: artifact}
	err = m.run(ctx, commands, overlay)
	return m.artifact, err
}

func (j Job) hash(commands []result.Command, overlay []result.OverlayFile) (string, error) {
	k := key{Tree: j.Tree, Recipe: j.Recipe}
	if j.Recipe.Trimmed {
		k.Recipe.Dir = ""
	}
	k.Recipe.Arm = "" // one tree built for two arms is one artifact
	for _, c := range commands {
		c.Dir = strings.TrimPrefix(c.Dir, j.Recipe.Dir)
		k.Commands = append(k.Commands, c)
	}
	for _, f := range overlay {
		entry := overlayEntry{Path: f.Path}
		if f.Content != nil {
			entry.Digest = digest(f.Content)
		}
		k.Overlay = append(k.Overlay, entry)
	}
	hash, err := result.Hash(k)
	return strings.TrimPrefix(hash, "sha256:"), err
}

const (
	binaryName   = "binary"
	artifactName = "artifact.json"
)

// lookup reads a finished artifact. One whose binary no longer has its digest is
// made again.
func (c Cache) lookup(dir string, want result.Artifact) (result.Artifact, bool) {
	data, err := os.ReadFile(filepath.Join(dir, artifactName))
	if err != nil {
		return want, false
	}
	var stored result.Artifact
	if err := json.Unmarshal(data, &stored); err != nil {
		return want, false
	}
	sum, _, err := fileDigest(filepath.Join(dir, binaryName))
	if err != nil || sum != stored.Digest {
		return want, false
	}
	stored.Arm, stored.Package, stored.PackageDir, stored.RunDir = want.Arm, want.Package, want.PackageDir, want.RunDir
	stored.Path, stored.Cached = filepath.Join(dir, binaryName), true
	return stored, true
}

// making is one build that was not in the cache.
type making struct {
	cache    Cache
	adapter  harness.Adapter
	recipe   result.Recipe
	dir      string // where the artifact will be
	artifact result.Artifact
}

// run builds in a folder of its own and moves it to its place when whole.
func (m *making) run(ctx context.Context, commands []result.Command, overlay []result.OverlayFile) error {
	if err := os.MkdirAll(m.cache.Dir, 0o755); err != nil {
		return fmt.Errorf("making the artifact cache: %w", err)
	}
	temp, err := os.MkdirTemp(m.cache.Dir, "building-")
	if err != nil {
		return fmt.Errorf("making room for a build: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }() // gone after the rename; else left-overs of a failure
	overlayPath, err := writeOverlay(temp, m.recipe.Dir, overlay)
	if err != nil {
		return err
	}
	output := filepath.Join(temp, binaryName)
	for _, command := range commands {
		command = fill(command, overlayPath, output)
		_, stderr, err := Exec(ctx, command)
		m.artifact.Commands = append(m.artifact.Commands, result.Command{Argv: shown(command.Argv, temp), Dir: strings.TrimPrefix(command.Dir, m.recipe.Dir), Env: command.Env})
		m.artifact.Warnings += countWarnings(stderr)
		if err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("building %s on arm %s: %w", m.recipe.Package, m.recipe.Arm, ctx.Err())
			}
			m.fail(strings.ReplaceAll(string(stderr), m.recipe.Dir+string(filepath.Separator), ""), err)
			return nil
		}
	}
	if m.artifact.Digest, m.artifact.Size, err = fileDigest(output); err != nil {
		m.fail("the build made no binary: the package has no test files that are built on this machine", err)
		return nil
	}
	if inspector, ok := m.adapter.(harness.Inspector); ok {
		if m.artifact.Settings, m.artifact.CodeDigest, err = inspector.Inspect(output); err != nil {
			return fmt.Errorf("reading back how %s was built on arm %s: %w", m.recipe.Package, m.recipe.Arm, err)
		}
	}
	return m.store(temp)
}

// store moves a finished build to its place; one that is there already is
// damaged or of another process, and is replaced.
func (m *making) store(temp string) error {
	data, err := json.MarshalIndent(m.artifact, "", " ")
	if err != nil {
		return fmt.Errorf("encoding an artifact: %w", err)
	}
	if err := os.WriteFile(filepath.Join(temp, artifactName), data, 0o644); err != nil {
		return fmt.Errorf("keeping an artifact: %w", err)
	}
	if err := os.Rename(temp, m.dir); err != nil {
		if err := errors.Join(os.RemoveAll(m.dir), os.Rename(temp, m.dir)); err != nil {
			return fmt.Errorf("keeping an artifact: %w", err)
		}
	}
	m.artifact.Path = filepath.Join(m.dir, binaryName)
	return nil
}

// writeOverlay writes the overlay's files and its description as the go command
// reads it, and returns the path of the description.
func writeOverlay(temp, root string, overlay []result.OverlayFile) (string, error) {
	replace := map[string]string{}
	for i, f := range overlay {
		target := filepath.Join(root, filepath.FromSlash(f.Path))
		if f.Content == nil {
			replace[target] = ""
			continue
		}
		path := filepath.Join(temp, fmt.Sprintf("overlay-%d%s", i, filepath.Ext(f.Path)))
		if err := os.WriteFile(path, f.Content, 0o644); err != nil {
			return "", fmt.Errorf("writing the overlay of a build: %w", err)
		}
		replace[target] = path
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("encoding the overlay of a build: %w", err)
	}
	path := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return "", fmt.Errorf("writing the overlay of a build: %w", err)
	}
	return path, nil
}

func fill(c result.Command, overlay, output string) result.Command {
	argv := make([]string, len(c.Argv))
	for i, arg := range c.Argv {
		argv[i] = strings.NewReplacer(harness.OverlayArg, overlay, harness.OutputArg, output).Replace(arg)
	}
	c.Argv = argv
	return c
}

// shown puts the placeholders back: a temporary path says nothing.
func shown(argv []string, temp string) []string {
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = strings.ReplaceAll(arg, temp+string(filepath.Separator), "")
	}
	return out
}

// countWarnings counts the lines in which a C compiler warned.
func countWarnings(stderr []byte) int {
	return bytes.Count(stderr, []byte("warning:"))
}

// fail notes why there is no artifact and what to do.
func (m *making) fail(text string, err error) {
	f := &result.BuildFailure{Text: strings.TrimSpace(text), Missing: m.adapter.Diagnose(text)}
	if f.Text == "" {
		f.Text = err.Error()
	}
	lacks := strings.Join(f.Missing, ", ")
	switch {
	case lacks != "" && m.recipe.Arm == result.Base:
		f.Remedy = "base lacks " + lacks + ", which the harness of head uses: measure with base's harness (--graft base), leave these benchmarks out (--bench), or name the files that define it under graft: in assay.yaml"
	case lacks != "":
		f.Remedy = "head lacks " + lacks + ", which the harness of base uses: measure with head's harness (--graft head) or leave these benchmarks out (--bench)"
	default:
		f.Remedy = "build it by hand with the command above; commands that an old revision needs first go under prepare: in assay.yaml"
	}
	m.artifact.Failure = f
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Digest is the sha256 of a file, as artifacts carry it.
func Digest(path string) (string, error) {
	sum, _, err := fileDigest(path)
	if err != nil {
		return "", fmt.Errorf("hashing %s: %w", path, err)
	}
	return sum, nil
}

func fileDigest(path string) (string, int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = file.Close() }() // read only: nothing to lose
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), size, err
}
