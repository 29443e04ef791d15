package plan

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"

	"assay/internal/result"
)

// BlockEvery is the share of rounds that run as blocks to cross-check a lockstep
// case: one in four (measurement.md "Caches").
const BlockEvery = 4

// MaxPadding bounds the length of the environment variable that every slot gets:
// one page, beyond which stack addresses repeat modulo the page.
const MaxPadding = 4096

// coin returns the generator of one decision. It depends on the seed and the
// words alone, so the order of round r does not depend on what happened before.
func coin(seed uint64, words ...string) *rand.Rand {
	h := fnv.New64a()
	for _, word := range words {
		_, _ = h.Write([]byte(word)) // hash.Hash never returns an error
		_, _ = h.Write([]byte{0})
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Shuffle returns the items in an order drawn for the words.
func Shuffle[T any](items []T, seed uint64, words ...string) []T {
	out := append([]T(nil), items...)
	coin(seed, words...).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// Group is the set of cases of one round that share their processes: one case,
// or all shared cases of a binary.
type Group struct {
	Package  string
	External bool
	Cases    []int // indices into the calibration's cases, in the order of the round
}

// process is what cases must have in common to share one.
type process struct {
	pkg      string
	external bool
	parallel bool // it gets several cores
}

func processOf(p result.CasePlan, info result.Case) process {
	return process{info.Package, info.External, len(p.CPUs) > 0}
}

// RoundOrder returns the groups of round r in the order drawn for it. Cases that
// are skipped, or for which drop answers true, are left out; the order of the
// others does not depend on them.
func RoundOrder(p result.Plan, r int, drop func(result.CaseID) bool) []Group {
	order := make([]int, len(p.Calibration.Cases))
	for i := range order {
		order[i] = i
	}
	type key struct {
		process
		schedule result.Schedule
	}
	shared := map[key]int{}
	var groups []Group
	for _, i := range Shuffle(order, p.Draft.Seed, "cases", strconv.Itoa(r)) {
		c, info := p.Calibration.Cases[i], p.Expansion.Cases[i]
		if c.Skip != "" || drop(c.ID) {
			continue
		}
		k := key{processOf(c, info), ScheduleOf(c, r)}
		at, ok := shared[k]
		if !ok || !c.Shared {
			at = len(groups)
			groups = append(groups, Group{Package: info.Package, External: info.External})
		}
		if c.Shared {
			shared[k] = at
		}
		groups[at].Cases = append(groups[at].Cases, i)
	}
	return groups
}

// ScheduleOf is the schedule of a case in round r.
func ScheduleOf(c result.CasePlan, r int) result.Schedule {
	if c.Schedule == result.Lockstep && c.BlockPhase >= 0 && r%BlockEvery == c.BlockPhase {
		return result.Blocks
	}
	return c.Schedule
}

// SlotOrder is the order in which the slots of a group start in round r.
func SlotOrder(seed uint64, r int, id result.CaseID, arms []result.Arm) []result.Arm {
	return Shuffle(arms, seed, "slots", strconv.Itoa(r), string(id))
}

// CollectingWarmup is the part of a sample's iterations that warms a slot up
// where samples are long: a case that collects needs pages and code, not cycles.
const CollectingWarmup = 5

// PlantedEvery is the share of passes that the planted arms take part in: the
// positive control may not cost the case it sits on half of its time.
const PlantedEvery = 4

// PassArms are the arms of one pass.
func PassArms(draft result.Draft, pass int, arms []result.Arm) []result.Arm {
	if pass%PlantedEvery == 0 {
		return arms
	}
	return slices.DeleteFunc(slices.Clone(arms), func(arm result.Arm) bool { return Scale(draft, arm) != 1 })
}

// PassOrder is the order of the arms in one pass.
func PassOrder(seed uint64, r int, id result.CaseID, pass int, arms []result.Arm) []result.Arm {
	return Shuffle(arms, seed, "pass", strconv.Itoa(r), string(id), strconv.Itoa(pass))
}

// Padding is the length of a slot's random environment variable.
func Padding(seed uint64, r int, id result.CaseID, arm result.Arm) int {
	return coin(seed, "padding", strconv.Itoa(r), string(id), string(arm)).IntN(MaxPadding)
}

// Cores are the cores of a case's slots in round r: rounds move between the
// cores of --cpu, cases that need several get them all.
func Cores(draft result.Draft, c result.CasePlan, r int) []int {
	if len(c.CPUs) > 0 {
		return c.CPUs
	}
	if len(draft.CPUs) > 1 {
		return []int{draft.CPUs[r%len(draft.CPUs)]}
	}
	return draft.CPUs
}
