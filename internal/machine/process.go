package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// ErrExited is returned by operations on a process that has ended.
var ErrExited = errors.New("the process has ended")

// ErrCannotFreeze is returned where the system cannot stop a process for a
// while. Launcher.Freezes says why.
var ErrCannotFreeze = errors.New("this system cannot freeze processes")

const (
	// closeLooks is how often something that takes microseconds is looked at before
	// the core is left to it: about 60 us on a 2.3 GHz virtual machine
	// (2026-11-30), in which most freezes end.
	closeLooks = 128
	// killPatience is how long Kill and Close wait for the kernel to end a
	// process that got SIGKILL. Only a process stuck in a device driver needs more.
	killPatience = 10 * time.Second
	// outputPatience is how long the output of an ended process is awaited when a
	// descendant that left the process group still holds the pipe open.
	outputPatience = 2 * time.Second
)

// Spec says what to start and where it may run.
type Spec struct {
	Argv   []string // program and arguments; a program without a slash is looked up in PATH
	Dir    string   // working directory, absolute; empty: inherited
	Env    []string // the whole environment, KEY=VALUE; nil: inherited
	CPUs   []int    // cores it may use from its first instruction; empty: inherited
	Worker bool     // open two pipes: file descriptor 3 for requests, 4 for replies
}

// Launcher starts processes that can be pinned, frozen and ended with all their
// children. Its methods may be called from several goroutines.
//
// All processes are started by one operating-system thread that lives as long as
// the launcher: the kernel sends a child its death signal when the thread that
// started it ends, not when the program does.
type Launcher struct {
	system launchSystem
	work   chan func()
	ended  chan struct{} // closed when the thread has ended

	mu     sync.Mutex
	closed bool
	live   []*Process
}

// NewLauncher starts the launching thread and finds out how processes can be
// frozen on this machine. Close ends both.
func NewLauncher() *Launcher {
	l := &Launcher{work: make(chan func()), ended: make(chan struct{})}
	go l.thread()
	l.onThread(func() { l.system = newLaunchSystem() })
	return l
}

// Note: the thread is never unlocked, so it ends with the goroutine instead of
// going back to the scheduler with a changed affinity.
func (l *Launcher) thread() {
	defer close(l.ended)
	runtime.LockOSThread()
	for f := range l.work {
		f()
	}
}

func (l *Launcher) onThread(f func()) {
	done := make(chan struct{})
	l.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

// Freezes says in words how processes are frozen, or why they cannot be.
func (l *Launcher) Freezes() string { return l.system.freezes() }

// CanFreeze reports whether Process.Freeze works here.
func (l *Launcher) CanFreeze() bool { return l.system.canFreeze() }

// Pins reports whether the system can keep a process on given cores.
func (l *Launcher) Pins() bool { return canPin }

// Start starts a process in a process group of its own, on the cores of the
// spec. On Linux it dies with this process.
func (l *Launcher) Start(spec Spec) (*Process, error) {
	if len(spec.Argv) == 0 {
		return nil, errors.New("starting a process: the command line is empty")
	}
	if len(spec.CPUs) > 0 && !canPin {
		return nil, fmt.Errorf("starting %s on cores %s: this system cannot pin processes; leave the cores out", spec.Argv[0], FormatCPUList(spec.CPUs))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fmt.Errorf("starting %s: the launcher is closed", spec.Argv[0])
	}
	p := &Process{output: &boundedBuffer{}, done: make(chan struct{})}
	if err := l.start(p, spec); err != nil {
		p.ClosePipes()
		return nil, fmt.Errorf("starting %s: %w", spec.Argv[0], err)
	}
	l.live = append(l.live, p)
	go func() {
		p.reap()
		l.forget(p)
	}()
	return p, nil
}

func (l *Launcher) start(p *Process, spec Spec) error {
	cmd := exec.Command(spec.Argv[0], spec.Argv[1:]...)
	cmd.Dir, cmd.Env = spec.Dir, spec.Env
	cmd.Stdout, cmd.Stderr = p.output, p.output // one pipe: the order is kept
	cmd.WaitDelay = outputPatience
	p.cmd = cmd
	if spec.Worker {
		childReads, requests, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("making the pipe for requests: %w", err)
		}
		p.Requests = requests
		defer func() { _ = childReads.Close() }() // the child has its own copy
		replies, childWrites, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("making the pipe for replies: %w", err)
		}
		p.Replies = replies
		defer func() { _ = childWrites.Close() }()
		cmd.ExtraFiles = []*os.File{childReads, childWrites}
	}
	cage, err := l.system.cage()
	if err != nil {
		return err
	}
	l.onThread(func() { err = startOn(cmd, cage, spec.CPUs) })
	if err != nil {
		if cmd.Process != nil { // it runs, but the thread did not get its own cores back
			err = errors.Join(err, cmd.Process.Kill())
			_ = cmd.Wait() // says that it was killed
		}
		return errors.Join(err, cage.release())
	}
	p.cage = cage
	return nil
}

