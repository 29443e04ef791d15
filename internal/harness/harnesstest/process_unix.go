//go:build unix

package harnesstest

import (
	"os/exec"
	"syscall"
)

func setGroup(process *exec.Cmd) {
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// killGroup: the group may be gone already, which is what is wanted.
func killGroup(process *exec.Cmd) {
	_ = syscall.Kill(-process.Process.Pid, syscall.SIGKILL)
}
