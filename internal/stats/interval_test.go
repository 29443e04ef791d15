package stats

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// hull evaluates every centre of the grid, and the middle of every gap, by
// enumeration.
func hull(d []float64, alpha float64) (Interval, bool) {
	accepted := func(centre float64) bool {
		moved := make([]float64, len(d))
		for i, v := range d {
			moved[i] = v - centre
			if math.Abs(moved[i]) <= rounding*math.Abs(centre) {
				moved[i] = 0
			}
		}
		p, _ := bruteForce(moved)
		return p > alpha
	}
	grid := slices.Compact(Walsh(d))
	first, last := -1, -1
	for i, centre := range grid {
		if accepted(centre) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return Interval{}, false
	}
	out := Interval{grid[first], grid[last]}
	if first > 0 && accepted((grid[first-1]+grid[first])/2) {
		out.Lo = grid[first-1]
	}
	if last+1 < len(grid) && accepted((grid[last]+grid[last+1])/2) {
		out.Hi = grid[last+1]
	}
	return out, true
}

func TestFlipIntervalAgainstBruteForce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := values(t, 6, 10)
		alpha := rapid.SampledFrom([]float64{0.05, 0.1, 0.3}).Draw(t, "alpha")
		got, ok := FlipInterval(d, alpha, Sampling{})
		want, found := hull(d, alpha)
		if ok != found || (ok && got != want) {
			t.Fatalf("FlipInterval(%v, %v) = %v %v, enumeration says %v %v", d, alpha, got, ok, want, found)
		}
	})
}

func TestFlipIntervalProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := values(t, 6, 16)
		narrow, ok := FlipInterval(d, 0.2, Sampling{})
		if !ok {
			t.Fatalf("no interval for %v", d)
		}
		wide, _ := FlipInterval(d, 0.05, Sampling{})
		if wide.Lo > narrow.Lo || wide.Hi < narrow.Hi {
			t.Fatalf("level 0.95 %v inside level 0.80 %v", wide, narrow)
		}
		swapped, scaled := make([]float64, len(d)), make([]float64, len(d))
		for i, v := range d {
			swapped[i], scaled[i] = -v, 4*v
		}
		if got, _ := FlipInterval(scaled, 0.05, Sampling{}); got != (Interval{4 * wide.Lo, 4 * wide.Hi}) {
			t.Fatalf("a change of unit moves the interval from %v to %v", wide, got)
		}
		if got, _ := FlipInterval(swapped, 0.05, Sampling{}); math.Abs(got.Lo+wide.Hi) > 1e-9 || math.Abs(got.Hi+wide.Lo) > 1e-9 {
			t.Fatalf("swapping arms moves the interval from %v to %v", wide, got)
		}
	})
}

func TestFlipIntervalShift(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Quarters and a power of two keep the arithmetic exact.
		d := rapid.SliceOfN(rapid.Map(rapid.IntRange(-40, 40), func(k int) float64 { return float64(k) / 4 }), 6, 14).Draw(t, "d")
		shift := float64(rapid.IntRange(-64, 64).Draw(t, "shift"))
		moved := make([]float64, len(d))
		for i, v := range d {
			moved[i] = v + shift
		}
		a, _ := FlipInterval(d, 0.05, Sampling{})
		b, _ := FlipInterval(moved, 0.05, Sampling{})
		if b != (Interval{a.Lo + shift, a.Hi + shift}) || HodgesLehmann(moved) != HodgesLehmann(d)+shift {
			t.Fatalf("shifted by %v: %v becomes %v", shift, a, b)
		}
	})
}

