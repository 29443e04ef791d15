package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay/internal/config"
	"assay/internal/plan"
	"assay/internal/subject"
)

// newInit is `assay init`: write a commented assay.yaml of what was detected.
func newInit(env *Env) *cobra.Command {
	s := &settings{alpha: plan.DefaultAlpha, graft: "head", head: subject.WorkTree}
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "write a commented assay.yaml of what was detected",
		Long:  "init writes DIR/assay.yaml with the harness, the packages and the benchmarks found in DIR, and every other key as a comment.\nNo repository needs one; an existing file is never overwritten.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.dir = env.Dir
			if len(args) > 0 {
				s.dir = env.path(args[0])
			}
			path := filepath.Join(s.dir, config.Names()[0])
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				return &Problem{Exit: Failed, Code: "exists", Text: path + " is there already", Remedy: "edit it, or move it away first"}
			}
			text, err := detectTemplate(cmd.Context(), env, s)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path, text, 0o644); err != nil {
				return fmt.Errorf("writing %s: %w", path, err)
			}
			out := &lines{w: env.Stdout}
			out.printf("wrote %s\n", path)
			return out.err
		},
	}
	return cmd
}

// detectTemplate reads the benchmarks of the working tree.
func detectTemplate(ctx context.Context, env *Env, s *settings) (_ []byte, err error) {
	cache, err := env.cacheDir()
	if err != nil {
		return nil, err
	}
	o := &opener{env: env, settings: s, out: &arms{}}
	if o.out.repository, err = subject.Open(ctx, s.dir, cache); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.out.repository.Close()) }()
	head, err := o.out.repository.Resolve(ctx, s.head)
	if err != nil {
		return nil, err
	}
	tree, err := o.out.repository.Checkout(ctx, head)
	if err != nil {
		return nil, err
	}
	o.query.Dir = o.out.repository.Rel()
	_, layout, err := o.detect(ctx, tree)
	if err != nil {
		return nil, err
	}
	found := config.Detected{Harness: layout.Harness}
	for _, unit := range layout.Units {
		found.Packages = append(found.Packages, unit.Package)
		for _, name := range append(unit.Internal, unit.External...) {
			found.Benchmarks = append(found.Benchmarks, string(plan.CaseIDOf(unit.Package, name)))
		}
	}
	return config.Template(found), nil
}
