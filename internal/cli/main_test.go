package cli_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"assay/internal/cli"
	"assay/internal/harness"
	"assay/internal/harness/all"
	"assay/internal/machine"
	"assay/internal/measure"
	"assay/internal/measure/simulate"
)

// TestMain makes two commands for the scripts: assay on the simulated machine
// with the fake harness, and assay-real on this one with the real harnesses.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"assay":      func() { os.Exit(simulated()) },
		"assay-real": func() { os.Exit(onThisMachine()) },
	})
}

func world() cli.Env {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return cli.Env{Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Dir: dir, Now: time.Now, Version: "test", Args: os.Args[1:]}
}

func onThisMachine() int {
	env := world()
	env.Launch = func(scratch string) (measure.Machine, func() error) {
		system := measure.NewSystem(scratch)
		return system, system.Close
	}
	env.Machine, env.Adapters = cli.RealMachine(), all.Adapters()
	return cli.Main(env)
}

// simulated runs assay in a world that scripts set with variables: SIM_NOW (the
// time), SIM_NOISE (a key of noises), SIM_SEED (of the machine), SIM_STOP (the
// sample after which the user interrupts), SIM_TRACE (a file for what ran), SIM_CPU
// (the processor's model), SIM_CORES (how many) and SIM_TERMINAL.
func simulated() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	config := simulate.Config{Seed: uint64(number("SIM_SEED", 1)), Freezes: "simulated", Noise: noises()[os.Getenv("SIM_NOISE")],
		Interrupt: cancel, AfterSamples: number("SIM_STOP", 0)}
	env := world()
	env.Terminal = os.Getenv("SIM_TERMINAL") != ""
	env.Now = func() time.Time {
		now, err := time.Parse(time.RFC3339, text("SIM_NOW", "2026-09-01T10:15:00Z"))
		if err != nil {
			panic(err)
		}
		return now
	}
	env.Patience = 500 * time.Millisecond // a hang costs virtual time alone
	env.Launch = func(string) (measure.Machine, func() error) {
		m := simulate.New(config)
		return m, func() error {
			if file := os.Getenv("SIM_TRACE"); file != "" {
				return os.WriteFile(file, []byte(fmt.Sprintf("%s\nalive %d\n", strings.Join(m.Trace(), "\n"), m.Alive())), 0o644)
			}
			return nil
		}
	}
	env.Machine = box{}
	env.Adapters = []harness.Named{{Name: simulate.Name, Adapter: simulate.Adapter{}}}
	return cli.Run(ctx, env)
}

func noises() map[string]simulate.Noise {
	return map[string]simulate.Noise{
		"quiet":  {Quiet: 0.01},
		"drift":  {Quiet: 0.01, Drift: 0.1, Period: 3 * time.Second, Walk: 0.1},
		"spikes": {Quiet: 0.01, Spikes: 20, SpikeTime: 2 * time.Millisecond},
		"second": {Quiet: 0.01, Second: 0.02, WarmUp: 0.2, WarmUpTime: time.Second},
	}
}

func text(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func number(name string, fallback int) int {
	n, err := strconv.Atoi(text(name, strconv.Itoa(fallback)))
	if err != nil {
		panic(err)
	}
	return n
}

// box is what there is to know of the simulated machine.
type box struct{}

func (box) Fingerprint() machine.Fingerprint {
	return machine.Fingerprint{
		{Key: "cpu_model", Value: text("SIM_CPU", "Simulated 1000"), Class: machine.Hard, Source: "simulation"},
		{Key: "boost", Value: machine.UnknownValue, Class: machine.Hard},
		{Key: "hostname", Value: "nowhere", Class: machine.Metadata, Source: "simulation"},
	}
}

func (box) Snapshot() machine.Snapshot { return machine.Snapshot{} }

func (box) Topology() machine.Topology {
	var t machine.Topology
	for i := range number("SIM_CORES", 2) {
		t.Online = append(t.Online, i)
		t.CPUs = append(t.CPUs, machine.CPU{ID: i, Siblings: []int{i}})
	}
	t.Allowed = t.Online
	return t
}

func (box) Inspect([]int) []machine.Finding {
	return []machine.Finding{{Code: "simulated", Severity: "warning", Text: "nothing here is real"}}
}

func (box) KeepOff(t machine.Topology, measuring []int) (machine.Seat, error) {
	return machine.Seat{CPUs: []int{0}, Shared: len(t.Allowed) < 2, Text: "assay runs on core 0", Restore: func() error { return nil }}, nil
}
