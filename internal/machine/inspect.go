package machine

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Severity says how much a finding hurts measuring. Closed set.
type Severity string

// The severities. A machine with a Harmful finding is not quiet.
const (
	Harmful Severity = "harmful" // expect wide intervals or wrong conclusions
	Caution Severity = "caution" // can hurt; interleaving takes out most of it
	Notice  Severity = "notice"  // unknown here, or limits what can be measured
)

// Finding is one thing that will hurt measuring, in plain words.
type Finding struct {
	Code     string   `json:"code"` // stable, kebab-case
	Severity Severity `json:"severity"`
	Text     string   `json:"text"` // what, why it matters, what to do
}

// Thresholds of Inspect. They are judgements, not measurements, unless a source
// is given.
const (
	idleLoad       = 0.2  // load average of a machine on which nothing else runs
	stealShare     = 1e-3 // of the time since the start of the system
	lowMemoryShare = 0.1  // of memory that is available
	highPressure   = 1.0  // percent of the last 10 s in which a task waited
	hotCelsius     = 85.0 // most processors slow down between 90 and 105
)

// Inspect says what will hurt measuring on the given cores, the most harmful
// first; without cores, on those of DefaultCPU.
func (s *System) Inspect(measuring []int) []Finding {
	t := s.Topology()
	if len(measuring) == 0 {
		if cpu, _, ok := DefaultCPU(t); ok {
			measuring = []int{cpu}
		}
	}
	i := inspection{facts: s.Fingerprint(), snapshot: s.Snapshot(), topology: t, measuring: measuring}
	i.frequency()
	i.cores()
	i.quota(s)
	i.neighbours(s)
	i.memory()
	i.environment(s)
	rank := []Severity{Harmful, Caution, Notice}
	slices.SortStableFunc(i.findings, func(a, b Finding) int {
		return slices.Index(rank, a.Severity) - slices.Index(rank, b.Severity)
	})
	return i.findings
}

type inspection struct {
	facts     Fingerprint
	snapshot  Snapshot
	topology  Topology
	measuring []int
	findings  []Finding
}

func (i *inspection) add(severity Severity, code, format string, args ...any) {
	i.findings = append(i.findings, Finding{Code: code, Severity: severity, Text: fmt.Sprintf(format, args...)})
}

// frequency: what changes the clock speed while measuring.
func (i *inspection) frequency() {
	switch governor := i.facts.Get("governor"); governor {
	case "performance":
	case UnknownValue:
		i.add(Notice, "governor-unknown", "The frequency governor cannot be read, so the clock may change while measuring without being seen.")
	default:
		i.add(Caution, "governor", "The frequency governor is %s: the clock changes with the load. Set it to performance while measuring.", governor)
	}
	switch boost := i.facts.Get("boost"); boost {
	case "off":
	case UnknownValue:
		i.add(Notice, "boost-unknown", "It cannot be read whether turbo boost is on; if it is, the clock depends on heat and on what other cores do.")
	default:
		i.add(Caution, "boost", "Turbo boost is %s: the clock depends on heat and on what other cores do. Switch it off for the steadiest numbers.", boost)
	}
	if i.facts.Get("power_source") == "battery" {
		i.add(Harmful, "battery", "The machine runs on battery, and power saving changes its speed. Plug it in.")
	}
	if t := i.snapshot.TemperatureC; t != nil && *t >= hotCelsius {
		i.add(Caution, "hot", "The processor is at %.0f degrees Celsius and may slow itself down. Let it cool.", *t)
	}
	if n := i.snapshot.Throttles; n != nil && *n > 0 {
		i.add(Caution, "throttled", "The processor has slowed itself down for its heat %d times since the system started.", *n)
	}
}

// cores: where benchmarks and assay itself can run.
func (i *inspection) cores() {
	allowed := i.topology.Allowed
	switch {
	case !canPin:
		i.add(Notice, "cannot-pin", "This system cannot keep a process on one core, so samples move between cores.")
	case len(allowed) == 0:
		i.add(Notice, "cores-unknown", "The cores that this process may use cannot be read.")
	case len(allowed) == 1:
		i.add(Harmful, "one-core", "Only core %d may be used, so assay and everything else share it with the benchmarks.", allowed[0])
	}
	if missing := without(i.measuring, i.topology.Online); len(missing) > 0 && i.topology.Online != nil {
		i.add(Harmful, "core-missing", "Core %s is to be measured on but is not online.", FormatCPUList(missing))
	}
	if busy := i.topology.siblings(i.measuring); len(busy) > 0 {
		i.add(Caution, "smt-sibling", "Core %s shares its physical core with %s, and whatever runs there slows it. Keep the sibling free or switch SMT off.",
			FormatCPUList(i.measuring), FormatCPUList(busy))
	}
	if i.facts.Get("cpus_isolated") == "none" && len(allowed) > 1 {
		i.add(Notice, "not-isolated", "No core is isolated, so the kernel may run other work on core %s.", FormatCPUList(i.measuring))
	}
}

