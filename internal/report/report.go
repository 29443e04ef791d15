// Package report turns the comparison of two arms into documents.
//
// In: what a run stored (plan, sensors, failures) and what compare said of it.
// Out: a view model, and writers for text, Markdown, HTML, JSON, CSV and SVG:
// the same bytes for the same input. It must never compute a statistic, judge a
// case, or let foreign text (names, captured output, notes) act on a terminal or
// become markup.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/internal/compare"
	"assay/internal/report/chart"
	"assay/internal/result"
	"assay/internal/unit"
)

// Names of the files that the documents link to, in the run's folder.
const (
	DetailsFile    = "details.md"
	ComparisonFile = "comparison.json"
	ForestFile     = "charts/forest.svg"
)

// Input is all that a report is made of. Only Comparison is needed: a
// comparison of captures has no plan, and what is absent is left out.
type Input struct {
	Plan       result.Plan
	Comparison compare.File
	Failures   []result.Failure
	Damaged    []result.Damaged
	Sensors    []result.Sensor // in the order of measurement
	End        *result.End     // of the last session; nil: it did not end
	Captures   []string        // folders with the raw output of slots, relative to the report
	Notes      string          // the author's notes.md, printed as inferred
}

// View is the view model: rows and sections, ready for any writer.
type View struct {
	in       Input
	rows     []row // of the family and its controls, by effect
	other    []row // exploratory metrics, by case
	failures []result.Failure
	warnings []result.Warning // of the run
	head     []block
	sections []section
}

// New builds the view of a run. It does not change its input.
func New(in Input) *View {
	v := &View{in: in, warnings: runWarnings(in), failures: allFailures(in)}
	for _, c := range in.Comparison.Benchmarks {
		if r := newRow(c); r.exploratory() {
			v.other = append(v.other, r)
		} else {
			v.rows = append(v.rows, r)
		}
	}
	byEffect(v.rows)
	slices.SortStableFunc(v.other, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Metric, b.Metric))
	})
	v.head = v.headline()
	for _, build := range []func() section{
		v.arms, v.repeat, v.machine, v.commits, v.results, v.rounds, v.crossChecks, v.metrics, v.controls,
		v.regressions, v.failed, v.seen, v.inferred, v.unsupported, v.parameters,
	} {
		if s := build(); len(s.blocks) > 0 {
			v.sections = append(v.sections, s)
		}
	}
	return v
}

// Forest is the forest plot of the rows of the family.
func Forest(v *View) []byte {
	rows := make([]chart.Row, len(v.rows))
	lower := true
	for i, r := range v.rows {
		rows[i] = r.chartRow()
		lower = lower && unit.Direction(r.Better) == unit.Lower
	}
	c := v.in.Comparison
	opts := chart.Options{
		Title:    "Head against base",
		Subtitle: v.armsText(),
		Caption:  fmt.Sprintf("Points: estimate of head/base - 1. Bars: %.4g %% interval of each case by itself. Band: practical margin.", 100*c.Confidence),
	}
	if lower {
		opts.Left, opts.Right = "head better", "head worse"
	}
	return chart.Forest(rows, opts)
}

// armsText names the arms in one line.
func (v *View) armsText() string {
	base, head := v.in.Comparison.Arms[result.Base].Revision, v.in.Comparison.Arms[result.Head].Revision
	if base == "" && head == "" {
		return ""
	}
	return oneLine(short(base)) + " → " + oneLine(short(head))
}

// short is the first ten digits of a commit, or the text as it is.
func short(revision string) string {
	if len(revision) == 40 && strings.Trim(revision, "0123456789abcdef") == "" {
		return revision[:10]
	}
	return revision
}

// arm returns the plan's arm of a name; the zero ArmSpec if there is none.
func (v *View) arm(name result.Arm) result.ArmSpec {
	for _, a := range v.in.Plan.Draft.Arms {
		if a.Name == name {
			return a
		}
	}
	return result.ArmSpec{}
}

// runWarnings collects the doubts about the whole run, each once, those that
// make every number doubtful first.
func runWarnings(in Input) []result.Warning {
	var out []result.Warning
	for _, list := range [][]result.Warning{
		in.Comparison.Warnings, in.Plan.Draft.Warnings, in.Plan.Draft.Graft.Warnings, in.Plan.Expansion.Warnings, in.Plan.Calibration.Warnings,
	} {
		for _, w := range list {
			if !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b result.Warning) int { return cmp.Compare(gravity(a), gravity(b)) })
	return out
}

// gravity is 0 for a warning that concerns every number of the run.
func gravity(w result.Warning) int {
	switch w.Code {
	case "not-trusted", "planted-not-found", result.WarnHarnessDiffers, result.WarnGraftChangedDependency:
		return 0
	}
	return 1
}

// allFailures are the recorded failures and those that listing and comparing
// found, each once.
func allFailures(in Input) []result.Failure {
	out := slices.Clone(in.Failures)
	add := func(list []result.Failure) {
		for _, f := range list {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	for _, c := range in.Plan.Expansion.Cases {
		add(c.Failed)
	}
	for _, c := range in.Comparison.Benchmarks {
		add(c.Failures)
	}
	return out
}

// summary counts the verdicts, those that occur.
func (v *View) summary() string {
	s := v.in.Comparison.Summary
	parts := []string{}
	for _, part := range []struct {
		n    int
		text string
	}{
		{s.Faster, "faster"}, {s.Slower, "slower"}, {s.Changed, "changed"}, {s.Mixed, "mixed"}, {s.ScheduleDependent, "schedule-dependent"},
		{s.Trivial, "trivial"}, {s.Equivalent, "equivalent"}, {s.Inconclusive, "inconclusive"}, {s.BelowResolution, "below resolution"},
		{s.Identical, "identical binary"}, {s.Failed, "failed"}, {s.Missing, "missing"}, {s.NotComparable, "not comparable"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	if len(parts) == 0 {
		return "No case was compared."
	}
	return fmt.Sprintf("%s: %s.", count(len(v.rows), "case", "cases"), strings.Join(parts, ", "))
}
