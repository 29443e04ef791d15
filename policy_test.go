// Package assay_test holds the gates of the whole tree: the import policy, the
// shape of the code, the calls that reach the real world, and the documents.
//
// In: the source files of the module. Out: test failures, one line for each
// finding. It must never be imported.
package assay_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// importRules says which package of the module may import which. "a < b": b may
// import a and all that a may import, as in Go's internal/dag; non-test code
// only. What is not written is forbidden, and so is a package that is not
// written. "p/*" stands for the packages in folder p that have no name of their
// own here; "everything" for all that stand in other rules. Names are relative to internal/, except examples and cmd.
// Packages that are planned and do not exist yet may stand here.
const importRules = `
NONE < unit, stats, stats/noise, machine, subject, examples, examples/hdrparse/*;
unit, machine < result;
unit < config, report/chart;
result, unit < harness < harness/* < harness/all;
subject, harness < build;
config, subject, build, harness, machine, result < plan < measure;
measure, harness/* < measure/simulate;
build, harness, machine, result < measure;
result < store, attribution;
result, stats, unit < compare, history;
compare, history, attribution, result, unit, report/chart < report;
everything < cli < cmd/assay;
stats, compare, store < cmd/bench;
`

// halves never import each other, directly or through others. A name stands for
// the packages below it too.
func halves() [2][]string {
	return [2][]string{
		{"config", "subject", "harness", "build", "plan", "measure"},
		{"stats", "store", "compare", "history", "attribution", "report"},
	}
}

// testOnly are packages that non-test code never imports.
func testOnly() []string {
	return []string{"harness/harnesstest", "measure/simulate", "stats/noise"}
}

// limits of the shape of non-test, non-generated code.
const (
	maxFileLines     = 500
	maxFunctionLines = 80
	maxParameters    = 5
	maxMethods       = 6
	maxImportDepth   = 8 // packages on the longest chain, cmd/assay included
)

// ban forbids names of an imported package outside some packages of the module.
type ban struct {
	path    string   // import path
	names   []string // patterns of path.Match; "!name" takes a name out
	allowed []string // packages that may
	reason  string
}

func bans() []ban {
	world := []string{"cli", "cmd/assay", "cmd/bench", "subject", "build", "measure", "machine", "harness/harnesstest"}
	terminal := []string{"cli", "cmd/assay", "cmd/bench"}
	return []ban{
		{"os", []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv", "User*Dir"}, world, "the environment is an input of the edge"},
		{"os", []string{"Exit", "Stdout", "Stderr", "Stdin", "Args"}, world, "nothing prints or ends the program from the core"},
		{"os", []string{"StartProcess"}, world, "processes are started by the edge"},
		{"os/exec", []string{"Command", "CommandContext", "LookPath"}, world, "processes are started by the edge"},
		{"syscall", []string{"Exit", "Exec", "ForkExec", "StartProcess", "*etenv", "Environ", "Clearenv"}, world, "the same under another name"},
		{"time", []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}, world, "same input, same bytes: the clock is an input"},
		{"time", []string{"Sleep"}, nil, "no sleep as synchronisation"},
		{"math/rand", []string{"*", "!New", "!NewSource", "!NewZipf", "!Rand", "!Source", "!Source64", "!Zipf"}, world, "the global generator has no seed of ours"},
		{"math/rand/v2", []string{"*", "!New", "!NewPCG", "!NewChaCha8", "!NewZipf", "!Rand", "!Source", "!PCG", "!ChaCha8", "!Zipf"}, world, "the global generator has no seed of ours"},
		{"crypto/rand", []string{"*"}, world, "it cannot be seeded"},
		{"fmt", []string{"Print", "Printf", "Println", "Scan*"}, terminal, "nothing prints from the core"},
		{"log", []string{"*"}, terminal, "nothing prints from the core"},
		{"log/slog", []string{"*"}, terminal, "nothing prints from the core"},
	}
}

