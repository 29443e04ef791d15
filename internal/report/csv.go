package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/compare"
)

// CSV writes one line per case and metric, in the order of the tables: raw
// numbers in the canonical unit, ratios as head/base - 1, an empty field for
// what is absent. A text that a spreadsheet would run as a formula gets an
// apostrophe in front.
func CSV(w io.Writer, v *View) error {
	out := csv.NewWriter(w)
	records := [][]string{{"id", "title", "metric", "unit", "better", "paired", "base_median", "head_median", "base_spread", "head_spread",
		"delta", "ci_low", "ci_high", "p", "p_adjusted", "verdict", "ratio_of_medians", "delta_unfiltered", "absolute", "overlap",
		"resolution", "margin", "rounds", "rounds_needed", "control", "exploratory", "warnings"}}
	for _, r := range slices.Concat(v.rows, v.other) {
		records = append(records, r.fields())
	}
	if err := out.WriteAll(records); err != nil {
		return fmt.Errorf("writing the comparison as CSV: %w", err)
	}
	return nil
}

func (r row) fields() []string {
	var low, high *float64
	if r.CI != nil {
		low, high = &r.CI[0], &r.CI[1]
	}
	codes := make([]string, len(r.Warnings))
	for i, w := range r.Warnings {
		codes[i] = w.Code
	}
	return []string{field(string(r.ID)), field(r.Title), field(r.Metric), field(r.Unit), field(r.Better), strconv.FormatBool(r.Paired),
		median(r.Base), median(r.Head), spread(r.Base), spread(r.Head),
		number(r.Delta), number(low), number(high), number(r.P), number(r.PAdjusted), field(string(r.Verdict)),
		number(r.RatioOfMedians), number(r.Unfiltered), number(r.Absolute), field(r.Overlap),
		number(r.Resolution), number(&r.Margin), strconv.Itoa(r.Rounds), strconv.Itoa(r.RoundsNeeded),
		strconv.FormatBool(r.Control), strconv.FormatBool(r.exploratory()), field(strings.Join(codes, " "))}
}

func number(v *float64) string {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func median(s *compare.Side) string {
	if s == nil {
		return ""
	}
	return number(&s.Median)
}

func spread(s *compare.Side) string {
	if s == nil {
		return ""
	}
	return number(&s.Spread)
}

// field makes text safe for a spreadsheet (OWASP, "CSV injection"): a text that
// begins like a formula, spaces aside, gets an apostrophe.
func field(s string) string {
	risky := strings.HasPrefix(s, "\t") || strings.HasPrefix(s, "\r")
	s = strings.NewReplacer("\n", " ", "\t", " ").Replace(lines(s))
	if first := strings.TrimLeft(s, " "); risky || first != "" && strings.ContainsRune("=+-@", rune(first[0])) {
		return "'" + s
	}
	return s
}
