package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"assay/internal/result"
)

// How many items of a list the main text shows before it folds or cuts them.
const (
	shownFiles = 12
	shownPaths = 10
	mostPaths  = 200
	// A command line is never cut, so a longer one moves as a whole.
	shownCommand = 4000
)

// arms is the proof that both arms carry the same harness.
func (v *View) arms() section {
	s := section{title: "How the arms were built", spill: 9}
	d := v.in.Plan.Draft
	if len(d.Arms) == 0 {
		if len(v.rows) > 0 {
			s.blocks = []block{paragraph(line(text("The values were read from captures: how the arms were built is not known, and nothing proves that their benchmark source is the same.")))}
		}
		return s
	}
	g := d.Graft
	s.blocks = append(s.blocks, paragraph(v.harnessClaim()), list{v.armLine(result.Base), v.armLine(result.Head)})
	s.short = slices.Clone(s.blocks)
	s.blocks = append(s.blocks, graftFiles(g.Files)...)
	if g.Stat != "" {
		s.blocks = append(s.blocks, verbatim{"", "$ git diff --stat " + string(g.Onto) + ".." + string(g.Onto) + "+graft\n" + tail(g.Stat, 60, 6000)})
	}
	if g.From != "none" && g.From != "" {
		diff := "(empty)"
		if strings.TrimSpace(g.HarnessDiff) != "" {
			diff = tail(g.HarnessDiff, 60, 6000)
		}
		s.blocks = append(s.blocks, verbatim{"", "$ git diff base+graft head -- <the harness files above>\n" + diff})
	}
	if n := len(g.Differ); n > 0 {
		s.blocks = append(s.blocks, folded(n > shownPaths, fmt.Sprintf("The arms differ in %s", count(n, "path", "paths")),
			paragraph(line(text("The arms do differ in:"))), limited(codes(g.Differ), mostPaths, "paths"))...)
	} else {
		s.blocks = append(s.blocks, paragraph(line(text("No path outside the harness differs between the arms."))))
	}
	s.blocks = append(s.blocks, manifests(g)...)
	if n := len(g.LeftOut); n > 0 {
		s.blocks = append(s.blocks, folded(n > 4, count(n, "other test file is", "other test files are")+" built on neither arm",
			paragraph(line(text("Other test files of these packages, built on neither arm:"))), limited(codes(g.LeftOut), mostPaths, "files"))...)
	}
	return s
}

// harnessClaim says what the graft proves, and no more.
func (v *View) harnessClaim() inline {
	g := v.in.Plan.Draft.Graft
	switch {
	case v.in.Plan.Draft.AA:
		return line(text("Base against base: "), strong("one tree was measured as both arms"), text(", so every difference below is noise."))
	case g.From == "none":
		return line(strong("Nothing was grafted:"), text(" each arm carries its own benchmark source, and a change of the benchmark shows as a change of the code."))
	case strings.TrimSpace(g.HarnessDiff) != "":
		return line(strong("The benchmark source of the arms differs after the graft."), text(" The figures compare benchmarks as well as code; see the diff."))
	}
	return line(text("Both arms carry "), strong("byte-identical benchmark source"), text(": "+count(len(g.Files), "file", "files")+" of "+oneLine(g.From)+". The proof follows."))
}

func (v *View) armLine(name result.Arm) inline {
	a := v.arm(name)
	r := a.Revision
	out := line(strong(strings.ToUpper(string(name))), text(" = "))
	switch {
	case r.Commit == "":
		out = append(out, text("the working tree, git tree "), code(short(r.Tree)))
	default:
		out = append(out, code(short(r.Commit)))
	}
	var notes []string
	if r.Ref != "" && !strings.HasPrefix(r.Commit, r.Ref) {
		notes = append(notes, oneLine(r.Ref))
	}
	if r.Subject != "" {
		notes = append(notes, "“"+clipped(oneLine(r.Subject), 120)+"”")
	}
	if r.Date != "" {
		notes = append(notes, oneLine(r.Date))
	}
	if r.Dirty {
		notes = append(notes, "with uncommitted changes")
	}
	if len(notes) > 0 {
		out = append(out, text(" ("+strings.Join(notes, ", ")+")"))
	}
	g := v.in.Plan.Draft.Graft
	if g.Onto != name || len(g.Files) == 0 {
		return append(out, text(" as it is."))
	}
	out = append(out, text(" plus the harness of "+oneLine(g.From)))
	if g.Commit != "" {
		out = append(out, text(", as commit "), code(short(g.Commit)))
	}
	if g.Patch != "" {
		out = append(out, text(", as a patch in "), link(path.Base(oneLine(g.Patch)), path.Base(oneLine(g.Patch))))
	}
	return append(out, text("."))
}

