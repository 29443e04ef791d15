package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"assay/internal/stats"
	"assay/internal/stats/noise"
)

// False alarms and coverage under every noise model. The source is seeded, so
// the outcome is fixed; the bounds are 5 standard errors of a binomial.
func TestFalseAlarmsAndCoverage(t *testing.T) {
	t.Parallel()
	const trials, rounds, alpha = 2000, 12, 0.05
	se := math.Sqrt(alpha * (1 - alpha) / trials)
	for _, model := range noise.Models() {
		t.Run(string(model), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(20260901, 1))
			alarms, covered := 0, 0
			for range trials {
				const effect = 0.03
				d := noise.LogRatios(noise.Rounds(model, rounds, 0, rng))
				if stats.SignFlip(d, stats.Sampling{}) <= alpha {
					alarms++
				}
				d = noise.LogRatios(noise.Rounds(model, rounds, effect, rng))
				if interval, ok := stats.FlipInterval(d, alpha, stats.Sampling{}); ok && interval.Contains(effect) {
					covered++
				}
			}
			t.Logf("alarms %.4f covered %.4f", float64(alarms)/trials, float64(covered)/trials)
			if rate := float64(alarms) / trials; rate > alpha+5*se || rate < alpha/3 {
				t.Errorf("false alarms %.4f at nominal %.2f", rate, alpha)
			}
			if rate := float64(covered) / trials; rate < 1-alpha-5*se {
				t.Errorf("coverage %.4f at nominal %.2f", rate, 1-alpha)
			}
		})
	}
}

// A planted effect is found at least as often as by the paired t test where the
// noise is heavy-tailed, and about as often where it is normal.
func TestPower(t *testing.T) {
	t.Parallel()
	const trials, rounds, alpha = 1000, 14, 0.05
	for model, effect := range map[noise.Model]float64{noise.Quiet: 0.012, noise.Steal: 0.03} {
		rng := rand.New(rand.NewPCG(20260902, 2))
		ours, student := 0, 0
		for range trials {
			d := noise.LogRatios(noise.Rounds(model, rounds, effect, rng))
			if stats.SignFlip(d, stats.Sampling{}) <= alpha {
				ours++
			}
			if stats.PairedT(d) <= alpha {
				student++
			}
		}
		t.Logf("%s ours %d student %d", model, ours, student)
		least := student - trials/20
		if model == noise.Steal {
			least = 3 * student / 2
		}
		if ours < least {
			t.Errorf("%s: found %d of %d, paired t %d", model, ours, trials, student)
		}
	}
}

func TestNoiseIsSeededAndUnbiased(t *testing.T) {
	t.Parallel()
	for _, model := range noise.Models() {
		a := noise.Rounds(model, 4000, 0.05, rand.New(rand.NewPCG(3, 4)))
		b := noise.Rounds(model, 4000, 0.05, rand.New(rand.NewPCG(3, 4)))
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("%s: the same seed gave other rounds", model)
			}
		}
		if got := stats.Mean(noise.LogRatios(a)); math.Abs(got-0.05) > 0.02 {
			t.Errorf("%s: mean log-ratio %v, planted 0.05", model, got)
		}
	}
}
