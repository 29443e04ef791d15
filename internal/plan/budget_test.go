package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/internal/result"
)

// casesOf makes an expansion of n ordinary cases and their pilots.
func casesOf(pilots ...result.PilotCase) (result.Expansion, result.PilotSummary) {
	var e result.Expansion
	for i := range pilots {
		name := fmt.Sprintf("Benchmark%03d", i)
		pilots[i].ID = CaseIDOf("p", name)
		e.Cases = append(e.Cases, result.Case{ID: pilots[i].ID, Package: "p", Name: name, Title: name})
	}
	return e, result.PilotSummary{Cases: pilots}
}

func ordinary() result.PilotCase {
	return result.PilotCase{FastNS: 200, SlowNS: 220, StartNS: 3 * ms, OverheadNS: ms / 5, Between: 1e-5, Within: 1e-4}
}

func calibrate(t interface{ Fatal(...any) }, draft result.Draft, e result.Expansion, s result.PilotSummary, spent time.Duration) result.Calibration {
	cal, err := Calibrate(draft, e, s, spent)
	if err != nil {
		t.Fatal(err)
	}
	return cal
}

func TestCalibrateOrdinary(t *testing.T) {
	t.Parallel()
	quiet := ordinary()
	quiet.Within = 1e-6
	slow := result.PilotCase{FastNS: 200 * ms, SlowNS: 220 * ms, StartNS: 3 * ms, Between: 1e-9, Within: 1e-9}
	e, s := casesOf(ordinary(), quiet, slow, ordinary())
	draft := twoArms()
	cal := calibrate(t, draft, e, s, 5*time.Second)
	if hash, _ := result.Hash(e); cal.Expansion != hash {
		t.Errorf("the calibration holds %q, not the expansion's hash", cal.Expansion)
	}
	if cal.BudgetNS != int64(time.Minute) || len(cal.Warnings) != 0 {
		t.Errorf("budget %v, warnings %v", time.Duration(cal.BudgetNS), cal.Warnings)
	}
	if cal.Rounds < total(RoundsNeeded(4, 1, draft.Alpha))+spareRounds || cal.Rounds > maxRounds {
		t.Errorf("%d rounds", cal.Rounds)
	}
	if len(cal.Looks) != 1 || cal.Looks[0] != (result.Look{AfterRound: cal.Rounds, Level: 0.05}) {
		t.Errorf("looks %v", cal.Looks)
	}
	for i, c := range cal.Cases {
		if c.Planted != (i == 1) {
			t.Errorf("case %d carries the planted control: %v; the second is the quietest in lockstep", i, c.Planted)
		}
		switch c.Schedule {
		case result.Lockstep:
			if c.Passes < minPasses || c.BlockSamples < minBlock || c.BlockPhase < 0 || c.BlockPhase >= BlockEvery {
				t.Errorf("case %d: %d passes, blocks of %d in phase %d", i, c.Passes, c.BlockSamples, c.BlockPhase)
			}
			if block := time.Duration(float64(c.BlockSamples) * (float64(c.Iterations)*c.Pilot.FastNS + float64(c.Pilot.OverheadNS))); block < 200*time.Millisecond {
				t.Errorf("case %d: a block of %v", i, block)
			}
		case result.Blocks:
			if i != 2 || c.Passes != 0 || c.BlockSamples < minBlock || c.BlockPhase != -1 {
				t.Errorf("case %d: %d passes, blocks of %d in phase %d", i, c.Passes, c.BlockSamples, c.BlockPhase)
			}
		}
	}
}

// TestUnfrozenBlocks: on a machine that cannot freeze, blocks last as long as the
// cross-check's.
func TestUnfrozenBlocks(t *testing.T) {
	t.Parallel()
	p := ordinary()
	p.Unfrozen = true
	e, s := casesOf(p)
	draft := twoArms()
	draft.BudgetNS = int64(time.Second)
	c := calibrate(t, draft, e, s, 0).Cases[0]
	if c.Schedule != result.Blocks || c.BlockPhase != -1 || c.Planted {
		t.Errorf("%s, phase %d, planted %v", c.Schedule, c.BlockPhase, c.Planted)
	}
	if block := time.Duration(float64(c.BlockSamples) * (float64(c.Iterations) * p.FastNS)); block < 200*time.Millisecond {
		t.Errorf("a block of %d samples takes %v", c.BlockSamples, block)
	}
}

