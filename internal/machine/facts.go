package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// reading is one fact as it was found: no value means unknown.
type reading struct{ value, source string }

// Fingerprint reads all facts about the machine, in an order that never changes.
// Hard facts come first, then soft ones, then metadata.
func (s *System) Fingerprint() Fingerprint {
	t := s.Topology()
	list := []struct {
		class Class
		key   string
		read  func() reading
	}{
		{Hard, "arch", s.file("/proc/sys/kernel/arch")},
		{Hard, "cpu_model", s.cpuModel},
		{Hard, "cpu_stepping", s.cpuStepping},
		{Hard, "smt", func() reading { return s.smt(t) }},
		{Hard, "boost", s.boost},
		{Hard, "governor", s.distinct("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")},
		{Hard, "scheduling_policy", s.schedulingPolicy},
		{Soft, "kernel", s.file("/proc/sys/kernel/osrelease")},
		{Soft, "microcode", s.microcode},
		{Soft, "c_library", s.cLibrary},
		{Metadata, "hostname", s.file("/proc/sys/kernel/hostname")},
		{Metadata, "mhz", s.mhzNow},
		{Metadata, "uptime_s", s.firstWord("/proc/uptime")},
		{Metadata, "instance_id", s.instanceID},
		{Metadata, "memory_total", s.memoryFact("MemTotal")},
		{Metadata, "free_memory", s.memoryFact("MemAvailable")},
		{Metadata, "swap", s.swap},
		{Metadata, "cpus_online", s.file("/sys/devices/system/cpu/online")},
		{Metadata, "cpus_allowed", func() reading { return cpus(t.Allowed, "/proc/self/status and the cpuset") }},
		{Metadata, "cpus_isolated", s.isolated},
		{Metadata, "cache_l1d", func() reading { return t.cache(1, "Data") }},
		{Metadata, "cache_l1i", func() reading { return t.cache(1, "Instruction") }},
		{Metadata, "cache_l2", func() reading { return t.cache(2, "Unified") }},
		{Metadata, "cache_l3", func() reading { return t.cache(3, "Unified") }},
		{Metadata, "hypervisor", s.hypervisor},
		{Metadata, "cpu_quota", s.quotaFact},
		{Metadata, "clock_source", s.file("/sys/devices/system/clocksource/clocksource0/current_clocksource")},
		{Metadata, "aslr", s.aslr},
		{Metadata, "transparent_hugepages", s.chosen("/sys/kernel/mm/transparent_hugepage/enabled")},
		{Metadata, "energy_preference", s.distinct("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/energy_performance_preference")},
		{Metadata, "power_source", s.powerSource},
		{Metadata, "perf_event_paranoid", s.file("/proc/sys/kernel/perf_event_paranoid")},
		{Metadata, "load1", s.firstWord("/proc/loadavg")},
	}
	var facts Fingerprint
	for _, entry := range list {
		found := entry.read()
		if found.value == "" && s.root == "" {
			found = systemCall(entry.key)
		}
		if found.value == "" {
			found = reading{value: UnknownValue}
		}
		facts = append(facts, Fact{Key: entry.key, Value: found.value, Class: entry.class, Source: found.source})
	}
	return facts
}

// file is the whole of a small file.
func (s *System) file(name string) func() reading {
	return func() reading {
		text, _ := s.read(name)
		return reading{text, name}
	}
}

func (s *System) firstWord(name string) func() reading {
	return func() reading {
		text, _ := s.read(name)
		first, _, _ := strings.Cut(text, " ")
		return reading{first, name}
	}
}

// chosen is the word in brackets of a file such as "always [madvise] never".
func (s *System) chosen(name string) func() reading {
	return func() reading {
		text, _ := s.read(name)
		_, after, _ := strings.Cut(text, "[")
		word, _, found := strings.Cut(after, "]")
		if !found {
			return reading{}
		}
		return reading{word, name}
	}
}

// distinct lists the different contents of the files, sorted.
func (s *System) distinct(pattern string) func() reading {
	return func() reading {
		var values []string
		for _, file := range s.glob(pattern) {
			if text, ok := s.read(file); ok && text != "" {
				values = append(values, text)
			}
		}
		slices.Sort(values)
		return reading{strings.Join(slices.Compact(values), ", "), pattern}
	}
}

// cpuinfo lists the different values that a description of each core in
// /proc/cpuinfo has; describe returns "" for none.
func (s *System) cpuinfo(describe func(core string) string) reading {
	text, _ := s.read("/proc/cpuinfo")
	var values []string
	for core := range strings.SplitSeq(text, "\n\n") {
		if value := describe(core); value != "" && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return reading{strings.Join(values, " + "), "/proc/cpuinfo"}
}

// cpuModel knows the keys of x86, MIPS, POWER and RISC-V; ARM has numbers only.
func (s *System) cpuModel() reading {
	return s.cpuinfo(func(core string) string {
		for _, key := range []string{"model name", "cpu model", "cpu", "uarch"} {
			if value := field(core, key); value != "" {
				return value
			}
		}
		return named(core, "CPU implementer", "implementer", "CPU part", "part")
	})
}

func (s *System) cpuStepping() reading {
	return s.cpuinfo(func(core string) string {
		if x86 := named(core, "cpu family", "family", "model", "model", "stepping", "stepping"); x86 != "" {
			return x86
		}
		if arm := named(core, "CPU variant", "variant", "CPU revision", "revision"); arm != "" {
			return arm
		}
		return field(core, "revision")
	})
}

// named joins "name value" for pairs of key and name; "" unless all keys exist.
func named(core string, pairs ...string) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		value := field(core, pairs[i])
		if value == "" {
			return ""
		}
		parts = append(parts, pairs[i+1]+" "+value)
	}
	return strings.Join(parts, " ")
}

