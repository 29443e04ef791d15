package machine

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the goldens anew")

// fake is a machine whose /proc and /sys are the files of an archive in testdata;
// "missing" has none.
func fake(t *testing.T, name string) *System {
	t.Helper()
	s := &System{root: t.TempDir()}
	if name == "missing" {
		return s
	}
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		write(t, s.root, file.Name, string(file.Data))
	}
	return s
}

// describe is everything that is read from a machine, as text.
func describe(t *testing.T, s *System) string {
	t.Helper()
	var out strings.Builder
	for _, f := range s.Fingerprint() {
		fmt.Fprintf(&out, "%s %s = %s <- %s\n", f.Class, f.Key, f.Value, f.Source)
	}
	snapshot := s.Snapshot()
	snapshot.Time = time.Time{}
	sensors, err := json.Marshal(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "sensors %s\n", sensors)
	for _, f := range s.Inspect(nil) {
		fmt.Fprintf(&out, "%s %s: %s\n", f.Severity, f.Code, f.Text)
	}
	topology := s.Topology()
	cpu, reason, ok := DefaultCPU(topology)
	fmt.Fprintf(&out, "allowed %s\nmeasure on %d, %v: %s\n", FormatCPUList(topology.Allowed), cpu, ok, reason)
	return out.String()
}

func TestMachines(t *testing.T) {
	t.Parallel()
	if !canPin {
		t.Skip("the goldens are of Linux: elsewhere a finding is added")
	}
	for _, name := range []string{"metal", "vm", "container-v1", "container-v2", "laptop", "missing"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden := filepath.Join("testdata", name+".golden")
			got := describe(t, fake(t, name))
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Nothing may be invented: on a machine without files all is unknown.
func TestMissingIsUnknown(t *testing.T) {
	t.Parallel()
	s := &System{root: t.TempDir()}
	for _, f := range s.Fingerprint() {
		if f.Value != UnknownValue || f.Source != "" {
			t.Errorf("%s = %q from %q", f.Key, f.Value, f.Source)
		}
	}
	snapshot := s.Snapshot()
	if snapshot.Time.IsZero() {
		t.Error("no time")
	}
	snapshot.Time = Snapshot{}.Time
	if diff := cmp.Diff(Snapshot{}, snapshot); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, ok := s.Steal([]int{0}); ok {
		t.Error("steal is known")
	}
	if _, _, ok := DefaultCPU(s.Topology()); ok {
		t.Error("a core was picked")
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	got := map[Class][]string{}
	for _, f := range fake(t, "missing").Fingerprint() {
		got[f.Class] = append(got[f.Class], f.Key)
	}
	delete(got, Metadata)
	want := map[Class][]string{
		Hard: {"arch", "cpu_model", "cpu_stepping", "smt", "boost", "governor", "scheduling_policy"},
		Soft: {"kernel", "microcode", "c_library"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the comparability guard keys on these (-want +got):\n%s", diff)
	}
}

func TestSteal(t *testing.T) {
	t.Parallel()
	s := fake(t, "vm")
	for range 2 { // the file is kept open
		if ticks, ok := s.Steal([]int{0, 1}); ticks != 1400 || !ok {
			t.Errorf("%d, %v", ticks, ok)
		}
	}
	if _, ok := s.Steal([]int{2}); ok {
		t.Error("a core that does not exist has steal")
	}
}

func TestARM(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\nCPU part\t: 0xd05\nCPU revision\t: 0\n\nHardware\t: x\n")
	facts := (&System{root: root}).Fingerprint()
	for key, want := range map[string]string{
		"cpu_model":    "implementer 0x41 part 0xd0c + implementer 0x41 part 0xd05",
		"cpu_stepping": "variant 0x3 revision 1 + variant 0x0 revision 0",
		"hypervisor":   UnknownValue,
	} {
		if got := facts.Get(key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestBoostPerPolicy(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][2]string{"on": {"1", "1"}, "off": {"0", "0"}, "on for some cores": {"0", "1"}, UnknownValue: {"x", "x"}} {
		root := t.TempDir()
		for i, value := range values {
			write(t, root, fmt.Sprintf("/sys/devices/system/cpu/cpufreq/policy%d/boost", i), value)
		}
		if got := (&System{root: root}).Fingerprint().Get("boost"); got != want {
			t.Errorf("%v: %q, want %q", values, got, want)
		}
	}
}

func TestDefaultCPU(t *testing.T) {
	t.Parallel()
	core := func(id int, capacity int64, siblings ...int) CPU {
		return CPU{ID: id, Capacity: capacity, Siblings: siblings}
	}
	smt := []CPU{core(0, 0, 0, 2), core(1, 0, 1, 3), core(2, 0, 0, 2), core(3, 0, 1, 3)}
	for name, test := range map[string]struct {
		topology Topology
		want     int
		reason   string
	}{
		"only one":                  {Topology{Allowed: []int{5}}, 5, "only one"},
		"last":                      {Topology{Allowed: []int{0, 1, 2}}, 2, "last"},
		"isolated":                  {Topology{Allowed: []int{0, 1, 2}, Isolated: []int{1}}, 1, "isolated"},
		"isolated elsewhere":        {Topology{Allowed: []int{0, 1}, Isolated: []int{7}}, 1, "last"},
		"not the sibling of core 0": {Topology{Allowed: []int{0, 1, 2}, CPUs: smt}, 1, "last"},
		"siblings only":             {Topology{Allowed: []int{1, 3}, CPUs: smt}, 3, "must use its SMT sibling 1"},
		"sibling kept free":         {Topology{Allowed: []int{0, 1, 2, 3}, CPUs: smt}, 3, "keeps off its SMT sibling 1"},
		"slow cores":                {Topology{Allowed: []int{0, 1, 2}, CPUs: []CPU{core(0, 1024), core(1, 1000), core(2, 400)}}, 1, "that is fast"},
	} {
		got, reason, ok := DefaultCPU(test.topology)
		if got != test.want || !ok || !strings.Contains(reason, test.reason) {
			t.Errorf("%s: %d, %q; want %d, %q", name, got, reason, test.want, test.reason)
		}
	}
}
