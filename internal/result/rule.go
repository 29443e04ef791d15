package result

// cpuShare is the part of a sample's wall time by which its wall minus CPU time
// may exceed the pilot's median before the rule "cpu" marks it (measurement.md
// "Contamination").
const cpuShare = 0.02

// Marks says whether the rule marks the sample as contaminated. limitNS is the
// rule's limit from the pilot, used by RuleCPU alone: the median of wall minus
// CPU time. CPU that a frozen arm used during a lockstep sample marks it under
// every rule, RuleNone included. A covariate that was not read (CPUNS 0) marks
// nothing.
func (r Rule) Marks(m Measurement, limitNS int64) bool {
	if m.Schedule == Lockstep && m.FrozenCPUNS > 0 {
		return true
	}
	switch r {
	case RuleNone:
		return false
	case RuleSwitches:
		return m.Switches > 0
	case RuleCPU:
		return m.CPUNS > 0 && float64(m.WallNS-m.CPUNS) > float64(limitNS)+cpuShare*float64(m.WallNS)
	case RuleSteal:
		return m.StealTicks > 0
	case RuleSwitchesOrSteal:
		return m.Switches > 0 || m.StealTicks > 0
	}
	return false
}
