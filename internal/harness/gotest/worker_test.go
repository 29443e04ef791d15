package gotest

import (
	"errors"
	"io"
	"maps"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/internal/harness"
	"assay/internal/harness/harnesstest"
	"assay/internal/result"
)

// buildUnit detects and builds one package of a tree.
func buildUnit(t testing.TB, dir, pkg string) (result.Artifact, harness.Unit) {
	t.Helper()
	tree := harnesstest.Tree(dir)
	layout, err := Adapter{}.Detect(t.Context(), tree, harness.Query{Dir: ".", Packages: []string{pkg}})
	if err != nil {
		t.Fatal(err)
	}
	if len(layout.Units) != 1 {
		t.Fatalf("%d units for %s", len(layout.Units), pkg)
	}
	artifact := harnesstest.Build(t, Adapter{}, harnesstest.RecipeOf(tree, layout, layout.Units[0]))
	if artifact.Failure != nil {
		t.Fatalf("%s does not build:\n%s", pkg, artifact.Failure.Text)
	}
	return artifact, layout.Units[0]
}

func start(t testing.TB, artifact result.Artifact, external bool, env ...string) *harnesstest.Worker {
	t.Helper()
	w := harnesstest.Start(t, Adapter{}.Serve(artifact, external), env...)
	if err := w.Hello(); err != nil {
		t.Fatal(err)
	}
	return w
}

func ask(t *testing.T, w *harnesstest.Worker, request harness.Request) harness.Reply {
	t.Helper()
	reply, _, err := w.Ask(request)
	if err != nil {
		t.Fatalf("asking for %+v: %v", request, err)
	}
	return reply
}

func run(t *testing.T, w *harnesstest.Worker, name string, n int64) harness.Reply {
	t.Helper()
	return ask(t, w, harness.Request{Op: harness.OpRun, Name: name, Iterations: n})
}

// values reads a reply's result line.
func values(t *testing.T, reply harness.Reply) map[string]float64 {
	t.Helper()
	records := harnesstest.Parse(t, Format{}, reply.Text, result.Cell{Procs: reply.Procs})
	out := map[string]float64{}
	for _, m := range records.Measurements() {
		if string(m.ID) != reply.Name {
			t.Errorf("the result line of %s is for %s", reply.Name, m.ID)
		}
		out[m.Unit] = m.Value
		out["iterations"] = float64(m.Iterations)
	}
	if len(out) == 0 {
		t.Fatalf("%s: no values in %+v", reply.Name, reply)
	}
	return out
}

func TestWorker(t *testing.T) {
	t.Parallel()
	dir := extract(t, "worker.txtar")
	artifact, unit := buildUnit(t, dir, "./")
	if want := []string{"BenchmarkOutside"}; !reflect.DeepEqual(unit.External, want) {
		t.Errorf("external benchmarks %v", unit.External)
	}
	for name, test := range map[string]func(*testing.T, result.Artifact){
		"runs":      testRuns,
		"procs":     testProcs,
		"output":    testOutput,
		"failures":  testFailures,
		"names":     testNames,
		"list":      func(t *testing.T, a result.Artifact) { testList(t, a, unit) },
		"probe":     testProbe,
		"endings":   testEndings,
		"child":     testChild,
		"external":  testExternal,
		"bad input": testBadRequests,
		"match":     testMatch,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, artifact)
		})
	}
}

