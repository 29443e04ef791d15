package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"assay/internal/compare"
)

//go:embed testdata
var sources embed.FS

// read returns an embedded source, or the shared one beside its folder.
func read(dir, name string) ([]byte, error) {
	data, err := sources.ReadFile("testdata/" + dir + "/" + name + ".txt")
	if err != nil {
		data, err = sources.ReadFile("testdata/" + filepath.Dir(dir) + "/" + name + ".txt")
	}
	return data, err
}

// commit writes files into the repository at dir and commits them. The
// repository is made when it is not there.
func commit(ctx context.Context, dir, message string, files map[string][]byte) error {
	if _, err := os.Stat(filepath.Join(dir, ".git")); errors.Is(err, os.ErrNotExist) {
		if _, err := output(ctx, "", "git", "init", "-q", "-b", "main", dir); err != nil {
			return err
		}
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	if _, err := output(ctx, dir, "git", "add", "-A"); err != nil {
		return err
	}
	_, err := output(ctx, dir, "git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", "commit", "-q", "-m", message)
	return err
}

// output runs a command in dir and returns what it prints.
func output(ctx context.Context, dir string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("running %s: %w\n%s", strings.Join(argv, " "), err, errs.String())
	}
	return out.String(), nil
}

// ab runs assay ab in dir and returns its comparison; the run is stored in out.
// A verdict's exit code is no error.
func ab(ctx context.Context, o options, dir, out string, args ...string) (compare.File, error) {
	var file compare.File
	binary, err := filepath.Abs(o.assay)
	if err != nil {
		return file, err
	}
	text, err := output(ctx, dir, append([]string{binary, "ab", "--json", "-q", "--out", out}, args...)...)
	if jsonErr := json.Unmarshal([]byte(text), &file); jsonErr != nil || file.Format != compare.Format {
		return file, fmt.Errorf("assay ab %v: %w\n%s", args, errors.Join(err, jsonErr), text)
	}
	return file, nil
}

// testBinary builds the package's test binary at the revision into path.
func testBinary(ctx context.Context, dir, revision, path string) error {
	tree := path + ".tree"
	if _, err := output(ctx, dir, "git", "worktree", "add", "-q", "--detach", tree, revision); err != nil {
		return err
	}
	_, err := output(ctx, tree, "go", "test", "-c", "-o", path, ".")
	return err
}
