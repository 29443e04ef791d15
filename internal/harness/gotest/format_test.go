package gotest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"assay/internal/harness/harnesstest"
	"assay/internal/result"
	"assay/internal/unit"
)

// parsed shows records shortly: "id iterations value unit" with the line's
// values joined, "damaged line reason", "failed id".
func parsed(t *testing.T, text string, procs int) []string {
	t.Helper()
	var out []string
	seq := int64(-1)
	for _, record := range harnesstest.Parse(t, Format{}, text, result.Cell{Source: "f.txt", Procs: procs}) {
		switch r := record.(type) {
		case result.Measurement:
			if r.Seq != seq {
				seq = r.Seq
				out = append(out, fmt.Sprint(r.ID, " ", r.Iterations))
			}
			out[len(out)-1] += fmt.Sprintf(" %v %s", r.Value, r.Unit)
		case result.Damaged:
			out = append(out, fmt.Sprintf("damaged %d %s: %s", r.Line, r.ID, r.Reason))
		case result.Failure:
			out = append(out, fmt.Sprintf("%s %s: %s", r.Reason, r.ID, strings.TrimSpace(r.Text)))
		default:
			t.Errorf("record %T", r)
		}
	}
	return out
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"all units":          {"BenchmarkA \t 10\t 2.5 ns/op\t 3 MB/s\t 7 things\t 16 B/op\t 2 allocs/op\n", []string{"BenchmarkA 10 2.5 ns/op 3e+06 B/s 7 things 16 B/op 2 allocs/op"}},
		"no time":            {"BenchmarkA 1 100 text-bytes\n", []string{"BenchmarkA 1 100 text-bytes"}},
		"NaN":                {"BenchmarkA 1 NaN ns/op\nBenchmarkB 1 +Inf ns/op 2 B/op\nBenchmarkC 1 2 ns/op\n", []string{"damaged 1 BenchmarkA: the value of ns/op is not a finite number", "damaged 2 BenchmarkB: the value of ns/op is not a finite number", "BenchmarkC 1 2 ns/op"}},
		"out of range":       {"BenchmarkA 1 1e999 ns/op\n", []string{"damaged 1 BenchmarkA: the value of ns/op is not a finite number"}},
		"CRLF":               {"pkg: p\r\nBenchmarkA-2 1 2 ns/op\r\n", []string{"p.BenchmarkA 1 2 ns/op"}},
		"log line between":   {"BenchmarkA-8 \tlogged\nmore\n  100\t 2 ns/op\n", []string{"BenchmarkA 100 2 ns/op"}},
		"log without end":    {"BenchmarkA \tlogged     100\t 2 ns/op\n", []string{"BenchmarkA 100 2 ns/op"}},
		"log before result":  {"BenchmarkA \tone\ntwo     100\t 2 ns/op\n", []string{"BenchmarkA 100 2 ns/op"}},
		"ambiguous log":      {"BenchmarkA \tn=1 22345678\t 2 ns/op\nBenchmarkB \tn\nx 12345678\t 2 ns/op\n", []string{"damaged 1 BenchmarkA: the iteration count cannot be told from the text before it", "damaged 2 BenchmarkB: the result is missing"}},
		"lost result":        {"BenchmarkA \tpanic: x\nBenchmarkB 1 2 ns/op\nBenchmarkC \t\nok  \tp\t1s\n", []string{"damaged 1 BenchmarkA: the result is missing", "BenchmarkB 1 2 ns/op", "damaged 3 BenchmarkC: the result is missing"}},
		"result of nobody":   {"  100\t 2 ns/op\n", []string{"damaged 1 : a result without a name"}},
		"foreign":            {"info: server started\nkey: value\nBenchmarking 3 things\nBenchmark results follow\n  12 5 apples\nBenchmarkA 1 2 ns/op\n", []string{"BenchmarkA 1 2 ns/op"}},
		"cut unit":           {"BenchmarkA 1 2 ns/op\t 5 B/op\t 7 allo", []string{"damaged 1 BenchmarkA: the unit \"allo\" is cut"}},
		"cut own unit":       {"BenchmarkA 1 2 ns/op\t 5 wid", []string{"damaged 1 BenchmarkA: the capture ends inside the line"}},
		"own unit again":     {"BenchmarkA 1 2 ns/op\t 5 wid\nBenchmarkA 1 2 ns/op\t 6 wid", []string{"BenchmarkA 1 2 ns/op 5 wid", "BenchmarkA 1 2 ns/op 6 wid"}},
		"cut value":          {"BenchmarkA 1 2 ns/op\nBenchmarkB 1 2", []string{"BenchmarkA 1 2 ns/op", "damaged 2 BenchmarkB: the result is missing"}},
		"cut and glued":      {"BenchmarkA 1 \t2 ns/op\t 5 alBenchmarkB 1 2 ns/op\n", []string{"damaged 1 BenchmarkA 1: two results on one line"}},
		"decimal comma":      {"BenchmarkA 1 100,5 ns/op\nBenchmarkB 1 1 ns/op\n", []string{"damaged 1 BenchmarkA: \"100,5\" is not a number", "BenchmarkB 1 1 ns/op"}},
		"micro signs":        {"BenchmarkA 1 2 µs/op\nBenchmarkB 1 2 μs/op\nBenchmarkC 1 2 us/op\n", []string{"BenchmarkA 1 2000 ns/op", "BenchmarkB 1 2000 ns/op", "BenchmarkC 1 2000 ns/op"}},
		"suffix":             {"BenchmarkA-8 1 2 ns/op\nBenchmarkA/n-16-8 1 2 ns/op\n", []string{"BenchmarkA 1 2 ns/op", "BenchmarkA/n-16 1 2 ns/op"}},
		"not a suffix":       {"BenchmarkA/n-8 1 2 ns/op\nBenchmarkA/n-16 1 2 ns/op\n", []string{"BenchmarkA/n-8 1 2 ns/op", "BenchmarkA/n-16 1 2 ns/op"}},
		"two packages":       {"pkg: p\nBenchmarkA 1 2 ns/op\nok  \tp\t1s\npkg: q\nBenchmarkA 1 3 ns/op\nok  \tq\t1s\nBenchmarkA 1 4 ns/op\n", []string{"p.BenchmarkA 1 2 ns/op", "q.BenchmarkA 1 3 ns/op", "BenchmarkA 1 4 ns/op"}},
		"odd names":          {"BenchmarkA/x=1,y:2|`<b>/5 MB/s 7 100 20 ns/op\nBenchmark_a 1 2 ns/op\nBenchmark 1 2 ns/op\nBenchmarkA/5 MB/s 100 20 ns/op\n", []string{"BenchmarkA/x=1,y:2|`<b>/5 MB/s 7 100 20 ns/op", "Benchmark_a 1 2 ns/op", "Benchmark 1 2 ns/op", "BenchmarkA/5 MB/s 100 20 ns/op"}},
		"failures":           {"--- FAIL: TestX (0.00s)\n    x_test.go:1: no\n--- FAIL: BenchmarkA\n    a_test.go:2: boom\n    more\nBenchmarkB-2 1 2 ns/op\nBenchmarkC-2 \t--- FAIL: BenchmarkC-2\n    c\n--- SKIP: BenchmarkD\n    d\n", []string{"failed BenchmarkA: a_test.go:2: boom\n    more", "BenchmarkB 1 2 ns/op", "failed BenchmarkC: c", "skipped BenchmarkD: d"}},
		"parents":            {"--- FAIL: BenchmarkA/b/c\n    boom\n--- FAIL: BenchmarkA/b\n--- FAIL: BenchmarkA\nFAIL\n", []string{"failed BenchmarkA/b/c: boom"}},
		"verbose":            {"BenchmarkA\nBenchmarkA/x\nBenchmarkA/x-4  1 2 ns/op\nBenchmarkB\n", []string{"BenchmarkA/x 1 2 ns/op"}},
		"wrapped":            {"BenchmarkA\n     1\t 2 ns/op\n", []string{"BenchmarkA 1 2 ns/op"}},
		"unit twice":         {"BenchmarkA 1 2 ns/op 3 ns/op\n", []string{"damaged 1 BenchmarkA: the unit ns/op stands twice"}},
		"negative":           {"BenchmarkA 1 -2 ns/op\nBenchmarkB 1 2 ns/op -3 balance\nBenchmarkC 0 2 ns/op\n", []string{"damaged 1 BenchmarkA: the value of ns/op is negative", "BenchmarkB 1 2 ns/op -3 balance", "damaged 3 BenchmarkC: the iteration count is not positive"}},
		"result after bench": {"BenchmarkA 1 2 ns/op\n--- BENCH: BenchmarkA\n    a_test.go:1: 5 ns/op\nBenchmarkB 1 2 ns/op\n", []string{"BenchmarkA 1 2 ns/op", "BenchmarkB 1 2 ns/op"}},
		"lower case":         {"Benchmarkk8s_x 1 0.5 quality\nBenchmarking 3 5 ns/op now\n", []string{"Benchmarkk8s_x 1 0.5 quality"}},
		"binary":             {"\x00\xff\xfe\nBenchmarkA\xff 1 2 ns/op\n", []string{"BenchmarkA\xff 1 2 ns/op"}},
		"endless line":       {"BenchmarkA " + strings.Repeat("x", 3<<20) + "\n" + strings.Repeat("y", 3<<20) + "\nBenchmarkB 1 2 ns/op\n", []string{"damaged 1 : the line is longer than a result can be", "BenchmarkB 1 2 ns/op"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := parsed(t, test.text, 0); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
	if got := parsed(t, "BenchmarkA/size-8 1 2 ns/op\n", 1); !reflect.DeepEqual(got, []string{"BenchmarkA/size-8 1 2 ns/op"}) {
		t.Errorf("with one processor a name keeps its end: %q", got)
	}
	if got := parsed(t, "BenchmarkA/size-8 1 2 ns/op\n", 8); !reflect.DeepEqual(got, []string{"BenchmarkA/size 1 2 ns/op"}) {
		t.Errorf("with eight processors: %q", got)
	}
}

func TestFormatLong(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	const lines = suffixView + 500
	for i := range lines {
		fmt.Fprintf(&text, "BenchmarkA/%d-4 \t 100\t %d ns/op\n", i%10, i)
	}
	text.WriteString("BenchmarkB \t 100\t 1 ns/op\n")
	var records harnesstest.Records
	if err := (Format{}).Parse(strings.NewReader(text.String()), result.Cell{Round: 3, Slot: 4, Arm: result.Base}, &records); err != nil {
		t.Fatal(err)
	}
	for i, m := range records.Measurements() {
		want := result.Measurement{Seq: int64(i), Round: 3, Slot: 4, Pass: i / 10, Schedule: result.Blocks, Arm: result.Base, ID: result.CaseID(fmt.Sprintf("BenchmarkA/%d", i%10)),
			Metric: "time", Unit: "ns/op", Value: float64(i), Iterations: 100, Procs: 4, Status: result.StatusOK}
		if i == lines {
			want.ID, want.Procs, want.Pass, want.Value = "BenchmarkB", 0, 0, 1
		}
		if m != want {
			t.Fatalf("result %d: %+v, want %+v", i, m, want)
		}
	}
	if len(records) != lines+1 {
		t.Errorf("%d records", len(records))
	}
}

// brokenSink and brokenReader fail as a full disk does.
type brokenSink struct{}

func (brokenSink) Put(result.Record) error { return io.ErrShortWrite }

func TestFormatErrors(t *testing.T) {
	t.Parallel()
	cell := result.Cell{Source: "f.txt", Procs: 1}
	for _, text := range []string{"BenchmarkA 1 2 ns/op\n", "BenchmarkA \t\n", "--- FAIL: BenchmarkA\n", " 1 2 ns/op\n"} {
		if err := (Format{}).Parse(strings.NewReader(text), cell, brokenSink{}); !errors.Is(err, io.ErrShortWrite) || !strings.Contains(err.Error(), "f.txt") {
			t.Errorf("%q into a broken sink: %v", text, err)
		}
	}
	reader := io.MultiReader(strings.NewReader("BenchmarkA 1 2 ns/op\n"), errReader{})
	if err := (Format{}).Parse(reader, cell, &harnesstest.Records{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken reader: %v", err)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestSniff(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"goos: linux\n": true, "noise\npkg: x\n": true, "BenchmarkA-8 \t 1\t 2 ns/op\r\n": true,
		"": false, "{\"Action\":\"start\"}\n": false, "Benchmarking\n": false, "<xml/>": false, "Benchmark 1: sleep\n": false,
	} {
		if (Format{}).Sniff([]byte(text)) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

// TestCaptures reads real captures in place and holds every value against a
// plain reading of their lines, which have no odd names.
func TestCaptures(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../../../../shared/captures/gobench/*")
	if err != nil || len(names) == 0 {
		t.Log("no captures beside the repository: nothing to read")
		return
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, want := map[string]int{}, map[string]int{}
		for _, record := range harnesstest.Parse(t, Format{}, string(data), result.Cell{Source: name, Procs: 1}) {
			switch r := record.(type) {
			case result.Measurement:
				got[fmt.Sprintf("%s %d %v %s", r.ID[strings.Index(string(r.ID), "Benchmark"):], r.Iterations, r.Value, r.Unit)]++
			case result.Damaged:
				t.Errorf("%s:%d: %s: %s", name, r.Line, r.Reason, r.Text)
			default:
				t.Errorf("%s: %+v", name, r)
			}
		}
		for _, line := range strings.Split(string(data), "\n") {
			fields := strings.Fields(line)
			if len(fields) < 4 || !strings.HasPrefix(line, "Benchmark") {
				continue
			}
			for i := 2; i+1 < len(fields); i += 2 {
				value, err := strconv.ParseFloat(fields[i], 64)
				if err != nil {
					t.Fatalf("%s: %s", name, line)
				}
				u, factor := unit.Parse(fields[i+1])
				want[fmt.Sprintf("%s %s %v %s", fields[0], fields[1], value*factor, u.Name)]++
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d distinct values, a plain reading has %d", name, len(got), len(want))
		}
	}
}

func FuzzFormat(f *testing.F) {
	f.Add(goodCapture)
	f.Add("BenchmarkA-8 \tlogged\nmore     100\t 2 ns/op\n--- FAIL: BenchmarkA\n    x\nBenchmarkB")
	f.Add("BenchmarkA 1 NaN ns/op\r\nBenchmarkB 1 100,5 ns/op\nBenchmarkC 1 2 allo")
	f.Fuzz(func(t *testing.T, text string) {
		for _, record := range harnesstest.Parse(t, Format{}, text, result.Cell{}) {
			m, ok := record.(result.Measurement)
			if !ok {
				continue
			}
			if m.ID == "" || m.Iterations < 1 || m.Value != m.Value || m.Status != result.StatusOK || m.Unit == "" {
				t.Errorf("unusable measurement %+v", m)
			}
			if !strings.Contains(text, fmt.Sprint(m.Iterations)) && !strings.Contains(text, "0"+fmt.Sprint(m.Iterations)) {
				t.Errorf("%d iterations are not in the input", m.Iterations)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := strings.Repeat(goodCapture, 2000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := (Format{}).Parse(strings.NewReader(text), result.Cell{}, discard{}); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Put(result.Record) error { return nil }
