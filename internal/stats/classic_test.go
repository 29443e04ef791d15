package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestOrderStatistics(t *testing.T) {
	t.Parallel()
	x := []float64{9, 1, 5, 3, 7}
	before := slices.Clone(x)
	for name, got := range map[string][2]float64{
		"median":           {Median(x), 5},
		"even median":      {Median([]float64{4, 1, 2, 3}), 2.5},
		"quantile 0":       {Quantile(x, 0), 1},
		"quantile .25":     {Quantile(x, 0.25), 3},
		"quantile .9":      {Quantile(x, 0.9), 8.2},
		"quantile 1":       {Quantile(x, 1), 9},
		"mad":              {MAD(x), 2 * madScale},
		"midmean of 4":     {Midmean([]float64{100, 2, 3, -50}), 2.5},
		"midmean of 5":     {Midmean(x), (0.75*3 + 5 + 0.75*7) / 2.5},
		"midmean of 1":     {Midmean([]float64{4}), 4},
		"mean":             {Mean(x), 5},
		"variance":         {Variance(x), 10},
		"walsh, HL":        {HodgesLehmann([]float64{0, 1, 5}), 1.75},
		"distance of ends": {Interval{1, 4}.HalfWidth(), 1.5},
	} {
		if math.Abs(got[0]-got[1]) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got[0], got[1])
		}
	}
	if !cmp.Equal(x, before) {
		t.Errorf("the caller's slice was reordered: %v", x)
	}
	for name, got := range map[string]float64{"median": Median(nil), "quantile": Quantile(nil, 0.5), "mad": MAD(nil), "midmean": Midmean(nil),
		"mean": Mean(nil), "hl": HodgesLehmann(nil), "variance": Variance([]float64{1})} {
		if !math.IsNaN(got) {
			t.Errorf("%s of too few values is %v, want NaN", name, got)
		}
	}
}

func TestHolm(t *testing.T) {
	t.Parallel()
	// Worked by hand: sorted 0.005 0.01 0.03 0.04 times 4 3 2 1, then made monotone.
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005})
	if want := []float64{0.03, 0.06, 0.06, 0.02}; !cmp.Equal(got, want) {
		t.Errorf("Holm = %v, want %v", got, want)
	}
	if len(Holm(nil)) != 0 {
		t.Error("an empty family has adjusted p")
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 30).Draw(t, "p")
		adjusted := Holm(p)
		with := Holm(append(slices.Clone(p), 1))
		for i := range p {
			if adjusted[i] < p[i] || adjusted[i] > min(1, float64(len(p))*p[i]) {
				t.Fatalf("adjusted %v of p %v leaves [p, n p]", adjusted[i], p[i])
			}
			if with[i] < adjusted[i] {
				t.Fatalf("a failed case made p %v smaller: %v", adjusted[i], with[i])
			}
			for j := range p {
				if p[i] < p[j] && adjusted[i] > adjusted[j] {
					t.Fatalf("order lost: %v", adjusted)
				}
			}
		}
	})
}

func TestRoundsFor(t *testing.T) {
	t.Parallel()
	// statistics.md: "N = 10 allows 25 cases at 5 % and one look".
	for _, c := range []struct{ cases, looks, want int }{{1, 1, 6}, {25, 1, 10}, {26, 1, 11}, {11, 1, 9}, {11, 3, 11}, {0, 0, 6}} {
		if got := RoundsFor(c.cases, c.looks, 0.05); got != c.want {
			t.Errorf("RoundsFor(%d, %d) = %d, want %d", c.cases, c.looks, got, c.want)
		}
	}
	if SmallestP(0) != 1 || SmallestP(1) != 1 || SmallestP(10) != 2.0/1024 {
		t.Error("SmallestP is not 2/2^n")
	}
	if got := DrawsFor(11, 3, 0.01); got != 66000 {
		t.Errorf("DrawsFor = %d", got)
	}
}

