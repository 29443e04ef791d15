package compare

import (
	"testing"

	"assay/internal/result"
)

// metric puts n committed rounds of two samples of each arm with the values.
func (r *run) metric(id result.CaseID, metric, unitName string, n int, value func(arm result.Arm, round int) float64) {
	for i := range n {
		for pass := range 2 {
			for _, arm := range []result.Arm{result.Base, result.Head} {
				r.sample(result.Measurement{ID: id, Round: i, Pass: pass, Arm: arm, Metric: metric, Unit: unitName, Value: value(arm, i)})
			}
		}
		r.commit(id, i, result.Lockstep)
	}
}

func TestExploratoryMetrics(t *testing.T) {
	t.Parallel()
	two := func(base, head float64) func(result.Arm, int) float64 {
		return func(arm result.Arm, _ int) float64 {
			if arm == result.Base {
				return base
			}
			return head
		}
	}
	vary := func(base, step float64) func(result.Arm, int) float64 {
		return func(arm result.Arm, round int) float64 {
			v := base + float64(round%3)
			if arm == result.Head {
				v += step
			}
			return v
		}
	}
	value := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name, metric, unit string
		value              func(result.Arm, int) float64
		want               Verdict
		exact              bool
		delta, absolute    *float64
	}{
		{"0 to 16 bytes", "bytes", "B/op", two(0, 16), Worse, true, nil, value(16)},
		{"zero on both arms", "allocations", "allocs/op", two(0, 0), Same, true, nil, value(0)},
		{"fewer allocations", "allocations", "allocs/op", two(4, 3), Better, true, value(-0.25), value(-1)},
		{"higher is better", "ops/s", "ops/s", two(100, 150), Better, true, value(0.5), value(50)},
		{"unknown unit", "widgets", "widgets", two(2, 3), Changed, true, value(0.5), value(1)},
		{"varies, more", "bytes", "B/op", vary(100, 10), Worse, false, nil, nil},
		{"varies, alike", "bytes", "B/op", vary(100, 0), Inconclusive, false, value(0), nil},
		{"varies around 0", "bytes", "B/op", vary(0, 10), Worse, false, nil, value(10)},
		{"negative custom metric", "balance", "balance", vary(-100, 10), Changed, false, nil, value(10)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRun()
			r.add("p.BenchmarkX", nil)
			r.noisy("p.BenchmarkX", 12, 0, source(20))
			r.metric("p.BenchmarkX", c.metric, c.unit, 12, c.value)
			file := Arms(&r.b, r.plan)
			if len(file.Benchmarks) != 2 {
				t.Fatalf("%d rows", len(file.Benchmarks))
			}
			if first := file.Benchmarks[0]; first.Exploratory || first.Metric != "time" || *first.PAdjusted != *first.P {
				t.Errorf("the metric joined the family: %+v", first)
			}
			row := file.Benchmarks[1]
			if row.Verdict != c.want || !row.Exploratory || row.Exact != c.exact || row.PAdjusted != nil || row.Metric != c.metric {
				t.Fatalf("row %+v", row)
			}
			if c.delta != nil && (row.Delta == nil || *row.Delta != *c.delta) {
				t.Errorf("delta %v, want %v", row.Delta, *c.delta)
			}
			if c.absolute != nil && (row.Absolute == nil || *row.Absolute != *c.absolute || (*c.absolute != 0 && c.delta == nil && row.Delta != nil)) {
				t.Errorf("absolute %v, delta %v, want %v", row.Absolute, row.Delta, *c.absolute)
			}
			if !c.exact && row.P == nil {
				t.Error("no p")
			}
		})
	}
}

func TestConfiguredConfirmatoryMetric(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base, head float64
		want       Verdict
	}{{0, 16, Slower}, {100, 100, Equivalent}, {1000, 999, Trivial}, {100, 50, Faster}} {
		r := newRun()
		r.add("p.BenchmarkX", func(k *result.Case, _ *result.CasePlan) { k.Metric = "bytes" })
		r.noisy("p.BenchmarkX", 12, 0.05, source(21))
		r.metric("p.BenchmarkX", "bytes", "B/op", 12, func(arm result.Arm, _ int) float64 {
			if arm == result.Base {
				return c.base
			}
			return c.head
		})
		file := Arms(&r.b, r.plan)
		if row := file.Benchmarks[0]; row.Metric != "bytes" || row.Verdict != c.want || row.Exploratory {
			t.Errorf("%v to %v: %+v", c.base, c.head, row)
		}
		if row := file.Benchmarks[1]; row.Metric != "time" || !row.Exploratory || row.Verdict != Worse {
			t.Errorf("time: %+v", row)
		}
	}
}

func TestUnitsFold(t *testing.T) {
	t.Parallel()
	r := newRun()
	r.add("p.BenchmarkX", nil)
	for i := range 8 {
		for pass := range 6 {
			r.sample(result.Measurement{ID: "p.BenchmarkX", Round: i, Pass: pass, Arm: result.Base, Metric: "time", Unit: "µs/op", Value: 2})
			r.sample(result.Measurement{ID: "p.BenchmarkX", Round: i, Pass: pass, Arm: result.Head, Metric: "time", Unit: "ns/op", Value: 1000})
		}
		r.commit("p.BenchmarkX", i, result.Lockstep)
	}
	if row := r.only(t); row.Unit != "ns/op" || row.Base.Median != 2000 || row.Verdict != Faster || *row.RatioOfMedians != -0.5 {
		t.Errorf("%+v", row)
	}
}
