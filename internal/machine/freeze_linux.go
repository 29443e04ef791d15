package machine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// groupCage stops a process group with SIGSTOP.
//
// Confirmation: the kernel reports a stopped child to waitid only when the last
// of its threads has joined the stop (do_signal_stop, task_stopped_code,
// kernel/signal.c and kernel/exit.c, Linux 6.18), so for the child itself one
// blocking call is enough and /proc is not read. Note: state T of the first
// thread alone proves nothing about the others.
// Other members of the group are not our children; their threads are read from
// /proc. A process that left the group (setsid) is not stopped.
type groupCage struct {
	births  *birthCounter
	pid     int
	seen    int   // newest process number when the group was last searched
	members []int // other processes of the group
	frozen  bool
}

func (g *groupCage) prepare(*syscall.SysProcAttr) {}

// started begins the search for members at the process itself: whatever it
// starts gets a later number.
func (g *groupCage) started(pid int) { g.pid, g.seen = pid, pid }

func (g *groupCage) freeze() error {
	if g.births == nil {
		return ErrCannotFreeze
	}
	if g.frozen {
		return nil
	}
	if err := unix.Kill(-g.pid, unix.SIGSTOP); err != nil {
		return fmt.Errorf("sending SIGSTOP: %w", err)
	}
	if err := g.confirm(); err != nil {
		return errors.Join(err, g.thaw())
	}
	g.frozen = true
	return nil
}

func (g *groupCage) confirm() error {
	const changes = unix.WSTOPPED | unix.WCONTINUED | unix.WEXITED | unix.WNOWAIT
	info, err := waitid(g.pid, changes|unix.WNOHANG)
	for try := 1; err == nil && info.Code == 0 && try < closeLooks; try++ {
		info, err = waitid(g.pid, changes|unix.WNOHANG)
	}
	if err == nil && info.Code == 0 {
		// waitid takes no timeout. SIGCONT ends it, being a change of state too.
		patience := time.AfterFunc(freezePatience, func() { _ = g.signal(unix.SIGCONT) })
		info, err = waitid(g.pid, changes)
		patience.Stop()
	}
	switch {
	case err != nil:
		return fmt.Errorf("waiting for its threads to stop: %w", err)
	case info.Code == childStopped:
	case info.Code == childContinued:
		return fmt.Errorf("it did not stop within %v, or another program continued it", freezePatience)
	default:
		return ErrExited
	}
	if err := g.search(); err != nil {
		return err
	}
	for _, member := range g.members {
		if err := awaitStopped(member); err != nil {
			return err
		}
	}
	return nil
}

// search finds processes that joined the group since the last search: the
// kernel hands out process numbers in a circle, so only the numbers since then
// are asked for.
func (g *groupCage) search() error {
	g.members = slices.DeleteFunc(g.members, func(pid int) bool {
		group, err := unix.Getpgid(pid)
		return err != nil || group != g.pid
	})
	newest, err := g.births.newest()
	if err != nil {
		return err
	}
	for number := g.seen; number != newest; {
		if number++; number > g.births.max {
			number = 1
		}
		group, err := unix.Getpgid(number)
		if err != nil || group != g.pid || unix.Tgkill(g.pid, number, 0) == nil {
			continue // gone, a stranger, or a thread of the process itself
		}
		g.members = append(g.members, number)
	}
	g.seen = newest
	return nil
}

// thaw also takes the news of the continuation, so that the next freeze does not
// mistake it for its own.
func (g *groupCage) thaw() error {
	g.frozen = false
	if err := unix.Kill(-g.pid, unix.SIGCONT); err != nil {
		return fmt.Errorf("sending SIGCONT: %w", err)
	}
	_, err := waitid(g.pid, unix.WCONTINUED|unix.WNOHANG)
	if err != nil && !errors.Is(err, unix.ECHILD) {
		return fmt.Errorf("waiting for it to go on: %w", err)
	}
	return nil
}

// kill needs no SIGCONT: SIGKILL ends stopped processes too.
func (g *groupCage) kill() error { return g.signal(unix.SIGKILL) }

func (g *groupCage) release() error { return nil }

// signal ignores a group that is gone.
func (g *groupCage) signal(sig syscall.Signal) error {
	if err := unix.Kill(-g.pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("sending %s: %w", unix.SignalName(sig), err)
	}
	return nil
}

// birthCounter knows the number of the newest process or thread.
type birthCounter struct {
	file *os.File // /proc/loadavg, whose last field it is (fs/proc/loadavg.c)
	max  int      // numbers start again below it
}

func newBirthCounter() (*birthCounter, error) {
	text, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		return nil, fmt.Errorf("finding children of a benchmark: %w", err)
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("finding children of a benchmark: /proc/sys/kernel/pid_max: %w", err)
	}
	file, err := os.Open("/proc/loadavg")
	if err != nil {
		return nil, fmt.Errorf("finding children of a benchmark: %w", err)
	}
	b := &birthCounter{file: file, max: limit}
	if _, err := b.newest(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return b, nil
}

func (b *birthCounter) newest() (int, error) {
	var buffer [128]byte
	n, err := unix.Pread(int(b.file.Fd()), buffer[:], 0)
	if err != nil {
		return 0, fmt.Errorf("reading /proc/loadavg: %w", err)
	}
	text := strings.TrimSpace(string(buffer[:n]))
	newest, err := strconv.Atoi(text[strings.LastIndexByte(text, ' ')+1:])
	if err != nil || newest < 1 || newest > b.max {
		return 0, fmt.Errorf("/proc/loadavg: %q does not end in a process number", text)
	}
	return newest, nil
}

// awaitStopped waits until every thread of a process that is not our child has
// stopped or ended.
func awaitStopped(pid int) error {
	deadline := time.Now().Add(freezePatience)
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	for try := 0; ; try++ {
		running, err := runningThread(tasks)
		if err != nil {
			return err
		}
		if running == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("thread %s of process %d in its group did not stop within %v", running, pid, freezePatience)
		}
		pause(try)
	}
}

// pause comes between two looks at something that takes microseconds. Note:
// time.Sleep is rounded up to a millisecond when the program is otherwise idle.
func pause(try int) {
	if try >= closeLooks {
		nap := unix.NsecToTimespec(int64(10 * time.Microsecond))
		_ = unix.Nanosleep(&nap, nil) // interrupted is early enough
	}
}

// runningThread returns a thread that is neither stopped nor ended, "" if there
// is none.
func runningThread(tasks string) (string, error) {
	threads, err := os.ReadDir(tasks)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("listing threads: %w", err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(tasks + "/" + thread.Name() + "/stat")
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("reading the state of a thread: %w", err)
		}
		switch threadState(string(text)) {
		case 'T', 't', 'Z', 'X':
		default:
			return thread.Name(), nil
		}
	}
	return "", nil
}
