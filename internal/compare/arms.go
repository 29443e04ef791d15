package compare

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"assay/internal/result"
	"assay/internal/stats"
	"assay/internal/unit"
)

// Arms compares base and head of a run: one row per planned case and metric, the
// case's confirmatory metric first, in the plan's order of cases. Input is left
// empty. The answer depends on the builder's records and the plan alone; the
// plan's warnings lead File.Warnings, those of a case its row's.
func Arms(b *Builder, plan result.Plan) File {
	l := levelsOf(plan, familySize(plan))
	file := File{
		Format: Format, Run: plan.ID, Alpha: plan.Draft.Alpha, Confidence: 1 - l.level, MinEffect: plan.Draft.MinEffect,
		Arms: armSummaries(plan), Benchmarks: []Comparison{}, Replications: []string{},
		Warnings: append([]result.Warning{}, slices.Concat(plan.Draft.Warnings, plan.Expansion.Warnings, plan.Calibration.Warnings)...),
	}
	cases := make([]*judged, len(plan.Expansion.Cases))
	for i, c := range plan.Expansion.Cases {
		cases[i] = b.judge(c, plan, l)
	}
	// Without an A/A arm there is no floor.
	decideAll(cases, l, 0)
	for i, j := range cases {
		file.Benchmarks = append(file.Benchmarks, j.Comparison)
		file.Benchmarks = append(file.Benchmarks, b.exploratory(j.Comparison, plan.Expansion.Cases[i], l)...)
	}
	file.Summary = summarise(file.Benchmarks)
	file.Geomean = geomean(file.Benchmarks)
	file.Planted = b.planted(plan, l)
	file.Warnings = append(file.Warnings, b.doubts(plan, l, file.Planted)...)
	file.NotSupported = notSupported(plan, file)
	return file
}

// familySize counts the cases over which the error rate is promised.
func familySize(plan result.Plan) int {
	n := 0
	for _, c := range plan.Expansion.Cases {
		if planned(c, casePlan(plan.Calibration, c.ID), plan.Draft.AA) {
			n++
		}
	}
	return n
}

// judge brings one case to the point where only the family's correction is missing.
func (b *Builder) judge(c result.Case, plan result.Plan, l levels) *judged {
	p := casePlan(plan.Calibration, c.ID)
	j := &judged{equal: 1, perRound: 1, inFamily: planned(c, p, plan.Draft.AA)}
	if p.Schedule == result.Lockstep && p.BlockPhase >= 0 {
		j.perRound = 1 / (1 - blockShare)
	}
	measured := p.Skip == ""
	j.Comparison = Comparison{ID: c.ID, Title: c.Title, Metric: cmp.Or(c.Metric, unit.Time().Metric), Paired: true,
		Margin: cmp.Or(c.Margin, plan.Draft.MinEffect), Control: c.Control || (c.Identical && measured && !plan.Draft.AA),
		Partner: c.Partner, Warnings: slices.Clone(p.Warnings)}
	columns := b.of(c.ID)
	u := unit.Time()
	if m := columns.metrics[j.Metric]; m != nil {
		u = m.unit
	} else if j.Metric != u.Metric {
		u = unit.Unit{Name: j.Metric, Metric: j.Metric, Better: unit.Unknown}
	}
	j.Unit, j.Better = u.Name, cmp.Or(c.Better, string(u.Better))
	j.settle(c, p, b.failed(c, p), plan.Draft.AA)
	j.measure(columns, p, l)
	return j
}

// blockShare is the part of the rounds that run as blocks (measurement.md
// "Which cases may be measured in short samples").
const blockShare = 0.25

// decideAll corrects over the family, and over the controls apart from it, and
// gives every case its verdict.
func decideAll(cases []*judged, l levels, floor float64) {
	for _, inFamily := range []bool{true, false} {
		var group []*judged
		var p, equal []float64
		for _, j := range cases {
			if j.inFamily != inFamily || (!inFamily && j.decided) {
				continue
			}
			group = append(group, j)
			if j.decided || j.P == nil { // failed after it was planned
				p, equal = append(p, 1), append(equal, 1)
			} else {
				p, equal = append(p, *j.P), append(equal, j.equal)
			}
		}
		p, equal = stats.Holm(p), stats.Holm(equal)
		for i, j := range group {
			j.decide(l, p[i], equal[i], floor)
		}
	}
}

