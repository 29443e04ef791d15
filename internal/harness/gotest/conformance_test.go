package gotest

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"assay/internal/harness"
	"assay/internal/harness/harnesstest"
)

// extract unpacks an archive of testdata into a folder of the test's own.
func extract(t testing.TB, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, file := range archive.Files {
		write(t, filepath.Join(dir, filepath.FromSlash(file.Name)), string(file.Data))
	}
	return dir
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// goodCapture has two packages with one name in common, odd names, all of
// testing's own units and one of a benchmark's own.
const goodCapture = "goos: linux\ngoarch: amd64\npkg: example.com/one\ncpu: any\n" +
	"BenchmarkSame-4   \t 1000\t       125.5 ns/op\t  39.84 MB/s\t      16 B/op\t       2 allocs/op\n" +
	"BenchmarkOdd/a=1,b:2/5_MB/s-4   \t       7\t  0.25 ns/op\t   3.000 widgets/op\n" +
	"PASS\nok  \texample.com/one\t1.2s\n" +
	"pkg: example.com/two\n" +
	"BenchmarkSame-4   \t 2000000\t       12.25 ns/op\t       0 B/op\t       0 allocs/op\n" +
	"PASS\nok  \texample.com/two\t1.2s\n"

func TestConformance(t *testing.T) {
	t.Parallel()
	dir := extract(t, "conformance.txtar")
	harnesstest.Run(t, harnesstest.Subject{
		Adapter:  Adapter{},
		Base:     filepath.Join(dir, "base"),
		Head:     filepath.Join(dir, "head"),
		Query:    harness.Query{Dir: "."},
		Declared: map[string][]string{"example.com/two": {"BenchmarkCount", "BenchmarkFile", "BenchmarkHidden", "BenchmarkSum"}},
		Grafted: []string{"export_test.go", "golden/wanted.txt", "grower_test.go", "helper_test.go",
			"internal/testutil/util.go", "outside_test.go", "sum_test.go", "testdata/input.txt"},
		Removed:   []string{"internal/testutil/gone.go", "testdata/stale.txt"},
		Listed:    []string{"BenchmarkCount", "BenchmarkFile", "BenchmarkHidden", "BenchmarkSum/large_5_MB/s", "BenchmarkSum/small"},
		Count:     "BenchmarkCount",
		CountUnit: "bodies",
		Good:      goodCapture,
		Values:    9,
		Failing:   "BenchmarkA-4   \t--- FAIL: BenchmarkA-4\n    a_test.go:3: boom\nFAIL\n",
	})
}
