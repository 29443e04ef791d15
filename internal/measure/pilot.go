package measure

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"assay/internal/harness"
	"assay/internal/plan"
	"assay/internal/result"
)

// Sizes of the pilot: enough passes for an interquartile range of pair
// differences, enough slots for a variance between them, a small part of the
// default budget.
const (
	pilotRounds     = 3
	pilotRoundsMany = 2 // where there are many cases
	manyCases       = 12
	pilotPasses     = 6
	// pilotEnough: a sample this long says what an iteration costs.
	pilotEnough = 2 * time.Millisecond
	// probeTime is how long goroutines are watched.
	probeTime = 15 * time.Millisecond
	// cyclesTime is the sample in which collections are counted.
	cyclesTime = 80 * time.Millisecond
	// doubleLimit: N against 2N is only tried where it is cheap.
	doubleLimit = 50 * time.Millisecond
	// longSample: where a sample takes longer, fewer pilot passes must do.
	longSample = 10 * time.Millisecond
)

// Pilot measures every case label-blind: what an iteration and a start cost,
// whether it collects or runs on several threads, and a few passes from which
// the analysing half derives variances and contamination. It returns the facts;
// the samples go to the sink, marked.
func (s *Session) Pilot(ctx context.Context, draft result.Draft, expansion result.Expansion, sink result.RunSink) ([]result.PilotCase, error) {
	var measured []int
	for i, c := range expansion.Cases {
		if plan.Measured(draft, c) {
			measured = append(measured, i)
		}
	}
	rounds := pilotRounds
	if len(measured) > manyCases {
		rounds = pilotRoundsMany
	}
	var out []result.PilotCase
	for n, i := range measured {
		if ctx.Err() != nil {
			return out, ErrInterrupted
		}
		if s.Progress != nil {
			s.Progress(Event{Stage: "pilot", Case: expansion.Cases[i].Title, Done: time.Duration(n), Total: time.Duration(len(measured))})
		}
		p := &pilot{Session: s, draft: draft, expansion: expansion, info: expansion.Cases[i], sink: sink,
			arms: plan.CaseArms(draft, false), facts: result.PilotCase{ID: expansion.Cases[i].ID, Unfrozen: s.Machine.Freezes() == ""}}
		err := errors.Join(p.run(ctx, rounds), p.close())
		failure := (*slotFailure)(nil)
		switch {
		case errors.As(err, &failure):
			record := result.Failure{Arm: p.blamed.arm, Package: p.info.Package, ID: p.info.ID, Slot: p.blamed.slot, Reason: failure.reason, Text: failure.text}
			p.facts.Failed = append(p.facts.Failed, record)
			if err := sink.Put(record); err != nil {
				return out, err
			}
		case err != nil:
			return out, err
		}
		out = append(out, p.facts)
	}
	return out, nil
}

// pilot is the pilot of one case.
type pilot struct {
	*Session
	draft     result.Draft
	expansion result.Expansion
	info      result.Case
	sink      result.RunSink
	arms      []result.Arm
	open      []*slotState
	each      []float64 // ns of an iteration in each of open, of the first round
	facts     result.PilotCase
	size      plan.Sampling
	blamed    struct {
		arm  result.Arm
		slot int
	}
}

func (p *pilot) close() error {
	var err error
	for _, state := range p.open {
		err = errors.Join(err, p.finish(state, p.sink))
	}
	p.open = nil
	return err
}

func (p *pilot) run(ctx context.Context, rounds int) error {
	if err := p.start(ctx, 0); err != nil {
		return err
	}
	if err := p.cost(ctx); err != nil {
		return err
	}
	if err := p.probe(ctx); err != nil {
		return err
	}
	if err := p.cycles(ctx); err != nil {
		return err
	}
	p.size = plan.Size(p.facts)
	p.facts.Iterations = p.size.Iterations
	if p.size.Kind == result.Parallel {
		p.facts.OverheadNS = p.facts.SetupNS
		return p.close() // one core says nothing of its passes
	}
	if err := p.double(ctx); err != nil {
		return err
	}
	sample := time.Duration(float64(p.size.Iterations) * p.facts.SlowNS)
	passes := pilotPasses
	if sample > longSample {
		rounds, passes = min(rounds, 2), 2
	}
	for round := range rounds {
		if round > 0 {
			if err := errors.Join(p.close(), p.start(ctx, round)); err != nil {
				return err
			}
		}
		if err := p.passes(ctx, round, passes); err != nil {
			return err
		}
	}
	return nil
}

