package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"assay/internal/compare"
	"assay/internal/report/chart"
	"assay/internal/result"
)

var update = flag.Bool("update", false, "write the golden files")

func render(t *testing.T, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// documents renders everything that a run's folder holds.
func documents(t *testing.T, in Input) map[string][]byte {
	t.Helper()
	v := New(in)
	main, details := MarkdownParts(v)
	docs := map[string][]byte{
		"report.md":       main,
		"forest.svg":      Forest(v),
		"report.html":     render(t, func(w io.Writer) error { return HTML(w, v) }),
		"report.csv":      render(t, func(w io.Writer) error { return CSV(w, v) }),
		"comparison.json": render(t, func(w io.Writer) error { return JSON(w, in.Comparison) }),
		"wide.txt":        render(t, func(w io.Writer) error { return Text(w, v, TextOptions{Report: "runs/x/report.md"}) }),
		"100.txt":         render(t, func(w io.Writer) error { return Text(w, v, TextOptions{Width: 100}) }),
		"80.txt":          render(t, func(w io.Writer) error { return Text(w, v, TextOptions{Width: 80}) }),
		"colour.txt":      render(t, func(w io.Writer) error { return Text(w, v, TextOptions{Width: 100, Color: true}) }),
	}
	if details != nil {
		docs["details.md"] = details
	}
	return docs
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]Input{"seed-synthetic": seedRun(), "odd-synthetic": full(), "empty": {}, "one-synthetic": {Comparison: comparisonOf(seedCases()[:1])}} {
		for file, got := range documents(t, in) {
			path := filepath.Join("testdata", name, file)
			if *update {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs; look at it, then run with -update", path)
			}
		}
	}
}

func TestSameInputSameBytes(t *testing.T) {
	t.Parallel()
	first, second := documents(t, full()), documents(t, full())
	for file, got := range first {
		if !bytes.Equal(got, second[file]) {
			t.Errorf("%s: two renderings differ", file)
		}
	}
}

func TestNewLeavesItsInput(t *testing.T) {
	t.Parallel()
	in := full()
	before, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	documents(t, in)
	after, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("rendering changed its input")
	}
}

func TestNoNumberIsNotANumber(t *testing.T) {
	t.Parallel()
	bad := regexp.MustCompile(`\bNaN\b|[+-]Inf\b|-0(\.0+)? %`)
	in := full()
	in.Damaged = nil // holds the text NaN
	for file, doc := range documents(t, in) {
		if m := bad.Find(doc); m != nil {
			t.Errorf("%s contains %q", file, m)
		}
	}
}

func TestForeignTextInText(t *testing.T) {
	t.Parallel()
	for file, doc := range documents(t, full()) {
		if !utf8.Valid(doc) {
			t.Errorf("%s is not UTF-8", file)
		}
		if strings.HasSuffix(file, ".json") {
			continue // carries names as they are, escaped by JSON
		}
		for _, r := range string(doc) {
			if unicode.IsControl(r) && r != '\n' && r != '\t' && (file != "colour.txt" || r != '\x1b') || unicode.Is(unicode.Bidi_Control, r) {
				t.Errorf("%s contains the control character %U", file, r)
				break
			}
		}
		if strings.Contains(string(doc), "0;title") {
			t.Errorf("%s: an escape sequence left its text behind", file)
		}
	}
}

