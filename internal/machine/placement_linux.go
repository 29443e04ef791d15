package machine

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ownCPUs is the affinity of the first thread.
func ownCPUs() ([]int, error) {
	set, err := affinity(os.Getpid())
	if err != nil {
		return nil, err
	}
	var cpus []int
	for cpu := range maxCPU {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// moveThreads moves every thread of this process. A thread that is started
// meanwhile inherits the place of the one that starts it, so the list is read
// until it holds no thread that was not moved.
func moveThreads(cpus []int) error {
	moved := map[int]bool{}
	for again := true; again; {
		again = false
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("listing the threads of this process: %w", err)
		}
		for _, thread := range threads {
			tid, err := strconv.Atoi(thread.Name())
			if err != nil || moved[tid] {
				continue
			}
			if err := setAffinity(tid, cpus); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			moved[tid], again = true, true
		}
	}
	return nil
}
