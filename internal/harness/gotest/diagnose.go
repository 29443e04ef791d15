package gotest

import (
	"fmt"
	"regexp"
	"sort"
)

// A complaint is one way in which the go command says that something is missing.
// The text is filled with the groups of the expression.
type complaint struct {
	expression string
	text       string
}

// complaints are the words of the Go compiler and the go command (Go 1.18 to 1.26).
func complaints() []complaint {
	return []complaint{
		{`undefined: (\S+)`, "%s"},
		{`(\S+) undefined \(type (.+?) has no field or method (\w+)[,)]`, "%s (%s has no %s)"},
		{`(\S+) (?:undefined|redeclared) \(cannot refer to unexported (?:name|field|method|field or method) \S+\)`, "%s"},
		{`unknown field (\S+) in struct literal of type (\S+)`, "field %s of %s"},
		{`unknown field '?(\w+)'? in struct literal(?: of type (\S+))?`, "field %s of %s"},
		{`(\S+) does not implement (\S+) \(missing method (\w+)\)`, "%s does not implement %s: method %s"},
		{`name (\S+) not exported by package (\S+)`, "%s (not exported by %s)"},
		{`no required module provides package ([^\s;:]+)`, "package %s"},
		{`cannot find (?:package|module providing package) "?([^\s":]+)"?`, "package %s"},
		{`package (\S+) is not in (?:std|GOROOT)`, "package %s"},
		{`module \S+ found(?: \([^)]*\))?, but does not contain package (\S+)`, "package %s"},
		{`missing go\.sum entry for module providing package ([^\s;]+)`, "go.sum entry for package %s"},
		{`([^\s:]+@[^\s:]+): missing go\.sum entry`, "go.sum entry for %s"},
		{`no Go files in (\S+)`, "package in %s"},
		{`build constraints exclude all Go files in (\S+)`, "package in %s for this system"},
		{`(?:not enough|too many) arguments in call to (\S+)`, "%s with these parameters"},
		{`assignment mismatch: .*? (\S+) returns? `, "%s with these results"},
		{`(cannot use .+? as .+? (?:value )?in .+?)(?: \(|:|$)`, "%s"},
		{`(import cycle not allowed(?: in test)?)`, "%s"},
		{`requires (go1\.\d+) or later \(-lang was set to (go1\.\d+)`, "language level %s (go.mod says %s)"},
		{`go(?:\.mod)?:? .*?requires go >= (\S+)`, "Go %s or later"},
		{`pattern (\S+): no matching files found`, "embedded file %s"},
		{`(go\.mod file not found|cannot find main module)`, "go.mod (%s)"},
	}
}

// Diagnose reads what the go command printed of a build that failed: the
// symbols, packages and files that the arm lacks, each once, in order of
// appearance. Text that names nothing gives nil.
func (Adapter) Diagnose(output string) []string {
	type found struct {
		at   int
		text string
	}
	var all []found
	for _, c := range complaints() {
		for _, match := range regexp.MustCompile(`(?m)`+c.expression).FindAllStringSubmatchIndex(output, -1) {
			var groups []any
			for i := 2; i+1 < len(match); i += 2 {
				if match[i] >= 0 {
					groups = append(groups, output[match[i]:match[i+1]])
				} else {
					groups = append(groups, "")
				}
			}
			all = append(all, found{match[0], fmt.Sprintf(c.text, groups...)})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].at < all[j].at })
	var missing []string
	seen := map[string]bool{}
	for _, f := range all {
		if !seen[f.text] {
			seen[f.text] = true
			missing = append(missing, f.text)
		}
	}
	return missing
}
