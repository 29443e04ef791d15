package compare

import (
	"math"
	"testing"

	"assay/internal/result"
)

// The rounds that the seed prints (shared seed document "Benchmark: base vs
// head, measured", per-run figures). It prints them sorted, so the pairing by
// index is ours: only figures that do not depend on it are compared.
func TestSeedFigures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id         result.CaseID
		base, head []float64
		ratio      float64 // published delta of medians, rounded to 0.1 %
		overlap    string
		spread     float64 // published worst-arm spread, rounded to 0.1 %
	}{
		{"url: realistic",
			[]float64{191.2, 192.9, 194.6, 217.4, 218.9, 220.5, 220.7},
			[]float64{50.6, 51.2, 51.5, 51.7, 52.0, 53.0, 53.1}, -0.762, "none", 0.136},
		{"response: 50 dup fields",
			[]float64{2509, 2519, 2530, 2546, 2549, 2549, 2585},
			[]float64{1551, 1554, 1556, 1558, 1561, 1561, 1578}, -0.388, "none", 0.030},
		// Synthetic: the seed prints the median 4142.33, the extremes 4006 and
		// 4252 without the outlier 4654.9, and head's 3848 to 4028 around 3907.70.
		{"mime: 50 wks-miss fields",
			[]float64{4006, 4070, 4110, 4142.33, 4200, 4252, 4654.9},
			[]float64{3848, 3870, 3890, 3907.70, 3950, 3990, 4028}, -0.057, "partial", 0.157},
	} {
		r := newRun()
		r.add(c.id, func(_ *result.Case, p *result.CasePlan) { p.Schedule = result.Blocks })
		for i := range c.base {
			r.block(c.id, i, c.base[i:i+1], c.head[i:i+1])
		}
		row := r.only(t)
		if row.RatioOfMedians == nil || math.Abs(*row.RatioOfMedians-c.ratio) > 0.0005 {
			t.Errorf("%s: ratio of medians %v, want %v", c.id, row.RatioOfMedians, c.ratio)
		}
		if row.Overlap != c.overlap {
			t.Errorf("%s: overlap %q, want %q", c.id, row.Overlap, c.overlap)
		}
		if worst := max(row.Base.Spread, row.Head.Spread); math.Abs(worst-c.spread) > 0.0005 {
			t.Errorf("%s: worst-arm spread %v, want %v", c.id, worst, c.spread)
		}
		if row.P == nil || *row.P != 2.0/128 {
			t.Errorf("%s: p %v, want 2/2^7", c.id, row.P)
		}
		if row.Verdict != Faster || len(row.Base.Rounds) != 7 || row.Base.Rounds[0] != c.base[0] {
			t.Errorf("%s: %+v", c.id, row)
		}
	}
}

// The seed's two WKS cases move +1.1 % without overlap in twenty rounds.
// Synthetic rounds between the published extremes.
func TestSeedTrivialSlowdown(t *testing.T) {
	t.Parallel()
	for margin, want := range map[float64]Verdict{0.015: Trivial, 0.01: Slower} {
		r := newRun()
		const id = "wks: tokenize, lowercased (H2)"
		r.add(id, func(c *result.Case, p *result.CasePlan) { c.Margin, p.Schedule = margin, result.Blocks })
		for i := range 10 {
			base := 2125.2 + (2137.0-2125.2)*float64((i*7)%10)/9
			head := 2152.1 + (2158.0-2152.1)*float64((i*3)%10)/9
			r.block(id, i, []float64{base}, []float64{head})
		}
		row := r.only(t)
		if row.Verdict != want || row.Overlap != "none" {
			t.Errorf("margin %v: %s, overlap %s, delta %v", margin, row.Verdict, row.Overlap, *row.Delta)
		}
	}
}
