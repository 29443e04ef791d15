package machine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupFreezeLimit is the slowest cgroup.freeze that is preferred to SIGSTOP:
// a freeze and a thaw then cost less than a tenth of a 5 ms sample.
const cgroupFreezeLimit = 200 * time.Microsecond

// cgroupPrefix begins the name of the folder that holds a coordinator's cgroups;
// its process number follows.
const cgroupPrefix = "assay-"

// cgroupFreezer makes one cgroup for every process below the cgroup that the
// coordinator is in. Unlike SIGSTOP it also holds what left the process group.
type cgroupFreezer struct {
	dir  string // absolute
	made int
}

// newCgroupFreezer fails where there is no cgroup version 2 that this process
// may divide, start processes in and freeze fast enough.
func newCgroupFreezer() (*cgroupFreezer, error) {
	own, err := New().cgroup2Dir()
	if err != nil {
		return nil, err
	}
	removeStaleCgroups(own)
	dir, err := os.MkdirTemp(own, cgroupPrefix+strconv.Itoa(os.Getpid())+"-")
	var cause *os.PathError
	if errors.As(err, &cause) {
		err = fmt.Errorf("making a cgroup in %s: %w", own, cause.Err) // the random name would differ in every run
	}
	if err != nil {
		return nil, err
	}
	c := &cgroupFreezer{dir: dir}
	if err := c.probe(); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// removeStaleCgroups removes the empty cgroups of coordinators that were killed.
// Failing to is harmless.
func removeStaleCgroups(own string) {
	left, _ := filepath.Glob(filepath.Join(own, cgroupPrefix+"*"))
	for _, dir := range left {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), cgroupPrefix), "-")
		pid, err := strconv.Atoi(number)
		if err != nil || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			continue
		}
		cages, _ := filepath.Glob(filepath.Join(dir, "[0-9]*"))
		for _, cage := range append(cages, dir) {
			_ = unix.Rmdir(cage)
		}
	}
}

// probe tries out what a process would need: a cgroup that freezes within the
// limit (best of five) and a start inside it.
func (c *cgroupFreezer) probe() (err error) {
	trial, err := c.cage()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, trial.release()) }()
	if _, err := os.Stat(filepath.Join(trial.path, "cgroup.kill")); err != nil {
		return fmt.Errorf("cgroup.kill (Linux 5.14) is missing: %w", err)
	}
	best := time.Hour
	for range 5 {
		start := time.Now()
		if err := trial.freeze(); err != nil {
			return err
		}
		best = min(best, time.Since(start))
		if err := trial.thaw(); err != nil {
			return err
		}
	}
	if best > cgroupFreezeLimit {
		return fmt.Errorf("cgroup.freeze takes %v, more than %v", best, cgroupFreezeLimit)
	}
	// A program that does not exist: the error says whether the kernel came as far
	// as looking for it.
	cmd := exec.Command(filepath.Join(c.dir, "no-such-program"))
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	trial.prepare(cmd.SysProcAttr)
	err = cmd.Start()
	if err == nil {
		err = cmd.Wait()
	}
	if !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("starting a process in a cgroup: unexpected result %w", err)
	}
	return nil
}

func (c *cgroupFreezer) cage() (*cgroupCage, error) {
	c.made++
	g := &cgroupCage{path: filepath.Join(c.dir, strconv.Itoa(c.made))}
	if err := os.Mkdir(g.path, 0o755); err != nil {
		return nil, fmt.Errorf("making a cgroup: %w", err)
	}
	var err [3]error
	g.dir, err[0] = os.Open(g.path)
	g.control, err[1] = os.OpenFile(filepath.Join(g.path, "cgroup.freeze"), os.O_WRONLY, 0)
	g.events, err[2] = os.Open(filepath.Join(g.path, "cgroup.events"))
	if err := errors.Join(err[:]...); err != nil {
		return nil, errors.Join(err, g.release())
	}
	return g, nil
}

// close removes the folder; the cgroups in it are released by then.
func (c *cgroupFreezer) close() error {
	if err := unix.Rmdir(c.dir); err != nil {
		return fmt.Errorf("removing cgroup %s: %w", c.dir, err)
	}
	return nil
}

// cgroupCage is the cgroup of one process and all its descendants.
type cgroupCage struct {
	path                 string
	dir, control, events *os.File
}

func (g *cgroupCage) prepare(attr *syscall.SysProcAttr) {
	attr.UseCgroupFD, attr.CgroupFD = true, int(g.dir.Fd())
}

func (g *cgroupCage) started(int) {}

func (g *cgroupCage) freeze() error {
	if err := g.write("1"); err != nil {
		return err
	}
	return g.await("frozen 1")
}

func (g *cgroupCage) thaw() error { return g.write("0") }

func (g *cgroupCage) write(value string) error {
	if _, err := unix.Pwrite(int(g.control.Fd()), []byte(value), 0); err != nil {
		return fmt.Errorf("writing %s to %s: %w", value, g.control.Name(), err)
	}
	return nil
}

// await reads cgroup.events until it has the line. Note: the kernel announces
// changes of the file to poll at most every 10 ms (kernel/cgroup/cgroup.c,
// CGROUP_FILE_NOTIFY_MIN_INTV), so it is read again and again.
func (g *cgroupCage) await(line string) error {
	deadline := time.Now().Add(freezePatience)
	var buffer [128]byte
	for try := 0; ; try++ {
		n, err := unix.Pread(int(g.events.Fd()), buffer[:], 0)
		if err != nil {
			return fmt.Errorf("reading %s: %w", g.events.Name(), err)
		}
		if bytes.Contains(buffer[:n], []byte(line)) {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("%s did not say %q within %v", g.events.Name(), line, freezePatience), g.thaw())
		}
		pause(try)
	}
}

// kill ends everything in the cgroup, also what left the process group.
func (g *cgroupCage) kill() error {
	control, err := os.OpenFile(filepath.Join(g.path, "cgroup.kill"), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("killing a cgroup: %w", err)
	}
	if _, err = control.WriteString("1"); err != nil {
		err = fmt.Errorf("killing a cgroup: %w", err)
	}
	return errors.Join(err, control.Close())
}

// release removes the cgroup when all in it have ended.
func (g *cgroupCage) release() error {
	var errs []error
	if g.events != nil {
		errs = append(errs, g.await("populated 0"))
	}
	for _, file := range []*os.File{g.dir, g.control, g.events} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	if err := unix.Rmdir(g.path); err != nil {
		errs = append(errs, fmt.Errorf("removing cgroup %s: %w", g.path, err))
	}
	return errors.Join(errs...)
}
