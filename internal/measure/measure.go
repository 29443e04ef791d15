// Package measure runs a plan on this machine: it starts slots, takes samples in
// lockstep or in blocks, applies the contamination rule, kills what hangs.
//
// In: a plan, artifacts, and a Machine through which every process is started
// and every clock is read. Out: records, in the order in which things happened.
// It must never compute a statistic of the arms, know which arm is better, or
// stop anywhere but at the plan's looks and at an interruption.
package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/harness"
	"assay/internal/machine"
	"assay/internal/result"
)

// Placement says where and how a slot's process runs.
type Placement struct {
	CPUs    []int  // cores; empty: unpinned
	Padding int    // length of the random environment variable
	Copy    string // path of a fresh copy of the binary; empty: run the artifact itself
}

// Machine is the world as measure sees it: the real one, or a simulated one.
type Machine interface {
	// Launch starts the command of a slot. It returns before the worker has
	// answered.
	Launch(ctx context.Context, cmd result.Command, place Placement) (Worker, error)
	Now() time.Time
	// Steal returns the cumulated steal ticks of the cores, false if the system
	// does not say.
	Steal(cpus []int) (int64, bool)
	Snapshot() machine.Snapshot
	// Freezes names the means by which an idle worker is frozen, empty if there
	// is none: the schedule is then blocks.
	Freezes() string
}

// Worker is a started process that serves samples.
type Worker interface {
	// Call sends a request and waits for its reply. When ctx ends first the
	// whole process group is killed and the error is ctx's.
	Call(ctx context.Context, request harness.Request) (harness.Reply, error)
	// Freeze stops every process of the worker and returns when they have stopped.
	Freeze() error
	Thaw() error
	// CPUTime is what the worker has used so far, false if the system does not say.
	CPUTime() (time.Duration, bool)
	// Close kills the process group and returns how it had ended by itself, if it
	// had, and its raw output.
	Close() Exit
}

// Exit is what is left of a worker.
type Exit struct {
	Text   string // "exit status 2", "signal: killed"; empty if assay ended it
	Output []byte // standard output and error
}

// Progress tells what is being done. It is called from the measuring goroutine.
type Progress func(Event)

// Event is one step of a run.
type Event struct {
	Stage string // "list", "pilot", "measure"
	Case  string
	Done  time.Duration // of the expected time
	Total time.Duration
	Text  string
}

// Stopper answers at a look which cases need no further rounds.
type Stopper func(afterRound int) ([]result.CaseID, error)

// Session is one stretch of measuring on a machine.
type Session struct {
	Machine  Machine
	Serve    func(artifact result.Artifact, external bool) result.Command
	Format   harness.Format
	Progress Progress
	Patience time.Duration // for the first answer of a process and for pilot samples; 0: the default

	slot int
	seq  int64
}

// patience is how long a process may take to answer first, and a pilot sample to
// end: generous, since set-up of real benchmarks takes tens of seconds.
const patience = 60 * time.Second

func (s *Session) limit() time.Duration {
	if s.Patience > 0 {
		return s.Patience
	}
	return patience
}

// ErrInterrupted is returned when the context ended: what was committed is kept.
var ErrInterrupted = errors.New("interrupted")

// slotFailure is a case that a slot could not serve.
type slotFailure struct {
	reason result.FailureReason
	text   string
}

func (f *slotFailure) Error() string { return fmt.Sprintf("%s: %s", f.reason, f.text) }

// slotState is a started worker and what is known of it.
type slotState struct {
	arm    result.Arm
	worker Worker
	record result.Slot
	frozen bool
	dead   bool
}

// request is what is needed to start a slot.
type request struct {
	arm      result.Arm
	artifact result.Artifact
	external bool
	round    int
	id       result.CaseID // empty when cases share the process
	position int
	padding  int
	cpus     []int
	pilot    bool
}