// smt is "on" if two logical processors share a core.
func (s *System) smt(t Topology) reading {
	if active, ok := s.readInt("/sys/devices/system/cpu/smt/active"); ok {
		return reading{onOff(active == 1), "/sys/devices/system/cpu/smt/active"}
	}
	known, shared := false, false
	for _, cpu := range t.CPUs {
		known = known || cpu.Siblings != nil
		shared = shared || len(cpu.Siblings) > 1
	}
	if !known {
		return reading{}
	}
	return reading{onOff(shared), "/sys/devices/system/cpu/cpu*/topology/thread_siblings_list"}
}

// boost is "on" if cores may run above their nominal frequency. The drivers keep
// it in different places (Documentation/admin-guide/pm).
func (s *System) boost() reading {
	const noTurbo, boost = "/sys/devices/system/cpu/intel_pstate/no_turbo", "/sys/devices/system/cpu/cpufreq/boost"
	if n, ok := s.readInt(noTurbo); ok {
		return reading{onOff(n == 0), noTurbo}
	}
	if n, ok := s.readInt(boost); ok {
		return reading{onOff(n == 1), boost}
	}
	perPolicy := s.distinct("/sys/devices/system/cpu/cpufreq/policy*/boost")()
	switch perPolicy.value {
	case "0", "1":
		perPolicy.value = onOff(perPolicy.value == "1")
	case "0, 1":
		perPolicy.value = "on for some cores"
	default:
		return reading{}
	}
	return perPolicy
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// schedulingPolicy is that of this process, which benchmarks inherit. Numbers of
// the policies: include/uapi/linux/sched.h; columns: proc_pid_stat(5).
func (s *System) schedulingPolicy() reading {
	const source = "/proc/self/stat"
	const nice, realtimePriority, policy = 19 - 3, 40 - 3, 41 - 3
	stat, _ := s.read(source)
	_, after, _ := cutLast(stat, ") ")
	fields := strings.Fields(after)
	if len(fields) <= policy {
		return reading{}
	}
	switch fields[policy] {
	case "0":
		return reading{"SCHED_OTHER nice " + fields[nice], source}
	case "1":
		return reading{"SCHED_FIFO priority " + fields[realtimePriority], source}
	case "2":
		return reading{"SCHED_RR priority " + fields[realtimePriority], source}
	case "3":
		return reading{"SCHED_BATCH nice " + fields[nice], source}
	case "5":
		return reading{"SCHED_IDLE", source}
	case "6":
		return reading{"SCHED_DEADLINE", source}
	default:
		return reading{"policy " + fields[policy], source}
	}
}

func (s *System) microcode() reading {
	if found := s.cpuinfo(func(core string) string { return field(core, "microcode") }); found.value != "" {
		return found
	}
	return s.file("/sys/devices/system/cpu/cpu0/microcode/version")()
}

func (s *System) mhzNow() reading {
	mhz := slices.DeleteFunc(s.mhz(), func(f float64) bool { return f <= 0 })
	if len(mhz) == 0 {
		return reading{}
	}
	low, high := strconv.FormatFloat(slices.Min(mhz), 'f', 0, 64), strconv.FormatFloat(slices.Max(mhz), 'f', 0, 64)
	if low != high {
		low += "-" + high
	}
	return reading{low, "cpufreq or /proc/cpuinfo"}
}

func (s *System) memoryFact(key string) func() reading {
	return func() reading {
		bytes, ok := s.memory(key)
		if !ok {
			return reading{}
		}
		return reading{strconv.FormatInt(bytes, 10), "/proc/meminfo " + key}
	}
}

func (s *System) swap() reading {
	total, ok := s.memory("SwapTotal")
	free, okFree := s.memory("SwapFree")
	if !ok || !okFree {
		return reading{}
	}
	if total == 0 {
		return reading{"none", "/proc/meminfo"}
	}
	return reading{fmt.Sprintf("%d of %d bytes used", total-free, total), "/proc/meminfo"}
}

func cpus(list []int, source string) reading { return reading{FormatCPUList(list), source} }

func (s *System) isolated() reading {
	const source = "/sys/devices/system/cpu/isolated"
	list, ok := s.cpuList(source)
	if ok && len(list) == 0 {
		return reading{"none", source}
	}
	return cpus(list, source)
}

// cache describes the caches of one level and type, the different ones joined.
func (t Topology) cache(level int, kind string) reading {
	var values []string
	for _, cpu := range t.CPUs {
		for _, c := range cpu.Caches {
			if c.Level != level || c.Type != kind || c.Bytes == 0 {
				continue
			}
			value := fmt.Sprintf("%d bytes", c.Bytes)
			if n := len(c.Shared); n > 1 {
				value += fmt.Sprintf(" for %d cpus", n)
			}
			if !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
	}
	return reading{strings.Join(values, " + "), "/sys/devices/system/cpu/cpu*/cache"}
}
