package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/internal/compare"
	"assay/internal/result"
	"assay/internal/unit"
)

// Bounds of captured output in the report.
const (
	outputLines = 40
	outputBytes = 4000
)

// failed lists the cases without a result and what they printed.
func (v *View) failed() section {
	s := section{title: "Failed and missing cases", spill: 1}
	for _, a := range v.in.Plan.Expansion.Artifacts {
		if f := a.Failure; f != nil {
			s.blocks = append(s.blocks, paragraph(line(strong(oneLine(a.Package)), text(" does not build on "+string(a.Arm)+". "+buildCause(f)))),
				verbatim{"", tail(f.Text, outputLines, outputBytes)})
		}
	}
	for _, g := range v.groupFailures() {
		f := g.first
		head := line(strong(v.failureName(f)), text(fmt.Sprintf(": %s on %s", reasonText(f.Reason), f.Arm)))
		if f.Round > 0 {
			head = append(head, text(fmt.Sprintf(", round %d", f.Round)))
		}
		if g.more > 0 {
			head = append(head, text(fmt.Sprintf(", and %d more times", g.more)))
		}
		s.blocks = append(s.blocks, paragraph(append(head, text("."))))
		if strings.TrimSpace(f.Text) != "" {
			s.blocks = append(s.blocks, verbatim{"", tail(f.Text, outputLines, outputBytes)})
		}
	}
	var items list
	for _, r := range v.rows {
		if r.Verdict == compare.MissingBase || r.Verdict == compare.MissingHead {
			item := line(strong(r.name), text(": "+r.reason()))
			if r.Partner != "" {
				item = append(item, text("; likely the same benchmark as "), code(oneLine(r.Partner)))
			}
			items = append(items, append(item, text(".")))
		}
		if r.Verdict == compare.NotComparable {
			items = append(items, line(strong(r.name), text(": not comparable. "+warningTexts(r.Warnings))))
		}
	}
	for _, d := range v.in.Damaged {
		items = append(items, line(code(fmt.Sprintf("%s:%d", oneLine(d.Source), d.Line)), text(": "+oneLine(d.Reason)+": "), code(clipped(oneLine(d.Text), 120))))
	}
	if len(items) > 0 {
		s.blocks = append(s.blocks, limited(items, 200, "items"))
	}
	if len(s.blocks) > 0 && len(v.in.Captures) > 0 {
		where := line(text("The whole output of every process is in "))
		for i, c := range v.in.Captures {
			if i > 0 {
				where = append(where, text(", "))
			}
			where = append(where, link(oneLine(c), oneLine(c)))
		}
		s.blocks = append(s.blocks, paragraph(append(where, text("."))))
	}
	s.short = []block{paragraph(line(strong(fmt.Sprintf("%d failed, %d missing, %d not comparable.", v.in.Comparison.Summary.Failed, v.in.Comparison.Summary.Missing, v.in.Comparison.Summary.NotComparable))))}
	return s
}

// buildCause says what a build lacked and the way out.
func buildCause(f *result.BuildFailure) string {
	out := ""
	if len(f.Missing) > 0 {
		out = "Missing there: " + oneLine(strings.Join(f.Missing, ", ")) + ". "
	}
	return out + oneLine(f.Remedy)
}

// failureName is the title of the case, else its package.
func (v *View) failureName(f result.Failure) string {
	if f.ID == "" {
		return oneLine(f.Package) + " (every case)"
	}
	return v.nameOf(f.ID)
}

// nameOf is the title of a case, else its id.
func (v *View) nameOf(id result.CaseID) string {
	for _, r := range v.rows {
		if r.ID == id {
			return r.name
		}
	}
	return oneLine(string(id))
}

// failureGroup is a failure and how often it came again.
type failureGroup struct {
	first result.Failure
	more  int
}

// groupFailures joins what failed for one reason on one arm in several rounds.
// A package whose artifact says why it was not built is left out.
func (v *View) groupFailures() []failureGroup {
	var out []failureGroup
	for _, f := range v.failures {
		i := slices.IndexFunc(out, func(g failureGroup) bool {
			return g.first.Arm == f.Arm && g.first.ID == f.ID && g.first.Package == f.Package && g.first.Reason == f.Reason
		})
		built := slices.ContainsFunc(v.in.Plan.Expansion.Artifacts, func(a result.Artifact) bool {
			return a.Failure != nil && a.Package == f.Package && a.Arm == f.Arm
		})
		switch {
		case f.Reason == result.FailBuild && built:
		case i < 0:
			out = append(out, failureGroup{first: f})
		default:
			out[i].more++
		}
	}
	return out
}

func reasonText(r result.FailureReason) string {
	switch r {
	case result.FailBuild:
		return "did not build"
	case result.FailCrash:
		return "its process ended"
	case result.FailBench:
		return "failed"
	case result.FailHang:
		return "hung and was killed"
	case result.FailSkipped:
		return "skipped itself"
	case result.FailStart:
		return "its process did not start"
	case result.FailOutput:
		return "its result could not be read"
	}
	return "failed for an unknown reason"
}

func warningTexts(warnings []result.Warning) string {
	texts := make([]string, len(warnings))
	for i, w := range warnings {
		texts[i] = oneLine(w.Text)
	}
	return strings.Join(texts, " ")
}

// doubt is the text of a case's warning without the case's name, which stands
// before it.
func (r row) doubt(w result.Warning) string {
	return strings.TrimPrefix(oneLine(w.Text), r.name+": ")
}