func (l *Launcher) forget(p *Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, q := range l.live {
		if q == p {
			l.live = append(l.live[:i], l.live[i+1:]...)
			return
		}
	}
}

// Close kills every process that is still alive and ends the launching thread.
func (l *Launcher) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	live := append([]*Process(nil), l.live...)
	l.mu.Unlock()
	var errs []error
	for _, p := range live {
		errs = append(errs, p.Kill())
	}
	close(l.work)
	<-l.ended
	return errors.Join(append(errs, l.system.close())...)
}

// Process is one started process with its process group. Who started it closes
// the worker pipes with ClosePipes, also after its end.
type Process struct {
	Requests *os.File // to its file descriptor 3; nil unless Spec.Worker
	Replies  *os.File // from its file descriptor 4; takes read deadlines; nil unless Spec.Worker

	cmd    *exec.Cmd
	cage   cage
	output *boundedBuffer
	done   chan struct{} // closed when it is reaped, its output read and exit set
	exit   Exit

	mu     sync.Mutex // no signal is sent once its number may belong to another process
	reaped bool
}

// Exit says how a process ended.
type Exit struct {
	Code   int           // -1 if a signal ended it or its state could not be read
	Signal string        // name of that signal, empty otherwise
	User   time.Duration // CPU time of it and of children it waited for
	System time.Duration
	Err    error // its state or its output could not be read
}

// OK reports whether it ended with status 0.
func (e Exit) OK() bool { return e.Code == 0 && e.Err == nil }

// String says how it ended in words.
func (e Exit) String() string {
	switch {
	case e.Err != nil:
		return e.Err.Error()
	case e.Signal != "":
		return "ended by signal: " + e.Signal
	default:
		return fmt.Sprintf("exit status %d", e.Code)
	}
}

// Pid is its process number, which is also the number of its group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Freeze stops every thread of the process and of the others in its group, and
// returns when all of them are confirmed to have stopped. It is idempotent.
//
// A thread that has stopped may still spend some microseconds on leaving its
// core; Freeze waits until the CPU clock stands, so that what the clock counts
// before the next Thaw is work that a frozen process must not do.
func (p *Process) Freeze() error {
	return p.signal("freezing", func() error {
		if err := p.cage.freeze(); err != nil {
			return err
		}
		before, _ := cpuTime(p.Pid())
		for try := 0; try < closeLooks; try++ {
			now, _ := cpuTime(p.Pid())
			if now == before {
				break
			}
			before = now
		}
		return nil
	})
}

// Thaw lets a frozen process go on. It is idempotent.
func (p *Process) Thaw() error { return p.signal("thawing", p.cage.thaw) }

func (p *Process) signal(doing string, act func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := ErrExited
	if !p.reaped {
		err = act()
	}
	if err != nil {
		return fmt.Errorf("%s process %d: %w", doing, p.Pid(), err)
	}
	return nil
}

// CPUTime is the processor time that all threads of the process have used, in
// nanoseconds where the system counts them; children are left out. False where
// it cannot be read and after the process ended.
func (p *Process) CPUTime() (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return 0, false
	}
	return cpuTime(p.Pid())
}

// Kill ends the process and its group at once, frozen or not, and waits until it
// is gone. Killing an ended process is no error.
func (p *Process) Kill() error {
	err := p.signal("killing", p.cage.kill)
	if errors.Is(err, ErrExited) {
		err = nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	if _, waitErr := p.Wait(ctx); waitErr != nil {
		return errors.Join(err, fmt.Errorf("killing process %d: it is still there after %v, probably stuck in the kernel", p.Pid(), killPatience))
	}
	return err
}

// Done is closed when the process has ended and its output is complete.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the process has ended by itself or by Kill. The error is
// ctx's; the process then goes on.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.done:
		return p.exit, nil
	case <-ctx.Done():
		return Exit{Code: -1}, fmt.Errorf("waiting for process %d: %w", p.Pid(), ctx.Err())
	}
}

// Output is what it has written to standard output and error so far, in the
// order of arrival. Of more than 512 KiB the middle is left out, and the text
// says how much.
func (p *Process) Output() []byte { return p.output.bytes() }

// reap sees the process to its end.
func (p *Process) reap() {
	err, killErr := p.collect()
	var status *exec.ExitError
	if errors.As(err, &status) || errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the state says it; the output is as complete as it can be
	}
	p.exit = exitOf(p.cmd.ProcessState)
	p.exit.Err = errors.Join(err, killErr, p.cage.release())
	close(p.done)
}

func exitOf(state *os.ProcessState) Exit {
	exit := Exit{Code: state.ExitCode(), User: state.UserTime(), System: state.SystemTime()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = status.Signal().String()
	}
	return exit
}

// ClosePipes gives back this side of the worker's pipes. A worker ends by itself
// at the end of its requests.
func (p *Process) ClosePipes() {
	for _, f := range []*os.File{p.Requests, p.Replies} {
		if f != nil {
			_ = f.Close() // nothing buffered can be lost
		}
	}
}
