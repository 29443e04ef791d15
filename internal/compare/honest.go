package compare

import (
	"fmt"
	"strings"

	"assay/internal/machine"
	"assay/internal/result"
	"assay/internal/unit"
)

// notSupported says, for this run, what its numbers do not carry.
func notSupported(plan result.Plan, file File) []string {
	lines := []string{
		"Real-world impact: these are microbenchmarks in isolation. They say nothing about the share of this code in a real transaction.",
		"Cause: one build per arm proves that these two binaries differ, not that the source change is the reason; where the linker put the code was not varied.",
		fmt.Sprintf("Commits: base and head were compared, not the commits between them. Measured: %s. Inferred, where anyone says so: every cause.", measuredMetrics(file.Benchmarks)),
		hardware(plan),
		toolchain(plan),
		load(plan),
		"Input: only the sizes and data that the benchmarks use were tried.",
	}
	lines = append(lines, resolutionLine(file.Benchmarks))
	if line := unmeasured(file.Summary); line != "" {
		lines = append(lines, line)
	}
	return lines
}

// measuredMetrics lists the metrics of the rows, in their order.
func measuredMetrics(rows []Comparison) string {
	var names []string
	seen := map[string]bool{}
	for _, r := range rows {
		if !seen[r.Metric] && r.Base != nil {
			seen[r.Metric] = true
			names = append(names, r.Metric)
		}
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// hardware names the one machine and the cores that were used.
func hardware(plan result.Plan) string {
	model := plan.Environment.Machine.Get("cpu_model")
	if model == machine.UnknownValue {
		model = "a processor whose model could not be read"
	}
	return fmt.Sprintf("Other machines: everything was measured on one machine (%s), %s.", model, cores(plan))
}

func cores(plan result.Plan) string {
	cpus := plan.Draft.CPUs
	switch {
	case !plan.Environment.Pinned || len(cpus) == 0:
		return "without pinning to a core"
	case len(cpus) == 1:
		return fmt.Sprintf("pinned to one core (%d)", cpus[0])
	}
	return fmt.Sprintf("pinned to %d cores (%s)", len(cpus), strings.Trim(fmt.Sprint(cpus), "[]"))
}

// toolchain names the one toolchain and the settings that change code.
func toolchain(plan result.Plan) string {
	var names, settings []string
	seen := map[string]bool{}
	add := func(list *[]string, text string) {
		if text != "" && !seen[text] {
			seen[text] = true
			*list = append(*list, text)
		}
	}
	for _, recipe := range plan.Draft.Recipes {
		add(&names, recipe.Toolchain)
		for _, s := range recipe.Settings {
			if s.Value != "" {
				add(&settings, s.Key+"="+s.Value)
			}
		}
	}
	text := "Other compilers: one toolchain was used"
	if len(names) > 0 {
		text += " (" + strings.Join(names, ", ") + ")"
	}
	if len(settings) > 0 {
		text += " with " + strings.Join(settings, " ")
	}
	return text + "; another version, target or flag can change size and sign of an effect."
}

// load says at which load and concurrency the samples were taken.
func load(plan result.Plan) string {
	text := "Loaded behaviour: "
	parallel := 0
	for _, p := range plan.Calibration.Cases {
		if p.Kind == result.Parallel && p.Skip == "" {
			parallel++
		}
	}
	if parallel == 0 {
		text += "one benchmark at a time, single threaded"
	} else {
		text += fmt.Sprintf("one benchmark at a time, %d of them on several threads", parallel)
	}
	if l := plan.Environment.Start.Load1; l != nil {
		text += fmt.Sprintf(", at a load average of %.1f when it began", *l)
	}
	return text + "; no pressure on caches or memory from other work was applied."
}

// resolutionLine says below which size nothing was seen.
func resolutionLine(rows []Comparison) string {
	best, worst, n := 0.0, 0.0, 0
	for _, r := range rows {
		if r.Exploratory || r.Resolution == nil {
			continue
		}
		if n == 0 || *r.Resolution < best {
			best = *r.Resolution
		}
		worst = max(worst, *r.Resolution)
		n++
	}
	if n == 0 {
		return "Small effects: no interval could be bounded, so no effect of any size is excluded."
	}
	return fmt.Sprintf("Small effects: nothing smaller than the half-width of a case's interval was seen; that is %s in the best case and %s in the worst of %d.",
		percent(best), percent(worst), n)
}

func percent(v float64) string { return unit.Unit{}.Format(100*v, 2) + " %" }

// unmeasured counts the cases about which the run says nothing.
func unmeasured(s Summary) string {
	var parts []string
	for _, p := range []struct {
		n    int
		text string
	}{
		{s.Failed, "failed"}, {s.Missing, "missing on one arm"}, {s.NotComparable, "not comparable"},
		{s.BelowResolution, "below the timer's resolution"}, {s.Inconclusive, "inconclusive"},
		{s.Mixed + s.ScheduleDependent, "without a single figure"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.text))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Cases without an answer: " + strings.Join(parts, ", ") + "."
}
