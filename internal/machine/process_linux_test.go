package machine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// freezers runs a test with every way of freezing that this machine has.
func freezers(t *testing.T, test func(*testing.T, *Launcher)) {
	t.Run("signal", func(t *testing.T) {
		t.Parallel()
		l := testLauncher(t)
		if c := l.system.cgroups; c != nil {
			if err := c.close(); err != nil {
				t.Fatal(err)
			}
			l.system.cgroups = nil
		}
		test(t, l)
	})
	t.Run("cgroup", func(t *testing.T) {
		l := testLauncher(t)
		if l.system.cgroups == nil {
			t.Skip(l.Freezes())
		}
		test(t, l)
	})
}

func testLauncher(t testing.TB) *Launcher {
	l := NewLauncher()
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if !l.CanFreeze() {
		t.Fatal(l.Freezes())
	}
	return l
}

func start(t testing.TB, l *Launcher, role string, cpus []int) *Process {
	t.Helper()
	p, err := l.Start(Spec{Argv: []string{os.Args[0]}, Env: roleEnv(role), CPUs: cpus, Worker: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.ClosePipes)
	return p
}

// number reads a process number that the child wrote.
func number(t testing.TB, p *Process) int {
	t.Helper()
	line, err := bufio.NewReader(p.Replies).ReadString('\n')
	if err != nil {
		t.Fatalf("reading from the child: %v; output: %s", err, p.Output())
	}
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func lastAllowed(t testing.TB) int {
	t.Helper()
	set, err := affinity(0)
	if err != nil {
		t.Fatal(err)
	}
	for cpu := maxCPU - 1; cpu >= 0; cpu-- {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	t.Fatal("no core")
	return 0
}

func mustTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	used, ok := cpuTime(pid)
	if !ok {
		t.Fatalf("no CPU time of process %d", pid)
	}
	return used
}

// burn computes until this process has used the given CPU time.
func burn(d time.Duration) {
	own, _ := cpuTime(os.Getpid())
	for now := own; now < own+d; now, _ = cpuTime(os.Getpid()) {
	}
}

func TestFreezeStopsAllThreads(t *testing.T) {
	freezers(t, func(t *testing.T, l *Launcher) {
		p := start(t, l, "busy", []int{lastAllowed(t)})
		number(t, p)
		for range 5 {
			awaitWork(t, p.Pid())
			for range 2 { // the second is a no-op
				if err := p.Freeze(); err != nil {
					t.Fatal(err)
				}
			}
			mustStand(t, p.Pid())
			if err := p.Thaw(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestFreezeReachesChildren(t *testing.T) {
	freezers(t, func(t *testing.T, l *Launcher) {
		for _, role := range []string{"parent", "orphan", "escape"} {
			if role == "escape" && l.system.cgroups == nil {
				continue // SIGSTOP does not reach it
			}
			p := start(t, l, role, []int{lastAllowed(t)})
			child := number(t, p)
			for range 3 {
				awaitWork(t, child)
				if err := p.Freeze(); err != nil {
					t.Fatal(err)
				}
				mustStand(t, child)
				if err := p.Thaw(); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Freeze(); err != nil {
				t.Fatal(err)
			}
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			awaitGone(t, child)
		}
	})
}

// awaitWork returns when the process has used CPU time.
func awaitWork(t *testing.T, pid int) {
	t.Helper()
	for before := mustTime(t, pid); mustTime(t, pid) == before; {
	}
}

// mustStand checks that a frozen process uses no CPU time while this one works.
// A thread that has joined the stop may still have to leave its core, and a
// hypervisor may take its time for that.
func mustStand(t *testing.T, pid int) {
	t.Helper()
	const work = 5 * time.Millisecond
	frozen := mustTime(t, pid)
	burn(work)
	if used := mustTime(t, pid) - frozen; used > work/5 {
		t.Errorf("process %d used %v while frozen", pid, used)
	}
}

// awaitGone returns when a process no longer exists or is a zombie.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || threadState(string(stat)) == 'Z' {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still alive: %s", pid, stat)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestPinnedFromTheStart(t *testing.T) {
	t.Parallel()
	l := testLauncher(t)
	cpu := lastAllowed(t)
	p := start(t, l, "busy", []int{cpu})
	number(t, p)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("Cpus_allowed_list:\t%d\n", cpu); !strings.Contains(string(status), want) {
		t.Errorf("status of the pinned child lacks %q:\n%s", want, status)
	}
	if group, err := unix.Getpgid(p.Pid()); err != nil || group != p.Pid() {
		t.Errorf("group %d, %v; want %d", group, err, p.Pid())
	}
	// The launching thread has its old cores back.
	l.onThread(func() {
		own, err := affinity(0)
		main, mainErr := affinity(os.Getpid())
		if err != nil || mainErr != nil || own.Count() != main.Count() {
			t.Errorf("launching thread: %d cores, main thread: %d (%v, %v)", own.Count(), main.Count(), err, mainErr)
		}
	})
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	l := testLauncher(t)
	if _, err := l.Start(Spec{Argv: []string{"/no/such/program"}, Worker: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing program: %v", err)
	}
	if _, err := l.Start(Spec{Argv: []string{os.Args[0]}, CPUs: []int{maxCPU - 1}}); err == nil {
		t.Error("a core that does not exist was accepted")
	}
	if _, err := l.Start(Spec{}); err == nil {
		t.Error("an empty command was accepted")
	}
}

func TestWorkerPipes(t *testing.T) {
	t.Parallel()
	l := testLauncher(t)
	p := start(t, l, "echo", []int{lastAllowed(t)})
	replies := bufio.NewReader(p.Replies)
	for _, text := range []string{"one", "two"} {
		_, _ = fmt.Fprintln(p.Requests, text)
		// A pinned Go child counts one core: it was pinned before it began.
		if line, err := replies.ReadString('\n'); err != nil || line != "re:"+text+" 1\n" {
			t.Fatalf("reply %q, %v", line, err)
		}
	}
	p.ClosePipes()
	exit, err := p.Wait(context.Background())
	if err != nil || !exit.OK() {
		t.Fatalf("%v, %v", exit, err)
	}
	if err := p.Freeze(); !errors.Is(err, ErrExited) {
		t.Errorf("freezing an ended process: %v", err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("killing an ended process: %v", err)
	}
	if _, ok := p.CPUTime(); ok {
		t.Error("an ended process has a CPU clock")
	}
}

func TestKillStubborn(t *testing.T) {
	freezers(t, func(t *testing.T, l *Launcher) {
		p := start(t, l, "stubborn", nil)
		number(t, p)
		if err := unix.Kill(p.Pid(), unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if _, ok := p.CPUTime(); !ok {
			t.Error("no CPU time")
		}
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if exit, err := p.Wait(context.Background()); err != nil || exit.Signal != "killed" || exit.OK() {
			t.Errorf("%v, %v", exit, err)
		}
	})
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	l := testLauncher(t)
	p := start(t, l, "flood", nil)
	exit, err := p.Wait(context.Background())
	if err != nil || exit.Code != 7 {
		t.Fatalf("%v, %v", exit, err)
	}
	out := p.Output()
	if !bytes.HasPrefix(out, []byte("first line\n")) || !bytes.HasSuffix(out, []byte("last line\n")) {
		t.Errorf("the ends are missing: %q ... %q", out[:20], out[len(out)-20:])
	}
	written := len("first line\n") + len("last line\n") + 200*1024*16
	if note := fmt.Sprintf("\n[... %d bytes of output left out ...]\n", written-2*outputPart); !bytes.Contains(out, []byte(note)) || len(out) != 2*outputPart+len(note) {
		t.Errorf("%d bytes, want %d with %q", len(out), 2*outputPart+len(note), note)
	}
}

func TestChildDiesWithCoordinator(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = roleEnv("coordinator")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(child, 0); err != nil {
		t.Fatalf("the child is gone before its coordinator: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the coordinator ended well")
	}
	awaitGone(t, child)
	// A later launcher removes the cgroups that a killed coordinator left behind,
	// once the kernel has taken the last thread out of them.
	next := testLauncher(t).system.cgroups
	if next == nil {
		return
	}
	deadline := time.Now().Add(20 * time.Second)
	for own := filepath.Dir(next.dir); ; time.Sleep(time.Millisecond) {
		removeStaleCgroups(own)
		left, err := filepath.Glob(fmt.Sprintf("%s/%s%d-*", own, cgroupPrefix, cmd.Process.Pid))
		if err != nil || (len(left) > 0 && time.Now().After(deadline)) {
			t.Fatalf("left behind: %v, %v", left, err)
		}
		if len(left) == 0 {
			return
		}
	}
}

func TestKeepOff(t *testing.T) {
	t.Parallel()
	topology := New().Topology()
	if len(topology.Allowed) < 2 || len(topology.Isolated) > 0 {
		t.Skip("needs two cores that are not isolated")
	}
	l := testLauncher(t)
	p := start(t, l, "keepoff", nil)
	if exit, err := p.Wait(context.Background()); err != nil || !exit.OK() {
		t.Fatalf("%v, %v: %s", exit, err, p.Output())
	}
	lines := strings.Split(strings.TrimSpace(string(p.Output())), "\n")
	if len(lines) != 4 {
		t.Fatalf("%q", lines)
	}
	off, shared, _ := strings.Cut(lines[0], " ")
	cpus, err := ParseCPUList(off)
	if err != nil || len(cpus) == 0 || slices.Contains(cpus, topology.Allowed[len(topology.Allowed)-1]) || shared != "false" {
		t.Errorf("seat %q, %v", lines[0], err)
	}
	if lines[1] != "["+off+"]" {
		t.Errorf("threads are on %s, want %s", lines[1], off)
	}
	if lines[3] != "["+lines[2]+"]" {
		t.Errorf("after Restore threads are on %s, want %s", lines[3], lines[2])
	}
}

func TestKeepOffShares(t *testing.T) {
	t.Parallel()
	for _, topology := range []Topology{{}, {Allowed: []int{3}}} {
		seat, err := KeepOff(topology, []int{3})
		if err != nil || !seat.Shared || seat.Text == "" || seat.Restore() != nil {
			t.Errorf("%+v: %+v, %v", topology, seat, err)
		}
	}
}
