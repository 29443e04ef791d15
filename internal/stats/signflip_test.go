package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// bruteForce enumerates all sign patterns of the same scores.
func bruteForce(d []float64) (two, greater float64) {
	abs := make([]float64, len(d))
	for i, v := range d {
		abs[i] = math.Abs(v)
	}
	s := madScale * Median(abs)
	scores := make([]int64, len(d))
	var observed int64
	for i, v := range d {
		score := int64(scoreUnit)
		if abs[i] < s {
			score = int64(math.Round(abs[i] / s * scoreUnit))
		}
		if abs[i] == 0 {
			score = 0
		}
		scores[i] = score
		if v < 0 {
			score = -score
		}
		observed += score
	}
	patterns := 1 << len(d)
	for pattern := range patterns {
		var sum int64
		for i, score := range scores {
			if pattern>>i&1 == 1 {
				sum += score
			} else {
				sum -= score
			}
		}
		if max(sum, -sum) >= max(observed, -observed) {
			two++
		}
		if sum >= observed {
			greater++
		}
	}
	return two / float64(patterns), greater / float64(patterns)
}

// values draws data with ties, zeros and heavy tails.
func values(t *rapid.T, least, most int) []float64 {
	value := rapid.OneOf(
		rapid.Float64Range(-1, 1),
		rapid.Map(rapid.IntRange(-3, 3), func(k int) float64 { return float64(k) / 4 }),
		rapid.Float64Range(-1e3, 1e3),
	)
	return rapid.SliceOfN(value, least, most).Draw(t, "d")
}

func TestSignFlipAgainstBruteForce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := values(t, 1, 12)
		two, greater := bruteForce(d)
		if got := SignFlip(d, Sampling{}); got != two {
			t.Fatalf("SignFlip(%v) = %v, enumeration says %v", d, got, two)
		}
		if got := SignFlipGreater(d, Sampling{}); got != greater {
			t.Fatalf("SignFlipGreater(%v) = %v, enumeration says %v", d, got, greater)
		}
	})
}

func TestSignFlipKnownValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		d    []float64
		want float64
	}{
		{"nothing", nil, 1},
		{"zeros", []float64{0, 0, 0}, 1},
		{"all of one sign", []float64{1, 2, 3, 4, 5}, 2.0 / 32},
		{"scale 0 is the sign test on what is not 0", []float64{0, 0, 0, 0, 0, 1, 2, 3}, 2.0 / 8},
		{"balanced", []float64{1, -1}, 1},
	} {
		if got := SignFlip(c.d, Sampling{}); got != c.want {
			t.Errorf("%s: p = %v, want %v", c.name, got, c.want)
		}
	}
	// 36 equal values: every score is equal, the statistic is the sign test's.
	d := slices.Repeat([]float64{0.5}, 36)
	if got, want := SignFlip(d, Sampling{}), math.Ldexp(2, -36); got != want {
		t.Errorf("36 equal values: p = %v, want %v", got, want)
	}
}

func TestSignFlipProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := values(t, 1, 24)
		p := SignFlip(d, Sampling{})
		if p < SmallestP(len(d)) || p > 1 {
			t.Fatalf("p = %v outside [%v, 1]", p, SmallestP(len(d)))
		}
		swapped, scaled := make([]float64, len(d)), make([]float64, len(d))
		for i, v := range d {
			swapped[i], scaled[i] = -v, 8*v
		}
		if got := SignFlip(swapped, Sampling{}); got != p {
			t.Fatalf("swapping arms moves p from %v to %v", p, got)
		}
		if got := SignFlip(scaled, Sampling{}); got != p {
			t.Fatalf("a change of unit moves p from %v to %v", p, got)
		}
		if a, b := HodgesLehmann(d), HodgesLehmann(swapped); math.Abs(a+b) > 1e-12*(1+math.Abs(a)) {
			t.Fatalf("swapping arms: estimates %v and %v", a, b)
		}
		reversed := slices.Clone(d)
		slices.Reverse(reversed)
		if got := SignFlip(reversed, Sampling{}); got != p {
			t.Fatalf("the order of rounds moves p from %v to %v", p, got)
		}
	})
}

func TestSamplingAgreesWithExact(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	for range 5 {
		d := make([]float64, 30)
		for i := range d {
			d[i] = 0.25 + rng.NormFloat64()
		}
		var f flipper
		f.load(d, 0)
		exact := f.twoSided(Sampling{})
		f.n = ExactLimit + 1 // forces drawing
		const draws = 100_000
		drawn := f.twoSided(Sampling{Seed: 3, Draws: draws})
		if sd := math.Sqrt(exact * (1 - exact) / draws); math.Abs(drawn-exact) > 5*sd+2.0/draws {
			t.Errorf("drawn p %v, exact p %v, sd %v", drawn, exact, sd)
		}
	}
	long := make([]float64, 60)
	for i := range long {
		long[i] = 1 + float64(i)
	}
	if got, want := SignFlip(long, Sampling{Draws: 999}), 1.0/1000; got != want {
		t.Errorf("no pattern as extreme: p = %v, want (0+1)/(999+1)", got)
	}
	if SignFlip(long, Sampling{}) != SignFlip(long, Sampling{}) {
		t.Error("the same seed gave another p")
	}
}

func TestPairsAtLeast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.Int32Range(1, 5)
		var left, right half
		a := left.sums(rapid.SliceOfN(score, 0, 6).Draw(t, "a"))
		b := right.sums(rapid.SliceOfN(score, 0, 6).Draw(t, "b"))
		if !slices.IsSorted(a) || !slices.IsSorted(b) {
			t.Fatalf("sums not ascending: %v %v", a, b)
		}
		threshold := rapid.Int64Range(-70, 70).Draw(t, "t")
		want := uint64(0)
		for _, x := range a {
			for _, y := range b {
				if int64(x)+int64(y) >= threshold {
					want++
				}
			}
		}
		if got := pairsAtLeast(a, b, threshold); got != want {
			t.Fatalf("pairsAtLeast(%v, %v, %d) = %d, want %d", a, b, threshold, got, want)
		}
	})
}

func TestHoeffdingBoundIsABound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var f flipper
		f.load(values(t, 1, 16), 0)
		if p := f.twoSided(Sampling{}); p > f.bound()*(1+1e-12) {
			t.Fatalf("p %v above its bound %v", p, f.bound())
		}
	})
}
