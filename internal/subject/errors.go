package subject

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
)

// Code names a kind of failure. It is an error itself, so that
// errors.Is(err, ErrNotRepository) works on whatever this package returns.
type Code string

// Error returns the code, which is stable and kebab-case.
func (c Code) Error() string { return string(c) }

// The kinds of failure for which a remedy is known. Closed set.
const (
	ErrNoGit             Code = "no-git"              // git is not on PATH
	ErrOldGit            Code = "old-git"             // git is older than minMajor.minMinor
	ErrNotRepository     Code = "not-a-repository"    // the folder is in no git repository
	ErrForeignOwner      Code = "foreign-owner"       // git refuses a repository of another user
	ErrCacheInRepository Code = "cache-in-repository" // the cache folder lies inside what must not change
	ErrNoCommits         Code = "no-commits"          // the repository has no commit yet
	ErrUnknownRevision   Code = "unknown-revision"    // the reference names no commit
	ErrNoWorkTree        Code = "no-working-tree"     // WORKTREE of a bare repository
	ErrNoDefaultBranch   Code = "no-default-branch"   // neither origin/HEAD nor main nor master: usage, name --base
	ErrNoMergeBase       Code = "no-merge-base"       // head and the default branch share no known commit
	ErrMissingObject     Code = "missing-object"      // a partial or damaged repository lacks a file or folder
	ErrMissingSubmodule  Code = "missing-submodule"   // a submodule's repository lacks the commit
	ErrDirtySubmodule    Code = "dirty-submodule"     // an edit reaches into a submodule
	ErrNoSpace           Code = "no-space"            // the disk of the cache folder is full
)

// Error is a failure with what a person can do about it.
type Error struct {
	Code   Code
	Text   string // what happened, to what
	Remedy string // what to do, as a command where there is one
	Err    error  // cause, may be nil
}

// Error returns the text, the cause and, in parentheses, the remedy.
func (e *Error) Error() string {
	text := e.Text
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		text += " (" + e.Remedy + ")"
	}
	return text
}

// Unwrap makes both the code and the cause visible to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Err}
}

// gitError is a git command that exited non-zero.
type gitError struct {
	command string
	exit    int
	stderr  string
}

func (e *gitError) Error() string {
	return "git " + e.command + ": " + strings.TrimSpace(e.stderr)
}

// said reports whether err is of a git command whose standard error contains text.
func said(err error, text string) bool {
	var failed *gitError
	return errors.As(err, &failed) && strings.Contains(failed.stderr, text)
}

// exitedWith reports whether err is of a git command that exited with code.
func exitedWith(err error, code int) bool {
	var failed *gitError
	return errors.As(err, &failed) && failed.exit == code
}

// ignoreExit drops the error of a git command that exited with code.
func ignoreExit(err error, code int) error {
	if exitedWith(err, code) {
		return nil
	}
	return err
}

// explainSpace gives a full disk its own code and leaves other errors alone.
func explainSpace(err error, dir string) error {
	if err == nil || errors.Is(err, ErrNoSpace) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || said(err, "No space left on device") {
		return &Error{
			Code: ErrNoSpace, Text: "no space left for source trees in " + dir,
			Remedy: "free space there, remove old runs with `assay runs rm`, or set XDG_CACHE_HOME to another disk", Err: err,
		}
	}
	return err
}

// splitNUL splits the output of a command run with -z.
func splitNUL(out []byte) []string {
	out = bytes.TrimSuffix(out, []byte{0})
	if len(out) == 0 {
		return nil
	}
	return strings.Split(string(out), "\x00")
}

// joinNUL is the input form of a list for a command run with -z.
func joinNUL(list []string) []byte {
	if len(list) == 0 {
		return nil
	}
	return []byte(strings.Join(list, "\x00") + "\x00")
}
