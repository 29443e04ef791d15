// Package plan decides what is measured, in three steps: the draft before
// anything is built, the expansion by what the built arms list, the calibration
// from the label-blind pilot. It also owns every order drawn by the seeded coin.
//
// In: values (settings, trees' identities, listings, pilot summaries). Out: the
// parts of result.Plan. It is pure: no clock, no process, no file; and it must
// never see which arm is faster before the plan is complete.
package plan

import (
	"math"
	"regexp"
	"strings"

	"assay/internal/result"
)

// maxIdenticalControls is how many identical cases are measured as controls
// (measurement.md "Identical binaries").
const maxIdenticalControls = 3

// Defaults of the interface (interface.md, statistics.md).
const (
	DefaultAlpha     = 0.05
	DefaultMinEffect = 0.01
)

// Planted returns the arms of the planted control: base with 1 % and 2 % more
// iterations, whose true effect is therefore known.
func Planted() []result.ArmSpec {
	return []result.ArmSpec{
		{Name: result.PlantedOne, Of: result.Base, Scale: 1.01},
		{Name: result.PlantedTwo, Of: result.Base, Scale: 1.02},
	}
}

// ArtifactArm returns the arm whose artifact arm runs.
func ArtifactArm(draft result.Draft, arm result.Arm) result.Arm {
	for _, spec := range draft.Arms {
		if spec.Name == arm && spec.Of != "" {
			return spec.Of
		}
	}
	return arm
}

// Scale returns the factor on the iterations of an arm, 1 for ordinary arms.
func Scale(draft result.Draft, arm result.Arm) float64 {
	for _, spec := range draft.Arms {
		if spec.Name == arm && spec.Scale != 0 {
			return spec.Scale
		}
	}
	return 1
}

// CaseArms returns the arms that take part in a case, in the draft's order: the
// built arms, and the planted ones where the case carries the control.
func CaseArms(draft result.Draft, planted bool) []result.Arm {
	var arms []result.Arm
	for _, spec := range draft.Arms {
		if spec.Scale != 0 && !planted {
			continue
		}
		arms = append(arms, spec.Name)
	}
	return arms
}

// Listing is what one artifact lists.
type Listing struct {
	Arm      result.Arm
	Package  string
	External bool
	Names    []string // in the harness's order
	Skipped  []string
	Failed   []result.Failure // ID holds the full id; empty ID: the whole package
}

// Match says whether a benchmark's own name is selected by --bench.
type Match func(pattern, name string) bool

// Expand joins what the arms list into the cases of the plan. Cases keep the
// order in which head lists them, those that only base has follow.
func Expand(draft result.Draft, artifacts []result.Artifact, listings []Listing, match Match) (result.Expansion, error) {
	hash, err := result.Hash(draft)
	if err != nil {
		return result.Expansion{}, err
	}
	e := expander{draft: draft, match: match, index: map[result.CaseID]int{}, has: map[result.CaseID]map[result.Arm]bool{}}
	for _, add := range []func(Listing){e.add, e.addFailed} {
		for _, arm := range []result.Arm{result.Head, result.Base} {
			for _, listing := range listings {
				if listing.Arm == arm {
					add(listing)
				}
			}
		}
	}
	e.missing(listings)
	e.identical(artifacts)
	e.settings()
	partners(e.cases)
	return result.Expansion{Draft: hash, Artifacts: artifacts, Cases: e.cases}, nil
}

type expander struct {
	draft result.Draft
	match Match
	cases []result.Case
	index map[result.CaseID]int
	has   map[result.CaseID]map[result.Arm]bool
}

// CaseIDOf is the identity of a benchmark: the import path and the harness's name.
func CaseIDOf(pkg, name string) result.CaseID { return result.CaseID(pkg + "." + name) }

func (e *expander) add(listing Listing) {
	for _, name := range listing.Names {
		if e.selected(name) {
			e.note(listing, name)
		}
	}
}

func (e *expander) selected(name string) bool {
	return e.draft.Bench == "" || e.match(e.draft.Bench, name)
}

// addFailed adds what failed when it was listed. A benchmark that ended its
// process is known by its top-level name alone: it fails for every sub-benchmark
// that another arm lists.
func (e *expander) addFailed(listing Listing) {
	for _, failure := range listing.Failed {
		if failure.ID == "" {
			continue
		}
		known := false
		for i := range e.cases {
			c := &e.cases[i]
			if c.ID == failure.ID || strings.HasPrefix(string(c.ID), string(failure.ID)+"/") {
				known = true
				e.fail(c, listing.Arm, failure)
			}
		}
		if name := strings.TrimPrefix(string(failure.ID), listing.Package+"."); !known && e.selected(name) {
			e.fail(&e.cases[e.note(listing, name)], listing.Arm, failure)
		}
	}
}