func TestIntervalsNeedEnoughValues(t *testing.T) {
	t.Parallel()
	d := []float64{1, 2, 3, 4, 5}
	if _, ok := FlipInterval(d, 0.05, Sampling{}); ok {
		t.Error("five values bound an interval of level 0.95, but 2/2^5 > 0.05")
	}
	if _, ok := FlipInterval(append(d, 6), 0.05, Sampling{}); !ok {
		t.Error("six values leave the interval of level 0.95 unbounded")
	}
	if _, ok := SignInterval(d, 0.05); ok {
		t.Error("five values bound a sign interval of level 0.95")
	}
	if _, ok := StudentInterval(d[:1], 0.05); ok {
		t.Error("one value has a Student interval")
	}
	same := []float64{3, 3, 3, 3, 3, 3, 3}
	if got, ok := FlipInterval(same, 0.05, Sampling{}); !ok || got != (Interval{3, 3}) {
		t.Errorf("equal values: %v %v", got, ok)
	}
	// Equal but for the last digit, which no Walsh average can lie between.
	next := math.Nextafter(3, 4)
	almost := []float64{3, 3, 3, 3, 3, 3, 3, next, next, next, next, next, next, next}
	if got, ok := FlipInterval(almost, 0.05, Sampling{}); !ok || got != (Interval{3, next}) {
		t.Errorf("values one digit apart: %v %v", got, ok)
	}
}

// Ranks of the sign interval of level at least 0.95: Conover, Practical
// Nonparametric Statistics, 3rd ed. 1999, section 3.2 with table A3 (binomial,
// p = 0.5); e.g. n = 16 takes the 4th from each end, with coverage 0.9787.
func TestSignIntervalTable(t *testing.T) {
	t.Parallel()
	for n, rank := range map[int]int{6: 1, 8: 1, 9: 2, 11: 2, 12: 3, 15: 4, 16: 4, 17: 5, 20: 6, 25: 8, 30: 10} {
		d := make([]float64, n)
		for i := range d {
			d[i] = float64(i + 1)
		}
		got, ok := SignInterval(d, 0.05)
		if want := (Interval{float64(rank), float64(n + 1 - rank)}); !ok || got != want {
			t.Errorf("n = %d: %v %v, want %v", n, got, ok, want)
		}
	}
}

// Two-sided 0.975 quantiles of Student's t: NIST/SEMATECH e-Handbook of
// Statistical Methods, section 1.3.6.7.2.
func TestStudentQuantileTable(t *testing.T) {
	t.Parallel()
	for freedom, want := range map[float64]float64{1: 12.706, 2: 4.303, 5: 2.571, 10: 2.228, 30: 2.042} {
		if got := StudentQuantile(0.975, freedom); math.Abs(got-want) > 5e-4 {
			t.Errorf("%v degrees of freedom: %v, want %v", freedom, got, want)
		}
	}
	if got := NormalQuantile(0.975); math.Abs(got-1.959964) > 1e-6 {
		t.Errorf("normal quantile %v", got)
	}
}

func FuzzFlipInterval(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 0.05)
	f.Add(make([]byte, 40), 0.05)
	f.Add([]byte{0xff, 0x7f, 0, 0, 0xff, 0x7f, 1, 0, 2, 0, 3, 0, 4, 0, 0, 0x80, 5, 1}, 0.1)
	f.Fuzz(func(t *testing.T, raw []byte, alpha float64) {
		if !(alpha > 1e-9 && alpha < 1) || len(raw) > 80 {
			t.Skip()
		}
		var d []float64
		for ; len(raw) >= 2; raw = raw[2:] {
			d = append(d, float64(int16(binary.LittleEndian.Uint16(raw)))/1000)
		}
		got, ok := FlipInterval(d, alpha, Sampling{Draws: 200})
		if !ok {
			return
		}
		if !(got.Lo <= got.Hi) || math.IsInf(got.Lo, 0) || math.IsInf(got.Hi, 0) {
			t.Fatalf("FlipInterval(%v, %v) = %v", d, alpha, got)
		}
		// Every Walsh average outside is rejected.
		for _, centre := range Walsh(d) {
			if got.Contains(centre) {
				continue
			}
			var f flipper
			f.load(d, centre)
			if p := f.twoSided(Sampling{Draws: 200}); p > alpha {
				t.Fatalf("%v outside %v is not rejected: p %v > %v", centre, got, p, alpha)
			}
		}
	})
}

func BenchmarkFlipInterval(b *testing.B) {
	for _, n := range []int{12, 20, 30, 36, 60} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			d := make([]float64, n)
			for i := range d {
				d[i] = rng.NormFloat64()
			}
			for b.Loop() {
				if _, ok := FlipInterval(d, 0.05, Sampling{}); !ok {
					b.Fatal("unbounded")
				}
			}
		})
	}
}
