package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const canPin = true

// freezePatience is how long a process may take to stop. Threads stop within
// microseconds unless they are inside a device driver.
const freezePatience = time.Second

// Values of si_code for SIGCHLD (include/uapi/asm-generic/siginfo.h, Linux 6.18).
const (
	childStopped   = 5 // CLD_STOPPED
	childContinued = 6 // CLD_CONTINUED
)

// cage is how one process and its group are stopped, released and ended.
type cage interface {
	prepare(*syscall.SysProcAttr) // before the start
	started(pid int)              // after it
	freeze() error
	thaw() error
	kill() error
	release() error // after the end
}

// launchSystem is what the launcher found out about this machine.
type launchSystem struct {
	cgroups *cgroupFreezer // nil: SIGSTOP is used
	births  *birthCounter  // nil: SIGSTOP cannot be confirmed
	text    string
}

func newLaunchSystem() launchSystem {
	cgroups, noCgroup := newCgroupFreezer()
	births, noBirths := newBirthCounter()
	s := launchSystem{cgroups: cgroups, births: births}
	switch {
	case noCgroup == nil:
		s.text = "cgroup.freeze"
	case noBirths == nil:
		s.text = "SIGSTOP (cgroup.freeze: " + noCgroup.Error() + ")"
	default:
		s.text = "cannot freeze: " + errors.Join(noCgroup, noBirths).Error()
	}
	return s
}

func (s launchSystem) freezes() string { return s.text }

func (s launchSystem) canFreeze() bool { return s.cgroups != nil || s.births != nil }

func (s launchSystem) cage() (cage, error) {
	if s.cgroups != nil {
		return s.cgroups.cage()
	}
	return &groupCage{births: s.births}, nil
}

func (s launchSystem) close() error {
	var errs []error
	if s.births != nil {
		errs = append(errs, s.births.file.Close())
	}
	if s.cgroups != nil {
		errs = append(errs, s.cgroups.close())
	}
	return errors.Join(errs...)
}

// startOn starts cmd on the given cores. It must run on the launching thread,
// whose affinity the child inherits: set after the start, it would miss the
// child's first instructions, in which a Go program counts its cores.
func startOn(cmd *exec.Cmd, c cage, cpus []int) (err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, PidFD: new(int)}
	c.prepare(cmd.SysProcAttr)
	if len(cpus) > 0 {
		before, err := affinity(0)
		if err != nil {
			return err
		}
		if err := setAffinity(0, cpus); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unix.SchedSetaffinityDynamic(0, before)) }()
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.started(cmd.Process.Pid)
	return nil
}

// affinity returns the cores a thread may use; 0 is the calling thread.
func affinity(tid int) (unix.CPUSetDynamic, error) {
	set := unix.NewCPUSet(maxCPU)
	if err := unix.SchedGetaffinityDynamic(tid, set); err != nil {
		return nil, fmt.Errorf("reading the cores of thread %d: %w", tid, err)
	}
	return set, nil
}

// setAffinity moves a thread to the given cores, all of which must be usable:
// the kernel alone is content with one.
func setAffinity(tid int, cpus []int) error {
	set := unix.NewCPUSet(maxCPU)
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	err := unix.SchedSetaffinityDynamic(tid, set)
	if err == nil {
		var got unix.CPUSetDynamic
		if got, err = affinity(tid); err == nil && got.Count() != set.Count() {
			err = errors.New("some of them are offline or not in this process's cpuset")
		}
	}
	if err != nil {
		return fmt.Errorf("moving thread %d to cores %s: %w", tid, FormatCPUList(cpus), err)
	}
	return nil
}

// waitid is unix.Waitid on one child that leaves the child waitable.
func waitid(pid, options int) (unix.Siginfo, error) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, options, nil)
		if !errors.Is(err, unix.EINTR) {
			return info, err
		}
	}
}

// awaitEnd returns when a child has ended and is not yet reaped. Errors are left
// to the reaping that follows. Note: a thread blocked in waitid would be woken at
// every freeze and thaw, by the process that is being frozen; on a virtual machine
// that costs it 15 us on the measuring core (2026-11-30). A pidfd wakes at the end only.
func awaitEnd(pid, pidfd int) {
	if pidfd < 0 || unix.SetNonblock(pidfd, true) != nil { // before Linux 5.4
		_, _ = waitid(pid, unix.WEXITED|unix.WNOWAIT)
		return
	}
	file := os.NewFile(uintptr(pidfd), "pidfd")
	defer func() { _ = file.Close() }()
	if conn, err := file.SyscallConn(); err == nil {
		_ = conn.Read(func(fd uintptr) bool {
			ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return ready > 0 || (err != nil && !errors.Is(err, unix.EINTR))
		})
	}
}

// collect waits for the end of the process, kills what is left of its group
// while the unreaped process still keeps the group's number from being given
// to another, and reaps it.
func (p *Process) collect() (waitErr, killErr error) {
	awaitEnd(p.Pid(), *p.cmd.SysProcAttr.PidFD)
	p.mu.Lock()
	defer p.mu.Unlock()
	killErr = p.cage.kill()
	waitErr = p.cmd.Wait()
	p.reaped = true
	return waitErr, killErr
}

// cpuTime reads the CPU clock of a process (clock_getcpuclockid: the number is
// made of the inverted pid and CPUCLOCK_SCHED, include/linux/posix-timers.h).
func cpuTime(pid int) (time.Duration, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|2, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}
