package compare

import (
	"fmt"
	"math"
	"slices"

	"assay/internal/result"
	"assay/internal/unit"
)

// sample is what is kept of one counted measurement, in the canonical unit.
type sample struct {
	value        float64
	iterations   int64
	round        int32
	pass         int32
	slot         int32
	collections  int32
	contaminated bool
}

// metricColumns are the samples of one case and metric, by arm, in the order in
// which they were put.
type metricColumns struct {
	unit unit.Unit
	arms map[result.Arm][]sample
}

// caseColumns are the counted samples, the rounds and the pilot of one case.
type caseColumns struct {
	metrics map[string]*metricColumns
	rounds  map[int]result.Round // committed
	pilot   []result.Measurement // time, canonical unit, warm-up left out
	unknown int                  // samples that do not say they succeeded
}

// Builder is a result.Sink that keeps what comparing needs: columns of values
// by case, metric and arm, committed rounds, pilot samples, failures and
// damaged records. The zero Builder is empty and ready. Warm-up samples are
// left out; pilot samples are kept apart and never counted.
type Builder struct {
	cases    map[result.CaseID]*caseColumns
	failures []result.Failure
	damaged  []result.Damaged
}

// Put takes one record. A value that is not finite, and a time below 0, become
// a damaged record. It returns no error.
func (b *Builder) Put(record result.Record) error {
	switch r := record.(type) {
	case result.Measurement:
		b.measurement(r)
	case result.Round:
		rounds := b.columns(r.ID).rounds
		if _, known := rounds[r.Round]; !known && !r.Pilot {
			rounds[r.Round] = r
		}
	case result.Failure:
		b.failures = append(b.failures, r)
	case result.Damaged:
		b.damaged = append(b.damaged, r)
	}
	return nil
}

// columns returns the columns of a case to add to.
func (b *Builder) columns(id result.CaseID) *caseColumns {
	if b.cases == nil {
		b.cases = map[result.CaseID]*caseColumns{}
	}
	if b.cases[id] == nil {
		b.cases[id] = &caseColumns{metrics: map[string]*metricColumns{}, rounds: map[int]result.Round{}}
	}
	return b.cases[id]
}

// of returns the columns of a case to read; they are empty for a case unseen.
func (b *Builder) of(id result.CaseID) *caseColumns {
	if c := b.cases[id]; c != nil {
		return c
	}
	return &caseColumns{}
}

func (b *Builder) measurement(m result.Measurement) {
	u, factor := unit.Parse(m.Unit)
	m.Value *= factor
	if m.Metric == "" {
		m.Metric = u.Metric
	}
	if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) || (m.Metric == unit.Time().Metric && m.Value < 0) {
		b.damaged = append(b.damaged, result.Damaged{Arm: m.Arm, ID: m.ID,
			Reason: fmt.Sprintf("sample %d (round %d, slot %d, pass %d): %s is %v %s", m.Seq, m.Round, m.Slot, m.Pass, m.Metric, m.Value, u.Name)})
		return
	}
	c := b.columns(m.ID)
	switch {
	case m.Status != result.StatusOK:
		c.unknown++
	case m.Warmup:
	case m.Pilot:
		if m.Metric == unit.Time().Metric {
			c.pilot = append(c.pilot, m)
		}
	default:
		columns := c.metrics[m.Metric]
		if columns == nil {
			columns = &metricColumns{unit: u, arms: map[result.Arm][]sample{}}
			c.metrics[m.Metric] = columns
		}
		columns.arms[m.Arm] = append(columns.arms[m.Arm], sample{
			value: m.Value, iterations: m.Iterations, round: int32(m.Round), pass: int32(m.Pass), slot: int32(m.Slot),
			collections: int32(m.Collections), contaminated: m.Contaminated,
		})
	}
}

// metricNames lists the metrics of the case, the confirmatory one first and the
// others by name.
func (c *caseColumns) metricNames(confirmatory string) []string {
	names := []string{confirmatory}
	for name := range c.metrics {
		if name != confirmatory {
			names = append(names, name)
		}
	}
	slices.Sort(names[1:])
	return names
}

// failed lists the failures of the case: those that the plan knew, recorded ones
// that name it or its whole package, and damaged records that name it.
func (b *Builder) failed(c result.Case, plan result.CasePlan) []result.Failure {
	failures := slices.Clone(c.Failed)
	for _, f := range plan.Pilot.Failed {
		if !slices.Contains(b.failures, f) {
			failures = append(failures, f)
		}
	}
	for _, f := range b.failures {
		if f.ID == c.ID || (f.ID == "" && f.Package == c.Package) {
			failures = append(failures, f)
		}
	}
	for _, d := range b.damaged {
		if d.ID == c.ID {
			failures = append(failures, result.Failure{Arm: d.Arm, Package: c.Package, ID: d.ID,
				Reason: result.FailOutput, Text: damagedText(d)})
		}
	}
	return failures
}

func damagedText(d result.Damaged) string {
	text := d.Reason
	if d.Source != "" {
		text = fmt.Sprintf("%s:%d: %s", d.Source, d.Line, text)
	}
	if d.Text != "" {
		text += ": " + d.Text
	}
	return text
}
