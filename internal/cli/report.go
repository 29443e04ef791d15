package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"assay/internal/report"
	"assay/internal/store"
)

// newReport is `assay report`: render a stored run again.
func newReport(env *Env) *cobra.Command {
	format, asJSON := "text", false
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "render a stored run again",
		Long: "report compares the arms of a stored run again from its raw records and prints the result. RUN is an id, its\n" +
			"beginning, or the run's folder. The files of the run (report.md, comparison.json, charts) are rendered anew.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				format = "json"
			}
			if !slices.Contains([]string{"text", "markdown", "html", "json", "csv"}, format) {
				return usage(fmt.Errorf("--format is text, markdown, html, json or csv, not %q", format))
			}
			color, err := env.useColor(cmd)
			if err != nil {
				return err
			}
			run, err := findRun(env, args[0])
			if err != nil {
				return err
			}
			a, err := analyse(run)
			if err != nil {
				return err
			}
			if err := a.write(); err != nil {
				return err
			}
			switch format {
			case "markdown":
				return report.Markdown(env.Stdout, a.view)
			case "html":
				return report.HTML(env.Stdout, a.view)
			case "json":
				return report.JSON(env.Stdout, a.file)
			case "csv":
				return report.CSV(env.Stdout, a.view)
			}
			return a.print(env, false, color)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, markdown, html, json or csv")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, errors included")
	return cmd
}

func findRun(env *Env, name string) (*store.Run, error) {
	root, err := env.runsDir()
	if err != nil {
		return nil, err
	}
	run, err := store.Find(root, name)
	if err != nil {
		return nil, &Problem{Exit: Failed, Code: "no-run", Text: err.Error(), Remedy: "see the stored runs with `assay runs`", Err: err}
	}
	return run, nil
}
