//go:build !linux

package machine

import (
	"os/exec"
	"time"
)

const canPin = false

// cage is how one process and its group are stopped, released and ended.
type cage interface {
	freeze() error
	thaw() error
	kill() error
	release() error // after the end
}

// launchSystem is what the launcher found out about this machine.
type launchSystem struct{}

func newLaunchSystem() launchSystem { return launchSystem{} }

func (launchSystem) freezes() string {
	return "cannot freeze: not implemented for this operating system"
}

func (launchSystem) canFreeze() bool { return false }

func (launchSystem) cage() (cage, error) { return &plainCage{}, nil }

func (launchSystem) close() error { return nil }

// plainCage can only end its process.
type plainCage struct{ cmd *exec.Cmd }

func (*plainCage) freeze() error { return ErrCannotFreeze }

func (*plainCage) thaw() error { return ErrCannotFreeze }

func (g *plainCage) kill() error { return killGroup(g.cmd) }

func (*plainCage) release() error { return nil }

func startOn(cmd *exec.Cmd, c cage, _ []int) error {
	ownGroup(cmd)
	if plain, ok := c.(*plainCage); ok {
		plain.cmd = cmd
	}
	return cmd.Start()
}

func cpuTime(int) (time.Duration, bool) { return 0, false }

// collect waits for the end of the process and kills what is left of its group.
func (p *Process) collect() (waitErr, killErr error) {
	waitErr = p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	return waitErr, p.cage.kill()
}
