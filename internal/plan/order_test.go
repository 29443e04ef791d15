package plan

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/result"
)

func planOf(cases ...result.CasePlan) result.Plan {
	p := result.Plan{Draft: twoArms()}
	for i := range cases {
		cases[i].ID = result.CaseID(fmt.Sprintf("p.Benchmark%c", 'A'+i))
		p.Expansion.Cases = append(p.Expansion.Cases, result.Case{ID: cases[i].ID, Package: "p"})
	}
	p.Calibration = result.Calibration{Cases: cases, Rounds: 8}
	return p
}

func none(result.CaseID) bool { return false }

func flat(groups []Group) []int {
	var out []int
	for _, g := range groups {
		out = append(out, g.Cases...)
	}
	return out
}

// TestRoundOrderOfRoundAlone: the order of a round depends on the seed and the
// round alone, not on which cases dropped out before it.
func TestRoundOrderOfRoundAlone(t *testing.T) {
	t.Parallel()
	p := planOf(make([]result.CasePlan, 9)...)
	for r := range 20 {
		whole := flat(RoundOrder(p, r, none))
		if len(whole) != 9 {
			t.Fatalf("round %d has %d cases", r, len(whole))
		}
		gone := map[int]bool{r % 9: true, (r + 4) % 9: true}
		part := flat(RoundOrder(p, r, func(id result.CaseID) bool { return gone[int(id[len(id)-1]-'A')] }))
		want := slices.DeleteFunc(slices.Clone(whole), func(i int) bool { return gone[i] })
		if !slices.Equal(part, want) {
			t.Errorf("round %d: %v without %v gives %v, want %v", r, whole, gone, part, want)
		}
		if again := flat(RoundOrder(p, r, none)); !slices.Equal(again, whole) {
			t.Errorf("round %d: asked again %v, first %v", r, again, whole)
		}
	}
	other := p
	other.Draft.Seed++
	if slices.Equal(flat(RoundOrder(p, 0, none)), flat(RoundOrder(other, 0, none))) &&
		slices.Equal(flat(RoundOrder(p, 1, none)), flat(RoundOrder(other, 1, none))) {
		t.Error("another seed gives the same orders")
	}
}

// TestOrdersGolden pins the orders themselves: a resumed run draws the same coin
// with a later version of the program.
func TestOrdersGolden(t *testing.T) {
	t.Parallel()
	p := planOf(make([]result.CasePlan, 4)...)
	arms := CaseArms(p.Draft, true)
	var got []string
	for r := range 3 {
		got = append(got, fmt.Sprint(flat(RoundOrder(p, r, none)), SlotOrder(p.Draft.Seed, r, "p.BenchmarkA", arms[:2]), PassOrder(p.Draft.Seed, r, "p.BenchmarkA", 3, arms),
			Padding(p.Draft.Seed, r, "p.BenchmarkA", result.Head)))
	}
	want := []string{
		"[3 1 0 2] [head base] [head planted-2 base planted-1] 3153",
		"[0 1 3 2] [base head] [planted-2 planted-1 base head] 3967",
		"[0 1 3 2] [head base] [planted-1 planted-2 head base] 3749",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}

func TestSharedGroups(t *testing.T) {
	t.Parallel()
	lockstep := result.CasePlan{Schedule: result.Lockstep, BlockPhase: 1, Shared: true}
	p := planOf(lockstep, lockstep, result.CasePlan{Schedule: result.Lockstep, BlockPhase: 0, Shared: true},
		result.CasePlan{Schedule: result.Blocks, BlockPhase: -1, Shared: true, CPUs: []int{0, 1}},
		result.CasePlan{Schedule: result.Lockstep, BlockPhase: -1}, result.CasePlan{Skip: SkipFailed, Shared: true}, lockstep)
	p.Expansion.Cases[6].External = true
	for r, want := range [][][]int{
		{{0, 1}, {2}, {3}, {4}, {6}},
		{{0, 1}, {2}, {3}, {4}, {6}},
		{{0, 1, 2}, {3}, {4}, {6}}, // no cross-check in this round
	} {
		var got [][]int
		for _, g := range RoundOrder(p, r, none) {
			slices.Sort(g.Cases)
			got = append(got, g.Cases)
			if g.External != (g.Cases[0] == 6) {
				t.Errorf("round %d: group %v is external: %v", r, g.Cases, g.External)
			}
		}
		slices.SortFunc(got, func(a, b []int) int { return a[0] - b[0] })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("round %d: groups (-want +got):\n%s", r, diff)
		}
	}
}

