package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// PairedT returns the two-sided p of Student's one-sample t test of d against 0.
// It is 1 for fewer than two values, and for values that are all 0.
func PairedT(d []float64) float64 {
	if len(d) < 2 {
		return 1
	}
	n := float64(len(d))
	centre, spread := Mean(d), math.Sqrt(Variance(d)/n)
	switch {
	case centre == 0:
		return 1
	case spread == 0:
		return 0
	}
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Survival(math.Abs(centre/spread))
}

// SignedRank returns the exact two-sided p of Wilcoxon's signed-rank test of d
// against 0. Zeros are dropped and ties share their mean rank.
func SignedRank(d []float64) float64 {
	ranks, positive := doubledRanks(d)
	total := 0
	for _, r := range ranks {
		total += r
	}
	// chance[w] is the probability that the doubled ranks with positive sign add up to w.
	chance := make([]float64, total+1)
	chance[0] = 1
	for _, r := range ranks {
		for w := total; w >= 0; w-- {
			chance[w] /= 2
			if w >= r {
				chance[w] += chance[w-r] / 2
			}
		}
	}
	extreme := min(positive, total-positive)
	tail := 0.0
	for _, c := range chance[:extreme+1] {
		tail += c
	}
	return min(1, 2*tail)
}

// doubledRanks returns twice the ranks of the non-zero |d|, and the sum of those
// that belong to positive values.
func doubledRanks(d []float64) (ranks []int, positive int) {
	nonzero := slices.DeleteFunc(slices.Clone(d), func(v float64) bool { return v == 0 })
	slices.SortFunc(nonzero, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	for i := 0; i < len(nonzero); {
		j := i
		for j < len(nonzero) && math.Abs(nonzero[j]) == math.Abs(nonzero[i]) {
			j++
		}
		for _, v := range nonzero[i:j] {
			ranks = append(ranks, i+1+j)
			if v > 0 {
				positive += i + 1 + j
			}
		}
		i = j
	}
	return ranks, positive
}

// BootstrapRatio returns the percentile interval of level 1-alpha of
// statistic(a)/statistic(b), both resampled independently draws times (Efron &
// Tibshirani 1993, chapter 13). Resamples in which the ratio is not finite are
// left out; ok is false when none is left.
func BootstrapRatio(a, b []float64, statistic func([]float64) float64, alpha float64, sampling Sampling) (interval Interval, ok bool) {
	draws := sampling.Draws
	if draws <= 0 {
		draws = DefaultDraws
	}
	rng := rand.New(rand.NewPCG(sampling.Seed, uint64(draws)))
	ratios := make([]float64, 0, draws)
	for range draws {
		ratio := statistic(resample(a, rng)) / statistic(resample(b, rng))
		if !math.IsNaN(ratio) && !math.IsInf(ratio, 0) {
			ratios = append(ratios, ratio)
		}
	}
	if len(ratios) == 0 {
		return Interval{}, false
	}
	return Interval{Quantile(ratios, alpha/2), Quantile(ratios, 1-alpha/2)}, true
}

func resample(x []float64, rng *rand.Rand) []float64 {
	out := make([]float64, len(x))
	for i := range out {
		out[i] = x[rng.IntN(len(x))]
	}
	return out
}
