//go:build unix && !linux

package machine

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ignores a group that is gone; macOS says EPERM when only a zombie
// is left in it.
func killGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if err != nil && !errors.Is(err, syscall.ESRCH) && !errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("sending SIGKILL: %w", err)
	}
	return nil
}
