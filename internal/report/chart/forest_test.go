package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

func at(v float64) *float64 { return &v }

// seedRows are the figures of the seed's A/B report, with invented intervals.
func seedRows() []Row {
	row := func(label string, value, half float64, mark Mark, verdict string) Row {
		return Row{Label: label, Value: at(value), Low: at(value - half), High: at(value + half), Margin: 0.01, Mark: mark, Verdict: verdict}
	}
	return []Row{
		row("url: realistic", -0.762, 0.02, Better, "faster"),
		row("response: 50 dup fields", -0.388, 0.005, Better, "faster"),
		row("request: realistic (zero-copy)", -0.124, 0.006, Better, "faster"),
		row("request: realistic (copy)", -0.103, 0.007, Better, "faster"),
		row("request: modern browser (zero-copy)", -0.078, 0.012, Better, "faster"),
		row("mime: 50 wks-miss fields", -0.057, 0.07, Open, "inconclusive"),
		row("request: 100 fields", -0.022, 0.03, Open, "inconclusive"),
		row("response: realistic", -0.003, 0.004, Small, "equivalent"),
		row("wks: tokenize all field names", 0.0112, 0.0008, Worse, "slower"),
		row("wks: tokenize, lowercased (H2)", 0.0115, 0.0009, Worse, "slower"),
	}
}

func oddRows() []Row {
	return []Row{
		{Label: "one round only", Value: at(-0.1), Margin: 0.01, Mark: Open, Verdict: "inconclusive"},
		{Label: "bounded below", Value: at(0.04), Low: at(0.01), Margin: 0.01, Mark: Open, Verdict: "inconclusive"},
		{Label: "two schedules disagree", Value: at(0.2), Low: at(0.1), High: at(0.3), Margin: 0.05, Mark: Doubt, Verdict: "schedule-dependent"},
		{Label: "unit without a direction", Value: at(0.06), Low: at(0.05), High: at(0.07), Margin: 0.01, Mark: Changed, Verdict: "changed"},
		{Label: "wide interval", Value: at(0.02), Low: at(-0.9), High: at(9), Margin: 0.01, Mark: Open, Verdict: "inconclusive"},
		{Label: "hundredfold", Value: at(99), Low: at(90), High: at(110), Margin: 0.01, Mark: Worse, Verdict: "slower"},
		{Label: "to nothing", Value: at(-1), Low: at(-1), High: at(-1), Margin: 0.01, Mark: Better, Verdict: "faster"},
		{Label: "not a number", Value: at(math.NaN()), Margin: 0.01, Mark: None, Verdict: "failed-head"},
		{Label: "missing", Margin: 0.01, Mark: None, Verdict: "missing-base"},
		{Label: "exact", Value: at(-0.25), Exact: true, Mark: Better, Verdict: "better"},
		{Label: "BenchmarkDecode/a-very-long-name/with=many,parts/that:differ/only/at/their/end=16MB", Value: at(0.01), Low: at(0), High: at(0.02), Mark: Small, Verdict: "trivial"},
		{Label: "日本語のベンチマーク/とても長い名前のケース/解析して返す", Value: at(0.01), Low: at(0), High: at(0.02), Mark: Small, Verdict: "equivalent"},
		{Label: "</title><script>alert(1)</script>\x1b[31m\x00\"&|`", Value: at(0.01), Low: at(0), High: at(0.02), Mark: Small, Verdict: "equivalent"},
	}
}

func manyRows() []Row {
	rows := make([]Row, 200)
	for i := range rows {
		v := math.Sin(float64(i)) * 0.03
		rows[i] = Row{Label: fmt.Sprintf("case %d", i), Value: at(v), Low: at(v - 0.01), High: at(v + 0.01), Margin: 0.01, Mark: Small, Verdict: "equivalent"}
	}
	return rows
}

func plots() map[string][]Row {
	return map[string][]Row{
		"seed-synthetic": seedRows(),
		"odd-synthetic":  oddRows(),
		"none":           nil,
		"one":            seedRows()[7:8],
		"equal":          {seedRows()[7], seedRows()[7], seedRows()[7]},
		"all-zero":       {{Label: "zero", Value: at(0), Low: at(0), High: at(0), Mark: Small, Verdict: "equivalent"}},
		"all-missing":    {oddRows()[8], oddRows()[7]},
		"many":           manyRows(),
	}
}

