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

// Scale is how the values of one row of a table are printed: divided by
// Divisor and followed by Suffix, so that the row's cells share one unit.
type Scale struct {
	Divisor float64
	Suffix  string // "ns", "µs", "B/op"; empty for a bare number
}

// Scale chooses the printed unit of values that stand side by side, by the
// largest of them. Values that are not finite do not count.
func (u Unit) Scale(values ...float64) Scale {
	largest := 0.0
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			largest = max(largest, math.Abs(v))
		}
	}
	switch u.Metric {
	case timeUnit.Metric:
		return step(largest, []Scale{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}})
	case "throughput":
		return step(largest, []Scale{{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}})
	}
	return Scale{1, u.Name}
}

// step returns the first of the scales, largest first, in which the value is at
// least 1. The step from the smallest is taken at 10,000 so that four-digit
// numbers keep their unit.
func step(largest float64, scales []Scale) Scale {
	for i, s := range scales {
		threshold := s.Divisor
		if i == len(scales)-2 {
			threshold *= 10
		}
		if largest >= threshold {
			return s
		}
	}
	return scales[len(scales)-1]
}

// Number prints value in the scale without its suffix, with the given number of
// significant digits; digits before the decimal point are never dropped. NaN
// and infinities print as "n/a".
func (s Scale) Number(value float64, digits int) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return "n/a"
	}
	if s.Divisor == 1 && s.Suffix != "ns" && value == math.Trunc(value) {
		return strconv.FormatFloat(value, 'f', 0, 64) // counted, not measured: 16, not 16.00
	}
	return plain(value/s.Divisor, digits)
}

// Format prints value in the scale with its suffix.
func (s Scale) Format(value float64, digits int) string {
	number := s.Number(value, digits)
	if s.Suffix == "" || number == "n/a" {
		return number
	}
	return number + " " + s.Suffix
}

// Format prints a value of the unit for a person with the given number of
// significant digits, time and throughput scaled. NaN and infinities print as
// "n/a".
func (u Unit) Format(value float64, digits int) string {
	return u.Scale(value).Format(value, digits)
}

// Percent prints a ratio minus 1 as a signed percentage: 0.011 is "+1.1 %".
// A value that rounds to zero has no sign, and one above -1 never prints as
// -100 %: it gets the decimals it needs, at most six. From 1000 % on the
// decimals are left out. NaN and infinities print as "n/a".
func Percent(ratio float64, decimals int) string {
	percent := ratio * 100
	if math.IsNaN(percent) || math.IsInf(percent, 0) {
		return "n/a"
	}
	if math.Abs(percent) >= 1000 {
		decimals = 0
	}
	number := strconv.FormatFloat(percent, 'f', decimals, 64)
	for ratio > -1 && decimals < 6 && strings.HasPrefix(number, "-100") {
		decimals++
		number = strconv.FormatFloat(percent, 'f', decimals, 64)
	}
	if strings.Trim(number, "-0.") == "" {
		return strings.TrimPrefix(number, "-") + " %"
	}
	if percent > 0 {
		number = "+" + number
	}
	return number + " %"
}

// plain prints value with the given significant digits and no exponent.
func plain(value float64, digits int) string {
	if value == 0 {
		return "0"
	}
	decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(value))))
	return strconv.FormatFloat(value, 'f', max(decimals, 0), 64)
}
