package compare

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assay/internal/result"
)

// pilot puts mini-rounds of pilot samples made by value.
func (r *run) pilot(rounds, passes int, value func(arm result.Arm, round, pass int) result.Measurement) {
	for round := range rounds {
		for pass := range passes {
			for _, arm := range []result.Arm{result.Base, result.Head} {
				m := value(arm, round, pass)
				m.ID, m.Arm, m.Round, m.Pass, m.Pilot, m.Schedule = "x", arm, round, pass, true, result.Lockstep
				r.sample(m)
			}
		}
	}
}

func byRule(c result.PilotCase) map[result.Rule]result.RulePilot {
	rules := map[result.Rule]result.RulePilot{}
	for _, r := range c.Rules {
		rules[r.Rule] = r
	}
	return rules
}

// switched makes samples of which every fourth was disturbed and shows a switch.
func switched(arm result.Arm, round, pass int) result.Measurement {
	m := result.Measurement{Value: 100 + float64(pass%5), WallNS: 1_000_000, CPUNS: 990_000, Iterations: 1000, AllocBytes: 16_000}
	if arm == result.Head {
		m.Value *= 1.5
		m.AllocBytes = 48_000
	}
	if (pass+round)%4 == 0 && arm == result.Base {
		m.Switches, m.Value, m.CPUNS = 1, m.Value*3, 900_000
	}
	return m
}

func TestPilotSummary(t *testing.T) {
	t.Parallel()
	var r run
	r.pilot(3, 24, switched)
	facts := []result.PilotCase{{ID: "x", Iterations: 1000, StartNS: 7, Runnable: 2, AllocBytes: 5}, {ID: "unseen", SetupNS: 3}}
	summary := Pilot(&r.b, facts)
	got := summary.Cases[0]
	if got.StartNS != 7 || got.Runnable != 2 || got.Iterations != 1000 || summary.Cases[1].SetupNS != 3 || summary.Cases[1].Samples != 0 {
		t.Errorf("facts lost: %+v", summary)
	}
	if got.Samples != 3*24*2 || got.FastNS < 100 || got.FastNS > 106 || math.Abs(got.SlowNS-153) > 2 {
		t.Errorf("fast %v, slow %v, samples %d", got.FastNS, got.SlowNS, got.Samples)
	}
	if got.AllocBytes != 5 || got.Collections != 0 {
		t.Errorf("the facts about garbage were replaced: alloc %v, collections %v", got.AllocBytes, got.Collections)
	}
	rules := byRule(got)
	if rules[result.RuleNone].Kept != 72 || rules[result.RuleSwitches].Kept != 54 || rules[result.RuleSteal].Kept != 72 {
		t.Errorf("kept %+v", rules)
	}
	if rules[result.RuleCPU].LimitNS != 10_000 || rules[result.RuleCPU].Kept != 54 {
		t.Errorf("cpu %+v", rules[result.RuleCPU])
	}
	if !(rules[result.RuleSwitches].Spread < rules[result.RuleNone].Spread) {
		t.Errorf("the rule that removes the disturbance is not the narrowest: %+v", got.Rules)
	}
	if facts[0].Samples != 0 {
		t.Error("the caller's facts were changed")
	}
}

// Swapping the labels changes nothing that the plan could act on.
func TestPilotIsLabelBlind(t *testing.T) {
	t.Parallel()
	var a, b run
	a.pilot(3, 16, switched)
	b.pilot(3, 16, func(arm result.Arm, round, pass int) result.Measurement {
		if arm == result.Base {
			return switched(result.Head, round, pass)
		}
		return switched(result.Base, round, pass)
	})
	facts := []result.PilotCase{{ID: "x"}}
	close := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*math.Max(math.Abs(x), 1) })
	if diff := cmp.Diff(Pilot(&a.b, facts), Pilot(&b.b, facts), close); diff != "" {
		t.Error(diff)
	}
}

func TestPilotRulesThatMayNotBeUsed(t *testing.T) {
	t.Parallel()
	var collects run
	collects.pilot(2, 12, func(arm result.Arm, round, pass int) result.Measurement {
		m := switched(arm, round, pass)
		if arm == result.Head {
			m.Collections = 2
		}
		return m
	})
	got := Pilot(&collects.b, []result.PilotCase{{ID: "x"}}).Cases[0]
	rules := byRule(got)
	if _, ok := rules[result.RuleSwitches]; ok || len(rules) != 3 {
		t.Errorf("a case that collects may use %+v", got.Rules)
	}
	var unread run
	unread.pilot(2, 12, func(arm result.Arm, round, pass int) result.Measurement {
		m := switched(arm, round, pass)
		m.CPUNS = 0
		return m
	})
	if _, ok := byRule(Pilot(&unread.b, []result.PilotCase{{ID: "x"}}).Cases[0])[result.RuleCPU]; ok {
		t.Error("cpu is a candidate though CPU time was not read")
	}
	var noisy run
	noisy.pilot(1, 8, func(arm result.Arm, round, pass int) result.Measurement {
		m := switched(arm, round, pass)
		if pass > 3 {
			m.Switches = 1
		}
		return m
	})
	if _, ok := byRule(Pilot(&noisy.b, []result.PilotCase{{ID: "x"}}).Cases[0])[result.RuleSwitches]; ok {
		t.Error("a rule that leaves four passes is a candidate")
	}
}

func TestPilotVariances(t *testing.T) {
	t.Parallel()
	var r run
	shift := []float64{-0.02, 0, 0.02, 0.04}
	r.pilot(4, 100, func(arm result.Arm, round, pass int) result.Measurement {
		m := result.Measurement{Value: 100}
		if arm == result.Head {
			m.Value *= math.Exp(shift[round] + 0.001*float64(pass%11-5))
		}
		return m
	})
	got := Pilot(&r.b, []result.PilotCase{{ID: "x"}}).Cases[0]
	if want := 0.002 / 3; math.Abs(got.Between-want) > 0.05*want {
		t.Errorf("between %v, want %v", got.Between, want)
	}
	// The median of |k|, k = -5..5, is 3: a scaled deviation of 0.0044.
	if want := math.Pow(0.003*1.4826, 2); math.Abs(got.Within-want) > 0.1*want {
		t.Errorf("within %v, want %v", got.Within, want)
	}
}
