// Package config reads assay.yaml, the settings of a measured repository.
//
// In: the bytes of an assay.yaml. Out: a Config that holds only what the file
// says, or errors that carry file, line and column; the JSON Schema of the
// format for editors; and the text of a first assay.yaml. It must never fill in
// a default, accept a key it does not know, or read anything from an arm.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/internal/unit"
)

// Config is an assay.yaml. A key that the file does not have leaves its field
// at the zero value.
type Config struct {
	File       string      // as it was named to Load, Parse or found by Find; empty when there is no file
	Harness    string      // name of the adapter; empty: detect
	Packages   []string    // patterns as --package takes them
	Bench      string      // pattern as --bench takes it, in the harness's own syntax
	Prepare    Prepare     // commands run before a build
	Graft      []string    // slash-separated globs, relative to the root of the tree, that belong to the harness
	Build      Build       // how arms are built
	Benchmarks []Benchmark // in the order of the file
	History    History     // settings of the release matrix
}

// Prepare holds shell command lines, run in order in the root of an arm's tree
// before it is built.
type Prepare struct {
	Base []string // on base only, after All
	Head []string // on head only, after All
	All  []string // on every arm
}

// Build holds what is added to the build of every arm.
type Build struct {
	Env     []Setting // environment variables, in the order of the file
	Flags   []string  // arguments added to the build command
	Options []Setting // options of the adapter, in the order of the file
}

// Setting is one name with its value, both as the file writes them.
type Setting struct {
	Name  string
	Value string
}

// Benchmark is what the file says of the benchmarks that Match selects.
type Benchmark struct {
	Match   string         // the id itself, or a regular expression over ids (RE2, not anchored); it compiles
	Title   string         // shown in tables and charts; empty: the id
	Margin  float64        // practical margin, a fraction above 0 and below 1: 0.015 is 1.5 %; 0: the default
	Control bool           // the change cannot affect it
	Better  unit.Direction // Lower or Higher; empty: from the unit
	Metric  string         // the confirmatory metric; empty: time
}

// Isolation says which shapes of a history share a binary. Closed set.
type Isolation string

// The values of isolation.
const (
	IsolationShape  Isolation = "shape"  // one binary for each shape
	IsolationShared Isolation = "shared" // one binary for all; marked in the report
)

// History holds the settings of the release matrix.
type History struct {
	Sources   []string  // where releases come from
	Releases  []string  // the releases to measure; empty: all that the sources have
	Order     []string  // explicit order of releases, oldest first; wins over precedence
	Pattern   string    // regular expression of the names that are releases; it compiles
	Isolation Isolation // empty: the default
	Toolchain string    // the one toolchain of the series
	Profile   string    // the one build profile of the series
	Metric    string    // the headline metric
	Aliases   []Setting // old benchmark id to the one that continues it, in the order of the file
}

// Names are the file names that Find looks for.
func Names() []string { return []string{"assay.yaml", "assay.yml"} }

// Find reads the assay.yaml or assay.yml of the folder. A folder without one
// gives the zero Config and no error; one with both is an *Error.
func Find(dir string) (Config, error) {
	var found []string
	for _, name := range Names() {
		path := filepath.Join(dir, name)
		_, err := os.Stat(path)
		if err == nil {
			found = append(found, path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return Config{}, fmt.Errorf("looking for %s: %w", path, err)
		}
	}
	switch len(found) {
	case 0:
		return Config{}, nil
	case 1:
		return Load(found[0])
	default:
		return Config{}, &Error{File: found[1], Text: fmt.Sprintf("%s exists too: remove one of the two", found[0])}
	}
}

// Load reads the file. A file that cannot be read is an error of the operating
// system with the path; a file that is wrong is one *Error for each mistake,
// joined.
func Load(path string) (Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	return Parse(path, data)
}
