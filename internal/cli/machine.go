package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"assay/internal/machine"
)

// newMachine is `assay machine`: what this machine is and what will hurt.
func newMachine(env *Env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "machine",
		Short: "inspect the machine: what it is, what it is doing, what will hurt a measurement",
		Long:  "machine prints the facts that a run records (what cannot be read is unknown, never a default), the sensors, and in plain words what will hurt.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			m := env.Machine
			var cpus []int
			if cpu, _, ok := machine.DefaultCPU(m.Topology()); ok {
				cpus = []int{cpu}
			}
			facts, sensors, findings := m.Fingerprint(), m.Snapshot(), m.Inspect(cpus)
			if asJSON {
				return writeJSON(env.Stdout, struct {
					Format   string              `json:"format"`
					Machine  machine.Fingerprint `json:"machine"`
					Sensors  machine.Snapshot    `json:"sensors"`
					Findings []machine.Finding   `json:"findings"`
				}{"assay.machine/1", facts, sensors, findings})
			}
			return printMachine(env.Stdout, facts, sensors, findings)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, errors included")
	return cmd
}

func printMachine(w io.Writer, facts machine.Fingerprint, sensors machine.Snapshot, findings []machine.Finding) error {
	out := &lines{w: w}
	for _, class := range []struct {
		class machine.Class
		title string
	}{{machine.Hard, "must be equal to compare runs"}, {machine.Soft, "noted when it differs"}, {machine.Metadata, "recorded"}} {
		out.printf("%s:\n", class.title)
		for _, fact := range facts {
			if fact.Class == class.class {
				out.printf("  %-22s %s\n", fact.Key, fact.Value)
			}
		}
	}
	out.printf("sensors:\n")
	printSensors(out, sensors)
	out.printf("what will hurt:\n")
	for _, f := range findings {
		out.printf("  %-8s %s\n", f.Severity, f.Text)
	}
	if len(findings) == 0 {
		out.printf("  nothing found\n")
	}
	return out.err
}

func printSensors(out *lines, s machine.Snapshot) {
	number := func(name string, v *float64, unit string) {
		if v == nil {
			out.printf("  %-22s %s\n", name, machine.UnknownValue)
			return
		}
		out.printf("  %-22s %.2f%s\n", name, *v, unit)
	}
	number("load1", s.Load1, "")
	number("temperature", s.TemperatureC, " °C")
	number("cpu pressure (10 s)", s.PressureCPU, " %")
	number("memory pressure (10 s)", s.PressureMem, " %")
	if s.Steal == nil {
		out.printf("  %-22s %s\n", "steal ticks", machine.UnknownValue)
	} else {
		out.printf("  %-22s %v per core since boot\n", "steal ticks", s.Steal)
	}
	if s.Throttles == nil {
		out.printf("  %-22s %s\n", "thermal throttles", machine.UnknownValue)
	} else {
		out.printf("  %-22s %d\n", "thermal throttles", *s.Throttles)
	}
}

// lines writes text and keeps the first error.
type lines struct {
	w   io.Writer
	err error
}

func (l *lines) printf(format string, args ...any) {
	if l.err == nil {
		if _, err := fmt.Fprintf(l.w, format, args...); err != nil {
			l.err = fmt.Errorf("writing the output: %w", err)
		}
	}
}
