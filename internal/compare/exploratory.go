package compare

import (
	"math"

	"assay/internal/result"
	"assay/internal/stats"
	"assay/internal/unit"
)

// explore compares a metric outside the family: exactly where it is constant in
// both arms, else by the raw p of its round values. It returns false when an arm
// has no value.
func (c *caseColumns) explore(row Comparison, columns *metricColumns, l levels) (Comparison, bool) {
	s := c.plainSeries(columns, row.Schedule)
	if len(s.values) == 0 {
		return row, false
	}
	base, head := s.side(func(v roundValue) float64 { return v.a }), s.side(func(v roundValue) float64 { return v.b })
	row.Base, row.Head, row.Rounds = base, head, len(s.values)
	row.Overlap = overlap(base.Rounds, head.Rounds)
	if base.Median != 0 {
		if ratio := head.Median/base.Median - 1; finite(ratio) {
			row.RatioOfMedians = &ratio
		}
	}
	if a, b, constant := columns.constants(); constant {
		row.exactly(a, b)
	} else {
		row.estimated(s, l)
	}
	return row, true
}

// constants returns the one value of each arm, and whether each has only one.
func (m *metricColumns) constants() (base, head float64, constant bool) {
	lowA, highA := extent(values(m.arms[result.Base]))
	lowB, highB := extent(values(m.arms[result.Head]))
	return lowA, lowB, lowA == highA && lowB == highB
}

// exactly compares two constants.
func (c *Comparison) exactly(base, head float64) {
	c.Exact = true
	difference := head - base
	c.Absolute = &difference
	if base != 0 {
		if ratio := head/base - 1; finite(ratio) {
			c.Delta = &ratio
		}
	}
	c.Verdict = Same
	if difference != 0 {
		c.Verdict = direction(unit.Direction(c.Better), difference, Better, Worse)
	}
}

// estimated tests a metric that varies: on log-ratios where every round value of
// both arms is above 0, else on differences, which have no relative size.
func (c *Comparison) estimated(s series, l levels) {
	differences, ratios, positive := s.differences()
	d := differences
	if positive {
		d = ratios
	}
	e := l.locate(d)
	c.P = &e.p
	size := e.estimate
	if positive {
		c.Typical = e.public()
		if c.Typical != nil {
			c.Delta, c.CI = &c.Typical.Delta, c.Typical.CI
		}
	} else {
		c.Absolute = &size
	}
	c.Verdict = Inconclusive
	if e.p <= l.level && size != 0 {
		c.Verdict = direction(unit.Direction(c.Better), size, Better, Worse)
	}
}

// differences returns the differences and the log-ratios of the arms' round
// values; positive says whether the latter exist for every round.
func (s series) differences() (differences, ratios []float64, positive bool) {
	positive = true
	for _, v := range s.values {
		differences = append(differences, v.b-v.a)
		positive = positive && v.a > 0 && v.b > 0
		ratios = append(ratios, snap(logRatio(v.a, v.b)))
	}
	return differences, ratios, positive
}

// plainSeries reduces every round of the schedule to the mean of each arm, over
// all samples and weighted by iterations.
func (c *caseColumns) plainSeries(columns *metricColumns, schedule result.Schedule) series {
	s := series{schedule: schedule}
	base, head := byRound(columns.arms[result.Base]), byRound(columns.arms[result.Head])
	for _, round := range c.committed(schedule) {
		a, b := ofRound(base, round), ofRound(head, round)
		if len(a) > 0 && len(b) > 0 {
			s.values = append(s.values, roundValue{round: round, a: total(a), b: total(b)})
		}
	}
	return s
}

// geomean is the geometric mean of head/base over the cases that both arms have
// and for which one figure is right; nil for fewer than two.
func geomean(rows []Comparison) *Geomean {
	var logs []float64
	for _, r := range rows {
		if r.Exploratory || r.Delta == nil || r.Metric != unit.Time().Metric || r.Verdict == Mixed || r.Verdict == ScheduleDependent {
			continue
		}
		logs = append(logs, math.Log1p(*r.Delta))
	}
	if len(logs) < 2 {
		return nil
	}
	return &Geomean{Cases: len(logs), Delta: math.Expm1(stats.Mean(logs))}
}
