// Package stats holds the pure statistics that assay's promises rest on: order
// statistics, the sign-flip test and the interval that inverts it, corrections
// for many cases, and the classical procedures they are checked against.
//
// In: slices of finite numbers, levels, seeds. Out: numbers. It must never
// change a slice it was given, never draw from an unseeded source, and never
// know what its numbers measure.
package stats

import (
	"math"
	"slices"
)

// madScale turns a median absolute deviation into the standard deviation of a
// normal distribution: 1/Phi^-1(3/4).
const madScale = 1.4826022185056018

// Median returns the middle of x, the mean of the two middle values when their
// number is even, and NaN when x is empty.
func Median(x []float64) float64 { return medianSorted(sorted(x)) }

// Quantile returns the q-quantile of x, 0 <= q <= 1, by linear interpolation
// between order statistics (type 7 of Hyndman & Fan 1996), NaN when x is empty.
func Quantile(x []float64, q float64) float64 {
	s := sorted(x)
	if len(s) == 0 {
		return math.NaN()
	}
	at := q * float64(len(s)-1)
	i := min(int(at), len(s)-1)
	j := min(i+1, len(s)-1)
	return s[i] + (at-float64(i))*(s[j]-s[i])
}

// MAD returns the median absolute deviation from the median, scaled to estimate
// the standard deviation of normal data; NaN when x is empty.
func MAD(x []float64) float64 {
	centre := Median(x)
	dev := make([]float64, len(x))
	for i, v := range x {
		dev[i] = math.Abs(v - centre)
	}
	return madScale * Median(dev)
}

// Midmean returns the interquartile mean: the mean of what is left after a
// quarter of the weight is cut from each end, values at the cuts counting in
// part; NaN when x is empty. Its breakdown point is 1/4, and unlike the median
// it averages over values that were rounded to few digits.
func Midmean(x []float64) float64 {
	s := sorted(x)
	n := float64(len(s))
	sum := 0.0
	for i, v := range s {
		weight := min(float64(i+1), 0.75*n) - max(float64(i), 0.25*n)
		if weight > 0 {
			sum += weight * v
		}
	}
	return sum / (0.5 * n)
}

// Mean returns the arithmetic mean, NaN when x is empty.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Variance returns the variance with n-1 in the denominator, NaN for fewer than
// two values.
func Variance(x []float64) float64 {
	if len(x) < 2 {
		return math.NaN()
	}
	centre, sum := Mean(x), 0.0
	for _, v := range x {
		sum += (v - centre) * (v - centre)
	}
	return sum / float64(len(x)-1)
}

func sorted(x []float64) []float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return s
}

func medianSorted(s []float64) float64 {
	n := len(s)
	if n == 0 {
		return math.NaN()
	}
	if n%2 == 1 {
		return s[n/2]
	}
	return s[n/2-1] + (s[n/2]-s[n/2-1])/2
}
