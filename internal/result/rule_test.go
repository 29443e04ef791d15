package result

import "testing"

func TestRuleMarks(t *testing.T) {
	t.Parallel()
	const limit = 1_000
	quiet := Measurement{Schedule: Lockstep, WallNS: 1_000_000, CPUNS: 999_000}
	with := func(change func(*Measurement)) Measurement { m := quiet; change(&m); return m }
	samples := []struct {
		name string
		m    Measurement
		mark map[Rule]bool // rules that mark it
	}{
		{"quiet", quiet, nil},
		{"switch", with(func(m *Measurement) { m.Switches = 1 }), map[Rule]bool{RuleSwitches: true, RuleSwitchesOrSteal: true}},
		{"steal", with(func(m *Measurement) { m.StealTicks = 1 }), map[Rule]bool{RuleSteal: true, RuleSwitchesOrSteal: true}},
		{"cpu at the limit", with(func(m *Measurement) { m.CPUNS = m.WallNS - limit - 20_000 }), nil},
		{"cpu beyond", with(func(m *Measurement) { m.CPUNS = m.WallNS - limit - 20_001 }), map[Rule]bool{RuleCPU: true}},
		{"cpu not read", with(func(m *Measurement) { m.CPUNS = 0 }), nil},
		{"frozen arm ran", with(func(m *Measurement) { m.FrozenCPUNS = 1 }),
			map[Rule]bool{RuleNone: true, RuleSwitches: true, RuleCPU: true, RuleSteal: true, RuleSwitchesOrSteal: true}},
		{"blocks have no frozen arm", with(func(m *Measurement) { m.FrozenCPUNS = 1; m.Schedule = Blocks }), nil},
	}
	for _, s := range samples {
		for _, rule := range Rules() {
			if got := rule.Marks(s.m, limit); got != s.mark[rule] {
				t.Errorf("%s: rule %s marks %v, want %v", s.name, rule, got, s.mark[rule])
			}
		}
	}
}
