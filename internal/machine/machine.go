// Package machine reads what the machine is and what it is doing, and places
// processes on it: topology, fingerprint, sensors, pinning, freezing.
//
// In: the operating system (/proc, /sys, system calls). Out: facts with their
// source, snapshots, placements. It must never invent: what cannot be read is
// Unknown, never a default.
package machine

import "time"

// UnknownValue stands for a fact that could not be read.
const UnknownValue = "unknown"

// Class says what a differing fact means for comparing two runs (run key).
type Class string

// The closed set of classes.
const (
	Hard     Class = "hard"     // runs that differ in it are not comparable
	Soft     Class = "soft"     // comparable with an annotation
	Metadata Class = "metadata" // never compared
)

// Fact is one observed property of the machine.
type Fact struct {
	Key    string `json:"key"`              // e.g. "cpu_model"
	Value  string `json:"value"`            // UnknownValue when it could not be read
	Class  Class  `json:"class"`            //
	Source string `json:"source,omitempty"` // file or call it was read from
}

// Fingerprint is the ordered list of facts about a machine.
type Fingerprint []Fact

// Get returns the value of a key, UnknownValue if it is not in the list.
func (f Fingerprint) Get(key string) string {
	for _, fact := range f {
		if fact.Key == key {
			return fact.Value
		}
	}
	return UnknownValue
}

// Snapshot is one reading of the sensors. A sensor that cannot be read is nil
// and left out of JSON.
type Snapshot struct {
	Time         time.Time `json:"time"`
	Load1        *float64  `json:"load1,omitempty"`
	Steal        []int64   `json:"steal_ticks,omitempty"`   // by CPU number, cumulated, in ticks of 1/100 s; -1 for a CPU that has none
	MHz          []float64 `json:"mhz,omitempty"`           // by CPU number; 0 where it cannot be read
	TemperatureC *float64  `json:"temperature_c,omitempty"` // hottest thermal zone or processor sensor
	Throttles    *int64    `json:"throttles,omitempty"`     // cumulated thermal throttle count
	PressureCPU  *float64  `json:"pressure_cpu,omitempty"`  // PSI some avg10, percent
	PressureMem  *float64  `json:"pressure_mem,omitempty"`  // PSI some avg10, percent
	FreeMemory   *int64    `json:"free_memory_bytes,omitempty"`
}