func (i *inspection) quota(s *System) {
	cores, _, ok := s.quota()
	switch {
	case !ok:
		i.add(Notice, "quota-unknown", "It cannot be read whether a container limits the processor time.")
	case cores > 0 && cores < float64(max(1, len(i.topology.Allowed))):
		i.add(Harmful, "cpu-quota", "A container limit allows %.4g cores' worth of time, less than cores %s could give: when it is used up, benchmarks stand still for tens of milliseconds. Lift the limit.",
			cores, FormatCPUList(i.topology.Allowed))
	}
}

// neighbours: who else uses the machine.
func (i *inspection) neighbours(s *System) {
	if load := i.snapshot.Load1; load == nil {
		i.add(Notice, "load-unknown", "The load of the machine cannot be read.")
	} else if cores := float64(max(1, len(i.topology.Online))); *load >= cores {
		i.add(Harmful, "load", "The load is %.2f on %.0f cores: other programs compete with the benchmarks. Stop them.", *load, cores)
	} else if *load > idleLoad {
		i.add(Caution, "load", "The load is %.2f: something else is running. Stop it for narrower intervals.", *load)
	}
	if p := i.snapshot.PressureCPU; p != nil && *p > highPressure {
		i.add(Caution, "cpu-pressure", "In %.1f %% of the last 10 seconds a program had to wait for a core.", *p)
	}
	switch hypervisor := i.facts.Get("hypervisor"); hypervisor {
	case "none":
	case UnknownValue:
		i.add(Notice, "hypervisor-unknown", "It cannot be read whether this is a virtual machine.")
	default:
		i.add(Caution, "virtual-machine", "This is a virtual machine (hypervisor: %s): other guests share its hardware, and no setting inside keeps them off.", hypervisor)
	}
	if share := s.stealShare(); share > stealShare {
		i.add(Harmful, "steal", "The hypervisor has given %.1f %% of this machine's processor time to others since it started.", 100*share)
	}
}

// stealShare is the part of the processor time, idle time included, that was
// stolen since the system started; 0 if that is not counted.
func (s *System) stealShare() float64 {
	text, _ := s.read("/proc/stat")
	first, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0
	}
	var total, steal float64
	for column, field := range fields[1:9] { // guest time, behind them, is part of user time
		ticks := parseFloat(field)
		if ticks == nil {
			return 0
		}
		total += *ticks
		if column == 7 {
			steal = *ticks
		}
	}
	if total <= 0 {
		return 0
	}
	return steal / total
}

func (i *inspection) memory() {
	if total, err := strconv.ParseInt(i.facts.Get("memory_total"), 10, 64); err == nil && i.snapshot.FreeMemory != nil {
		if free := *i.snapshot.FreeMemory; float64(free) < lowMemoryShare*float64(total) {
			i.add(Harmful, "low-memory", "Only %d of %d MiB of memory are available: the kernel will reclaim or swap while measuring.", free>>20, total>>20)
		}
	}
	if p := i.snapshot.PressureMem; p != nil && *p > highPressure {
		i.add(Harmful, "memory-pressure", "In %.1f %% of the last 10 seconds a program had to wait for memory.", *p)
	}
}

// environment: what the system does to addresses, clocks and counters.
func (i *inspection) environment(s *System) {
	switch i.facts.Get("aslr") {
	case "off":
	case UnknownValue:
		i.add(Notice, "aslr-unknown", "It cannot be read whether addresses are randomised.")
	default:
		i.add(Notice, "aslr", "Addresses are randomised (ASLR), so every process is laid out anew. assay starts many processes, which averages that out.")
	}
	switch clock := i.facts.Get("clock_source"); clock {
	case "tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page": // read without a system call
	case UnknownValue:
		i.add(Notice, "clock-unknown", "The kernel's clock source cannot be read.")
	default:
		i.add(Caution, "clock-source", "The kernel's clock source is %s: reading the time is slow, which blurs short samples.", clock)
	}
	const counters = "/sys/bus/event_source/devices"
	if _, err := os.Stat(s.path(counters)); err != nil {
		i.add(Notice, "counters-unknown", "It cannot be read whether the processor has performance counters.")
	} else if len(s.glob(counters+"/cpu*"))+len(s.glob(counters+"/armv*")) == 0 {
		i.add(Notice, "no-counters", "The processor's performance counters are missing, as in most virtual machines: instructions are counted by other means.")
	} else if level, err := strconv.Atoi(i.facts.Get("perf_event_paranoid")); err == nil && level > 2 {
		i.add(Notice, "counters-forbidden", "Performance counters are forbidden (kernel.perf_event_paranoid is %d). Set it to 2 or less.", level)
	}
}
