package measure

import (
	"context"
	"errors"
	"time"

	"assay/internal/plan"
	"assay/internal/result"
)

// cleanPasses: a lockstep round with fewer clean passes keeps all of them and is
// marked (measurement.md "Contamination").
const cleanPasses = 5

// slots are the processes of one group in one round.
type slots struct {
	*runner
	round    int
	schedule result.Schedule
	arms     []result.Arm // in the plan's order
	order    []result.Arm // in the order of starting
	open     []*slotState // started and not yet finished, in that order
	// The last thing tried, for blame: index of the case, arm and slot.
	blamed     int
	blamedArm  result.Arm
	blamedSlot int
}

// close ends all processes and keeps their output.
func (g *slots) close() error {
	var err error
	for _, state := range g.open {
		err = errors.Join(err, g.finish(state, g.sink))
	}
	g.open = nil
	return err
}

// launch starts the slot of an arm.
func (g *slots) launch(ctx context.Context, i, position int) (*slotState, error) {
	c, info, arm := g.plan.Calibration.Cases[i], g.plan.Expansion.Cases[i], g.order[position]
	g.blamed, g.blamedArm, g.blamedSlot = i, arm, g.slot+1
	artifact, ok := artifactOf(g.plan.Expansion.Artifacts, plan.ArtifactArm(g.plan.Draft, arm), info.Package)
	if !ok {
		return nil, &slotFailure{result.FailBuild, "there is no binary of this arm"}
	}
	r := request{arm: arm, artifact: artifact, external: info.External, round: g.round, id: c.ID,
		position: position, padding: plan.Padding(g.plan.Draft.Seed, g.round, c.ID, arm), cpus: plan.Cores(g.plan.Draft, c, g.round)}
	if c.Shared {
		r.id = ""
	}
	state, err := g.start(ctx, r)
	if state != nil {
		g.open = append(g.open, state)
	}
	if err != nil {
		return nil, err
	}
	return state, g.sink.Put(state.record)
}

func artifactOf(artifacts []result.Artifact, arm result.Arm, pkg string) (result.Artifact, bool) {
	for _, a := range artifacts {
		if a.Arm == arm && a.Package == pkg && a.Failure == nil {
			return a, true
		}
	}
	return result.Artifact{}, false
}

// take prepares a sample of a case in a slot.
func (g *slots) take(i int, state *slotState) take {
	c := g.plan.Calibration.Cases[i]
	t := take{state: state, c: g.plan.Expansion.Cases[i], iterations: c.Iterations, lead: c.Lead, scale: plan.Scale(g.plan.Draft, state.arm),
		limit: time.Duration(c.TimeoutNS), rule: c.Rule, ruleLimit: c.RuleLimitNS}
	t.where.Round, t.where.Schedule = g.round, g.schedule
	for _, other := range g.open {
		if other != state {
			t.others = append(t.others, other)
		}
	}
	g.blamed, g.blamedArm, g.blamedSlot = i, state.arm, state.record.Slot
	return t
}

// warmup takes the discarded samples of a case at the start of its slot.
func (g *slots) warmup(ctx context.Context, i int, state *slotState) error {
	for n := range g.plan.Calibration.Cases[i].Warmup {
		t := g.take(i, state)
		t.where.Warmup, t.where.Pass = true, n
		if g.plan.Calibration.Cases[i].Kind == result.Collecting {
			t.iterations = max(1, t.iterations/plan.CollectingWarmup)
		}
		if _, err := g.sample(ctx, t, g.sink); err != nil {
			return err
		}
	}
	return nil
}

// lockstep has all slots alive, one running and the others frozen, and takes the
// passes of each case in an order drawn anew.
func (g *slots) lockstep(ctx context.Context, cases []int) error {
	byArm := map[result.Arm]*slotState{}
	for position := range g.order {
		state, err := g.launch(ctx, cases[0], position)
		if err == nil {
			err = g.freeze(state)
		}
		if err != nil {
			return err
		}
		byArm[state.arm] = state
	}
	for _, i := range cases {
		begin := g.Machine.Now()
		for _, state := range g.open {
			if err := g.warmup(ctx, i, state); err != nil {
				return err
			}
		}
		clean, err := g.passes(ctx, i, byArm)
		if err != nil {
			return err
		}
		round := result.Round{Marked: clean < cleanPasses, WallNS: g.Machine.Now().Sub(begin).Nanoseconds()}
		for _, state := range g.open {
			round.Slots = append(round.Slots, state.record.Slot)
		}
		if err := g.commit(i, round); err != nil {
			return err
		}
	}
	return nil
}

// passes takes all passes of a case and returns how many were clean.
func (g *slots) passes(ctx context.Context, i int, byArm map[result.Arm]*slotState) (clean int, err error) {
	c := g.plan.Calibration.Cases[i]
	for pass := range c.Passes {
		dirty := false
		arms := plan.PassArms(g.plan.Draft, pass, g.arms)
		for position, arm := range plan.PassOrder(g.plan.Draft.Seed, g.round, c.ID, pass, arms) {
			t := g.take(i, byArm[arm])
			t.where.Pass, t.where.Position = pass, position
			values, err := g.sample(ctx, t, g.sink)
			if err != nil {
				return clean, err
			}
			dirty = dirty || values[0].Contaminated
		}
		if !dirty {
			clean++
		}
	}
	return clean, nil
}

// blocks runs the slots one after the other, each taking all samples of every
// case in a row.
func (g *slots) blocks(ctx context.Context, cases []int) error {
	rounds := make([]result.Round, len(cases))
	for position := range g.order {
		state, err := g.launch(ctx, cases[0], position)
		if err != nil {
			return err
		}
		for at, i := range cases {
			begin := g.Machine.Now()
			if err := g.block(ctx, i, state); err != nil {
				return err
			}
			rounds[at].Slots = append(rounds[at].Slots, state.record.Slot)
			rounds[at].WallNS += g.Machine.Now().Sub(begin).Nanoseconds()
		}
		if err := g.close(); err != nil {
			return err
		}
	}
	for at, i := range cases {
		if err := g.commit(i, rounds[at]); err != nil {
			return err
		}
	}
	return nil
}

// block takes the samples of one case in one slot.
func (g *slots) block(ctx context.Context, i int, state *slotState) error {
	if err := g.warmup(ctx, i, state); err != nil {
		return err
	}
	for n := range g.plan.Calibration.Cases[i].BlockSamples {
		t := g.take(i, state)
		t.lead = 0 // the sample before it left the caches as this one wants them
		t.where.Pass, t.where.Position = n, state.record.Position
		if _, err := g.sample(ctx, t, g.sink); err != nil {
			return err
		}
	}
	return nil
}
