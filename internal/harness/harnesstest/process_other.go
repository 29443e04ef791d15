//go:build !unix

package harnesstest

import "os/exec"

func setGroup(*exec.Cmd) {}

// killGroup: the process may be gone already, which is what is wanted.
func killGroup(process *exec.Cmd) {
	_ = process.Process.Kill()
}
