// Package cli is the command line: one file per command, and the only place
// where the measuring and the analysing half meet.
//
// In: arguments and an Env. Out: an exit code, text, files of a run. It must
// never compute a statistic or take a sample itself, and never read the world
// but through its Env and the packages that may.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"assay/internal/harness"
	"assay/internal/machine"
	"assay/internal/measure"
	"assay/internal/result"
)

// Env is the world a command sees. main fills in the real one, tests another.
type Env struct {
	Stdout, Stderr io.Writer
	Terminal       bool // Stderr is a terminal: progress bars and colour
	Columns        int  // width of Stdout's terminal; 0: unlimited
	Getenv         func(string) string
	Dir            string // working directory
	Now            func() time.Time
	// Launch returns the machine that slots run on; scratch is for its files. The
	// function ends all of its processes.
	Launch   func(scratch string) (measure.Machine, func() error)
	Machine  Inspector
	Adapters []harness.Named
	Patience time.Duration // for a benchmark's first answer; 0: the default
	Version  string
	Args     []string // as given, program name left out
}

// Inspector reads facts about the machine.
type Inspector interface {
	Fingerprint() machine.Fingerprint
	Snapshot() machine.Snapshot
	Topology() machine.Topology
	Inspect(measuring []int) []machine.Finding
	KeepOff(t machine.Topology, measuring []int) (machine.Seat, error)
}

// Main runs the command line and returns the exit code.
func Main(env Env) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, env)
}

// Run is Main with a context that asks for a clean end.
func Run(ctx context.Context, env Env) int {
	root := newRoot(&env)
	root.SetArgs(env.Args)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return int(Done)
	}
	return int(env.fail(command, err))
}

// fail tells the error in the form asked for and returns its exit code.
func (e *Env) fail(command *cobra.Command, err error) Code {
	problem := explain(err)
	asJSON := slices.Contains(e.Args, "--json") // a wrong flag before it hides it from the parser
	if flag := command.Flags().Lookup("json"); flag != nil && flag.Changed {
		asJSON = flag.Value.String() == "true"
	}
	if problem.Told {
		return problem.Exit
	}
	if asJSON {
		if err := writeJSON(e.Stdout, problem.json()); err != nil {
			_, _ = fmt.Fprintln(e.Stderr, "assay:", err) // the last resort
		}
		return problem.Exit
	}
	_, _ = fmt.Fprintf(e.Stderr, "assay: %s\n", problem.Text)
	if problem.Remedy != "" {
		_, _ = fmt.Fprintf(e.Stderr, "  what to do: %s\n", problem.Remedy)
	}
	return problem.Exit
}

// Folders of assay below the user's own (XDG base directory specification).
func (e *Env) cacheDir() (string, error) {
	return e.folder("XDG_CACHE_HOME", ".cache")
}

func (e *Env) stateDir() (string, error) {
	return e.folder("XDG_STATE_HOME", filepath.Join(".local", "state"))
}

func (e *Env) folder(variable, fallback string) (string, error) {
	if dir := e.Getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "assay"), nil
	}
	home := e.Getenv("HOME")
	if runtime.GOOS == "windows" {
		home = e.Getenv("USERPROFILE")
	}
	if home == "" {
		return "", &Problem{Exit: Failed, Code: "no-home", Text: "there is no home folder to keep runs in", Remedy: "set " + variable + " to a folder"}
	}
	return filepath.Join(home, fallback, "assay"), nil
}

// path makes a path of the command line absolute.
func (e *Env) path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(e.Dir, name)
}

func (e *Env) runsDir() (string, error) {
	state, err := e.stateDir()
	return filepath.Join(state, "runs"), err
}

// tool is the assay that writes a file.
func (e *Env) tool() result.Tool {
	return result.Tool{Name: "assay", Version: e.Version, Go: runtime.Version()}
}

// BuildVersion is the version that the linker or the module put into the binary.
func BuildVersion(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

func newRoot(env *Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "assay",
		Short: "measure whether code got faster, and prove it",
		Long: "assay compares two revisions of a repository: one byte-identical benchmark source on both, fresh processes\n" +
			"interleaved in random order, an exact test, and a report that says what the numbers do and do not support.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       env.Version,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.PersistentFlags().BoolP("quiet", "q", false, "no progress and no notes, only results and errors")
	root.PersistentFlags().BoolP("verbose", "v", false, "say what is being done")
	root.PersistentFlags().String("color", "auto", "colour the output: auto, always or never")
	for _, make := range []func(*Env) *cobra.Command{newAB, newDemo, newInit, newMachine, newPlan, newReport, newRuns} {
		root.AddCommand(make(env))
	}
	complete(root)
	return root
}

// complete gives a command and those below it what all of them have: the table
// of exit codes in the help, and a usage error for a wrong argument.
func complete(command *cobra.Command) {
	if command.Long == "" {
		command.Long = command.Short
	}
	command.Long += "\n\n" + exitTable()
	if check := command.Args; check != nil {
		command.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage(err)
			}
			return nil
		}
	}
	for _, child := range command.Commands() {
		complete(child)
	}
}

// notes says what a command does, on stderr.
type notes struct {
	env     *Env
	quiet   bool
	verbose bool
}

func newNotes(env *Env, cmd *cobra.Command) (notes, error) {
	quiet, err := cmd.Flags().GetBool("quiet")
	verbose, verr := cmd.Flags().GetBool("verbose")
	return notes{env: env, quiet: quiet, verbose: verbose}, errors.Join(err, verr)
}

// say prints a note unless -q.
func (n notes) say(format string, args ...any) {
	if !n.quiet {
		_, _ = fmt.Fprintf(n.env.Stderr, format+"\n", args...) // nothing else could say it
	}
}

// detail prints a note with -v.
func (n notes) detail(format string, args ...any) {
	if n.verbose {
		n.say(format, args...)
	}
}

// useColor decides on colour from --color, NO_COLOR and the terminal.
func (e *Env) useColor(cmd *cobra.Command) (bool, error) {
	mode, err := cmd.Flags().GetString("color")
	if err != nil {
		return false, err
	}
	switch mode {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return e.Terminal && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb", nil
	}
	return false, usage(fmt.Errorf("--color is auto, always or never, not %q", mode))
}