// constructors may initialise a package-level variable that is never written:
// what they return has no method that changes it.
func constructors() []string {
	return []string{"errors.New", "fmt.Errorf", "regexp.MustCompile", "strings.NewReplacer", "math.*"}
}

func forbiddenNames() []string {
	return []string{"util", "utils", "common", "helper", "helpers", "base", "misc", "manager"}
}

// exception lets one finding pass.
type exception struct {
	gate   string // of the finding
	where  string // file or package of the finding, a pattern of path.Match
	text   string // the finding's text holds it
	reason string
}

// exceptions are few, and each carries its reason. One that excuses nothing is
// itself a failure.
func exceptions() []exception {
	return []exception{
		{"package-name", "examples/hdrparse/base", `"base"`, "base is the glossary's word for the arm that this package is"},
	}
}

// policyOf is the policy of this module.
func policyOf() policy {
	return policy{module: "assay", rules: importRules, halves: halves(), testOnly: testOnly(), bans: bans(),
		constructors: constructors(), names: forbiddenNames(), exceptions: exceptions()}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, f := range policyOf().check(os.DirFS(".")) {
		t.Error(f)
	}
}

// TestPolicyRules: the rules themselves keep the halves apart, so that no
// allowed chain of imports joins them.
func TestPolicyRules(t *testing.T) {
	t.Parallel()
	rules, err := parseRules(importRules)
	if err != nil {
		t.Fatal(err)
	}
	both := halves()
	for side, half := range both {
		for _, name := range half {
			for _, imported := range rules.reach(name) {
				if within(imported, both[1-side]) {
					t.Errorf("the rules let %s reach %s in the other half", name, imported)
				}
			}
		}
	}
	if got, want := rules.reach("harness/gotest"), []string{"harness", "machine", "result", "unit"}; !slices.Equal(got, want) {
		t.Errorf("harness/gotest reaches %v, want %v", got, want)
	}
	for _, bad := range []string{"a b < c;", "a < b < a;", "a;", "everything < everything;", "< a;"} {
		if _, err := parseRules(bad); err == nil {
			t.Errorf("rules %q: no error", bad)
		}
	}
}

// TestPlanted runs the checker over small trees with one violation each, kept
// in testdata/policy. The archive's comment holds the findings, one a line.
func TestPlanted(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(os.DirFS("."), "testdata/policy/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no planted trees: %v", err)
	}
	for _, file := range files {
		t.Run(path.Base(file), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := txtar.FS(archive)
			if err != nil {
				t.Fatal(err)
			}
			planted := policyOf()
			planted.exceptions = nil
			expectFindings(t, planted, tree, string(archive.Comment))
		})
	}
}

// TestPlantedSizes: violations too long for an archive.
func TestPlantedSizes(t *testing.T) {
	t.Parallel()
	head := "// Package unit is planted.\npackage unit\n"
	function := func(lines int) string { return "func f() {\n" + strings.Repeat("\t_ = 1\n", lines-2) + "}\n" }
	for name, planted := range map[string]struct{ source, want string }{
		"file at the limit":      {head + strings.Repeat("// x\n", maxFileLines-2), ""},
		"file above":             {head + strings.Repeat("// x\n", maxFileLines-1), "file-size internal/unit/unit.go:1 501 lines, at most 500"},
		"function at the limit":  {head + function(maxFunctionLines), ""},
		"function above":         {head + function(maxFunctionLines+1), "function-size internal/unit/unit.go:3 f has 81 lines, at most 80"},
		"function in a variable": {head + "var _ = func() {\n" + strings.Repeat("\n", maxFunctionLines) + "}\n", "function-size internal/unit/unit.go:3 a function literal has 82 lines, at most 80"},
		"generated code":         {"// Code generated by hand. DO NOT EDIT.\n" + head + strings.Repeat("// x\n", maxFileLines), ""},
		"no Go":                  {"package unit\nfunc {", "parse internal/unit/unit.go:2 expected 'IDENT', found '{'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bare := policyOf()
			bare.exceptions = nil
			expectFindings(t, bare, fstest.MapFS{"internal/unit/unit.go": {Data: []byte(planted.source)}}, planted.want)
		})
	}
}

