package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"assay/internal/config"
	"assay/internal/measure"
	"assay/internal/result"
	"assay/internal/subject"
)

// Code is an exit code.
type Code int

// The exit codes. exitMeanings explains them; help texts print it.
const (
	Done         Code = 0
	Failed       Code = 1
	Usage        Code = 2
	Slower       Code = 3
	Inconclusive Code = 4
	Refused      Code = 5
	Interrupted  Code = 130
)

// exitMeanings is the one table of exit codes.
func exitMeanings() []struct {
	Code Code
	Text string
} {
	return []struct {
		Code Code
		Text string
	}{
		{Done, "done, nothing that --fail-on names"},
		{Failed, "could not do all that was asked: no repository, revision, benchmark or build, a failed case, a damaged record, input or output"},
		{Usage, "usage: a flag, a value or assay.yaml"},
		{Slower, "a verdict that --fail-on names (default: slower)"},
		{Inconclusive, "inconclusive, if --fail-on names it"},
		{Refused, "refused: both arms the same tree without --aa, runs that are not comparable, --resume that contradicts its run"},
		{Interrupted, "interrupted; results are kept"},
	}
}

func exitTable() string {
	var b strings.Builder
	b.WriteString("Exit codes:")
	for _, row := range exitMeanings() {
		fmt.Fprintf(&b, "\n  %3d  %s", row.Code, row.Text)
	}
	return b.String()
}

// worst picks the exit code where several apply (interface.md).
func worst(codes ...Code) Code {
	for _, code := range []Code{Interrupted, Usage, Refused, Failed, Slower, Inconclusive} {
		for _, have := range codes {
			if have == code {
				return code
			}
		}
	}
	return Done
}

// Problem is an error with its exit code and remedy.
type Problem struct {
	Exit   Code
	Code   string // stable, kebab-case
	Text   string
	Remedy string
	Err    error
	Told   bool // the output says it already; only the exit code is left
}

// Error returns the text.
func (p *Problem) Error() string { return p.Text }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }

func (p *Problem) json() any {
	return struct {
		Format string `json:"format"`
		Exit   Code   `json:"exit"`
		Code   string `json:"code"`
		Text   string `json:"text"`
		Remedy string `json:"remedy"`
	}{result.ErrorFormat, p.Exit, p.Code, p.Text, p.Remedy}
}

// usage marks an error of flags or values.
func usage(err error) error {
	return &Problem{Exit: Usage, Code: "usage", Text: err.Error(), Remedy: "see --help", Err: err}
}

// explain turns any error into a Problem.
func explain(err error) *Problem {
	problem := (*Problem)(nil)
	if errors.As(err, &problem) {
		return problem
	}
	problem = &Problem{Exit: Failed, Code: "failed", Text: err.Error(), Err: err}
	source, setting, program := (*subject.Error)(nil), (*config.Error)(nil), (*exec.Error)(nil)
	switch {
	case errors.Is(err, measure.ErrInterrupted), errors.Is(err, context.Canceled):
		problem.Exit, problem.Code, problem.Text = Interrupted, "interrupted", "interrupted"
	case errors.As(err, &source):
		problem.Code, problem.Text, problem.Remedy = string(source.Code), source.Text, source.Remedy
		if source.Code == subject.ErrNoDefaultBranch || source.Code == subject.ErrNoWorkTree {
			problem.Exit = Usage
		}
	case errors.As(err, &setting):
		problem.Exit, problem.Code = Usage, "config"
		problem.Remedy = "correct the file; `assay init` writes a commented example"
	case errors.As(err, &program) && errors.Is(program, exec.ErrNotFound):
		problem.Code, problem.Text = "no-"+program.Name, program.Name+" is not on PATH"
		problem.Remedy = "install " + program.Name + ", or add its folder to PATH"
	case errors.Is(err, syscall.ENOSPC):
		problem.Code, problem.Remedy = "disk-full", "free some space and repeat the command (a started run goes on with --resume); `assay runs rm` removes old runs and trees"
	case errors.Is(err, os.ErrPermission):
		problem.Code, problem.Remedy = "permission", "make the folder writable, or name others with XDG_STATE_HOME, XDG_CACHE_HOME or --out"
	}
	return problem
}

// writeJSON writes one indented JSON value.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}