// seen lists the doubts about single cases.
func (v *View) seen() section {
	s := section{title: "Seen and not chased", spill: 3}
	var items list
	for _, r := range slices.Concat(v.rows, v.other) {
		for _, w := range r.Warnings {
			items = append(items, line(strong(r.name), text(": "+clipped(r.doubt(w), 500)+" "), code(oneLine(w.Code))))
		}
		if r.Verdict == compare.Inconclusive {
			items = append(items, line(strong(r.name), text(": inconclusive "+r.delta+", "), text(r.shortfall())))
		}
	}
	if len(items) > 0 {
		s.blocks = []block{limited(items, 300, "doubts")}
	}
	return s
}

// shortfall says what an inconclusive case would need.
func (r row) shortfall() string {
	out := "resolution not known"
	if r.Resolution != nil {
		out = "resolution reached " + unsigned(*r.Resolution)
	}
	if r.RoundsNeeded > 0 {
		return out + ", " + r.roundsText() + "."
	}
	return out + ", " + count(r.Rounds, "round", "rounds") + "."
}

// inferred prints the author's notes, apart from what was measured.
func (v *View) inferred() section {
	s := section{title: "Measured and inferred", spill: 5}
	if len(v.rows) == 0 {
		return s
	}
	s.blocks = []block{paragraph(line(text("All figures above are measured. Why they moved was not measured: no profile was taken.")))}
	s.short = s.blocks
	if notes := noteBlocks(v.in.Notes); len(notes) > 0 {
		s.blocks = slices.Concat(s.blocks, []block{paragraph(line(strong("Inferred rather than measured,"), text(" in the author's words:")))}, notes)
	}
	return s
}

// noteBlocks reads the simple Markdown of notes: paragraphs, items, headings and
// code spans. Anything else stays text.
func noteBlocks(notes string) []block {
	var out []block
	var open inline
	flush := func() {
		if len(open) > 0 {
			out = append(out, paragraph(open))
		}
		open = nil
	}
	for l := range strings.SplitSeq(lines(notes), "\n") {
		l = strings.TrimSpace(l)
		item, isItem := strings.CutPrefix(l, "- ")
		switch {
		case l == "":
			flush()
		case strings.HasPrefix(l, "#"):
			flush()
			out = append(out, paragraph(line(strong(strings.TrimSpace(strings.TrimLeft(l, "#"))))))
		case isItem:
			flush()
			if n := len(out); n > 0 {
				if items, ok := out[n-1].(list); ok {
					out[n-1] = append(items, codeSpans(item))
					continue
				}
			}
			out = append(out, list{codeSpans(item)})
		default:
			if len(open) > 0 {
				open = append(open, text(" "))
			}
			open = append(open, codeSpans(l)...)
		}
	}
	flush()
	return out
}

// codeSpans splits a line at pairs of backticks.
func codeSpans(l string) inline {
	parts := strings.Split(l, "`")
	var out inline
	for i, p := range parts {
		switch {
		case p == "":
		case i%2 == 1 && i < len(parts)-1:
			out = append(out, code(p))
		case i%2 == 1:
			out = append(out, text("`"+p))
		default:
			out = append(out, text(p))
		}
	}
	return out
}

// unsupported is the honest section.
func (v *View) unsupported() section {
	s := section{title: "What these numbers do not support", spill: 11}
	var items list
	for _, t := range v.in.Comparison.NotSupported {
		items = append(items, line(text(oneLine(t))))
	}
	if len(items) > 0 {
		s.blocks = []block{items}
	}
	return s
}

// parameters is the footer: all that decides the numbers.
func (v *View) parameters() section {
	s := section{title: "Parameters", spill: 1}
	p, c := v.in.Plan, v.in.Comparison
	add := func(items list, name, value string) list {
		if value == "" {
			return items
		}
		return append(items, line(text(name+" "), code(oneLine(value))))
	}
	var items list
	items = add(items, "run", c.Run)
	items = add(items, "input", c.Input)
	if p.Tool.Name != "" {
		items = add(items, "tool", strings.TrimSpace(p.Tool.Name+" "+p.Tool.Version+" "+p.Tool.Go))
	}
	if p.ID != "" {
		items = add(items, "seed", fmt.Sprint(p.Draft.Seed))
		items = add(items, "rounds", fmt.Sprint(p.Calibration.Rounds))
		items = add(items, "budget", unit.Time().Format(float64(p.Calibration.BudgetNS), 3))
		items = add(items, "made", p.Draft.Created.UTC().Format("2006-01-02T15:04:05Z"))
	}
	items = add(items, "alpha", fmt.Sprint(c.Alpha))
	items = add(items, "confidence", fmt.Sprint(c.Confidence))
	items = add(items, "margin", fmt.Sprint(c.MinEffect))
	s.blocks = []block{items}
	s.short = s.blocks
	t := table{align: "lllrrrrl", head: []string{"case", "kind", "schedule", "iterations", "lead-in", "passes", "block samples", "filter rule"}}
	for _, cp := range p.Calibration.Cases {
		if cp.Skip != "" {
			continue
		}
		t.rows = append(t.rows, []inline{line(text(v.nameOf(cp.ID))), line(text(string(cp.Kind))), line(text(string(cp.Schedule))),
			line(text(fmt.Sprint(cp.Iterations))), line(text(fmt.Sprint(cp.Lead))), line(text(fmt.Sprint(cp.Passes))), line(text(fmt.Sprint(cp.BlockSamples))), line(text(string(cp.Rule)))})
	}
	if len(t.rows) > 0 {
		s.blocks = append(s.blocks, fold{"Calibration of each case", []block{t}})
	}
	return s
}