// start launches one slot of every arm; which comes first is a coin.
func (p *pilot) start(ctx context.Context, round int) error {
	order := plan.Shuffle(p.arms, p.draft.Seed, "pilot", strconv.Itoa(round), string(p.info.ID))
	for position, arm := range order {
		p.blamed.arm, p.blamed.slot = arm, p.slot+1
		artifact, ok := artifactOf(p.expansion.Artifacts, plan.ArtifactArm(p.draft, arm), p.info.Package)
		if !ok {
			return &slotFailure{result.FailBuild, "there is no binary of this arm"}
		}
		state, err := p.Session.start(ctx, request{arm: arm, artifact: artifact, external: p.info.External, round: round, id: p.info.ID,
			position: position, padding: plan.Padding(p.draft.Seed, round, p.info.ID, arm), cpus: plan.Cores(p.draft, result.CasePlan{}, 0), pilot: true})
		if state != nil {
			p.open = append(p.open, state)
		}
		if err == nil {
			err = errors.Join(p.freeze(state), p.sink.Put(state.record))
		}
		if err != nil {
			return err
		}
		p.facts.StartNS = max(p.facts.StartNS, state.record.StartNS)
	}
	return nil
}

// ask thaws a slot, sends one request and freezes it again.
func (p *pilot) ask(ctx context.Context, state *slotState, op harness.Op, n int64) (harness.Reply, error) {
	p.blamed.arm, p.blamed.slot = state.arm, state.record.Slot
	if err := p.thaw(state); err != nil {
		return harness.Reply{}, err
	}
	reply, err := p.call(ctx, state, harness.Request{Op: op, Name: p.info.Name, Iterations: n}, p.limit())
	if err != nil {
		return reply, err
	}
	return reply, p.freeze(state)
}

// timed is the time an answer's iterations took, in ns, exact where known.
func (p *pilot) timed(state *slotState, reply harness.Reply, n int64) (float64, error) {
	values, err := p.values(take{state: state, c: p.info, iterations: n}, reply, n)
	if err != nil {
		return 0, err
	}
	return values[0].Value * float64(n), nil
}

// allocNoise is how much two calls may differ in what package testing and the
// worker allocate themselves (measured 2026-11: below 10 KiB).
const allocNoise = 16 << 10

// allocated is what an iteration allocates, in bytes: the slope between calls of
// two and of n iterations, in which what a call allocates once, set-up included,
// cancels. Of one or two iterations it is what the harness says.
//
// Note: a call of one iteration is no base line. package testing runs the body
// once for it, but twice for any other number.
func allocated(values []result.Measurement, two, many, n int64) float64 {
	if n > 2 {
		return math.Max(0, float64(many-two-allocNoise)/float64(n-2))
	}
	for _, v := range values {
		if v.Metric == "bytes" {
			return v.Value
		}
	}
	return 0
}

// cost finds what an iteration takes on each arm by growing samples.
func (p *pilot) cost(ctx context.Context) error {
	p.facts.FastNS, p.facts.SlowNS = math.Inf(1), 0
	for _, state := range p.open {
		per, two := 0.0, int64(0)
		for n := int64(1); ; {
			reply, err := p.ask(ctx, state, harness.OpRun, n)
			if err != nil {
				return err
			}
			values, err := p.values(take{state: state, c: p.info, iterations: n}, reply, n)
			if err != nil {
				return err
			}
			per = values[0].Value
			took := per * float64(n)
			switch n {
			case 1:
				p.facts.SetupNS = max(p.facts.SetupNS, reply.WallNS-int64(took))
			case 2:
				two = reply.AllocBytes
			}
			if time.Duration(took) >= pilotEnough || n >= maxIterations {
				p.facts.AllocBytes = math.Max(p.facts.AllocBytes, allocated(values, two, reply.AllocBytes, n))
				break
			}
			if n == 1 {
				n = 2
				continue
			}
			n = min(maxIterations, max(n+1, min(100*n, int64(1.2*float64(pilotEnough)/math.Max(per, 0.01)))))
		}
		p.each = append(p.each, per)
		p.facts.FastNS = math.Min(p.facts.FastNS, per)
		p.facts.SlowNS = math.Max(p.facts.SlowNS, per)
	}
	return nil
}