// TestPlantedHalves: the halves are kept apart even where a mistaken rule allows
// the import, here by way of a third package.
func TestPlantedHalves(t *testing.T) {
	t.Parallel()
	mistaken := policyOf()
	mistaken.exceptions = nil
	mistaken.rules = "NONE < stats; stats < machine; machine < plan;"
	tree := fstest.MapFS{
		"internal/stats/a.go":   {Data: []byte("// Package stats is planted.\npackage stats\n")},
		"internal/machine/a.go": {Data: []byte("// Package machine is planted.\npackage machine\nimport \"assay/internal/stats\"\nconst x = stats.X\n")},
		"internal/plan/a.go":    {Data: []byte("// Package plan is planted.\npackage plan\nimport \"assay/internal/machine\"\nconst x = machine.X\n")},
	}
	expectFindings(t, mistaken, tree, "halves internal/plan reaches stats in the other half")
}

// TestPlantedDepth: a chain of nine packages that the rules allow.
func TestPlantedDepth(t *testing.T) {
	t.Parallel()
	deep := policyOf()
	deep.exceptions, deep.rules = nil, "NONE < p1"
	tree := fstest.MapFS{}
	for i := range maxImportDepth + 1 {
		name := "p" + strconv.Itoa(i+1)
		source := "// Package " + name + " is planted.\npackage " + name + "\n"
		if i > 0 {
			below := "p" + strconv.Itoa(i)
			source += "import \"assay/internal/" + below + "\"\nconst x = " + below + ".X\n"
			deep.rules += " < " + name
		}
		tree["internal/"+name+"/a.go"] = &fstest.MapFile{Data: []byte(source)}
	}
	expectFindings(t, deep, tree, "depth internal/p9 9 packages on the chain p9 p8 p7 p6 p5 p4 p3 p2 p1, at most 8")
}

// TestPlantedException: an exception silences its finding and no other, and one
// that is not needed is a finding.
func TestPlantedException(t *testing.T) {
	t.Parallel()
	excused := policyOf()
	excused.exceptions = []exception{
		{"init", "internal/unit/*.go", "function init", "planted"},
		{"sleep", "internal/unit/*.go", "", "planted"},
	}
	tree := fstest.MapFS{"internal/unit/unit.go": {Data: []byte("// Package unit is planted.\npackage unit\nfunc init() {}\nvar x int\n")}}
	expectFindings(t, excused, tree, "exception internal/unit/*.go nothing needs the exception from sleep\n"+
		"variable internal/unit/unit.go:4 package-level variable x")
}

func expectFindings(t *testing.T, p policy, tree fs.FS, want string) {
	t.Helper()
	var got []string
	for _, f := range p.check(tree) {
		got = append(got, f.String())
	}
	var wanted []string
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line != "" {
			wanted = append(wanted, line)
		}
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestNoPathsOfThisMachine: no tracked file names a folder of the machine it was
// written on, nor the host of a package registry.
func TestNoPathsOfThisMachine(t *testing.T) {
	t.Parallel()
	places := placesOfThisMachine(t)
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("git cannot list the tracked files: %v", err)
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		data, err := os.ReadFile(name)
		if name == "" || err != nil {
			continue // deleted in the working tree, or a folder
		}
		for _, f := range findPlaces(name, data, places) {
			t.Error(f)
		}
	}
	for _, place := range places {
		for text, want := range map[string]int{"see " + place + "x": 1, "a\n\"" + place + "\"\n": 1, "nothing": 0} {
			if got := findPlaces("f", []byte(text), places); len(got) < want || want == 0 && len(got) > 0 {
				t.Errorf("%q: findings %v, want %d", text, got, want)
			}
		}
	}
}
