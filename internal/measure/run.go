package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/plan"
	"assay/internal/result"
)

// State is how far an earlier session of the same run came: what --resume skips.
type State struct {
	Committed map[Done]bool
	Failed    map[result.CaseID]bool
	Looks     []result.LookResult
	LastSlot  int
	LastSeq   int64
}

// Done names a committed round of a case.
type Done struct {
	Round int
	ID    result.CaseID
}

// runner is the state of one call of Run.
type runner struct {
	*Session
	plan   result.Plan
	sink   result.RunSink
	state  State
	failed map[result.CaseID]bool
	ended  map[result.CaseID]bool // stopped at a look
	done   time.Duration
	total  time.Duration
}

// Run measures the plan's rounds and hands every record to the sink. It returns
// ErrInterrupted when ctx ended: the round under way is finished cleanly first
// unless kill ends too. A case that fails on an arm becomes a Failure record, the
// rest goes on.
func (s *Session) Run(ctx, kill context.Context, p result.Plan, stop Stopper, sink result.RunSink) error {
	return s.Resume(ctx, kill, p, State{}, Options{Stop: stop, Sink: sink})
}

// Options are the two ends of a run.
type Options struct {
	Stop Stopper
	Sink result.RunSink
}

// Resume is Run from where an earlier session stopped. ctx asks for a clean end,
// kill for an immediate one.
func (s *Session) Resume(ctx, kill context.Context, p result.Plan, state State, o Options) error {
	r := &runner{Session: s, plan: p, sink: o.Sink, state: state,
		failed: map[result.CaseID]bool{}, ended: map[result.CaseID]bool{}, total: time.Duration(p.Calibration.ExpectedNS)}
	r.state.Committed = map[Done]bool{}
	for _, c := range p.Calibration.Cases {
		r.failed[c.ID] = state.Failed[c.ID]
		for round := range p.Calibration.Rounds {
			if done := (Done{round, c.ID}); state.Committed[done] {
				r.state.Committed[done] = true
				r.done += time.Duration(c.CostNS)
			}
		}
	}
	s.slot, s.seq = max(s.slot, state.LastSlot), max(s.seq, state.LastSeq)
	err := r.rounds(ctx, kill, o.Stop)
	end := result.End{Time: s.Machine.Now().UTC(), Interrupted: errors.Is(err, ErrInterrupted), Snapshot: s.Machine.Snapshot()}
	return errors.Join(err, o.Sink.Put(end), o.Sink.Sync())
}

func (r *runner) rounds(ctx, kill context.Context, stop Stopper) error {
	for round := range r.plan.Calibration.Rounds {
		sensed := false
		drop := func(id result.CaseID) bool { return r.failed[id] || r.ended[id] }
		for _, group := range plan.RoundOrder(r.plan, round, drop) {
			if len(r.pending(round, group)) == 0 {
				continue // measured by an earlier session
			}
			if ctx.Err() != nil {
				return ErrInterrupted
			}
			if !sensed {
				sensed = true
				if err := r.sink.Put(result.Sensor{Round: round, Snapshot: r.Machine.Snapshot()}); err != nil {
					return err
				}
			}
			if err := r.group(kill, round, group); err != nil {
				return err
			}
		}
		if err := r.look(round, stop); err != nil {
			return err
		}
	}
	return nil
}

// look asks the stopper at the plan's looks, or replays a stored answer.
func (r *runner) look(round int, stop Stopper) error {
	last := round == r.plan.Calibration.Rounds-1
	for _, look := range r.plan.Calibration.Looks {
		if look.AfterRound != round+1 || last {
			continue
		}
		answer, stored := result.LookResult{AfterRound: round + 1}, false
		for _, old := range r.state.Looks {
			if old.AfterRound == round+1 {
				answer, stored = old, true
			}
		}
		if !stored {
			ended, err := stop(round + 1)
			if err != nil {
				return fmt.Errorf("looking after round %d: %w", round+1, err)
			}
			answer.Stopped = ended
			if err := errors.Join(r.sink.Put(answer), r.sink.Sync()); err != nil {
				return err
			}
		}
		for _, id := range answer.Stopped {
			r.ended[id] = true
		}
	}
	return nil
}

// group measures the cases that share their processes in this round. A failure
// breaks the processes: they are started anew for the cases that are left.
func (r *runner) group(ctx context.Context, round int, group plan.Group) error {
	for {
		pending := r.pending(round, group)
		if len(pending) == 0 {
			return nil
		}
		if err := r.share(ctx, round, pending); err != nil {
			return err
		}
	}
}

// pending are the cases of the group that are neither committed nor failed.
func (r *runner) pending(round int, group plan.Group) []int {
	var out []int
	for _, i := range group.Cases {
		id := r.plan.Calibration.Cases[i].ID
		if !r.state.Committed[Done{round, id}] && !r.failed[id] {
			out = append(out, i)
		}
	}
	return out
}

// share starts the slots once and measures the pending cases in them, until all
// are committed or one has failed.
func (r *runner) share(ctx context.Context, round int, pending []int) error {
	first := r.plan.Calibration.Cases[pending[0]]
	g := &slots{runner: r, round: round, schedule: plan.ScheduleOf(first, round)}
	if r.Machine.Freezes() == "" {
		g.schedule = result.Blocks
	}
	// The planted control belongs to the lockstep rounds.
	g.arms = plan.CaseArms(r.plan.Draft, first.Planted && g.schedule == result.Lockstep)
	g.order = plan.SlotOrder(r.plan.Draft.Seed, round, first.ID, g.arms)
	var err error
	switch g.schedule {
	case result.Lockstep:
		err = g.lockstep(ctx, pending)
	case result.Blocks:
		err = g.blocks(ctx, pending)
	}
	failure := (*slotFailure)(nil)
	if errors.As(err, &failure) {
		info := r.plan.Expansion.Cases[g.blamed]
		r.failed[info.ID] = true
		err = r.sink.Put(result.Failure{Arm: g.blamedArm, Package: info.Package, ID: info.ID, Round: round, Slot: g.blamedSlot,
			Reason: failure.reason, Text: failure.text})
	}
	return errors.Join(err, g.close(), r.sink.Sync())
}

// commit makes the round of a case count.
func (g *slots) commit(i int, round result.Round) error {
	info := g.plan.Expansion.Cases[i]
	round.Round, round.ID, round.Schedule, round.Order = g.round, info.ID, g.schedule, g.order
	g.state.Committed[Done{g.round, info.ID}] = true
	g.done += time.Duration(g.plan.Calibration.Cases[i].CostNS)
	g.report("measure", info.Title)
	return errors.Join(g.sink.Put(round), g.sink.Sync())
}

func (r *runner) report(stage, title string) {
	if r.Progress != nil {
		r.Progress(Event{Stage: stage, Case: title, Done: r.done, Total: r.total})
	}
}