func drawPilot(t *rapid.T) result.PilotCase {
	logDraw := func(name string, from, to float64) float64 {
		return from * rapid.Float64Range(1, to/from).Draw(t, name)
	}
	p := result.PilotCase{FastNS: logDraw("fast", 0.3, 3e8), StartNS: rapid.Int64Range(5e5, 4e8).Draw(t, "start"), OverheadNS: rapid.Int64Range(0, 1e6).Draw(t, "overhead"),
		Between: rapid.Float64Range(0, 1e-3).Draw(t, "between"), Within: rapid.Float64Range(0, 1e-2).Draw(t, "within")}
	if rapid.Bool().Draw(t, "quick") {
		p.FastNS = logDraw("quick fast", 0.3, 1e5)
	}
	p.SlowNS = p.FastNS * logDraw("ratio", 1, 50)
	switch rapid.IntRange(0, 5).Draw(t, "sort") {
	case 0:
		p.Collections, p.AllocBytes = p.FastNS/1e7, p.FastNS/2
	case 1:
		p.RunParallel = true
	case 2:
		p.SetupNS = rapid.Int64Range(1e6, 2e9).Draw(t, "setup")
		p.OverheadNS += p.SetupNS
	case 3:
		p.Unfrozen = true
	}
	return p
}

// TestFitsTheBudget: the expected time is at most a tenth above the budget
// wherever the fewest rounds with the fewest passes fit, and there are enough
// rounds for a verdict wherever those fit.
func TestFitsTheBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pilots := make([]result.PilotCase, rapid.IntRange(1, 30).Draw(t, "cases"))
		for i := range pilots {
			pilots[i] = drawPilot(t)
		}
		e, s := casesOf(pilots...)
		draft := twoArms()
		draft.BudgetNS = rapid.Int64Range(1e9, 3e12).Draw(t, "budget")
		draft.Rounds = max(0, rapid.IntRange(-20, 40).Draw(t, "rounds"))
		spent := time.Duration(rapid.Int64Range(0, draft.BudgetNS/2).Draw(t, "spent"))
		cal := calibrate(t, draft, e, s, spent)
		left := float64(draft.BudgetNS) - float64(spent)

		c := calibrator{draft: draft, expansion: e, cases: cal.Cases}
		fewest := 0.0
		for _, i := range c.measured() {
			fewest += c.meanCost(i, c.fewest(i))
			if p := cal.Cases[i]; p.Iterations < 1 || p.TimeoutNS < int64(hangMinimum) || p.Passes+p.BlockSamples < minBlock {
				t.Errorf("case %d: %d iterations, limit %d, %d passes, %d in a block", i, p.Iterations, p.TimeoutNS, p.Passes, p.BlockSamples)
			}
		}
		need := RoundsNeeded(len(pilots), 1, draft.Alpha)
		atLeast := max(draft.Rounds, minRounds)
		if fewest*float64(atLeast) <= left && float64(cal.ExpectedNS) > 1.1*left {
			t.Errorf("expected %v of %v", time.Duration(cal.ExpectedNS), time.Duration(left))
		}
		enough := fewest*float64(total(need)+1) <= left
		if draft.Rounds == 0 && enough && cal.Rounds <= total(need) {
			t.Errorf("%d rounds, %d are needed and would fit", cal.Rounds, total(need)+1)
		}
		if draft.Rounds > 0 && cal.Rounds != draft.Rounds {
			t.Errorf("%d rounds, asked for %d", cal.Rounds, draft.Rounds)
		}
		short := false
		for _, i := range c.measured() {
			short = short || counted(cal.Cases[i], cal.Rounds) < need
		}
		if warned := hasWarning(cal.Warnings, result.WarnTooFewRounds); warned != short {
			t.Errorf("warned %v, too few rounds %v", warned, short)
		}
	})
}

// TestTooFewRounds: the warning's advice is enough.
func TestTooFewRounds(t *testing.T) {
	t.Parallel()
	pilots := make([]result.PilotCase, 40)
	for i := range pilots {
		pilots[i] = ordinary()
	}
	e, s := casesOf(pilots...)
	draft := twoArms()
	draft.BudgetNS = int64(20 * time.Second)
	const spent = 15 * time.Second
	cal := calibrate(t, draft, e, s, spent)
	if cal.Rounds != minRounds || len(cal.Warnings) != 1 {
		t.Fatalf("%d rounds, warnings %v", cal.Rounds, cal.Warnings)
	}
	text := cal.Warnings[0].Text
	var cases, of, get, need, family, rounds int
	var budget string
	_, err := fmt.Sscanf(text, "%d of %d cases get %d counted rounds, but %d are needed before any p can pass the correction for %d cases: they will be inconclusive; --budget %s (or --rounds %d)",
		&cases, &of, &get, &need, &family, &budget, &rounds)
	if err != nil || cases != 40 || of != 40 || get != 4 || need != 11 || family != 40 {
		t.Fatalf("%v: %s", err, text)
	}
	advised, err := time.ParseDuration(budget)
	if err != nil {
		t.Fatal(err)
	}
	draft.BudgetNS = int64(advised)
	if again := calibrate(t, draft, e, s, spent); len(again.Warnings) != 0 {
		t.Errorf("with %v as advised: %v", advised, again.Warnings)
	}
	draft.BudgetNS, draft.Rounds = int64(20*time.Second), rounds
	if again := calibrate(t, draft, e, s, spent); len(again.Warnings) != 0 || again.Rounds != rounds {
		t.Errorf("with %d rounds as advised: %v", rounds, again.Warnings)
	}
	if strings.Contains(text, "%!") {
		t.Error(text)
	}
}