func TestForeignTextInMarkdown(t *testing.T) {
	t.Parallel()
	main, _ := MarkdownParts(New(full()))
	prose, fence := "", ""
	for l := range strings.SplitAfterSeq(string(main), "\n") {
		ticks := l[:len(l)-len(strings.TrimLeft(l, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence == "":
			prose += l
		case len(ticks) >= len(fence):
			fence = ""
		}
	}
	prose = regexp.MustCompile("``+[^`].*?[^`]``+|`[^`]*`").ReplaceAllString(prose, "")
	for _, bad := range []string{"<img", "<script", "@octocat", "#123", "GH-7", "https://evil", "](javascript:", "<b>"} {
		if at := strings.Index(strings.ReplaceAll(prose, `\`+bad[:1], ""), bad); at >= 0 {
			t.Errorf("Markdown outside code contains %q", bad)
		}
	}
	columns := 0
	for l := range strings.SplitSeq(prose, "\n") {
		bars := strings.Count(strings.ReplaceAll(l, `\|`, ""), "|")
		switch {
		case strings.HasPrefix(l, "|---"):
			columns = bars
		case strings.HasPrefix(l, "|") && columns > 0 && bars != columns:
			t.Errorf("a row has %d bars, its table %d: %s", bars, columns, l)
		case l == "":
			columns = 0
		}
	}
	if strings.Count(string(main), "<details>") != strings.Count(string(main), "</details>")-1 {
		t.Error("details are not balanced (one closing tag is captured output in a fence)")
	}
}

func TestEscapeMarkdown(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"request: realistic (copy)", "request: realistic (copy)"},
		{"a|b", `a\|b`},
		{"`x`", "\\`x\\`"},
		{"<img src=x>", `\<img src=x\>`},
		{"@user", "@<!-- -->user"},
		{"a@b.example", "a@<!-- -->b.example"},
		{"#12", "#<!-- -->12"},
		{"C# 12", "C# 12"},
		{"http://x", "http://<!-- -->x"},
		{"www.x.org", "www<!-- -->.x.org"},
		{"[a](b)", `\[a\](b)`},
		{"snake_case*", `snake\_case\*`},
		{"\uE000x", "x"},
	}
	for _, tt := range tests {
		if got := escapeMarkdown(tt.in); got != tt.want {
			t.Errorf("escapeMarkdown(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestLineStart(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"# x": `\# x`, "- x": `\- x`, "+ x": `\+ x`, "12. x": `12\. x`, "1) x": `1\) x`, "12 x": "12 x", "==": `\==`, "x - y": "x - y", "": ""} {
		if got := lineStart(in); got != want {
			t.Errorf("lineStart(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFencesHoldAnyText(t *testing.T) {
	t.Parallel()
	var m markdown
	m.verbatim(verbatim{"", "a\n````\nb"})
	if got := m.String(); got != "`````\na\n````\nb\n`````\n" {
		t.Errorf("got %q", got)
	}
	for in, want := range map[string]string{"a": "`a`", "a`b": "``a`b``", "`": "`` ` ``", "": "", " ": "", " a ": "`  a  `"} {
		if got := codeSpan(in); got != want {
			t.Errorf("codeSpan(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLinksAreRelative(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"charts/forest.svg": "charts/forest.svg", "javascript:alert(1)": "./javascript:alert%281%29", "a b)": "a%20b%29", `"><x`: "%22%3E%3Cx"} {
		if got := target(in); got != want {
			t.Errorf("target(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestHTMLIsOnePageWithoutForeignMarkup(t *testing.T) {
	t.Parallel()
	page := documents(t, full())["report.html"]
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "script", "img", "b", "link", "iframe", "object":
			t.Errorf("element %s", start.Name.Local)
		}
		for _, a := range start.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "src" || a.Name.Local == "href" && strings.Contains(a.Value, "//") {
				t.Errorf("attribute %s=%q", a.Name.Local, a.Value)
			}
		}
	}
	if !bytes.Contains(page, []byte("&lt;img src=x")) || !bytes.Contains(page, []byte("prefers-color-scheme")) {
		t.Error("the name is not shown as text, or the page has no dark mode")
	}
}

func TestCSVIsSafeForSpreadsheets(t *testing.T) {
	t.Parallel()
	records, err := csv.NewReader(bytes.NewReader(documents(t, full())["report.csv"])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	for _, r := range records {
		for i, f := range r {
			if i < 6 && f != "" && strings.ContainsRune("=+-@\t\r", rune(f[0])) {
				t.Errorf("field %q begins like a formula", f)
			}
		}
		seen = seen || strings.HasPrefix(r[0], "'=cmd|")
	}
	if !seen || len(records) != 1+len(full().Comparison.Benchmarks) {
		t.Errorf("%d records, the odd name among them: %v", len(records), seen)
	}
	for in, want := range map[string]string{"+1": "'+1", "-1": "'-1", "@x": "'@x", "\tx": "' x", "\x01=x": "'=x", "  =x": "'  =x", "a=b": "a=b", "": "", "日": "日"} {
		if got := field(in); got != want {
			t.Errorf("field(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	in := full().Comparison
	data := documents(t, full())["comparison.json"]
	var back compare.File
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Benchmarks) != len(in.Benchmarks) || back.Benchmarks[1].Title != in.Benchmarks[1].Title || back.Summary != in.Summary {
		t.Error("the comparison does not come back")
	}
	if bytes.Contains(data, []byte("null")) {
		t.Error("an absent value is null")
	}
	in.Benchmarks[3].Base.Median = math.NaN()
	var b bytes.Buffer
	if err := JSON(&b, in); err == nil || !strings.Contains(err.Error(), string(in.Benchmarks[3].ID)) || b.Len() > 0 {
		t.Errorf("NaN: wrote %d bytes, error %v", b.Len(), err)
	}
}

func TestLongReportsSpill(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 40, 200, 1500} {
		v := New(many(n))
		main, details := MarkdownParts(v)
		if len(main) > maxComment {
			t.Errorf("%d cases: %d bytes", n, len(main))
		}
		if (details != nil) != bytes.Contains(main, []byte("("+DetailsFile+")")) {
			t.Errorf("%d cases: details exist: %v, but the link does not agree", n, details != nil)
		}
		if n == 1500 && !bytes.Contains(details, []byte("pipes/1499")) {
			t.Error("the details lack the last case")
		}
		if n >= 40 && !bytes.Contains(main, []byte("| case | base | head |")) {
			t.Errorf("%d cases: the main document has no table", n)
		}
		whole := render(t, func(w io.Writer) error { return Markdown(w, v) })
		if !bytes.Equal(whole, main) {
			t.Error("Markdown is not the main part")
		}
	}
}

func TestHugeForeignTextFits(t *testing.T) {
	t.Parallel()
	in := full()
	long := strings.Repeat("x|`<@", 20000)
	in.Notes = long
	in.Comparison.NotSupported = []string{long}
	in.Comparison.Warnings = append(in.Comparison.Warnings, result.Warning{Code: "c", Text: long})
	in.Comparison.Benchmarks[0].Title = long
	in.Plan.Draft.Graft.Stat, in.Plan.Draft.Graft.HarnessDiff = long, long
	in.Plan.Draft.Invocation = []string{"ab", long}
	in.Plan.Draft.Arms[0].Revision.Subject = long
	for i := range 500 {
		in.Plan.Draft.Graft.Differ = append(in.Plan.Draft.Graft.Differ, strings.Repeat("d", i))
		in.Failures = append(in.Failures, result.Failure{Arm: result.Head, ID: result.CaseID(strings.Repeat("f", i)), Reason: result.FailHang, Text: long})
	}
	if main, _ := MarkdownParts(New(in)); len(main) > maxComment {
		for _, s := range bytes.Split(main, []byte("\n## ")) {
			t.Logf("%d %.30s", len(s), s)
		}
		t.Errorf("%d bytes", len(main))
	}
}

func TestOrderOfTheReport(t *testing.T) {
	t.Parallel()
	main, _ := MarkdownParts(New(full()))
	last := -1
	for _, title := range []string{"How the arms were built", "How to repeat it", "Machine, compiler and schedule", "Commits between", "Results", "Per-round figures",
		"Cross-checks", "Other metrics", "Controls", "Regressions", "Failed and missing", "Seen and not chased", "Measured and inferred", "What these numbers do not support", "Parameters"} {
		at := bytes.Index(main, []byte("## "+title))
		if at <= last {
			t.Errorf("%s is missing or out of order", title)
		}
		last = at
	}
}

func TestRowsAreSortedByEffect(t *testing.T) {
	t.Parallel()
	throughput := synthetic("throughput", 100, 150, 0.5, 0.01, 0.01, compare.Faster)
	throughput.Unit, throughput.Better = "MB/s", "higher"
	v := New(Input{Comparison: comparisonOf(oddCases(), []compare.Comparison{throughput}, seedCases())})
	if v.rows[0].name != "url: realistic" || v.rows[1].name != "response: 50 dup fields" || v.rows[2].name != "throughput" {
		t.Errorf("first rows: %s, %s, %s", v.rows[0].name, v.rows[1].name, v.rows[2].name)
	}
	for i, r := range v.rows[len(v.rows)-3:] {
		if r.Delta != nil {
			t.Errorf("row %d from the end has an estimate", 3-i)
		}
	}
}

func TestCells(t *testing.T) {
	t.Parallel()
	cell := func(c compare.Comparison, want ...string) {
		t.Helper()
		r := newRow(c)
		for i, got := range []string{r.baseText, r.headText, r.delta, r.interval} {
			if got != want[i] {
				t.Errorf("%s: %q, want %q", r.name, got, want[i])
			}
		}
	}
	odd, metrics := oddCases(), metricCases()
	cell(seedCases()[1], "217.4 ns", "51.70 ns", "-76.2 %", "[-78.2 %, -74.2 %]")
	cell(seedCases()[8], "320.9 ns", "320.5 ns", "-0.04 %", "[-0.13 %, +0.05 %]")
	cell(odd[0], "11.00 ns", "n/a", "n/a (failed on head)", "n/a")
	cell(odd[1], "n/a", "6.000 ns", "n/a (missing on base)", "n/a")
	cell(odd[2], "100.0 ns", "103.0 ns", "+3.0 %", "n/a (6 of 8 rounds needed)")
	cell(metrics[0], "65536 B/op", "4096 B/op", "-93.8 %", "exact")
	cell(metrics[1], "0 allocs/op", "16 allocs/op", "+16 allocs/op (new from zero)", "exact")
}

func TestNarrowTerminals(t *testing.T) {
	t.Parallel()
	v := New(seedRun())
	for _, width := range []int{120, 100, 80, 60, 30} {
		doc := render(t, func(w io.Writer) error { return Text(w, v, TextOptions{Width: width}) })
		table, _, _ := strings.Cut(string(doc), "\nOther metrics")
		_, table, _ = strings.Cut(table, "\n\n")
		for l := range strings.SplitSeq(strings.TrimSpace(table), "\n") {
			if w := chart.Cells(l); w > max(width, 60) {
				t.Errorf("at %d columns a line has %d: %s", width, w, l)
			}
			if width >= 100 && strings.HasPrefix(l, "case") && !strings.Contains(l, "spread") {
				t.Errorf("at %d columns the spread is left out", width)
			}
		}
	}
}

func TestColourOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	docs := documents(t, seedRun())
	if bytes.ContainsRune(docs["100.txt"], '\x1b') || !bytes.Contains(docs["colour.txt"], []byte("\x1b[32mfaster\x1b[0m")) {
		t.Error("colours without Color, or none with it")
	}
}

func TestLinesRemovesWhatSteersATerminal(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"a\x1b[1;31mb\x1b[0mc", "abc"},
		{"a\x1b]8;;http://x\x07link\x1b]8;;\x1b\\b", "alinkb"},
		{"a\x1b", "a"},
		{"a\x1bPq...\x1b\\b", "ab"},
		{"a\u009b31mb", "ab"},
		{"a\r\nb\rc", "a\nb\nc"},
		{"a\x00\x07\x08b\x7f", "ab"},
		{"bad \xff utf8", "bad \uFFFD utf8"},
		{"日本語 é", "日本語 é"},
		{"a\u202eb\u2066c", "abc"},
	}
	for _, tt := range tests {
		if got := lines(tt.in); got != tt.want {
			t.Errorf("lines(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	if got := tail("a\nb\nc\n", 2, 100); got != "[...]\nb\nc" {
		t.Errorf("got %q", got)
	}
	if got := tail("a\nb\n", 5, 100); got != "a\nb" {
		t.Errorf("got %q", got)
	}
	if got := tail(strings.Repeat("é", 100), 5, 11); len(got) > 20 || !utf8.ValidString(got) {
		t.Errorf("got %q", got)
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	got := commandLine(result.Command{Argv: []string{"go", "test", "-bench=A|B", "it's", ""}, Dir: "/a b", Env: []string{"A=1", "B=x y"}})
	if want := `cd '/a b' && A=1 B='x y' go test '-bench=A|B' 'it'\''s' ''`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
