package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/internal/compare"
	"assay/internal/machine"
	"assay/internal/result"
	"assay/internal/unit"
)

// machine says where and how the numbers were taken.
func (v *View) machine() section {
	s := section{title: "Machine, compiler and schedule", spill: 6}
	p := v.in.Plan
	var items list
	known, facts, unknown := facts(p.Environment.Machine)
	if known != "" {
		items = append(items, line(strong("Machine:"), text(" "+known+".")))
	}
	items = append(items, toolchain(p)...)
	if p.ID != "" {
		items = append(items, placement(p), v.schedule())
	}
	items = append(items, v.sensors()...)
	items = append(items, v.planted()...)
	if len(items) == 0 {
		return s
	}
	s.blocks = []block{items}
	s.short = s.blocks
	if len(facts.rows) > 0 {
		s.blocks = append(s.blocks, fold{"All facts read from the machine", []block{facts}})
	}
	if unknown != "" {
		s.blocks = append(s.blocks, paragraph(line(text("Could not be read here: "+unknown+"."))))
	}
	return s
}

// facts gives the first six facts that decide comparability as one text, all
// known facts as a table, and the names of the unknown ones.
func facts(f machine.Fingerprint) (known string, all table, unknown string) {
	all = table{align: "ll", head: []string{"fact", "value"}}
	var first, missing []string
	for _, fact := range f {
		if fact.Value == machine.UnknownValue {
			missing = append(missing, oneLine(fact.Key))
			continue
		}
		all.rows = append(all.rows, []inline{line(text(oneLine(fact.Key))), line(code(clipped(oneLine(fact.Value), 200)))})
		if fact.Class == machine.Hard && len(first) < 6 {
			first = append(first, strings.ReplaceAll(oneLine(fact.Key), "_", " ")+" "+clipped(oneLine(fact.Value), 80))
		}
	}
	return strings.Join(first, ", "), all, strings.Join(missing, ", ")
}

// toolchain gives the compiler and the effective settings of the artifacts.
func toolchain(p result.Plan) list {
	var out list
	var tools []string
	for _, r := range p.Draft.Recipes {
		if t := oneLine(r.Toolchain); t != "" && !slices.Contains(tools, t) {
			tools = append(tools, t)
		}
	}
	if len(tools) > 0 {
		out = append(out, line(strong("Toolchain:"), text(" "+strings.Join(tools, ", ")+", the same for both arms.")))
	}
	equal, differ := settings(p.Expansion.Artifacts)
	if len(equal) > 0 {
		item := line(strong("Effective settings, read back from the binaries:"), text(" "))
		for i, e := range equal {
			if i > 0 {
				item = append(item, text(", "))
			}
			item = append(item, code(e))
		}
		out = append(out, append(item, text(".")))
	}
	for _, d := range differ {
		out = append(out, line(strong("The arms were built with different settings:"), text(" "), code(d)))
	}
	warnings := map[result.Arm]int{}
	for _, a := range p.Expansion.Artifacts {
		warnings[a.Arm] += a.Warnings
	}
	if len(p.Expansion.Artifacts) > 0 {
		out = append(out, line(text(fmt.Sprintf("Compiler warnings: %d on base, %d on head.", warnings[result.Base], warnings[result.Head]))))
	}
	return out
}