func TestDefaultBudget(t *testing.T) {
	t.Parallel()
	for cases, want := range map[int]time.Duration{1: time.Minute, 20: time.Minute, 21: 63 * time.Second, 40: 2 * time.Minute} {
		if got := DefaultBudget(cases); got != want {
			t.Errorf("%d cases: %v, want %v", cases, got, want)
		}
	}
}

// TestControlsNeedNoRounds: controls are outside the family.
func TestControlsNeedNoRounds(t *testing.T) {
	t.Parallel()
	pilots := make([]result.PilotCase, 200)
	for i := range pilots {
		pilots[i] = ordinary()
	}
	e, s := casesOf(pilots...)
	for i := range e.Cases {
		e.Cases[i].Control = i > 0
	}
	draft := twoArms()
	draft.Rounds = total(RoundsNeeded(1, 1, draft.Alpha))
	if cal := calibrate(t, draft, e, s, 0); len(cal.Warnings) != 0 {
		t.Errorf("%d rounds are enough for one case: %v", draft.Rounds, cal.Warnings)
	}
}

// TestSharing: cases share a process where starting one is dear and another case
// of the binary does too; the planted control has its own.
func TestSharing(t *testing.T) {
	t.Parallel()
	dear := ordinary()
	dear.StartNS = 900 * ms
	quiet := dear
	quiet.Between, quiet.Within = 0, 0
	for name, test := range map[string]struct {
		pilots []result.PilotCase
		want   string
	}{
		"cheap starts":      {[]result.PilotCase{ordinary(), ordinary()}, "--"},
		"dear starts":       {[]result.PilotCase{quiet, dear, dear}, "-ss"},
		"nobody to share":   {[]result.PilotCase{quiet, dear}, "--"},
		"dear beside cheap": {[]result.PilotCase{ordinary(), dear, dear}, "-ss"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "dear beside cheap" {
				test.pilots[0].Within = 1e-9 // it carries the control
			}
			e, s := casesOf(test.pilots...)
			got := ""
			for _, c := range calibrate(t, twoArms(), e, s, 0).Cases {
				mark := "-"
				if c.Shared {
					mark = "s"
				}
				if c.Shared != hasWarning(c.Warnings, result.WarnSharedProcess) {
					t.Errorf("%s: shared %v, warnings %v", c.ID, c.Shared, c.Warnings)
				}
				got += mark
			}
			if got != test.want {
				t.Errorf("shared %s, want %s", got, test.want)
			}
		})
	}
}

// TestMoreNoiseBetweenSlotsMoreRounds: a case whose slots differ gains from
// rounds, one whose passes differ from passes.
func TestMoreNoiseBetweenSlotsMoreRounds(t *testing.T) {
	t.Parallel()
	between, within := ordinary(), ordinary()
	between.Between, between.Within = 1e-2, 1e-6
	within.Between, within.Within = 1e-8, 1e-2
	rounds := func(p result.PilotCase) int {
		e, s := casesOf(p)
		draft := twoArms()
		draft.BudgetNS = int64(20 * time.Second)
		return calibrate(t, draft, e, s, 0).Rounds
	}
	if b, w := rounds(between), rounds(within); b <= w {
		t.Errorf("%d rounds where slots differ, %d where passes do", b, w)
	}
}

func TestCalibrateNothing(t *testing.T) {
	t.Parallel()
	cal := calibrate(t, twoArms(), result.Expansion{Cases: []result.Case{{ID: "p.A", Missing: []result.Arm{result.Base}}}}, result.PilotSummary{}, 0)
	if cal.Rounds != 0 || cal.ExpectedNS != 0 || len(cal.Warnings) != 0 || cal.Cases[0].Skip != SkipMissing {
		t.Errorf("%+v", cal)
	}
}
