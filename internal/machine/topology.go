package machine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// CPU is one logical processor as the kernel numbers it.
type CPU struct {
	ID       int
	Package  int   // socket; -1 if unknown
	Siblings []int // logical processors of the same core, itself included; nil if unknown
	Caches   []Cache
	Capacity int64 // how fast it is, comparable between cores of one machine only; 0 if unknown
}

// Cache is one cache that a core uses.
type Cache struct {
	Level  int
	Type   string // Data, Instruction or Unified
	Bytes  int64
	Shared []int // logical processors that use it
}

// Topology is how the cores of a machine belong together.
type Topology struct {
	Online   []int
	Allowed  []int // that this process may run on or move to; nil if unknown
	Isolated []int // kept free of other work by the kernel (isolcpus)
	CPUs     []CPU // of the online ones, by number
}

// Topology reads /sys/devices/system/cpu. Allowed changes with KeepOff, so read
// it before.
func (s *System) Topology() Topology {
	var t Topology
	t.Online, _ = s.cpuList("/sys/devices/system/cpu/online")
	t.Isolated, _ = s.cpuList("/sys/devices/system/cpu/isolated")
	t.Allowed = s.allowed(t)
	for _, id := range t.Online {
		t.CPUs = append(t.CPUs, s.cpu(id))
	}
	return t
}

func (s *System) cpuList(name string) ([]int, bool) {
	text, ok := s.read(name)
	if !ok {
		return nil, false
	}
	cpus, err := ParseCPUList(text)
	return cpus, err == nil
}

// allowed is the affinity of this process. Isolated cores are never in an
// affinity that nobody set, though a process may move to those of its cpuset;
// they are added unless somebody did set it (taskset).
func (s *System) allowed(t Topology) []int {
	status, _ := s.read("/proc/self/status")
	affinity, err := ParseCPUList(field(status, "Cpus_allowed_list"))
	if err != nil || len(affinity) == 0 {
		return nil
	}
	reachable := s.cpuset()
	if reachable == nil {
		return affinity
	}
	reachable = intersect(reachable, t.Online)
	if slices.Equal(affinity, without(reachable, t.Isolated)) {
		return reachable
	}
	return affinity
}

// cpuset is what the cgroup of this process may use, nil if it cannot be read.
func (s *System) cpuset() []int {
	for _, try := range []struct{ controller, file string }{{"cpuset", "cpuset.effective_cpus"}, {"", "cpuset.cpus.effective"}} {
		dir, mount, err := s.cgroupDir(try.controller)
		if err != nil {
			continue
		}
		for _, above := range ancestors(dir, mount) {
			if cpus, ok := s.cpuList(above + "/" + try.file); ok && len(cpus) > 0 {
				return cpus
			}
		}
	}
	return nil
}

func (s *System) cpu(id int) CPU {
	dir := "/sys/devices/system/cpu/cpu" + strconv.Itoa(id)
	cpu := CPU{ID: id, Package: -1}
	if n, ok := s.readInt(dir + "/topology/physical_package_id"); ok {
		cpu.Package = int(n)
	}
	cpu.Siblings, _ = s.cpuList(dir + "/topology/thread_siblings_list")
	for _, file := range []string{"/cpu_capacity", "/cpufreq/cpuinfo_max_freq"} {
		if n, ok := s.readInt(dir + file); ok && cpu.Capacity == 0 {
			cpu.Capacity = n
		}
	}
	for _, index := range s.glob(dir + "/cache/index[0-9]*") {
		level, ok := s.readInt(index + "/level")
		kind, okKind := s.read(index + "/type")
		if !ok || !okKind {
			continue
		}
		size, _ := s.read(index + "/size")
		shared, _ := s.cpuList(index + "/shared_cpu_list")
		cpu.Caches = append(cpu.Caches, Cache{Level: int(level), Type: kind, Bytes: parseSize(size), Shared: shared})
	}
	return cpu
}

// siblings are the other logical processors of the same cores.
func (t Topology) siblings(cpus []int) []int {
	var others []int
	for _, cpu := range t.CPUs {
		if slices.Contains(cpus, cpu.ID) {
			others = append(others, without(cpu.Siblings, cpus)...)
		}
	}
	slices.Sort(others)
	return slices.Compact(others)
}

// fast leaves out cores that are much slower than the fastest (E cores, LITTLE
// cores); the tenth of tolerance covers cores that differ in turbo alone.
func (t Topology) fast(cpus []int) []int {
	capacity := map[int]int64{}
	best := int64(math.MinInt64)
	for _, cpu := range t.CPUs {
		capacity[cpu.ID] = cpu.Capacity
		if slices.Contains(cpus, cpu.ID) {
			best = max(best, cpu.Capacity)
		}
	}
	return slices.DeleteFunc(slices.Clone(cpus), func(cpu int) bool { return capacity[cpu] < best-best/10 })
}

// DefaultCPU picks the core to measure on and says why. It is false when the
// allowed cores are unknown.
func DefaultCPU(t Topology) (cpu int, reason string, ok bool) {
	if len(t.Allowed) == 0 {
		return 0, "the cores this process may use are unknown", false
	}
	if len(t.Allowed) == 1 {
		return t.Allowed[0], fmt.Sprintf("core %d is the only one this process may use, so assay itself shares it", t.Allowed[0]), true
	}
	if isolated := t.fast(intersect(t.Allowed, t.Isolated)); len(isolated) > 0 {
		cpu = isolated[len(isolated)-1]
		return cpu, fmt.Sprintf("core %d is isolated: the kernel puts nothing else there", cpu), true
	}
	// The last core: interrupts and early services settle on the first.
	candidates := without(t.Allowed, append(t.siblings([]int{0}), 0))
	if len(candidates) == 0 {
		candidates = without(t.Allowed, []int{0})
	}
	fast := t.fast(candidates)
	cpu = fast[len(fast)-1]
	reason = fmt.Sprintf("core %d is the last of %s", cpu, FormatCPUList(t.Allowed))
	if len(fast) < len(candidates) {
		reason += " that is fast"
	}
	reason += ", away from core 0, which most interrupts use"
	if busy := intersect(t.siblings([]int{cpu}), t.Allowed); len(busy) > 0 {
		if len(without(t.Allowed, append(busy, cpu))) == 0 {
			return cpu, reason + fmt.Sprintf("; assay itself must use its SMT sibling %s, which slows it", FormatCPUList(busy)), true
		}
		reason += fmt.Sprintf("; assay keeps off its SMT sibling %s too", FormatCPUList(busy))
	}
	return cpu, reason, true
}

func without(cpus, drop []int) []int {
	return slices.DeleteFunc(slices.Clone(cpus), func(cpu int) bool { return slices.Contains(drop, cpu) })
}

func intersect(a, b []int) []int {
	return slices.DeleteFunc(slices.Clone(a), func(cpu int) bool { return !slices.Contains(b, cpu) })
}
