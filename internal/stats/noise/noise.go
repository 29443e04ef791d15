// Package noise generates rounds of two arms whose true difference is known,
// under six models of what machines do to measurements. It serves tests and
// simulations of error rates.
//
// In: a model, a number of rounds, a true effect, a seeded source. Out: values of
// both arms by round. It must never draw from an unseeded source.
package noise

import (
	"math"
	"math/rand/v2"
)

// Model is a kind of noise. Closed set.
type Model string

// The six models of statistics.md "One case".
const (
	Quiet    Model = "quiet"     // independent normal noise
	Drift    Model = "drift"     // a random walk that both arms ride on
	Steal    Model = "steal"     // a virtual machine loses the core now and then
	Bimodal  Model = "bimodal"   // each process falls into one of two modes
	SlotBias Model = "slot-bias" // the second process of a round is 2 % slower
	WarmUp   Model = "warm-up"   // the first rounds are slower, and fade
)

// Models lists the closed set in its fixed order.
func Models() []Model { return []Model{Quiet, Drift, Steal, Bimodal, SlotBias, WarmUp} }

// Sizes of the models, as log-ratios: those at which statistics.md's simulation
// found 3.6-5.5 % false alarms, with a quiet noise of 1 %.
const (
	quiet     = 0.01
	walk      = 0.01  // of the drift, per round
	stealRate = 0.15  // of slots
	stealSize = 0.30  // mean, exponential
	modeSplit = 0.14  // the distance of the modes of url: realistic in the seed
	slotBias  = 0.02  // of the second slot
	warmSize  = 0.10  // in the first slot
	warmSlots = 5.0   // slots until it has fallen to 1/e
	level     = 250.0 // value of base without noise
)

// Round holds the values of one round and the coin that ordered it.
type Round struct {
	Base, Head float64
	HeadFirst  bool
}

// Rounds returns n rounds in which head truly differs by the factor exp(effect).
func Rounds(model Model, n int, effect float64, rng *rand.Rand) []Round {
	rounds := make([]Round, n)
	drift := 0.0
	for i := range rounds {
		drift += walk * rng.NormFloat64()
		var slots [2]float64
		for position := range slots {
			slots[position] = quiet * rng.NormFloat64()
			switch model {
			case Quiet:
			case Drift:
				slots[position] += drift
			case Steal:
				if rng.Float64() < stealRate {
					slots[position] += stealSize * rng.ExpFloat64()
				}
			case Bimodal:
				if rng.Float64() < 0.5 {
					slots[position] += modeSplit
				}
			case SlotBias:
				slots[position] += slotBias * float64(position)
			case WarmUp:
				slots[position] += warmSize * math.Exp(-float64(2*i+position)/warmSlots)
			}
		}
		round := Round{HeadFirst: rng.IntN(2) == 1}
		base, head := slots[0], slots[1]
		if round.HeadFirst {
			base, head = head, base
		}
		round.Base, round.Head = level*math.Exp(base), level*math.Exp(head+effect)
		rounds[i] = round
	}
	return rounds
}

// LogRatios returns ln(head/base) of each round.
func LogRatios(rounds []Round) []float64 {
	d := make([]float64, len(rounds))
	for i, r := range rounds {
		d[i] = math.Log(r.Head / r.Base)
	}
	return d
}
