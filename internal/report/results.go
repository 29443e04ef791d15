package report

import (
	"fmt"
	"strings"

	"assay/internal/compare"
	"assay/internal/unit"
)

// headline stands above the first section: the counts, and what makes the
// numbers doubtful.
func (v *View) headline() []block {
	summary := line(strong(v.summary()))
	if a := v.armsText(); a != "" {
		summary = append(summary, text(" "+a+"."))
	}
	if id := oneLine(v.in.Comparison.Run); id != "" {
		summary = append(summary, text(" Run "), code(id), text(", all figures in "), link(ComparisonFile, ComparisonFile), text("."))
	}
	out := []block{paragraph(summary)}
	var items list
	for _, w := range v.warnings {
		items = append(items, line(strong("Warning:"), text(" "+clipped(oneLine(w.Text), 500)+" "), code(oneLine(w.Code))))
	}
	if len(items) > 0 {
		out = append(out, limited(items, 10, "warnings"))
	}
	return out
}

// results is the main table with its picture.
func (v *View) results() section {
	s := section{title: "Results", spill: 10}
	if len(v.rows) == 0 {
		return s
	}
	notes := v.resultNotes()
	picture := figure{ForestFile, "Forest plot of all cases, change of head against base", Forest(v)}
	s.blocks = append([]block{resultTable(v.rows), picture}, notes...)
	if len(v.rows) > shownRows {
		carrying := make([]row, 0, shownRows)
		for _, r := range v.rows {
			if (r.carries() || r.class() == broken) && len(carrying) < shownRows {
				carrying = append(carrying, r)
			}
		}
		s.short = append([]block{
			paragraph(line(text(fmt.Sprintf("The first %d cases in which something changed or failed, of %d; the whole table is in the second document.", len(carrying), len(v.rows))))),
			resultTable(carrying), picture}, notes...)
	} else {
		s.short = s.blocks
	}
	return s
}

// shownRows is how many rows the main table keeps when the report is too long.
const shownRows = 60

func resultTable(rows []row) table {
	t := table{align: "lrrrrrl", head: []string{"case", "base", "head", "delta", "interval", "worst-arm spread", "verdict"}}
	for _, r := range rows {
		cell := text
		if r.class() != quiet {
			cell = strong
		}
		t.rows = append(t.rows, []inline{line(text(clipped(r.name, 200))), line(text(r.baseText)), line(text(r.headText)),
			line(cell(r.delta)), line(text(r.interval)), line(text(r.spread)), line(cell(r.verdict))})
	}
	return t
}

// resultNotes says how the table is to be read.
func (v *View) resultNotes() []block {
	c := v.in.Comparison
	notes := []string{fmt.Sprintf("Base and head are medians over rounds. Delta is the estimate of head/base - 1 (Hodges-Lehmann over round log-ratios), with its %.4g %% interval for the case by itself; verdicts are corrected for the number of cases (Holm, family-wise alpha %.3g). The margin below which a change does not matter is %s unless a case says otherwise.",
		100*c.Confidence, c.Alpha, strings.TrimPrefix(unit.Percent(c.MinEffect, 1), "+"))}
	unpaired := 0
	for _, r := range v.rows {
		if !r.Paired && r.Delta != nil {
			unpaired++
		}
	}
	if unpaired > 0 {
		notes = append(notes, fmt.Sprintf("%s not measured side by side: the delta is the ratio of medians, and a drift of the machine between the arms is in it.", count(unpaired, "case was", "cases were")))
	}
	if g := c.Geomean; g != nil {
		notes = append(notes, fmt.Sprintf("Geometric mean over the %s that both arms have: %s.", count(g.Cases, "case", "cases"), unit.Percent(g.Delta, 1)))
	}
	var out []block
	for _, n := range notes {
		out = append(out, paragraph(line(text(n))))
	}
	return out
}

