package machine

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
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
		_, _ = fmt.Fprintln(replies, os.Getpid())
		spin()
	case "one": // one thread that computes, as most benchmarks
		_, _ = fmt.Fprintln(replies, os.Getpid())
		spin()
	case "parent": // a child in the same group that computes
		pid := startRole("plain-busy", nil)
		_, _ = fmt.Fprintln(replies, pid)
		sleepForEver()
	case "orphan": // a grandchild in the same group whose parent is gone
		middle := exec.Command(os.Args[0])
		middle.Env = roleEnv("middle")
		pid, err := middle.Output()
		if err != nil {
			panic(err)
		}
		_, _ = fmt.Fprint(replies, string(pid))
		sleepForEver()
	case "middle":
		fmt.Println(startRole("plain-busy", nil))
	case "escape": // a child that leaves the group
		_, _ = fmt.Fprintln(replies, startRole("plain-busy", &syscall.SysProcAttr{Setsid: true}))
		sleepForEver()
	case "keepoff":
		keepOff()
	case "plain-busy":
		spin()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		_, _ = fmt.Fprintln(replies, os.Getpid())
		sleepForEver()
	case "echo": // a worker: answers each line, ends at the end of its requests
		lines := bufio.NewScanner(os.NewFile(3, "requests"))
		for lines.Scan() {
			_, _ = fmt.Fprintln(replies, "re:"+lines.Text(), runtime.GOMAXPROCS(0))
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