// start launches a slot's process and waits for its hello.
func (s *Session) start(ctx context.Context, r request) (*slotState, error) {
	s.slot++
	begin := s.Machine.Now()
	cmd := s.Serve(r.artifact, r.external)
	worker, err := s.Machine.Launch(ctx, cmd, Placement{CPUs: r.cpus, Padding: r.padding, Copy: r.artifact.Path})
	if err != nil {
		return nil, fmt.Errorf("starting %s of arm %s: %w", r.artifact.Package, r.arm, err)
	}
	state := &slotState{arm: r.arm, worker: worker, record: result.Slot{
		Slot: s.slot, Round: r.round, Arm: r.arm, Package: r.artifact.Package, ID: r.id, Position: r.position,
		CPUs: r.cpus, Padding: r.padding, Digest: r.artifact.Digest, Start: begin.UTC(), Pilot: r.pilot,
	}}
	reply, err := s.call(ctx, state, harness.Request{}, s.limit())
	if err == nil && reply.Hello == "" {
		err = &slotFailure{result.FailStart, "its first answer is not a greeting of assay's worker"}
	}
	if err != nil {
		if failure := (*slotFailure)(nil); errors.As(err, &failure) && failure.reason == result.FailCrash {
			failure.reason = result.FailStart
			failure.text = "the process ended before it answered (does TestMain call m.Run?): " + failure.text
		}
		return state, err
	}
	state.record.StartNS = s.Machine.Now().Sub(begin).Nanoseconds()
	return state, nil
}

// call sends one request. An empty request only waits for the hello. A process
// that dies or hangs gives a slotFailure; an interruption gives ErrInterrupted.
func (s *Session) call(ctx context.Context, state *slotState, req harness.Request, limit time.Duration) (harness.Reply, error) {
	callCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reply, err := state.worker.Call(callCtx, req)
	switch {
	case err == nil && reply.Error != "":
		return reply, &slotFailure{result.FailOutput, reply.Error}
	case err == nil && reply.Failed != "":
		return reply, &slotFailure{result.FailBench, reply.Failed}
	case err == nil && reply.Skipped:
		return reply, &slotFailure{result.FailSkipped, "the benchmark skipped itself"}
	case err == nil:
		return reply, nil
	}
	state.dead = true
	if ctx.Err() != nil {
		return reply, ErrInterrupted
	}
	if errors.Is(err, context.DeadlineExceeded) {
		exit := state.worker.Close()
		return reply, &slotFailure{result.FailHang, fmt.Sprintf("no answer within %v; its process group was killed\n%s", limit, tail(exit.Output))}
	}
	exit := state.worker.Close()
	text := exit.Text
	if text == "" {
		text = err.Error()
	}
	return reply, &slotFailure{result.FailCrash, text + "\n" + tail(exit.Output)}
}

// tail keeps the end of captured output, where the cause stands.
func tail(output []byte) string {
	const most = 4000 // fits a report; the whole is in captures/
	if len(output) > most {
		return "...\n" + string(output[len(output)-most:])
	}
	return string(output)
}

// finish kills a slot and hands its output to the sink.
func (s *Session) finish(state *slotState, sink result.RunSink) error {
	exit := state.worker.Close()
	return sink.Output(state.record.Slot, exit.Output)
}

// freeze stops an idle worker. A worker that cannot be frozen any more has died.
func (s *Session) freeze(state *slotState) error {
	if s.Machine.Freezes() == "" || state.frozen || state.dead {
		return nil
	}
	if err := state.worker.Freeze(); err != nil {
		state.dead = true
		exit := state.worker.Close()
		return &slotFailure{result.FailCrash, fmt.Sprintf("%v while idle: %s\n%s", err, exit.Text, tail(exit.Output))}
	}
	state.frozen = true
	return nil
}

func (s *Session) thaw(state *slotState) error {
	if !state.frozen {
		return nil
	}
	if err := state.worker.Thaw(); err != nil {
		return &slotFailure{result.FailCrash, err.Error()}
	}
	state.frozen = false
	return nil
}
