package machine

import (
	"errors"
	"fmt"
)

// Seat is where this process runs while it measures on other cores.
type Seat struct {
	CPUs    []int  // cores of this process
	Shared  bool   // among them is a measuring core, or the system cannot say
	Text    string // the same in words
	Restore func() error
}

// KeepOff moves all threads of this process off the measuring cores and, if
// others are left, off their SMT siblings. New threads inherit the place. When no
// other core is allowed nothing moves and Shared says so. No process may be
// started meanwhile; t must have been read before. Restore undoes it.
func KeepOff(t Topology, measuring []int) (Seat, error) {
	stay := Seat{CPUs: t.Allowed, Shared: true, Restore: func() error { return nil }}
	if !canPin || len(t.Allowed) == 0 {
		stay.Text = "this system cannot say or set where assay runs; it may share the measuring core"
		return stay, nil
	}
	away := without(without(t.Allowed, measuring), t.Isolated)
	if len(away) == 0 {
		away = without(t.Allowed, measuring)
	}
	if len(away) == 0 {
		stay.Text = fmt.Sprintf("assay shares core %s with what it measures: no other is allowed", FormatCPUList(measuring))
		return stay, nil
	}
	text := fmt.Sprintf("assay runs on core %s, the benchmarks on %s", FormatCPUList(away), FormatCPUList(measuring))
	if apart := without(away, t.siblings(measuring)); len(apart) > 0 {
		away = apart
		text = fmt.Sprintf("assay runs on core %s, the benchmarks on %s", FormatCPUList(away), FormatCPUList(measuring))
	} else {
		text += ", an SMT sibling of the same physical core"
	}
	back, err := ownCPUs()
	if err != nil {
		return stay, fmt.Errorf("moving assay off the measuring cores: %w", err)
	}
	if err := moveThreads(away); err != nil {
		return stay, fmt.Errorf("moving assay off the measuring cores: %w", errors.Join(err, moveThreads(back)))
	}
	return Seat{CPUs: away, Text: text, Restore: func() error { return moveThreads(back) }}, nil
}