func testRuns(t *testing.T, artifact result.Artifact) {
	w := start(t, artifact, false, "GOMAXPROCS=1")
	for _, name := range []string{"BenchmarkCounted", "BenchmarkLoop"} {
		for _, n := range []int64{1, 2, 50} {
			reply := ask(t, w, harness.Request{Op: harness.OpRun, Name: name, Iterations: n, Lead: 7})
			got := values(t, reply)
			if got["bodies"] != float64(n) || got["iterations"] != float64(n) {
				t.Errorf("%s for %d iterations: %v", name, n, got)
			}
			if reply.WallNS < reply.ElapsedNS || reply.StartNS == 0 || reply.Procs != 1 {
				t.Errorf("%s: covariates %+v", name, reply)
			}
			if exact := float64(reply.ElapsedNS) / float64(n); name == "BenchmarkCounted" &&
				(exact < got["ns/op"]*0.999 || exact > got["ns/op"]*1.001) {
				t.Errorf("elapsed %v ns/op, printed %v", exact, got["ns/op"])
			}
		}
	}
	values(t, run(t, w, "BenchmarkReady", 3))
	reply := run(t, w, "BenchmarkBytes", 200)
	got := values(t, reply)
	if got["B/op"] < 1<<20 || got["allocs/op"] < 1 || got["B/s"] <= 0 {
		t.Errorf("BenchmarkBytes: %v", got)
	}
	if reply.Collections < 1 || reply.AllocBytes < 200<<20 || reply.AllocBytes > 230<<20 {
		t.Errorf("200 MiB allocated: %d collections, %d bytes", reply.Collections, reply.AllocBytes)
	}
	if reply.CPUNS <= 0 {
		t.Errorf("no CPU time: %+v", reply)
	}
	own := run(t, w, "BenchmarkOwnTime", 5)
	if values(t, own)["ns/op"] != 42 || own.ElapsedNS != 0 {
		t.Errorf("a benchmark that reports its own time: %+v", own)
	}
	if err := w.Close(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if out := w.Output(); !strings.Contains(out, "cleanup done") || strings.Count(out, "BenchmarkEmpty") > 0 {
		t.Errorf("TestMain did not end as usual, or the benchmarks ran once more:\n%s", out)
	}
}

func testProcs(t *testing.T, artifact result.Artifact) {
	w := start(t, artifact, false, "GOMAXPROCS=2")
	reply := run(t, w, "BenchmarkNames/size-8", 3)
	if got := values(t, reply); got["index"] != 9 || reply.Procs != 2 {
		t.Errorf("with two processors: %+v %v", reply, got)
	}
}

func testOutput(t *testing.T, artifact result.Artifact) {
	w := start(t, artifact, false)
	for _, name := range []string{"BenchmarkPrints", "BenchmarkPrintsSub/x", "BenchmarkSilences", "BenchmarkPrints"} {
		if got := values(t, run(t, w, name, 1000)); got["iterations"] != 1000 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if err := w.Close(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if out := w.Output(); !strings.Contains(out, "no line end") || strings.Count(out, "flood\n") != 2*20000 {
		t.Errorf("what the benchmarks printed did not reach standard output: %d bytes", len(out))
	}
}

func testFailures(t *testing.T, artifact result.Artifact) {
	w := start(t, artifact, false)
	for name, words := range map[string]string{
		"BenchmarkFatal": "went\n        wrong", "BenchmarkFatalLater": "more than one", "BenchmarkParent/bad": "sub is bad",
	} {
		reply := run(t, w, name, 5)
		if !strings.Contains(reply.Failed, words) || reply.Text != "" || reply.Skipped || reply.Error != "" {
			t.Errorf("%s: %+v", name, reply)
		}
	}
	for _, name := range []string{"BenchmarkSkip", "BenchmarkParent/skips"} {
		if reply := run(t, w, name, 5); !reply.Skipped || reply.Failed+reply.Error+reply.Text != "" {
			t.Errorf("%s: %+v", name, reply)
		}
	}
	lead := ask(t, w, harness.Request{Op: harness.OpRun, Name: "BenchmarkFatalLater", Iterations: 1, Lead: 5})
	if !strings.Contains(lead.Failed, "more than one") {
		t.Errorf("a failing lead-in: %+v", lead)
	}
	for _, name := range []string{"BenchmarkParent/good", "BenchmarkParent/other", "BenchmarkParentFails/good"} {
		values(t, run(t, w, name, 5))
	}
}

func testBadRequests(t *testing.T, artifact result.Artifact) {
	w := start(t, artifact, false)
	for _, request := range []harness.Request{
		{Op: harness.OpRun, Name: "BenchmarkNone", Iterations: 1},
		{Op: harness.OpRun, Name: "BenchmarkParent/none", Iterations: 1},
		{Op: harness.OpRun, Name: "BenchmarkParent", Iterations: 1},
		{Op: harness.OpRun, Name: "BenchmarkEmpty/sub", Iterations: 1},
		{Op: harness.OpRun, Name: "BenchmarkEmpty"},
		{Op: "dance"},
	} {
		if reply := ask(t, w, request); reply.Error == "" || reply.Text != "" {
			t.Errorf("%+v: %+v", request, reply)
		}
	}
	values(t, run(t, w, "BenchmarkEmpty", 2))
}

// oddNames are those that testing gives to the sub-benchmarks of BenchmarkNames.
func oddNames() []string {
	return []string{"a", "a#01", "a/b", "a/b/c", "sp_ace", "x=[1/2]|(3", `é\x01`, "#00", "5_MB/s", "size-8", "a#01#01"}
}

func testNames(t *testing.T, artifact result.Artifact) {
	w := start(t, artifact, false)
	for i, name := range oddNames() {
		reply := run(t, w, "BenchmarkNames/"+name, 3)
		if got := values(t, reply); got["index"] != float64(i) {
			t.Errorf("%s ran the benchmark number %v, not %d", name, got["index"], i)
		}
		if strings.Count(reply.Text, "\n") != 1 {
			t.Errorf("%s: text %q", name, reply.Text)
		}
	}
}

func testList(t *testing.T, artifact result.Artifact, unit harness.Unit) {
	w := start(t, artifact, false)
	reply, progress, err := w.Ask(harness.Request{Op: harness.OpList, Skip: []string{"BenchmarkChild"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.DeleteFunc(slices.Clone(unit.Internal), func(s string) bool { return s == "BenchmarkChild" }); !reflect.DeepEqual(progress, want) {
		t.Errorf("progress %v, want %v", progress, want)
	}
	got := map[string]string{}
	for _, one := range reply.Listed {
		switch {
		case one.Skip:
			got[one.Name] = "skip"
		case one.Failed != "":
			got[one.Name] = one.Failed
		default:
			got[one.Name] = "ok"
		}
	}
	want := map[string]string{"BenchmarkSkip": "skip", "BenchmarkParent/good": "ok", "BenchmarkParent/other": "ok", "BenchmarkParent/skips": "skip",
		"BenchmarkParentFails/good": "ok", "BenchmarkPrintsSub/x": "ok"}
	for _, name := range []string{"Empty", "Loop", "Counted", "Ready", "Bytes", "OwnTime", "Spin", "RunParallel", "Background", "Prints", "Silences", "FatalLater"} {
		want["Benchmark"+name] = "ok"
	}
	for _, name := range []string{"Exit", "Panic", "PanicElsewhere", "Hang"} {
		want["BenchmarkZ"+name] = "skip"
	}
	for _, name := range oddNames() {
		want["BenchmarkNames/"+name] = "ok"
	}
	for name, words := range map[string]string{"BenchmarkFatal": "wrong", "BenchmarkParent/bad": "sub is bad", "BenchmarkParentFails": "after its subs"} {
		if !strings.Contains(got[name], words) {
			t.Errorf("%s is listed as %q", name, got[name])
		}
		want[name] = got[name]
	}
	if !reflect.DeepEqual(got, want) {
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if want[name] != got[name] {
				t.Errorf("%s is listed as %q, want %q", name, got[name], want[name])
			}
		}
		t.Errorf("listed %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

func testProbe(t *testing.T, artifact result.Artifact) {
	for _, procs := range []string{"1", "2"} {
		w := start(t, artifact, false, "GOMAXPROCS="+procs)
		probe := func(name string) harness.Reply {
			return ask(t, w, harness.Request{Op: harness.OpProbe, Name: name, Iterations: 20000})
		}
		if reply := probe("BenchmarkSpin"); reply.Runnable != 1 || reply.RunParallel {
			t.Errorf("one goroutine on %s processors: %+v", procs, reply)
		}
		if reply := probe("BenchmarkRunParallel"); !reply.RunParallel {
			t.Errorf("RunParallel on %s processors: %+v", procs, reply)
		}
		if reply := probe("BenchmarkBackground"); reply.Runnable != 2 || reply.RunParallel {
			t.Errorf("a background goroutine on %s processors: %+v", procs, reply)
		}
		if reply := ask(t, w, harness.Request{Op: harness.OpProbe, Name: "BenchmarkCounted", Iterations: 5}); reply.Text == "" || reply.RunParallel {
			t.Errorf("a benchmark that sleeps, on %s processors: %+v", procs, reply)
		}
	}
}

// testEndings: the ways in which a benchmark ends its process.
func testEndings(t *testing.T, artifact result.Artifact) {
	for _, test := range []struct {
		arm, name string
		status    int
		words     string
	}{
		{"exit", "BenchmarkZExit", 0, ""},
		{"panic", "BenchmarkZPanic", 2, "the panic's words"},
		{"elsewhere", "BenchmarkZPanicElsewhere", 2, "from another goroutine"},
	} {
		w := start(t, artifact, false, "ZOO="+test.arm)
		if _, _, err := w.Ask(harness.Request{Op: harness.OpRun, Name: test.name, Iterations: 5}); !errors.Is(err, io.EOF) {
			t.Errorf("%s: the reply ends with %v", test.name, err)
		}
		status := 0
		var exit *exec.ExitError
		if err := w.Wait(); errors.As(err, &exit) {
			status = exit.ExitCode()
		}
		if status != test.status || !strings.Contains(w.Output(), test.words) {
			t.Errorf("%s: exit status %d, output %q", test.name, status, w.Output())
		}
	}
	// A hang is the coordinator's to end; while it lasts the list has said its name.
	w := start(t, artifact, false, "ZOO=hang")
	if err := w.Send(harness.Request{Op: harness.OpList}); err != nil {
		t.Fatal(err)
	}
	last := ""
	for last != "BenchmarkZHang" {
		reply, err := w.Reply()
		if err != nil || !reply.Progress {
			t.Fatalf("before the hang: %+v %v", reply, err)
		}
		last = reply.Name
	}
	w.Kill()
	if _, err := w.Reply(); !errors.Is(err, io.EOF) {
		t.Errorf("after the kill the pipe says %v", err)
	}
}

// testChild: a child of a benchmark does not inherit the worker's pipes.
func testChild(t *testing.T, artifact result.Artifact) {
	w := start(t, artifact, false)
	values(t, run(t, w, "BenchmarkChild", 1))
	done := make(chan error, 1)
	go func() {
		_, err := w.Reply()
		done <- err
	}()
	if err := w.EndRequests(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, io.EOF) {
		t.Errorf("with a child alive the replies end with %v", err)
	}
}

func testExternal(t *testing.T, artifact result.Artifact) {
	w := start(t, artifact, true)
	if got := values(t, run(t, w, "BenchmarkOutside", 10)); got["iterations"] != 10 {
		t.Errorf("external benchmark: %v", got)
	}
	if reply := run(t, w, "BenchmarkEmpty", 10); reply.Error == "" {
		t.Errorf("the external worker ran an internal benchmark: %+v", reply)
	}
	if err := w.Close(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// TestWorkerPackages builds workers into packages that could be in their way.
func TestWorkerPackages(t *testing.T) {
	t.Parallel()
	dir := extract(t, "worker.txtar")
	t.Run("main and cgo", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("cc"); err != nil {
			t.Skip("no C compiler")
		}
		artifact, _ := buildUnit(t, dir, "./cmd/tool")
		values(t, run(t, start(t, artifact, false), "BenchmarkTwice", 4))
	})
	t.Run("TestMain", func(t *testing.T) {
		t.Parallel()
		artifact, _ := buildUnit(t, dir, "./never")
		for env, status := range map[string]int{"NEVER=": 0, "NEVER=exit": 3} {
			w := harnesstest.Start(t, Adapter{}.Serve(artifact, false), env)
			if err := w.Hello(); !errors.Is(err, io.EOF) {
				t.Errorf("a TestMain that runs nothing: %v", err)
			}
			var exit *exec.ExitError
			if err := w.Wait(); status != 0 && (!errors.As(err, &exit) || exit.ExitCode() != status) || status == 0 && err != nil {
				t.Errorf("%s: %v, want status %s", env, err, strconv.Itoa(status))
			}
		}
	})
	t.Run("clashing names", func(t *testing.T) {
		t.Parallel()
		artifact, unit := buildUnit(t, dir, "./clash")
		if want := []string{"Benchmark", "BenchmarkClash", "Benchmark_under", "BenchmarkÜber"}; !reflect.DeepEqual(unit.Internal, want) {
			t.Errorf("benchmarks %v, want %v", unit.Internal, want)
		}
		w := start(t, artifact, false)
		for _, name := range unit.Internal {
			values(t, run(t, w, name, 2))
		}
	})
}
