package machine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// roleVariable makes the test binary play a benchmark process.
const roleVariable = "MACHINE_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	play(role)
}

// play is a child's whole life.
func play(role string) {
	replies := os.NewFile(4, "replies")
	switch role {
	case "busy": // three threads that compute
		for range 3 {
			go spin()
		}
		fmt.Fprintln(replies, os.Getpid())
		spin()
	case "one": // one thread that computes, as most benchmarks
		fmt.Fprintln(replies, os.Getpid())
		spin()
	case "parent": // a child in the same group that computes
		pid := startRole("plain-busy", nil)
		fmt.Fprintln(replies, pid)
		sleepForEver()
	case "orphan": // a grandchild in the same group whose parent is gone
		middle := exec.Command(os.Args[0])
		middle.Env = roleEnv("middle")
		pid, err := middle.Output()
		if err != nil {
			panic(err)
		}
		fmt.Fprint(replies, string(pid))
		sleepForEver()
	case "middle":
		fmt.Println(startRole("plain-busy", nil))
	case "escape": // a child that leaves the group
		fmt.Fprintln(replies, startRole("plain-busy", &syscall.SysProcAttr{Setsid: true}))
		sleepForEver()
	case "keepoff":
		keepOff()
	case "plain-busy":
		spin()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		fmt.Fprintln(replies, os.Getpid())
		sleepForEver()
	case "echo": // a worker: answers each line, ends at the end of its requests
		lines := bufio.NewScanner(os.NewFile(3, "requests"))
		for lines.Scan() {
			fmt.Fprintln(replies, "re:"+lines.Text(), runtime.GOMAXPROCS(0))
		}
	case "flood":
		fmt.Println("first line")
		for range 200 {
			fmt.Print(strings.Repeat("0123456789abcde\n", 1024))
		}
		fmt.Fprintln(os.Stderr, "last line")
		os.Exit(7)
	case "coordinator": // starts a child through a launcher, then waits to be killed
		l := NewLauncher()
		p, err := l.Start(Spec{Argv: []string{os.Args[0]}, Env: roleEnv("stubborn"), Worker: true})
		if err != nil {
			panic(err)
		}
		line, err := bufio.NewReader(p.Replies).ReadString('\n')
		if err != nil {
			panic(err)
		}
		fmt.Print(line)
		sleepForEver()
	}
}

func sleepForEver() {
	for {
		time.Sleep(time.Hour)
	}
}

func spin() {
	for i := 0; ; i++ {
		runtime.KeepAlive(i)
	}
}

func roleEnv(role string) []string { return append(os.Environ(), roleVariable+"="+role) }

func startRole(role string, attr *syscall.SysProcAttr) int {
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.SysProcAttr = roleEnv(role), attr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd.Process.Pid
}

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
		fmt.Fprintln(p.Requests, text)
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
}

// keepOff moves a whole process and says where its threads are.
func keepOff() {
	t := New().Topology()
	seat, err := KeepOff(t, []int{t.Allowed[len(t.Allowed)-1]})
	if err != nil {
		panic(err)
	}
	fmt.Println(FormatCPUList(seat.CPUs), seat.Shared)
	started := make(chan struct{})
	go func() { // a new thread
		runtime.LockOSThread()
		close(started)
		sleepForEver()
	}()
	<-started
	printThreads()
	if err := seat.Restore(); err != nil {
		panic(err)
	}
	fmt.Println(FormatCPUList(t.Allowed))
	printThreads()
}

// printThreads prints the different cores of all threads of this process.
func printThreads() {
	threads, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		panic(err)
	}
	var lists []string
	for _, file := range threads {
		if status, err := os.ReadFile(file); err == nil {
			lists = append(lists, field(string(status), "Cpus_allowed_list"))
		}
	}
	slices.Sort(lists)
	fmt.Println(slices.Compact(lists))
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

func benchmarkCage(b *testing.B, cgroup bool, role string) {
	l := testLauncher(b)
	if cgroup && l.system.cgroups == nil {
		b.Skip(l.Freezes())
	}
	if !cgroup && l.system.cgroups != nil {
		if err := l.system.cgroups.close(); err != nil {
			b.Fatal(err)
		}
		l.system.cgroups = nil
	}
	p := start(b, l, role, []int{lastAllowed(b)})
	number(b, p)
	seat, err := KeepOff(New().Topology(), []int{lastAllowed(b)})
	if err != nil {
		b.Fatal(err)
	}
	var freezing, thawing, clock time.Duration
	for b.Loop() {
		t0 := time.Now()
		if err := p.Freeze(); err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		p.CPUTime()
		t2 := time.Now()
		if err := p.Thaw(); err != nil {
			b.Fatal(err)
		}
		t3 := time.Now()
		freezing, clock, thawing = freezing+t1.Sub(t0), clock+t2.Sub(t1), thawing+t3.Sub(t2)
		time.Sleep(time.Millisecond) // let it run
	}
	if err := seat.Restore(); err != nil {
		b.Fatal(err)
	}
	n := float64(b.N) * 1e3
	b.ReportMetric(float64(freezing)/n, "freeze-us")
	b.ReportMetric(float64(thawing)/n, "thaw-us")
	b.ReportMetric(float64(clock)/n, "clock-us")
}

func BenchmarkCage(b *testing.B) {
	for _, role := range []string{"one", "busy", "stubborn", "parent"} {
		for _, cgroup := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/cgroup=%v", role, cgroup), func(b *testing.B) {
				benchmarkCage(b, cgroup, role)
			})
		}
	}
}

func BenchmarkSteal(b *testing.B) {
	s := New()
	cpu := lastAllowed(b)
	for b.Loop() {
		if _, ok := s.Steal([]int{cpu}); !ok {
			b.Fatal("no steal")
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s := New()
	for b.Loop() {
		s.Snapshot()
	}
}
