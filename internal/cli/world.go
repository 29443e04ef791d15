package cli

import "assay/internal/machine"

// realMachine is the machine assay runs on.
type realMachine struct{ *machine.System }

// RealMachine returns the inspector of the machine assay runs on.
func RealMachine() Inspector { return realMachine{machine.New()} }

// KeepOff implements Inspector.
func (realMachine) KeepOff(t machine.Topology, measuring []int) (machine.Seat, error) {
	return machine.KeepOff(t, measuring)
}
