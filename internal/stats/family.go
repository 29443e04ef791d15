package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm returns the step-down adjusted p-values of a family, in the order given:
// rejecting where the adjusted p is at most alpha keeps the chance of any false
// rejection at most alpha (Holm 1979). A case that could not be tested takes
// part with p = 1.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	running := 0.0
	for rank, i := range order {
		running = max(running, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = running
	}
	return adjusted
}

// SmallestP returns the smallest two-sided p that the sign-flip test can reach
// with the given number of rounds, 2/2^rounds, at most 1.
func SmallestP(rounds int) float64 { return min(1, math.Ldexp(2, -rounds)) }

// RoundsFor returns the fewest rounds with which one case of a family can be
// called changed: the least N with SmallestP(N) <= alpha/(cases x looks).
func RoundsFor(cases, looks int, alpha float64) int {
	level := alpha / float64(max(cases, 1)*max(looks, 1))
	rounds := 1
	for SmallestP(rounds) > level {
		rounds++
	}
	return rounds
}
