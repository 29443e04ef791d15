package measure

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"assay/internal/harness"
	"assay/internal/result"
	"assay/internal/unit"
)

// take is one sample to take.
type take struct {
	state      *slotState
	others     []*slotState // frozen arms
	c          result.Case
	iterations int64
	scale      float64 // iterations are multiplied and the value divided by it
	lead       int64
	limit      time.Duration
	rule       result.Rule
	ruleLimit  int64
	where      result.Measurement // Round, Pass, Position, Schedule, Warmup, Pilot
}

// sample thaws the slot, takes one sample, freezes it again and hands the
// measurements to the sink. It returns them, time first.
func (s *Session) sample(ctx context.Context, t take, sink result.Sink) ([]result.Measurement, error) {
	if err := s.thaw(t.state); err != nil {
		return nil, err
	}
	before := idleCPU(t.others)
	steal, stealKnown := s.Machine.Steal(t.state.record.CPUs)
	n := scaled(t.iterations, t.scale)
	reply, err := s.call(ctx, t.state, harness.Request{Op: harness.OpRun, Name: t.c.Name, Iterations: n, Lead: t.lead}, t.limit)
	if err != nil {
		return nil, err
	}
	if err := s.freeze(t.state); err != nil {
		return nil, err
	}
	m := t.where
	m.Slot, m.Arm, m.ID = t.state.record.Slot, t.state.arm, t.c.ID
	m.Iterations, m.Procs, m.Status = n, reply.Procs, result.StatusOK
	m.Start = time.Unix(0, reply.StartNS).UTC()
	m.WallNS, m.CPUNS, m.Switches = reply.WallNS, reply.CPUNS, reply.Switches
	m.Collections, m.AllocBytes = reply.Collections, reply.AllocBytes
	m.FrozenCPUNS = idleCPU(t.others) - before
	if after, ok := s.Machine.Steal(t.state.record.CPUs); ok && stealKnown {
		m.StealTicks = after - steal
	}
	m.Contaminated = t.rule.Marks(m, t.ruleLimit)
	values, err := s.values(t, reply, n)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		s.seq++
		m.Seq, m.Metric, m.Unit, m.Value = s.seq, v.Metric, v.Unit, v.Value
		values[i] = m
		if err := sink.Put(m); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// scaled is the number of iterations of an arm with a scale (planted control).
func scaled(n int64, scale float64) int64 {
	if scale == 0 || scale == 1 {
		return n
	}
	return int64(math.Round(float64(n) * scale))
}

// idleCPU is the CPU time that frozen slots have used so far, in ns.
func idleCPU(others []*slotState) int64 {
	var sum int64
	for _, o := range others {
		if o.dead {
			continue
		}
		if used, ok := o.worker.CPUTime(); ok {
			sum += used.Nanoseconds()
		}
	}
	return sum
}

// collector gathers what a Format parses.
type collector struct {
	values  []result.Measurement
	damaged []result.Damaged
}

func (c *collector) Put(r result.Record) error {
	switch record := r.(type) {
	case result.Measurement:
		c.values = append(c.values, record)
	case result.Damaged:
		c.damaged = append(c.damaged, record)
	}
	return nil
}

// values reads the result line of a reply. Time comes first and is exact where
// the worker knew it; a planted arm's time is divided by the plan's iterations,
// not by its own.
func (s *Session) values(t take, reply harness.Reply, n int64) ([]result.Measurement, error) {
	var got collector
	cell := result.Cell{Source: "worker", Arm: t.state.arm, Package: t.c.Package, Round: t.where.Round, Slot: t.state.record.Slot, Procs: reply.Procs}
	if err := s.Format.Parse(bytes.NewReader([]byte(strings.TrimRight(reply.Text, "\n")+"\n")), cell, &got); err != nil {
		return nil, fmt.Errorf("reading the result of %s: %w", t.c.ID, err)
	}
	if len(got.damaged) > 0 || len(got.values) == 0 {
		reason := "no result in it"
		if len(got.damaged) > 0 {
			reason = got.damaged[0].Reason
		}
		return nil, &slotFailure{result.FailOutput, fmt.Sprintf("the result cannot be read (%s): %q", reason, reply.Text)}
	}
	timeUnit := unit.Time()
	var out []result.Measurement
	for _, v := range got.values {
		if v.Iterations != n {
			return nil, &slotFailure{result.FailOutput, fmt.Sprintf("ran %d iterations instead of %d", v.Iterations, n)}
		}
		if v.Metric != timeUnit.Metric {
			out = append(out, v)
			continue
		}
		if reply.ElapsedNS > 0 {
			v.Value = float64(reply.ElapsedNS) / float64(n)
		}
		v.Value *= float64(n) / float64(t.iterations)
		out = append([]result.Measurement{v}, out...)
	}
	if len(out) == 0 || out[0].Metric != timeUnit.Metric {
		return nil, &slotFailure{result.FailOutput, fmt.Sprintf("the benchmark reports no time: %q", reply.Text)}
	}
	return out, nil
}
