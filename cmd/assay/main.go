// Command assay measures whether code got faster, and proves it.
//
// In: the real world. Out: an exit code. It must never hold logic of its own:
// it hands the world to package cli.
package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"assay/internal/cli"
	"assay/internal/harness/all"
	"assay/internal/measure"
)

// version is set by the linker.
var version = ""

func main() {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "assay: finding the working directory:", err)
		os.Exit(1)
	}
	columns, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		columns = 0 // standard output is no terminal
	}
	os.Exit(cli.Main(cli.Env{
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
		Columns:  columns,
		Getenv:   os.Getenv,
		Dir:      dir,
		Now:      time.Now,
		Launch: func(scratch string) (measure.Machine, func() error) {
			system := measure.NewSystem(scratch)
			return system, system.Close
		},
		Machine:  cli.RealMachine(),
		Adapters: all.Adapters(),
		Version:  cli.BuildVersion(version),
		Args:     os.Args[1:],
	}))
}
