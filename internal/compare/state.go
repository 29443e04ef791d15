package compare

import (
	"fmt"
	"slices"

	"assay/internal/result"
)

// Reasons of result.CasePlan.Skip that this package reads.
const (
	skipFailed    = "failed"
	skipIdentical = "identical-binary"
	skipParallel  = result.WarnParallelNeedsCores
)

// settle gives the verdicts that need no statistic: failed, missing, not
// comparable, identical. It leaves decided false for a case that was measured.
func (j *judged) settle(c result.Case, plan result.CasePlan, failures []result.Failure, aa bool) {
	failed, missing := map[result.Arm]bool{}, map[result.Arm]bool{}
	for _, arm := range c.Missing {
		missing[arm] = true
	}
	for _, f := range failures {
		switch {
		case f.Arm != result.Base && f.Arm != result.Head:
			j.warn("failed-"+string(f.Arm), fmt.Sprintf("the arm %s failed: %s", f.Arm, f.Reason))
		case f.Reason == result.FailSkipped:
			missing[f.Arm] = true
		default:
			failed[f.Arm] = true
		}
	}
	base, head := result.Base, result.Head
	verdict := Verdict("")
	switch {
	case failed[base] && failed[head]:
		verdict = FailedBoth
	case failed[base]:
		verdict = FailedBase
	case failed[head]:
		verdict = FailedHead
	case missing[base] && missing[head]:
		verdict = NotComparable
		j.warn(warnSkipped, "the benchmark skipped itself or is missing on both arms")
	case missing[base]:
		verdict = MissingBase
	case missing[head]:
		verdict = MissingHead
	case plan.Skip == skipParallel:
		verdict = NotComparable
		j.warnOnce(skipParallel, "the benchmark runs in parallel and needs several cores that the run did not have; give them with --cpu")
	case plan.Skip == skipFailed:
		verdict = FailedBoth
	case !aa && (c.Identical || plan.Skip == skipIdentical):
		verdict = IdenticalBinary
	case plan.Skip != "":
		verdict = NotComparable
		j.warn(warnNotMeasured, "the plan does not measure it: "+plan.Skip)
	}
	j.decided = verdict != ""
	j.Verdict = verdict
	j.Failures = failures
}

// planned says whether a case belongs to the family: time (or the configured
// metric) was to be measured, and it is no control. What fails later stays.
func planned(c result.Case, plan result.CasePlan, aa bool) bool {
	return !c.Control && len(c.Missing) == 0 && len(c.Failed) == 0 && plan.Skip == "" && (aa || !c.Identical)
}

// casePlan returns the calibration of a case, zero when it has none.
func casePlan(calibration result.Calibration, id result.CaseID) result.CasePlan {
	i := slices.IndexFunc(calibration.Cases, func(p result.CasePlan) bool { return p.ID == id })
	if i < 0 {
		return result.CasePlan{ID: id, BlockPhase: -1}
	}
	return calibration.Cases[i]
}