// rounds shows the values of the rounds behind the result.
func (v *View) rounds() section {
	s := section{title: "Per-round figures of the cases that carry the result", spill: 4}
	var items list
	for _, r := range v.rows {
		if !r.carries() || r.Base == nil || r.Head == nil || len(r.Base.Rounds)+len(r.Head.Rounds) == 0 {
			continue
		}
		item := line(strong(r.name), text(": base "), code(r.values(r.Base)), text(", head "), code(r.values(r.Head)))
		if r.scale.Suffix != "" {
			item = append(item, text(" "+r.scale.Suffix))
		}
		item = append(item, text(", sorted. "+overlapText(r.Overlap)))
		if r.SizeUncertain != nil {
			item = append(item, text(fmt.Sprintf(" Size uncertain, at least %s.", unsigned(*r.SizeUncertain))))
		}
		if r.RatioOfMedians != nil && r.Paired {
			item = append(item, text(" Ratio of medians "+unit.Percent(*r.RatioOfMedians, r.decimals())+"."))
		}
		if r.SignCI != nil {
			item = append(item, text(" Sign-test interval "+interval(*r.SignCI, r.decimals())+"."))
		}
		items = append(items, item)
	}
	if len(items) > 0 {
		s.blocks = []block{items}
	}
	return s
}

// tests prints p, the adjusted p and the rounds behind them.
func (r row) tests() string {
	p, adjusted := "n/a", "n/a"
	if r.P != nil {
		p = fmt.Sprintf("%.2g", *r.P)
	}
	if r.PAdjusted != nil {
		adjusted = fmt.Sprintf("%.2g", *r.PAdjusted)
	}
	return fmt.Sprintf("%s / %s / %d", p, adjusted, r.Rounds)
}

// unsigned prints the size of an effect.
func unsigned(v float64) string { return strings.TrimLeft(unit.Percent(v, 2), "+-") }

func overlapText(o string) string {
	switch o {
	case "none":
		return "The arms do not overlap."
	case "partial":
		return "The arms overlap in part."
	case "full":
		return "One arm lies within the range of the other."
	}
	return "Overlap unknown."
}

// crossChecks puts the second estimand, the other schedule and the unfiltered
// figure beside the estimate.
func (v *View) crossChecks() section {
	s := section{title: "Cross-checks: estimand, schedule, filter", spill: 2}
	t := table{align: "lrrrrrrr", head: []string{"case", "typical", "mean", "lockstep", "blocks", "unfiltered", "marked base / head", "p / adjusted / rounds"}}
	for _, r := range v.rows {
		if r.Typical == nil && r.MeanEstimate == nil && r.Lockstep == nil && r.Blocks == nil && r.Unfiltered == nil {
			continue
		}
		unfiltered, shares := "n/a", "n/a"
		if r.Unfiltered != nil {
			unfiltered = unit.Percent(*r.Unfiltered, r.decimals())
		}
		if c := r.Contaminated; c != nil {
			shares = fmt.Sprintf("%.0f %% / %.0f %%", 100*c.Base, 100*c.Head)
		}
		cells := []inline{line(text(r.name))}
		for _, e := range []*compare.Estimate{r.Typical, r.MeanEstimate, r.Lockstep, r.Blocks} {
			cells = append(cells, line(text(estimate(e))))
		}
		t.rows = append(t.rows, append(cells, line(text(unfiltered)), line(text(shares)), line(text(r.tests()))))
	}
	if len(t.rows) == 0 {
		return s
	}
	s.blocks = append([]block{paragraph(line(text("Typical is the location of the round log-ratios, on which the verdict stands; mean is total time over total iterations, unfiltered. Lockstep and blocks are the two schedules, and marked is the share of samples in which the machine did something else.")))},
		folded(len(t.rows) > shownFiles, count(len(t.rows), "case", "cases"), t)...)
	return s
}

// metrics puts what else was measured beside the time.
func (v *View) metrics() section {
	s := section{title: "Other metrics", spill: 7}
	if len(v.other) == 0 {
		return s
	}
	t := table{align: "lrlrrrl", head: []string{"case", "result above", "metric", "base", "head", "change", "verdict"}}
	same := 0
	for _, r := range v.other {
		if !r.changedMetric() {
			same++
			continue
		}
		above := "n/a"
		for _, m := range v.rows {
			if m.ID == r.ID {
				above = m.delta
			}
		}
		cell := text
		if r.class() != quiet {
			cell = strong
		}
		change := r.delta
		if r.CI != nil {
			change += " " + r.interval
		}
		t.rows = append(t.rows, []inline{line(text(r.name)), line(text(above)), line(text(oneLine(r.Metric))), line(text(r.baseText)), line(text(r.headText)),
			line(cell(change)), line(cell(r.verdict))})
	}
	note := "Outside the family of tests: exploratory, without correction for their number, and without effect on the exit code unless --fail-on names them."
	if same > 0 {
		note += fmt.Sprintf(" %s the same on both arms or without a verdict.", count(same, "other figure is", "other figures are"))
	}
	s.blocks = []block{paragraph(line(text(note)))}
	if len(t.rows) > 0 {
		s.blocks = append(s.blocks, t)
	}
	return s
}