// settings compares what was read back from the arms' binaries: "KEY=value"
// where every package of both arms agrees, else one text per arm.
func settings(artifacts []result.Artifact) (equal, differ []string) {
	var keys []string
	values := map[string]map[result.Arm][]string{}
	for _, a := range artifacts {
		for _, s := range a.Settings {
			key, value := oneLine(s.Key), oneLine(s.Value)
			if values[key] == nil {
				values[key] = map[result.Arm][]string{}
				keys = append(keys, key)
			}
			if !slices.Contains(values[key][a.Arm], value) {
				values[key][a.Arm] = append(values[key][a.Arm], value)
			}
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		base, head := slices.Sorted(slices.Values(values[key][result.Base])), slices.Sorted(slices.Values(values[key][result.Head]))
		if slices.Equal(base, head) {
			equal = append(equal, clipped(key+"="+strings.Join(base, " or "), 160))
			continue
		}
		differ = append(differ, clipped(fmt.Sprintf("%s: base %q, head %q", key, base, head), 400))
	}
	return equal, differ
}

func placement(p result.Plan) inline {
	out := line(strong("Placement:"))
	switch {
	case !p.Environment.Pinned:
		out = append(out, text(" not pinned, the system cannot pin a process to a core"))
	case len(p.Draft.CPUs) == 0:
		out = append(out, text(" not pinned"))
	default:
		out = append(out, text(" pinned to "+coreList(p.Draft.CPUs)))
	}
	if len(p.Draft.ParallelCPUs) > 0 {
		out = append(out, text(", parallel cases on "+coreList(p.Draft.ParallelCPUs)))
	}
	if f := oneLine(p.Environment.Freezes); f != "" {
		out = append(out, text("; waiting arms frozen by "+f))
	}
	return append(out, text("."))
}

func coreList(cpus []int) string {
	words := make([]string, len(cpus))
	for i, c := range cpus {
		words[i] = strconv.Itoa(c)
	}
	if len(words) == 1 {
		return "core " + words[0]
	}
	return "cores " + strings.Join(words, ", ")
}

// schedule tells rounds and how the samples alternated.
func (v *View) schedule() inline {
	cal := v.in.Plan.Calibration
	counts := map[string]int{}
	var kinds []string
	for _, c := range cal.Cases {
		if c.Skip != "" {
			continue
		}
		key := string(c.Kind) + " in " + string(c.Schedule)
		if counts[key] == 0 {
			kinds = append(kinds, key)
		}
		counts[key]++
	}
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", counts[k], k)
	}
	out := line(strong("Schedule:"), text(fmt.Sprintf(" %s planned, each of fresh processes of every arm, order drawn from seed %d", count(cal.Rounds, "round", "rounds"), v.in.Plan.Draft.Seed)))
	if len(kinds) > 0 {
		out = append(out, text("; cases: "+strings.Join(kinds, ", ")))
	}
	if v.in.End == nil {
		out = append(out, text("; "), strong("the run has not ended"))
	} else if v.in.End.Interrupted {
		out = append(out, text("; "), strong("the run was interrupted"))
	}
	return append(out, text("."))
}

// sensors compares the first snapshot with the last.
func (v *View) sensors() list {
	start := v.in.Plan.Environment.Start
	var end machine.Snapshot
	if n := len(v.in.Sensors); n > 0 {
		if start.Time.IsZero() {
			start = v.in.Sensors[0].Snapshot
		}
		end = v.in.Sensors[n-1].Snapshot
	}
	if v.in.End != nil && !v.in.End.Snapshot.Time.IsZero() {
		end = v.in.End.Snapshot
	}
	if start.Time.IsZero() || end.Time.IsZero() {
		return nil
	}
	var parts []string
	pair := func(name string, a, b *float64, suffix string) {
		if a != nil && b != nil {
			parts = append(parts, fmt.Sprintf("%s %.2f%s at the start, %.2f%s at the end", name, *a, suffix, *b, suffix))
		}
	}
	pair("load average", start.Load1, end.Load1, "")
	pair("hottest zone", start.TemperatureC, end.TemperatureC, " °C")
	pair("CPU pressure", start.PressureCPU, end.PressureCPU, " %")
	pair("memory pressure", start.PressureMem, end.PressureMem, " %")
	if len(start.Steal) > 0 && len(start.Steal) == len(end.Steal) {
		ticks := int64(0)
		for i := range start.Steal {
			ticks += end.Steal[i] - start.Steal[i]
		}
		parts = append(parts, fmt.Sprintf("%.2f s of CPU time stolen by the host", float64(ticks)/100))
	}
	if start.Throttles != nil && end.Throttles != nil {
		parts = append(parts, fmt.Sprintf("throttled %d times", *end.Throttles-*start.Throttles))
	}
	if len(parts) == 0 {
		return nil
	}
	return list{line(strong("Load:"), text(" "+strings.Join(parts, "; ")+"."))}
}

// planted says whether the known slow-downs were found.
func (v *View) planted() list {
	var out list
	for _, p := range v.in.Comparison.Planted {
		item := line(strong("Planted control:"), text(" base made "+unit.Percent(p.True, 1)+" slower on purpose was "))
		if p.Found {
			item = append(item, text("found"))
		} else {
			item = append(item, strong("not found"))
		}
		if e := p.Estimate; e != nil {
			item = append(item, text(", as "+estimate(e)))
		}
		out = append(out, append(item, text(" ("+clipped(v.nameOf(p.ID), 120)+").")))
	}
	return out
}

// estimate prints a ratio with its interval.
func estimate(e *compare.Estimate) string {
	if e == nil {
		return "n/a"
	}
	decimals := 1
	if e.CI == nil {
		return unit.Percent(e.Delta, decimals) + " (" + count(e.Rounds, "round", "rounds") + ", no interval)"
	}
	if e.CI[1]-e.CI[0] < 0.002 {
		decimals = 2
	}
	return unit.Percent(e.Delta, decimals) + " " + interval(*e.CI, decimals)
}