// exploratory compares the other metrics of a case that was measured.
func (b *Builder) exploratory(of Comparison, c result.Case, l levels) []Comparison {
	if slices.Contains([]Verdict{FailedBase, FailedHead, FailedBoth, MissingBase, MissingHead, NotComparable}, of.Verdict) {
		return nil
	}
	var rows []Comparison
	columns := b.of(c.ID)
	for _, name := range columns.metricNames(of.Metric)[1:] {
		m := columns.metrics[name]
		row := Comparison{ID: c.ID, Title: c.Title, Metric: name, Unit: m.unit.Name, Better: string(m.unit.Better), Paired: true,
			Exploratory: true, Control: of.Control, Schedule: of.Schedule, Kind: of.Kind, Iterations: of.Iterations}
		if row, ok := columns.explore(row, m, l); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// planted reports whether the known extra work of the planted arms was found.
func (b *Builder) planted(plan result.Plan, l levels) []Planted {
	var out []Planted
	for _, p := range plan.Calibration.Cases {
		if !p.Planted {
			continue
		}
		c := b.of(p.ID)
		for _, arm := range []struct {
			name result.Arm
			size float64
		}{{result.PlantedOne, 0.01}, {result.PlantedTwo, 0.02}} {
			s := c.seriesOf(c.metrics[unit.Time().Metric], pairing{a: result.Base, b: arm.name, kind: p.Kind, rule: p.Rule}, p.Schedule)
			e := l.locate(s.pick(typicalOf))
			if e == nil {
				continue
			}
			out = append(out, Planted{True: arm.size, ID: p.ID, Estimate: e.public(), Found: e.p <= l.alpha && e.estimate > 0})
		}
	}
	return out
}

// doubts are the warnings about the run as a whole.
func (b *Builder) doubts(plan result.Plan, l levels, planted []Planted) []result.Warning {
	var out []result.Warning
	if w, short := tooFew(plan, l); short {
		out = append(out, w)
	}
	for _, p := range planted {
		if !p.Found {
			out = append(out, result.Warning{Code: warnPlanted, Text: fmt.Sprintf(
				"the planted change of %.0f %% in %s was not found: this run does not see changes of that size", 100*p.True, titleOf(plan, p.ID))})
		}
	}
	for _, id := range b.unplanned(plan) {
		out = append(out, result.Warning{Code: warnUnplanned, Text: fmt.Sprintf("the records hold %s, which the plan does not name: it is not compared", id)})
	}
	unplaced := 0
	for _, d := range b.damaged {
		if d.ID == "" || d.Arm == "" {
			unplaced++
		}
	}
	if unplaced > 0 {
		out = append(out, result.Warning{Code: warnDamaged, Text: fmt.Sprintf("%d damaged records name no case or no arm", unplaced)})
	}
	return out
}

// unplanned lists the cases with counted samples that the plan does not name.
func (b *Builder) unplanned(plan result.Plan) []result.CaseID {
	known := map[result.CaseID]bool{}
	for _, c := range plan.Expansion.Cases {
		known[c.ID] = true
	}
	var ids []result.CaseID
	for id, c := range b.cases {
		if !known[id] && len(c.metrics) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// tooFew says whether the planned rounds can bring a verdict for one changed
// case of the family, and what would be enough.
func tooFew(plan result.Plan, l levels) (result.Warning, bool) {
	told := func(w result.Warning) bool { return w.Code == result.WarnTooFewRounds }
	if l.family == 0 || plan.Calibration.Rounds == 0 || slices.ContainsFunc(plan.Calibration.Warnings, told) {
		return result.Warning{}, false
	}
	enough := stats.RoundsFor(l.family, 1, l.level)
	fewest := plan.Calibration.Rounds
	for _, p := range plan.Calibration.Cases {
		if p.Skip == "" {
			fewest = min(fewest, judgedRounds(p, plan.Calibration.Rounds))
		}
	}
	if fewest >= enough {
		return result.Warning{}, false
	}
	return result.Warning{Code: result.WarnTooFewRounds, Text: fmt.Sprintf(
		"%d judged rounds cannot bring a verdict for %d cases at %.3g: at least %d are needed, or fewer cases (--bench)", fewest, l.family, l.level, enough)}, true
}

// judgedRounds counts the planned rounds on which the verdict of a case stands:
// those that are not its block cross-check.
func judgedRounds(p result.CasePlan, rounds int) int {
	if p.Schedule != result.Lockstep || p.BlockPhase < 0 {
		return rounds
	}
	n := 0
	for r := range rounds {
		if r%4 != p.BlockPhase {
			n++
		}
	}
	return n
}

// armSummaries names base and head.
func armSummaries(plan result.Plan) map[result.Arm]ArmSummary {
	arms := map[result.Arm]ArmSummary{}
	for _, arm := range plan.Draft.Arms {
		if arm.Name != result.Base && arm.Name != result.Head {
			continue
		}
		revision := arm.Revision.Commit
		if revision == "" || arm.Revision.Dirty {
			revision = arm.Revision.Ref
		}
		arms[arm.Name] = ArmSummary{Revision: revision, Digest: digestOf(plan.Expansion.Artifacts, arm.Name)}
	}
	return arms
}

// digestOf is the digest over the digests of an arm's artifacts, by package.
func digestOf(artifacts []result.Artifact, arm result.Arm) string {
	var lines []string
	for _, a := range artifacts {
		if a.Arm == arm && a.Digest != "" {
			lines = append(lines, a.Package+" "+a.Digest)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// summarise counts the verdicts of the confirmatory metric.
func summarise(rows []Comparison) Summary {
	var s Summary
	for _, r := range rows {
		if r.Exploratory {
			continue
		}
		switch r.Verdict {
		case Faster:
			s.Faster++
		case Slower:
			s.Slower++
		case Changed:
			s.Changed++
		case Trivial:
			s.Trivial++
		case Equivalent:
			s.Equivalent++
		case Inconclusive:
			s.Inconclusive++
		case Mixed:
			s.Mixed++
		case ScheduleDependent:
			s.ScheduleDependent++
		case BelowResolution:
			s.BelowResolution++
		case IdenticalBinary:
			s.Identical++
		case FailedBase, FailedHead, FailedBoth:
			s.Failed++
		case MissingBase, MissingHead:
			s.Missing++
		case NotComparable:
			s.NotComparable++
		case Better, Worse, Same: // exploratory only
		}
	}
	return s
}

// titleOf is what tables call a case.
func titleOf(plan result.Plan, id result.CaseID) string {
	for _, c := range plan.Expansion.Cases {
		if c.ID == id && c.Title != "" {
			return c.Title
		}
	}
	return string(id)
}