// Critical values of Wilcoxon's signed-rank statistic, two-sided 5 %: Wilcoxon &
// Wilcox, Some Rapid Approximate Statistical Procedures, 1964, table 2. The
// smaller rank sum W is significant, W+1 is not.
func TestSignedRankTable(t *testing.T) {
	t.Parallel()
	for n, critical := range map[int]int{6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 12: 13, 15: 25, 20: 52, 25: 89} {
		for w, significant := range map[int]bool{critical: true, critical + 1: false} {
			if p := SignedRank(withRankSum(n, w)); (p <= 0.05) != significant {
				t.Errorf("n = %d, W = %d: p = %v", n, w, p)
			}
		}
	}
	if got := SignedRank([]float64{0, 0}); got != 1 {
		t.Errorf("zeros alone: p = %v", got)
	}
}

// withRankSum builds 1..n with signs whose positive ranks add up to w.
func withRankSum(n, w int) []float64 {
	d := make([]float64, n)
	for i := n; i >= 1; i-- {
		d[i-1] = -float64(i)
		if i <= w {
			d[i-1] = float64(i)
			w -= i
		}
	}
	return d
}

func TestSignedRankAgainstBruteForce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := values(t, 1, 10)
		ranks, positive := doubledRanks(d)
		total, extreme := 0, 0
		for _, r := range ranks {
			total += r
		}
		for pattern := range 1 << len(ranks) {
			sum := 0
			for i, r := range ranks {
				if pattern>>i&1 == 1 {
					sum += r
				}
			}
			if min(sum, total-sum) <= min(positive, total-positive) {
				extreme++
			}
		}
		want := float64(extreme) / math.Ldexp(1, len(ranks))
		if got := SignedRank(d); math.Abs(got-want) > 1e-12 {
			t.Fatalf("SignedRank(%v) = %v, enumeration says %v", d, got, want)
		}
	})
}

// Student's sleep data (Biometrika 6, 1908): t = 4.0621 with 9 degrees of
// freedom, p = 0.00283.
func TestPairedT(t *testing.T) {
	t.Parallel()
	d := []float64{1.2, 2.4, 1.3, 1.3, 0, 1.0, 1.8, 0.8, 4.6, 1.4}
	if got := PairedT(d); math.Abs(got-0.00283) > 5e-6 {
		t.Errorf("PairedT = %v", got)
	}
	interval, ok := StudentInterval(d, 0.05)
	if !ok || math.Abs(interval.Lo-0.7001) > 1e-4 || math.Abs(interval.Hi-2.4599) > 1e-4 {
		t.Errorf("StudentInterval = %v %v", interval, ok)
	}
	if PairedT([]float64{0, 0}) != 1 || PairedT([]float64{2, 2}) != 0 || PairedT([]float64{1}) != 1 {
		t.Error("degenerate data")
	}
}

func TestBootstrapRatio(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 5))
	a, b := make([]float64, 200), make([]float64, 200)
	for i := range a {
		a[i], b[i] = 2*rng.NormFloat64(), rng.NormFloat64()
	}
	rms := func(x []float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum += v * v
		}
		return math.Sqrt(sum / float64(len(x)))
	}
	got, ok := BootstrapRatio(a, b, rms, 0.05, Sampling{Seed: 1, Draws: 2000})
	// The ratio of two root mean squares of 200 values has a standard error of
	// 2/sqrt(200), so the interval is about +-0.28 around 2.
	if !ok || !got.Contains(2) || got.HalfWidth() < 0.2 || got.HalfWidth() > 0.36 {
		t.Errorf("BootstrapRatio = %v %v", got, ok)
	}
	again, _ := BootstrapRatio(a, b, rms, 0.05, Sampling{Seed: 1, Draws: 2000})
	if again != got {
		t.Error("the same seed gave another interval")
	}
	if _, ok := BootstrapRatio([]float64{1}, []float64{0}, Mean, 0.05, Sampling{Draws: 10}); ok {
		t.Error("a ratio over 0 has an interval")
	}
}
