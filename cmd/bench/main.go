// Command bench measures assay itself: how much of a run is spent measuring
// (speed), how well it resolves nothing (resolution), and whether planted effects
// that fool other schedules keep their sign (bias).
//
// In: the assay binary, git and the go command. Out: a table on standard output;
// times only as ratios within one run. It must never be part of assay: it drives
// the binary as a user does.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

// options are the flags of all benchmarks.
type options struct {
	assay  string // path of the binary
	trials int
	only   string
}

func main() {
	var o options
	flag.StringVar(&o.assay, "assay", "bin/assay", "the assay binary")
	flag.IntVar(&o.trials, "trials", 20, "trials of each method (resolution)")
	flag.StringVar(&o.only, "only", "", "one plant or benchmark")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch flag.Arg(0) {
	case "speed":
		err = speed(ctx, o)
	case "resolution":
		err = resolution(ctx, o)
	case "bias":
		err = bias(ctx, o)
	default:
		err = fmt.Errorf("usage: bench [flags] speed|resolution|bias")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
