//go:build unix && !solaris && !illumos && !aix

package subject

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks an open file without waiting; false means another holds it.
func lockFile(file *os.File, shared bool) (bool, error) {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}

func unlockFile(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_UN) }