func TestScheduleOf(t *testing.T) {
	t.Parallel()
	for phase := range BlockEvery {
		c := result.CasePlan{Schedule: result.Lockstep, BlockPhase: phase}
		for rounds := 1; rounds < 60; rounds++ {
			n := counted(c, rounds)
			if n < rounds-(rounds+BlockEvery-1)/BlockEvery || n > rounds-rounds/BlockEvery {
				t.Errorf("%d of %d rounds run in lockstep", n, rounds)
			}
			if got := counted(c, total(rounds)); got < rounds {
				t.Errorf("total(%d) = %d rounds have %d in lockstep", rounds, total(rounds), got)
			}
		}
	}
	if got := ScheduleOf(result.CasePlan{Schedule: result.Blocks, BlockPhase: -1}, 0); got != result.Blocks {
		t.Errorf("a case of blocks runs in %s", got)
	}
	if got := ScheduleOf(result.CasePlan{Schedule: result.Lockstep, BlockPhase: -1}, 3); got != result.Lockstep {
		t.Errorf("a case without a cross-check runs in %s", got)
	}
}

// TestFairCoin: all orders are equally likely. The seeds are fixed, so the test
// never flickers; the limits are the 99.9th percentiles of chi-square.
func TestFairCoin(t *testing.T) {
	t.Parallel()
	arms := []result.Arm{"a", "b", "c", "d"}
	const draws = 24 * 500
	for name, test := range map[string]struct {
		order  func(i int) string
		orders int
		limit  float64
	}{
		"slots by seed":  {func(i int) string { return fmt.Sprint(SlotOrder(uint64(i), 3, "x", arms[:2])) }, 2, 10.83},
		"slots by round": {func(i int) string { return fmt.Sprint(SlotOrder(5, i, "x", arms)) }, 24, 49.73},
		"slots by case": {func(i int) string {
			return fmt.Sprint(SlotOrder(5, 0, result.CaseID("p.Benchmark"+strconv.Itoa(i)), arms))
		}, 24, 49.73},
		"passes":        {func(i int) string { return fmt.Sprint(PassOrder(5, i/100, "x", i%100, arms)) }, 24, 49.73},
		"passes of two": {func(i int) string { return fmt.Sprint(PassOrder(9, i/100, "x", i%100, arms[:2])) }, 2, 10.83},
		"pass against slot": {func(i int) string {
			return fmt.Sprint(PassOrder(5, i, "x", 0, arms[:2]), SlotOrder(5, i, "x", arms[:2]))
		}, 4, 16.27},
		"one pass and the next": {func(i int) string {
			return fmt.Sprint(PassOrder(5, 1, "x", i, arms[:2]), PassOrder(5, 1, "x", i+1, arms[:2]))
		}, 4, 16.27},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]int{}
			for i := range draws {
				seen[test.order(i)]++
			}
			expected, chi := float64(draws)/float64(test.orders), 0.0
			for _, n := range seen {
				chi += (float64(n) - expected) * (float64(n) - expected) / expected
			}
			if len(seen) != test.orders || chi > test.limit {
				t.Errorf("%d orders, chi-square %.1f above %.1f: %v", len(seen), chi, test.limit, seen)
			}
		})
	}
}

func TestPadding(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for r := range 200 {
		n := Padding(1, r, "x", result.Base)
		if n < 0 || n >= MaxPadding {
			t.Fatalf("padding of %d bytes", n)
		}
		seen[n] = true
	}
	if len(seen) < 150 {
		t.Errorf("200 slots have %d lengths", len(seen))
	}
}

func TestCores(t *testing.T) {
	t.Parallel()
	draft := result.Draft{CPUs: []int{2, 3}}
	var got [][]int
	for r := range 3 {
		got = append(got, Cores(draft, result.CasePlan{}, r))
	}
	got = append(got, Cores(draft, result.CasePlan{CPUs: []int{0, 1}}, 1), Cores(result.Draft{}, result.CasePlan{}, 1))
	if diff := cmp.Diff([][]int{{2}, {3}, {2}, {0, 1}, nil}, got); diff != "" {
		t.Errorf("cores (-want +got):\n%s", diff)
	}
}