func codes(texts []string) list {
	out := make(list, len(texts))
	for i, t := range texts {
		out[i] = line(code(oneLine(t)))
	}
	return out
}

func graftFiles(files []result.GraftFile) []block {
	if len(files) == 0 {
		return nil
	}
	t := table{align: "llll", head: []string{"harness file", "kind", "before", "on both arms"}}
	hash := func(s string) span {
		if s == "" {
			return text("absent")
		}
		return code(clipped(strings.TrimPrefix(s, "sha256:"), 17))
	}
	for _, f := range files {
		t.rows = append(t.rows, []inline{line(code(oneLine(f.Path))), line(text(f.Kind)), line(hash(f.Before)), line(hash(f.After))})
	}
	return folded(len(files) > shownFiles, count(len(files), "harness file", "harness files")+" with hashes (SHA-256, shortened)", t)
}

// manifests are the edits and dependency changes that the graft needed.
func manifests(g result.GraftProof) []block {
	var out []block
	for _, e := range g.Edits {
		out = append(out, fold{"Edited so that it names the harness: " + oneLine(e.Path), []block{verbatim{"diff", tail(e.Diff, 200, 10000)}}})
	}
	if len(g.Dependencies) > 0 {
		t := table{align: "lll", head: []string{"dependency", "before the graft", "after"}}
		or := func(s string) span {
			if s == "" {
				return text("none")
			}
			return code(oneLine(s))
		}
		for _, d := range g.Dependencies {
			t.rows = append(t.rows, []inline{line(code(oneLine(d.Module))), line(or(d.Before)), line(or(d.After))})
		}
		out = append(out, folded(len(g.Dependencies) > shownFiles, count(len(g.Dependencies), "dependency", "dependencies")+" changed by the graft", t)...)
	}
	return out
}

// repeat gives the commands that make and measure the arms again.
func (v *View) repeat() section {
	s := section{title: "How to repeat it", spill: 5}
	d := v.in.Plan.Draft
	if len(d.Invocation) == 0 {
		return s
	}
	invocation := d.Invocation
	if path.Base(invocation[0]) != "assay" {
		invocation = append([]string{"assay"}, invocation...)
	}
	commands := []string{shell(invocation)}
	g := d.Graft
	if onto := v.arm(g.Onto); g.Commit != "" && d.Clone != "" {
		commands = append(commands, "", "# the grafted arm, on the machine that measured",
			shell([]string{"git", "fetch", d.Clone, g.Commit}))
		if g.Patch != "" && onto.Revision.Commit != "" {
			commands = append(commands, "# and anywhere else", shell([]string{"git", "checkout", onto.Revision.Commit})+" && "+shell([]string{"git", "apply", path.Base(g.Patch)}))
		}
	}
	all := strings.Join(commands, "\n")
	s.blocks = append(s.blocks, verbatim{"sh", all})
	if len(all) < shownCommand {
		s.short = slices.Clone(s.blocks)
	}
	var builds []string
	for _, a := range v.in.Plan.Expansion.Artifacts {
		for _, c := range a.Commands {
			if cmd := commandLine(c); !slices.Contains(builds, cmd) {
				builds = append(builds, cmd)
			}
		}
	}
	if len(builds) > 0 {
		s.blocks = append(s.blocks, folded(len(builds) > 4, count(len(builds), "build command", "build commands"), verbatim{"sh", strings.Join(builds, "\n")})...)
	}
	return s
}

// commandLine prints a command for a shell, its folder first.
func commandLine(c result.Command) string {
	out := shell(c.Argv)
	for _, kv := range slices.Backward(c.Env) {
		key, value, _ := strings.Cut(oneLine(kv), "=")
		out = key + "=" + shell([]string{value}) + " " + out
	}
	if c.Dir != "" {
		out = "cd " + shell([]string{c.Dir}) + " && " + out
	}
	return out
}

// shell quotes arguments for a POSIX shell.
func shell(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		a = oneLine(a)
		if a == "" || strings.Trim(a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+") != "" {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words[i] = a
	}
	return strings.Join(words, " ")
}

// commits lists the commits between the arms that touched the harness.
func (v *View) commits() section {
	s := section{title: "Commits between the arms that touched the harness", spill: 3}
	d := v.in.Plan.Draft
	if len(d.Arms) == 0 {
		return s
	}
	var items list
	for _, c := range d.Graft.Commits {
		id, subject, _ := strings.Cut(oneLine(c), " ")
		items = append(items, line(code(short(id)), text(" "+clipped(subject, 120))))
	}
	if len(items) == 0 {
		s.blocks = []block{paragraph(line(text("None.")))}
		return s
	}
	s.blocks = []block{limited(items, 50, "commits")}
	return s
}