// changedMetric says whether an exploratory row is worth a line.
func (r row) changedMetric() bool {
	switch r.Verdict {
	case compare.Better, compare.Worse, compare.Changed, compare.Faster, compare.Slower, compare.Mixed, compare.ScheduleDependent:
		return true
	case compare.FailedBase, compare.FailedHead, compare.FailedBoth, compare.MissingBase, compare.MissingHead, compare.NotComparable,
		compare.IdenticalBinary, compare.BelowResolution, compare.Trivial, compare.Equivalent, compare.Inconclusive, compare.Same:
	}
	return false
}

// controls says what should not have moved and whether it did.
func (v *View) controls() section {
	s := section{title: "Controls"}
	var items list
	for _, r := range v.rows {
		if r.Control {
			items = append(items, line(strong(r.name), text(": "+r.delta+" "+r.interval+", "+string(r.Verdict)+".")))
		}
	}
	items = limited(items, 30, "controls")
	if a := v.in.Comparison.AA; a != nil {
		items = append(items, line(text(fmt.Sprintf("Base against base on %s in the same passes: %s, floor %s. No effect below the floor is called faster or slower.",
			count(a.Cases, "case", "cases"), count(a.FalseAlarms, "false alarm", "false alarms"), unsigned(a.Floor)))))
	}
	if len(items) == 0 {
		items = list{line(text("The run had no control case and no arm of base against base."))}
	}
	if len(v.rows) > 0 {
		s.blocks = []block{items}
	}
	return s
}

// regressions gives every loss a paragraph of its own, the largest first.
func (v *View) regressions() section {
	s := section{title: "Regressions", spill: 8}
	for i := len(v.rows) - 1; i >= 0; i-- {
		r := v.rows[i]
		if r.Verdict == compare.Slower || r.Verdict == compare.Trivial && r.worsened() {
			s.blocks = append(s.blocks, paragraph(r.loss()))
		}
	}
	for _, r := range v.other {
		if r.Verdict == compare.Worse {
			s.blocks = append(s.blocks, paragraph(line(strong(r.name), text(fmt.Sprintf(", %s: base %s, head %s, ", oneLine(r.Metric), r.baseText, r.headText)), strong(r.delta), text(". Exploratory."))))
		}
	}
	if len(s.blocks) == 0 {
		if len(v.rows) > 0 {
			s.blocks = []block{paragraph(line(text("None was found. That is not a proof that there is none: see what the numbers do not support.")))}
		}
		return s
	}
	if len(v.in.Comparison.Replications) == 0 {
		s.blocks = append(s.blocks, paragraph(line(text("Not replicated: no second session has measured these cases again."))))
	} else {
		s.blocks = append(s.blocks, paragraph(line(text("Replications: "+oneLine(strings.Join(v.in.Comparison.Replications, ", "))+"."))))
	}
	return s
}

// loss is the paragraph of one regression.
func (r row) loss() inline {
	out := line(strong(r.name), text(fmt.Sprintf(" is %s: base %s, head %s, ", r.Verdict, r.baseText, r.headText)), strong(r.delta), text(" "+r.interval))
	if r.PAdjusted != nil {
		out = append(out, text(fmt.Sprintf(", adjusted p = %.2g", *r.PAdjusted)))
	}
	out = append(out, text(fmt.Sprintf(", %s. %s", count(r.Rounds, "round", "rounds"), overlapText(r.Overlap))))
	if r.Verdict == compare.Trivial {
		out = append(out, text(" Reproducible, but below the margin of "+unsigned(r.Margin)+"."))
	}
	if r.MeanEstimate != nil {
		out = append(out, text(" The mean moved "+estimate(r.MeanEstimate)+"."))
	}
	return out
}
