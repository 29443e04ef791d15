package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/examples"
)

// newDemo is `assay demo`: the main job on the bundled example.
func newDemo(env *Env) *cobra.Command {
	s := &settings{}
	cmd := &cobra.Command{
		Use:   "demo [ab]",
		Short: "the main job on the bundled example, in about two minutes",
		Long: "demo writes the bundled example, a small HTTP/1 header parser in two versions, as a git repository of two commits\n" +
			"and runs `assay ab` on it: the benchmark source exists on head alone.",
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"ab"},
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			dir, err := os.MkdirTemp("", "assay-demo-")
			if err != nil {
				return fmt.Errorf("making a folder for the example: %w", err)
			}
			defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
			repository := filepath.Join(dir, "hdrparse")
			base, err := writeExample(cmd.Context(), repository)
			if err != nil {
				return err
			}
			if err := s.check(cmd, env, []string{repository}); err != nil {
				return err
			}
			s.base, s.head = base, "HEAD"
			return runAB(cmd, env, s)
		},
	}
	s.planFlags(cmd.Flags())
	s.runFlags(cmd.Flags())
	for _, name := range []string{"base", "head", "resume", "config", "package"} {
		if err := cmd.Flags().MarkHidden(name); err != nil {
			panic(err) // the flag was added three lines above
		}
	}
	s.failOn = []string{"none"}
	cmd.Flags().Lookup("fail-on").DefValue = "none"
	return cmd
}

// writeExample makes the example's repository and returns its first commit.
func writeExample(ctx context.Context, dir string) (base string, err error) {
	commits, err := examples.HdrParse()
	if err != nil {
		return "", fmt.Errorf("reading the bundled example: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("writing the example: %w", err)
	}
	if _, err := gitIn(ctx, dir, nil, "init", "--quiet", "--initial-branch=main"); err != nil {
		return "", err
	}
	for i, commit := range commits {
		for _, file := range commit.Files {
			path := filepath.Join(dir, filepath.FromSlash(file.Path))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return "", fmt.Errorf("writing the example: %w", err)
			}
			if err := os.WriteFile(path, file.Content, 0o644); err != nil {
				return "", fmt.Errorf("writing the example: %w", err)
			}
		}
		date := commit.Date.Format(time.RFC3339)
		who := []string{"GIT_AUTHOR_NAME=" + commit.Author, "GIT_AUTHOR_EMAIL=" + commit.AuthorEmail, "GIT_AUTHOR_DATE=" + date,
			"GIT_COMMITTER_NAME=" + commit.Author, "GIT_COMMITTER_EMAIL=" + commit.AuthorEmail, "GIT_COMMITTER_DATE=" + date}
		if _, err := gitIn(ctx, dir, nil, "add", "--all"); err != nil {
			return "", err
		}
		if _, err := gitIn(ctx, dir, who, "commit", "--quiet", "--no-gpg-sign", "--message", commit.Message); err != nil {
			return "", err
		}
		if i == 0 {
			if base, err = gitIn(ctx, dir, nil, "rev-parse", "HEAD"); err != nil {
				return "", err
			}
		}
	}
	return base, nil
}

// gitIn runs git on the example with no configuration but its own, so that its
// commits have the same ids everywhere.
func gitIn(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.hooksPath=", "-c", "core.autocrlf=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", &Problem{Exit: Failed, Code: "no-git", Text: "git is not on PATH", Remedy: "install git (Debian: apt-get install git)", Err: err}
	}
	status := (*exec.ExitError)(nil)
	if errors.As(err, &status) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(status.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("making the example's repository: git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
