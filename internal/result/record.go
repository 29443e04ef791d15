package result

import (
	"time"

	"assay/internal/machine"
)

// Status is how a measured thing ended. The zero status is unknown, never success.
type Status string

// The closed set of statuses.
const (
	StatusUnknown Status = ""
	StatusOK      Status = "ok"
	StatusFailed  Status = "failed"
)

// RecordKind is the "kind" of a line of measurements.jsonl. Closed set.
type RecordKind string

// The kinds of record.
const (
	KindSlot    RecordKind = "slot"
	KindSample  RecordKind = "sample"
	KindDamaged RecordKind = "damaged"
	KindFailure RecordKind = "failure"
	KindSensor  RecordKind = "sensor"
	KindLook    RecordKind = "look"
	KindRound   RecordKind = "round"
	KindEnd     RecordKind = "end"
)

// Record is one line of a run. The set of implementations is closed.
type Record interface{ RecordKind() RecordKind }

// Sink takes records in the order in which things happened.
type Sink interface {
	Put(Record) error
}

// RunSink is a Sink that also keeps the raw output of slots and can be synced.
type RunSink interface {
	Sink
	Output(slot int, raw []byte) error // raw output of a slot, for captures/
	Sync() error                       // on disk when it returns
}

// Cell says where a parsed capture belongs.
type Cell struct {
	Source  string // file name or description, for messages
	Arm     Arm
	Package string // import path when the capture does not say
	Procs   int    // GOMAXPROCS of the process, where known: tells a processor suffix from a name; 0: unknown
	Round   int
	Slot    int
}

// Slot is one fresh process of one arm.
type Slot struct {
	Slot     int       `json:"slot"`
	Round    int       `json:"round"`
	Arm      Arm       `json:"arm"`
	Package  string    `json:"package"`
	ID       CaseID    `json:"id,omitempty"` // empty when cases share the process
	Position int       `json:"position"`     // in the order of the round, from 0
	CPUs     []int     `json:"cpus,omitempty"`
	Padding  int       `json:"env_padding"` // length of the random environment variable
	Digest   string    `json:"digest"`      // of the binary
	Start    time.Time `json:"start"`
	StartNS  int64     `json:"start_ns"` // cost of starting it, to its first answer
	Pilot    bool      `json:"pilot,omitempty"`
}

// Measurement is one stored value.
type Measurement struct {
	Seq          int64     `json:"seq"`
	Round        int       `json:"round"`
	Slot         int       `json:"slot"`
	Pass         int       `json:"pass"`     // lockstep: the pass; blocks: the sample's number in its block
	Position     int       `json:"position"` // in the order of the pass, from 0
	Schedule     Schedule  `json:"schedule"`
	Arm          Arm       `json:"arm"`
	ID           CaseID    `json:"id"`
	Metric       string    `json:"metric"`
	Unit         string    `json:"unit"`
	Value        float64   `json:"value"`
	Iterations   int64     `json:"iterations"`
	Procs        int       `json:"procs,omitempty"` // GOMAXPROCS or the like, where the harness says
	Start        time.Time `json:"start"`
	WallNS       int64     `json:"wall_ns,omitempty"`
	CPUNS        int64     `json:"cpu_ns,omitempty"`
	Switches     int64     `json:"nivcsw"`                  // involuntary context switches
	Collections  int64     `json:"collections,omitempty"`   // garbage collections, forced ones left out
	AllocBytes   int64     `json:"alloc_bytes,omitempty"`   //
	StealTicks   int64     `json:"steal_ticks,omitempty"`   // on the slot's cores during the sample
	FrozenCPUNS  int64     `json:"frozen_cpu_ns,omitempty"` // CPU that frozen arms used during it; must be 0
	Contaminated bool      `json:"contaminated"`
	Warmup       bool      `json:"warmup,omitempty"` // never counted
	Pilot        bool      `json:"pilot,omitempty"`  // never counted
	Status       Status    `json:"status"`
}

// Damaged is foreign text that looks like a result but does not parse.
type Damaged struct {
	Source string `json:"source"` // file
	Line   int    `json:"line"`
	Text   string `json:"text"`
	Reason string `json:"reason"`
	Arm    Arm    `json:"arm,omitempty"`
	ID     CaseID `json:"id,omitempty"`
}

// FailureReason says why a case has no result on an arm. Closed set.
type FailureReason string

// The reasons.
const (
	FailBuild   FailureReason = "build"   // the package does not build on the arm
	FailCrash   FailureReason = "crash"   // the process ended: panic, os.Exit, signal
	FailBench   FailureReason = "failed"  // the benchmark said so (b.Fatal, b.Error)
	FailHang    FailureReason = "hang"    // killed by the watchdog
	FailSkipped FailureReason = "skipped" // the benchmark skipped itself
	FailStart   FailureReason = "start"   // the process never answered (TestMain, missing library)
	FailOutput  FailureReason = "output"  // the result could not be read
)

// Failure is a case that could not be measured on an arm.
type Failure struct {
	Arm     Arm           `json:"arm"`
	Package string        `json:"package,omitempty"`
	ID      CaseID        `json:"id,omitempty"` // empty: every case of the package
	Round   int           `json:"round,omitempty"`
	Slot    int           `json:"slot,omitempty"`
	Reason  FailureReason `json:"reason"`
	Text    string        `json:"text"` // captured output, its end
}

// Sensor is a snapshot of the machine during the run.
type Sensor struct {
	Round    int              `json:"round"`
	Snapshot machine.Snapshot `json:"snapshot"`
}

// LookResult is the stopper's stored answer at a look.
type LookResult struct {
	AfterRound int      `json:"after_round"`
	Stopped    []CaseID `json:"stopped,omitempty"` // cases that need no further rounds
}

// Round commits the records of one case in one round: a reader ignores records
// of a case's round without one.
type Round struct {
	Round    int      `json:"round"`
	ID       CaseID   `json:"id"`
	Schedule Schedule `json:"schedule"`
	Order    []Arm    `json:"order"`            // in which the slots were started
	Slots    []int    `json:"slots"`            // whose samples of the case this record commits
	Marked   bool     `json:"marked,omitempty"` // fewer than 5 clean passes: keeps all
	Pilot    bool     `json:"pilot,omitempty"`
	WallNS   int64    `json:"wall_ns"`
}

// End closes a session of measuring.
type End struct {
	Time        time.Time        `json:"time"`
	Interrupted bool             `json:"interrupted,omitempty"`
	Snapshot    machine.Snapshot `json:"snapshot"`
}

// RecordKind implements Record.
func (Slot) RecordKind() RecordKind { return KindSlot }

// RecordKind implements Record.
func (Measurement) RecordKind() RecordKind { return KindSample }

// RecordKind implements Record.
func (Damaged) RecordKind() RecordKind { return KindDamaged }

// RecordKind implements Record.
func (Failure) RecordKind() RecordKind { return KindFailure }

// RecordKind implements Record.
func (Sensor) RecordKind() RecordKind { return KindSensor }

// RecordKind implements Record.
func (LookResult) RecordKind() RecordKind { return KindLook }

// RecordKind implements Record.
func (Round) RecordKind() RecordKind { return KindRound }

// RecordKind implements Record.
func (End) RecordKind() RecordKind { return KindEnd }
