package subject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// lockPoll is how often a lock held by another process is tried again. The
// operating system drops a lock when its process ends, so none goes stale.
const lockPoll = 20 * time.Millisecond

// lock is a held lock on a file.
type lock struct{ file *os.File }

// acquire waits until the file at path is locked or ctx ends. A shared lock
// excludes only exclusive ones.
//
// Note: the system's blocking call cannot be interrupted by ctx.
func acquire(ctx context.Context, path string, shared bool) (*lock, error) {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		l, err := tryAcquire(path, shared)
		if l != nil || err != nil {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another assay to release %s: %w", path, ctx.Err())
		case <-tick.C:
		}
	}
}

// tryAcquire locks the file at path, or returns nil if another holds it.
func tryAcquire(path string, shared bool) (*lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	got, err := lockFile(file, shared)
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, errors.Join(err, file.Close()))
	}
	if !got {
		return nil, file.Close()
	}
	return &lock{file: file}, nil
}

// release gives the lock back; more than once does nothing.
//
// Note: closing the file is not enough: a process that is being started at this
// instant still has it open.
func (l *lock) release() error {
	if l == nil || l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	if err := errors.Join(unlockFile(file), file.Close()); err != nil {
		return fmt.Errorf("unlocking %s: %w", file.Name(), err)
	}
	return nil
}