// maxIterations is the most that package testing runs.
const maxIterations = 1_000_000_000

// probe watches the goroutines of every arm.
func (p *pilot) probe(ctx context.Context) error {
	for i, state := range p.open {
		reply, err := p.ask(ctx, state, harness.OpProbe, p.iterations(i, probeTime))
		if err != nil {
			return err
		}
		p.facts.Runnable = max(p.facts.Runnable, reply.Runnable)
		p.facts.RunParallel = p.facts.RunParallel || reply.RunParallel
	}
	return nil
}

// iterations is how many fill the time in a slot. Each slot has its own number:
// arms can differ a thousandfold.
func (p *pilot) iterations(slot int, fill time.Duration) int64 {
	return min(max(1, int64(float64(fill)/math.Max(p.each[slot], 0.01))), maxIterations)
}

// cycles counts collections per iteration where the case allocates enough.
func (p *pilot) cycles(ctx context.Context) error {
	if !plan.Collects(p.facts) {
		return nil
	}
	fewest := math.Inf(1)
	for i, state := range p.open {
		n := p.iterations(i, cyclesTime)
		reply, err := p.ask(ctx, state, harness.OpRun, n)
		if err != nil {
			return err
		}
		if reply.Collections > 0 {
			fewest = math.Min(fewest, float64(reply.Collections)/float64(n))
		}
	}
	if !math.IsInf(fewest, 1) {
		p.facts.Collections = fewest
	}
	return nil
}

// double compares the cost of an iteration in samples of N and of 2N.
func (p *pilot) double(ctx context.Context) error {
	n := p.size.Iterations
	if time.Duration(float64(n)*p.facts.SlowNS) > doubleLimit || n < 2 || p.size.Kind == result.Collecting {
		return nil
	}
	const tries = 5 // the fastest of five is undisturbed even where half are not
	for _, state := range p.open {
		var once, twice []float64
		for range tries {
			for _, factor := range []int64{1, 2} {
				reply, err := p.ask(ctx, state, harness.OpRun, factor*n)
				if err != nil {
					return err
				}
				took, err := p.timed(state, reply, factor*n)
				if err != nil {
					return err
				}
				if factor == 1 {
					once = append(once, took)
				} else {
					twice = append(twice, took/2)
				}
			}
		}
		if change := slices.Min(twice)/slices.Min(once) - 1; math.Abs(change) > math.Abs(p.facts.IterationChange) && !math.IsNaN(change) && !math.IsInf(change, 0) {
			p.facts.IterationChange = change
		}
	}
	return nil
}

// passes takes the pilot's passes with the sizes the run will use.
func (p *pilot) passes(ctx context.Context, round, passes int) error {
	begin := p.Machine.Now()
	timed, samples := 0.0, 0
	record := result.Round{Round: round, ID: p.info.ID, Schedule: p.size.Schedule, Pilot: true}
	for _, state := range p.open {
		record.Order, record.Slots = append(record.Order, state.arm), append(record.Slots, state.record.Slot)
	}
	for pass := -1; pass < passes; pass++ { // -1 is the warm-up
		for position, state := range plan.Shuffle(p.open, p.draft.Seed, "pilot-pass", strconv.Itoa(round), string(p.info.ID), strconv.Itoa(pass)) {
			p.blamed.arm, p.blamed.slot = state.arm, state.record.Slot
			t := take{state: state, c: p.info, iterations: p.size.Iterations, lead: p.size.Lead, limit: p.limit()}
			t.where = result.Measurement{Round: round, Pass: max(pass, 0), Position: position, Schedule: p.size.Schedule, Pilot: true, Warmup: pass < 0}
			for _, other := range p.open {
				if other != state {
					t.others = append(t.others, other)
				}
			}
			values, err := p.sample(ctx, t, p.sink)
			if err != nil {
				return err
			}
			timed += values[0].Value * float64(p.size.Iterations+p.size.Lead)
			samples++
		}
	}
	record.WallNS = p.Machine.Now().Sub(begin).Nanoseconds()
	p.facts.OverheadNS = max(0, (record.WallNS-int64(timed))/int64(samples))
	return p.sink.Put(record)
}