func options() Options {
	return Options{Title: "Time, head against base", Subtitle: "9c69fe1 + graft → 7e9255f, 20 rounds", Left: "head faster", Right: "head slower",
		Caption: "Bars: 95 % interval, adjusted for all cases. Band: margin of ±1 %."}
}

func TestForestGolden(t *testing.T) {
	t.Parallel()
	for name, rows := range plots() {
		got := Forest(rows, options())
		path := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; look at the picture, then run with -update", path)
		}
		checkXML(t, name, got)
		if strings.Contains(string(got), "NaN") || strings.Contains(string(got), "Inf\"") {
			t.Errorf("%s: a coordinate is not a number", name)
		}
	}
}

// checkXML parses the document and finds no element that a name brought in.
func checkXML(t interface{ Fatalf(string, ...any) }, name string, doc []byte) {
	d := xml.NewDecoder(bytes.NewReader(doc))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: not XML: %v", name, err)
		}
		if start, ok := token.(xml.StartElement); ok {
			switch start.Name.Local {
			case "svg", "title", "desc", "style", "rect", "line", "text", "g", "polyline", "polygon", "circle", "path":
			default:
				t.Fatalf("%s: element %s", name, start.Name.Local)
			}
		}
	}
}

func TestForestAnyRow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Just[*float64](nil), rapid.Map(rapid.Float64(), at), rapid.Map(rapid.Float64Range(-1.5, 3), at))
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Row {
			return Row{Label: rapid.String().Draw(t, "label"), Value: number.Draw(t, "value"), Low: number.Draw(t, "low"), High: number.Draw(t, "high"),
				Margin: rapid.Float64Range(0, 0.5).Draw(t, "margin"), Mark: rapid.SampledFrom([]Mark{Better, Worse, Open, None}).Draw(t, "mark")}
		}), 0, 6).Draw(t, "rows")
		got := Forest(rows, options())
		checkXML(t, "drawn", got)
		for _, bad := range []string{`"NaN`, `"+Inf`, `"-Inf`} {
			if bytes.Contains(got, []byte(bad)) {
				t.Fatalf("coordinate %s", bad)
			}
		}
		if !bytes.Equal(got, Forest(rows, options())) {
			t.Fatalf("not the same bytes twice")
		}
	})
}

func TestClippedPointShowsItsNumber(t *testing.T) {
	t.Parallel()
	rows := make([]Row, 20)
	for i := range rows {
		rows[i] = Row{Label: "near", Value: at(0.01), Low: at(0), High: at(0.02), Mark: Small}
	}
	rows[0].Value, rows[0].Low, rows[0].High = at(5), at(4.9), at(5.1)
	got := string(Forest(rows, Options{}))
	if n := strings.Count(got, "+500.0 %"); n != 2 {
		t.Errorf("+500.0 %% is shown %d times, want beside the triangle and in its column", n)
	}
	a := newAxis(rows, 0, 100)
	if a.at(5) <= a.right || a.at(0.01) >= a.right {
		t.Errorf("the outlier is not clipped, or the others are")
	}
}

func TestTicksAreRoundAndApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-0.9999, 1e4).Draw(t, "value")
		a := newAxis([]Row{{Value: at(v)}}, 0, 400)
		if len(a.ticks) < 2 || len(a.ticks) > 12 {
			t.Fatalf("%d ticks for %v", len(a.ticks), v)
		}
		last := math.Inf(-1)
		for _, k := range a.ticks {
			x := a.at(k.value)
			if x < a.left || x > a.right || x-last < 25 {
				t.Fatalf("tick %s at %v after %v", k.label, x, last)
			}
			last = x
		}
	})
}

func TestElide(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"abcdefghij", 7, "abc…hij"},
		{"abcdefghij", 8, "abcd…hij"},
		{"日本語日本語", 8, "日本…語"},
		{"abc", 2, "…"},
	}
	for _, tt := range tests {
		got := Elide(tt.text, tt.n)
		if got != tt.want || Cells(got) > max(tt.n, 1) {
			t.Errorf("Elide(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}
