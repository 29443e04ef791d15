package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxCPU bounds the numbers in a list of cores, so that a typing error such as
// 0-999999999 is an error instead of a gigabyte. Linux allows 8192 at most
// (NR_CPUS, arch/x86/Kconfig, 6.18).
const maxCPU = 8192

// ParseCPUList reads the kernel's notation for a set of cores, "0,2-3", and
// returns their numbers sorted and without repeats. Empty text is the empty set.
func ParseCPUList(text string) ([]int, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	var cpus []int
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		low, err := cpuNumber(from)
		high := low
		if err == nil && isRange {
			high, err = cpuNumber(to)
		}
		if err == nil && high < low {
			err = fmt.Errorf("%d is before %d", high, low)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %q as a list of cores (such as 0,2-3): part %q: %w", text, part, err)
		}
		for cpu := low; cpu <= high; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

func cpuNumber(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, err
	}
	if n >= maxCPU {
		return 0, fmt.Errorf("no core has a number above %d", maxCPU-1)
	}
	return int(n), nil
}

// FormatCPUList is the inverse of ParseCPUList; order and repeats do not matter.
func FormatCPUList(cpus []int) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(cpus)))
	var parts []string
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		if j == i {
			parts = append(parts, strconv.Itoa(sorted[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", sorted[i], sorted[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
