package machine

import (
	"bytes"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// statBytes is enough of /proc/stat for the lines of 1024 cores, which come first.
const statBytes = 128 << 10

// Steal returns how long the hypervisor has run something else while one of the
// cores wanted to run, cumulated since the start of the system, in ticks of
// 1/100 s. It is false where the kernel does not count it or a core is missing.
// It costs one read of /proc/stat, which grows with cores and interrupts: 8 us
// on a virtual machine with 2 cores (2026-11-30).
func (s *System) Steal(cpus []int) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stat == nil {
		file, err := os.Open(s.path("/proc/stat"))
		if err != nil {
			return 0, false
		}
		s.stat, s.buffer = file, make([]byte, statBytes)
	}
	n, _ := s.stat.ReadAt(s.buffer, 0) // the end of the file is an error, and n says all
	ticks := parseSteal(s.buffer[:n])
	sum := int64(0)
	for _, cpu := range cpus {
		if cpu < 0 || cpu >= len(ticks) || ticks[cpu] < 0 {
			return 0, false
		}
		sum += ticks[cpu]
	}
	return sum, true
}

// parseSteal reads the steal of each core in /proc/stat (proc_stat(5)), indexed
// by the core's number; -1 for a core that has no line or no such column.
func parseSteal(stat []byte) []int64 {
	const column = 8 // after the name: user nice system idle iowait irq softirq steal
	var ticks []int64
	for line := range bytes.Lines(stat) {
		if !bytes.HasPrefix(line, []byte("cpu")) {
			break // the cores come first
		}
		fields := bytes.Fields(line)
		cpu, err := cpuNumber(string(fields[0][len("cpu"):]))
		if err != nil || len(fields) <= column {
			continue // the sum of all
		}
		n, err := strconv.ParseInt(string(fields[column]), 10, 64)
		if err != nil || n < 0 {
			continue
		}
		for len(ticks) <= cpu {
			ticks = append(ticks, -1)
		}
		ticks[cpu] = n
	}
	return ticks
}

// Snapshot reads all sensors. What cannot be read is left nil.
func (s *System) Snapshot() Snapshot {
	snapshot := Snapshot{Time: time.Now(), MHz: s.mhz(), TemperatureC: s.temperature(), Throttles: s.throttles()}
	if stat, err := os.ReadFile(s.path("/proc/stat")); err == nil {
		snapshot.Steal = parseSteal(stat)
	}
	if text, ok := s.read("/proc/loadavg"); ok {
		first, _, _ := strings.Cut(text, " ")
		snapshot.Load1 = parseFloat(first)
	}
	snapshot.PressureCPU = s.pressure("cpu")
	snapshot.PressureMem = s.pressure("memory")
	if free, ok := s.memory("MemAvailable"); ok {
		snapshot.FreeMemory = &free
	}
	return snapshot
}

// parseFloat returns nil for what is no finite number.
func parseFloat(text string) *float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// pressure is the share of the last 10 s in which some task waited for the
// resource, in percent (Documentation/accounting/psi.rst).
func (s *System) pressure(resource string) *float64 {
	text, _ := s.read("/proc/pressure/" + resource)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == "some" {
			if value, found := strings.CutPrefix(fields[1], "avg10="); found {
				return parseFloat(value)
			}
		}
	}
	return nil
}

// memory is an entry of /proc/meminfo in bytes.
func (s *System) memory(key string) (int64, bool) {
	text, _ := s.read("/proc/meminfo")
	value := field(text, key)
	if value == "" {
		return 0, false
	}
	return parseSize(value), true
}

// mhz is the frequency of each core, by number, 0 where it cannot be read; nil
// if none can.
func (s *System) mhz() []float64 {
	var mhz []float64
	set := func(cpu int, value float64) {
		for len(mhz) <= cpu {
			mhz = append(mhz, 0)
		}
		mhz[cpu] = value
	}
	for _, file := range s.glob("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq") {
		cpu, err := cpuNumber(strings.TrimPrefix(path.Base(path.Dir(path.Dir(file))), "cpu"))
		if kHz, ok := s.readInt(file); ok && err == nil {
			set(cpu, float64(kHz)/1000)
		}
	}
	if mhz != nil {
		return mhz
	}
	info, _ := s.read("/proc/cpuinfo")
	cpu := -1
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "processor":
			cpu = -1
			if n, err := cpuNumber(strings.TrimSpace(value)); err == nil {
				cpu = n
			}
		case "cpu MHz":
			if f := parseFloat(strings.TrimSpace(value)); f != nil && cpu >= 0 {
				set(cpu, *f)
			}
		}
	}
	return mhz
}

// temperature is the hottest of the thermal zones and the processor's own
// sensors. Zones that are switched off report 0 or impossible values.
func (s *System) temperature() *float64 {
	var hottest *float64
	take := func(file string) {
		if milli, ok := s.readInt(file); ok && milli > 0 && milli < 150_000 {
			if c := float64(milli) / 1000; hottest == nil || c > *hottest {
				hottest = &c
			}
		}
	}
	for _, file := range s.glob("/sys/class/thermal/thermal_zone*/temp") {
		take(file)
	}
	for _, file := range s.glob("/sys/class/hwmon/hwmon*/name") {
		name, _ := s.read(file)
		if slices.Contains([]string{"coretemp", "k10temp", "zenpower", "cpu_thermal"}, name) {
			for _, input := range s.glob(path.Dir(file) + "/temp*_input") {
				take(input)
			}
		}
	}
	return hottest
}

// throttles adds the times that each core was slowed down for its heat to those
// of the hottest package.
func (s *System) throttles() *int64 {
	var sum, packages int64
	cores := s.glob("/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count")
	found := false
	for _, file := range cores {
		if n, ok := s.readInt(file); ok {
			sum, found = sum+n, true
		}
		if n, ok := s.readInt(path.Dir(file) + "/package_throttle_count"); ok {
			packages = max(packages, n)
		}
	}
	if !found {
		return nil
	}
	sum += packages
	return &sum
}