func (e *expander) fail(c *result.Case, arm result.Arm, failure result.Failure) {
	e.has[c.ID][arm] = true
	failure.ID = c.ID
	c.Failed = append(c.Failed, failure)
}

func (e *expander) note(listing Listing, name string) int {
	id := CaseIDOf(listing.Package, name)
	i, ok := e.index[id]
	if !ok {
		i = len(e.cases)
		e.index[id] = i
		e.has[id] = map[result.Arm]bool{}
		e.cases = append(e.cases, result.Case{ID: id, Package: listing.Package, Name: name, External: listing.External, Title: name, Margin: e.draft.MinEffect})
	}
	e.has[id][listing.Arm] = true
	return i
}

// missing marks the arms that lack a case; a package that failed as a whole on an
// arm makes all its cases failed there.
func (e *expander) missing(listings []Listing) {
	for i := range e.cases {
		c := &e.cases[i]
		for _, arm := range []result.Arm{result.Base, result.Head} {
			if e.has[c.ID][arm] {
				continue
			}
			if failure := packageFailure(listings, arm, *c); failure != nil {
				e.fail(c, arm, *failure)
				continue
			}
			c.Missing = append(c.Missing, arm)
		}
	}
}

// packageFailure finds why no case of the package ran on the arm: it did not
// build, or the worker on the case's side of it never answered.
func packageFailure(listings []Listing, arm result.Arm, c result.Case) *result.Failure {
	for _, listing := range listings {
		if listing.Arm != arm || listing.Package != c.Package {
			continue
		}
		for _, failure := range listing.Failed {
			if failure.ID == "" && (listing.External == c.External || failure.Reason == result.FailBuild) {
				return &failure
			}
		}
	}
	return nil
}

// identical marks the cases of packages whose arms have the same code and data.
func (e *expander) identical(artifacts []result.Artifact) {
	digests := map[string]map[result.Arm]string{}
	for _, artifact := range artifacts {
		if digests[artifact.Package] == nil {
			digests[artifact.Package] = map[result.Arm]string{}
		}
		digest := artifact.CodeDigest
		if digest == "" {
			digest = artifact.Digest
		}
		digests[artifact.Package][artifact.Arm] = digest
	}
	for i := range e.cases {
		c := &e.cases[i]
		base, head := digests[c.Package][result.Base], digests[c.Package][result.Head]
		c.Identical = base != "" && base == head
	}
	e.identicalControls()
}

// identicalControls keeps the first cases with identical binaries as controls
// when another case differs; with --aa every case is measured anyway.
func (e *expander) identicalControls() {
	differ, kept := e.draft.AA, 0
	for _, c := range e.cases {
		differ = differ || !c.Identical
	}
	for i := range e.cases {
		c := &e.cases[i]
		if c.Identical && differ && !e.draft.AA && kept < maxIdenticalControls {
			c.Control = true
			kept++
		}
	}
}

// Measured says whether a case is piloted and measured: both arms have it, and
// it is no identical binary beyond the controls.
func Measured(draft result.Draft, c result.Case) bool {
	return len(c.Failed) == 0 && len(c.Missing) == 0 && (draft.AA || !c.Identical || c.Control)
}

// settings applies assay.yaml; the last matching entry wins for each field.
func (e *expander) settings() {
	for _, s := range e.draft.Cases {
		pattern, err := regexp.Compile(s.Match)
		for i := range e.cases {
			c := &e.cases[i]
			exact := string(c.ID) == s.Match
			if !exact && (err != nil || !pattern.MatchString(string(c.ID))) {
				continue
			}
			if s.Title != "" && (exact || c.Title == c.Name) {
				c.Title = s.Title
			}
			if s.Margin > 0 {
				c.Margin = s.Margin
			}
			if s.Better != "" {
				c.Better = s.Better
			}
			if s.Metric != "" {
				c.Metric = s.Metric
			}
			c.Control = c.Control || s.Control
		}
	}
}

// partners names, for a case that one arm lacks, the case of the same package
// that the other arm lacks and whose name is closest: likely the same benchmark
// renamed. Names with less than half in common are no partners.
func partners(cases []result.Case) {
	for i := range cases {
		if len(cases[i].Missing) != 1 {
			continue
		}
		best, bestDistance := "", math.MaxInt
		for j := range cases {
			if len(cases[j].Missing) != 1 || cases[j].Missing[0] == cases[i].Missing[0] || cases[j].Package != cases[i].Package {
				continue
			}
			if d := distance(cases[i].Name, cases[j].Name); d < bestDistance {
				best, bestDistance = cases[j].Name, d
			}
		}
		if bestDistance*2 <= len(cases[i].Name) {
			cases[i].Partner = best
		}
	}
}

// distance is the Levenshtein distance of two names in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
