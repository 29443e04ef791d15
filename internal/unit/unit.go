// Package unit knows the units of measured values: what a unit measures, which
// direction is better, how spellings fold into one canonical unit, and how a
// value is printed for a person.
//
// In: the unit text a harness printed. Out: a canonical Unit and a factor.
// It must never guess a direction: a unit that is not known has Unknown.
package unit

import (
	"math"
	"strconv"
	"strings"
)

// Direction says which way a value of a unit improves.
type Direction string

// The closed set of directions.
const (
	Lower   Direction = "lower"   // less is better (time, bytes, allocations)
	Higher  Direction = "higher"  // more is better (throughput)
	Unknown Direction = "unknown" // no better/worse verdict is given, only "changed"
)

// Unit is a canonical unit of measurement.
type Unit struct {
	Name   string    // canonical spelling, e.g. "ns/op"
	Metric string    // what it measures: "time", "bytes", "allocations", "throughput", or Name itself
	Better Direction // which way it improves
}

// Time is the canonical unit of the confirmatory metric.
var timeUnit = Unit{Name: "ns/op", Metric: "time", Better: Lower}

// Time returns the unit of time per iteration: nanoseconds.
func Time() Unit { return timeUnit }

// Parse folds the unit text of a harness into its canonical unit. The factor
// converts a value: canonical = value * factor. Both micro signs (U+00B5 and
// U+03BC) and "us" are one unit. An unknown text is its own unit and metric
// with factor 1 and direction Unknown.
func Parse(text string) (Unit, float64) {
	name := strings.NewReplacer("µ", "u", "μ", "u").Replace(strings.TrimSpace(text))
	if scale, ok := timePrefix(name); ok {
		return timeUnit, scale
	}
	switch name {
	case "B/op":
		return Unit{Name: "B/op", Metric: "bytes", Better: Lower}, 1
	case "allocs/op":
		return Unit{Name: "allocs/op", Metric: "allocations", Better: Lower}, 1
	case "MB/s":
		return Unit{Name: "B/s", Metric: "throughput", Better: Higher}, 1e6
	case "B/s":
		return Unit{Name: "B/s", Metric: "throughput", Better: Higher}, 1
	}
	if strings.HasSuffix(name, "/s") || strings.HasSuffix(name, "/sec") {
		return Unit{Name: name, Metric: name, Better: Higher}, 1
	}
	return Unit{Name: name, Metric: name, Better: Unknown}, 1
}

func timePrefix(name string) (float64, bool) {
	switch strings.TrimSuffix(name, "/op") {
	case "ns":
		return 1, true
	case "us":
		return 1e3, true
	case "ms":
		return 1e6, true
	case "s", "sec":
		return 1e9, true
	}
	return 1, false
}

// Format prints a value of the unit for a person with the given number of
// significant digits, time scaled to ns, µs, ms or s. NaN and infinities print
// as "n/a".
func (u Unit) Format(value float64, digits int) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return "n/a"
	}
	if u.Metric != timeUnit.Metric {
		return plain(value, digits)
	}
	abs := math.Abs(value)
	switch {
	case abs >= 1e9:
		return plain(value/1e9, digits) + " s"
	case abs >= 1e6:
		return plain(value/1e6, digits) + " ms"
	case abs >= 1e4:
		return plain(value/1e3, digits) + " µs"
	default:
		return plain(value, digits) + " ns"
	}
}

// plain prints value with the given significant digits and no exponent.
func plain(value float64, digits int) string {
	if value == 0 {
		return "0"
	}
	decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(value))))
	return strconv.FormatFloat(value, 'f', max(decimals, 0), 64)
}
