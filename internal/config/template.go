package config

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Detected is what a tree was found to have.
type Detected struct {
	Harness    string
	Packages   []string
	Benchmarks []string // ids, in the order to be written; repeats are left out
}

// Template returns a first assay.yaml: what was detected, and every other key
// as a comment. Parse reads it back: the harness, the packages and one
// Benchmark for each id, with the title that the id suggests.
func Template(found Detected) []byte {
	var out strings.Builder
	out.WriteString("# Settings of assay for this repository. Every key may be left out; flags win.\n")
	for _, k := range configKeys() {
		fmt.Fprintf(&out, "\n# %s\n", k.doc)
		switch k.name {
		case "harness":
			value := found.Harness
			if value == "" {
				value = "gotest"
			}
			fmt.Fprintf(&out, "%sharness: %s\n", comment(found.Harness == ""), quote(value))
		case "packages":
			writeList(&out, k.name, found.Packages, "./...")
		case "bench":
			out.WriteString("# bench: .\n")
		case "prepare":
			writeKeys(&out, k.name, prepareKeys())
		case "graft":
			writeList(&out, k.name, nil, "testdata/*.json")
		case "build":
			writeKeys(&out, k.name, buildKeys())
		case "benchmarks":
			writeBenchmarks(&out, found.Benchmarks)
		case "history":
			writeKeys(&out, k.name, historyKeys())
		}
	}
	return []byte(out.String())
}

func comment(on bool) string {
	if on {
		return "# "
	}
	return ""
}

// writeList writes the values, or the example as a comment when there are none.
func writeList(out *strings.Builder, name string, values []string, example string) {
	prefix := comment(len(values) == 0)
	if len(values) == 0 {
		values = []string{example}
	}
	fmt.Fprintf(out, "%s%s:\n", prefix, name)
	for _, value := range values {
		fmt.Fprintf(out, "%s  - %s\n", prefix, quote(value))
	}
}

// writeKeys writes a section whose keys are all comments.
func writeKeys[T any](out *strings.Builder, name string, keys []key[T]) {
	fmt.Fprintf(out, "# %s:\n", name)
	for _, k := range keys {
		fmt.Fprintf(out, "#   %s: # %s\n", k.name, k.doc)
	}
}

func writeBenchmarks(out *strings.Builder, ids []string) {
	none := len(ids) == 0
	if none {
		ids = []string{"example.com/module.BenchmarkName/case_name"}
	}
	fmt.Fprintf(out, "%sbenchmarks:\n", comment(none))
	seen := map[string]bool{}
	for _, id := range ids {
		match := id
		if _, err := regexp.Compile(id); err != nil {
			match = regexp.QuoteMeta(id)
		}
		if seen[match] {
			continue
		}
		seen[match] = true
		fmt.Fprintf(out, "%s  %s:\n%s    title: %s\n", comment(none), quote(match), comment(none), quote(title(id)))
	}
	indent := "  # "
	if none {
		indent = "#   "
	}
	fmt.Fprintf(out, "%sFurther keys of a benchmark:\n", indent)
	for _, k := range benchmarkKeys() {
		if k.name != "title" {
			fmt.Fprintf(out, "%s  %s: # %s\n", indent, k.name, k.doc)
		}
	}
}

// title is the id without its package's folder and "Benchmark", with the
// underscores that Go writes for spaces turned back.
func title(id string) string {
	top, sub, hasSub := strings.Cut(id[packageEnd(id):], "/")
	name := strings.TrimPrefix(top, "Benchmark")
	if hasSub {
		name += ": " + sub
	}
	name = strings.Join(strings.Fields(strings.ReplaceAll(name, "_", " ")), " ")
	if name == "" {
		return path.Base(id)
	}
	return name
}

// packageEnd is where the benchmark's own name begins in an id such as
// "example.com/hdr.BenchmarkURL/realistic".
func packageEnd(id string) int {
	if at := strings.Index(id, ".Benchmark"); at >= 0 {
		return at + 1
	}
	return 0
}

// quote writes a text as a double-quoted scalar. JSON's escapes are a subset of
// YAML's.
func quote(text string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		// A string always encodes.
		panic(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
