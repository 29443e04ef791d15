package machine

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// systemCall asks the running system for a fact that no file had.
func systemCall(key string) reading {
	switch key {
	case "hostname":
		name, err := os.Hostname()
		if err != nil {
			return reading{}
		}
		return reading{name, "hostname"}
	case "memory_total":
		bytes, err := unix.SysctlUint64("hw.memsize")
		if err != nil {
			return reading{}
		}
		return reading{strconv.FormatUint(bytes, 10), "sysctl hw.memsize"}
	}
	names := map[string]string{"arch": "hw.machine", "cpu_model": "machdep.cpu.brand_string", "kernel": "kern.osrelease"}
	name, known := names[key]
	if !known {
		return reading{}
	}
	value, err := unix.Sysctl(name)
	if err != nil {
		return reading{}
	}
	return reading{value, "sysctl " + name}
}
