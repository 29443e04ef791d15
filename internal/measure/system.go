package measure

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assay/internal/harness"
	"assay/internal/machine"
	"assay/internal/result"
)

// paddingVariable is the environment variable of random length that every slot
// gets: it moves the stack, as in Mytkowicz et al. 2009, "Producing wrong data
// without doing anything obviously wrong".
const paddingVariable = "ASSAY_PADDING"

// System is the real machine. Close ends every process it started.
type System struct {
	launcher *machine.Launcher
	sensors  *machine.System
	scratch  string
	copies   int
}

// NewSystem returns the machine assay runs on. scratch is a folder for fresh
// copies of binaries.
func NewSystem(scratch string) *System {
	return &System{launcher: machine.NewLauncher(), sensors: machine.New(), scratch: scratch}
}

// Close ends every process that is still alive.
func (s *System) Close() error { return s.launcher.Close() }

// Now reads the clock.
func (s *System) Now() time.Time { return time.Now() }

// Steal implements Machine.
func (s *System) Steal(cpus []int) (int64, bool) { return s.sensors.Steal(cpus) }

// Snapshot implements Machine.
func (s *System) Snapshot() machine.Snapshot { return s.sensors.Snapshot() }

// Freezes implements Machine.
func (s *System) Freezes() string {
	if !s.launcher.CanFreeze() {
		return ""
	}
	return s.launcher.Freezes()
}

// Launch implements Machine. With place.Copy the command's program is run from a
// fresh copy, so that every slot has other physical pages.
func (s *System) Launch(_ context.Context, cmd result.Command, place Placement) (Worker, error) {
	w := &systemWorker{}
	argv := append([]string(nil), cmd.Argv...)
	if place.Copy != "" {
		s.copies++
		w.copy = filepath.Join(s.scratch, fmt.Sprintf("slot-%06d%s", s.copies, filepath.Ext(place.Copy)))
		if err := copyFile(place.Copy, w.copy); err != nil {
			return nil, fmt.Errorf("copying the binary for a slot: %w", err)
		}
		if argv[0] == place.Copy {
			argv[0] = w.copy
		}
	}
	env := environment(cmd.Env)
	env = append(env, "PWD="+cmd.Dir, paddingVariable+"="+strings.Repeat("x", place.Padding))
	process, err := s.launcher.Start(machine.Spec{Argv: argv, Dir: cmd.Dir, Env: env, CPUs: place.CPUs, Worker: true})
	if err != nil {
		return nil, errors.Join(err, w.removeCopy())
	}
	w.process = process
	w.replies = bufio.NewReaderSize(process.Replies, 1<<16)
	return w, nil
}

// environment is the inherited environment with a command's variables on top.
// KEY+=VALUE adds to a list of its own, as GODEBUG is.
func environment(added []string) []string {
	env := os.Environ()
	for _, variable := range added {
		if key, value, ok := strings.Cut(variable, "+="); ok && !strings.Contains(key, "=") {
			if inherited := os.Getenv(key); inherited != "" {
				value = inherited + "," + value
			}
			variable = key + "=" + value
		}
		env = append(env, variable)
	}
	return env
}

func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	_, err = io.Copy(target, source)
	return err
}

// systemWorker speaks the worker protocol with a real process.
type systemWorker struct {
	process *machine.Process
	replies *bufio.Reader
	copy    string
	closed  bool
	exit    Exit
}

// Call implements Worker. Progress replies are read on; if the worker then ends,
// the reply returned with the error has the name of the last one. An empty
// request is not sent: it waits for the hello.
func (w *systemWorker) Call(ctx context.Context, request harness.Request) (harness.Reply, error) {
	// A deadline in the past wakes the read when ctx ends.
	stop := context.AfterFunc(ctx, func() { _ = w.process.Replies.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if request.Op != "" {
		line, err := json.Marshal(request)
		if err != nil {
			return harness.Reply{}, fmt.Errorf("encoding a request: %w", err)
		}
		if _, err := w.process.Requests.Write(append(line, '\n')); err != nil {
			return harness.Reply{}, fmt.Errorf("sending a request to the worker: %w", err)
		}
	}
	var last harness.Reply
	for {
		line, err := w.replies.ReadBytes('\n')
		if err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return last, fmt.Errorf("waiting for the worker's reply: %w", err)
		}
		var reply harness.Reply
		if err := json.Unmarshal(line, &reply); err != nil {
			return last, fmt.Errorf("reading the worker's reply %q: %w", strconv.Quote(string(line)), err)
		}
		if !reply.Progress {
			return reply, nil
		}
		last = reply
	}
}

// Freeze implements Worker.
func (w *systemWorker) Freeze() error { return w.process.Freeze() }

// Thaw implements Worker.
func (w *systemWorker) Thaw() error { return w.process.Thaw() }

// CPUTime implements Worker.
func (w *systemWorker) CPUTime() (time.Duration, bool) { return w.process.CPUTime() }

// ownEnd is how long a worker whose pipe broke is given to end by itself, so
// that its exit status and last words are its own.
const ownEnd = time.Second

// Close implements Worker. It is idempotent.
func (w *systemWorker) Close() Exit {
	if w.closed {
		return w.exit
	}
	w.closed = true
	w.process.ClosePipes()
	_ = w.process.Thaw() // an ended process cannot be thawed, and need not be
	ctx, cancel := context.WithTimeout(context.Background(), ownEnd)
	defer cancel()
	if exit, err := w.process.Wait(ctx); err == nil && !exit.OK() {
		w.exit.Text = exit.String()
	}
	if err := w.process.Kill(); err != nil {
		w.exit.Text = err.Error()
	}
	w.exit.Output = w.process.Output()
	if err := w.removeCopy(); err != nil {
		w.exit.Output = append(w.exit.Output, err.Error()...)
	}
	return w.exit
}

func (w *systemWorker) removeCopy() error {
	if w.copy == "" {
		return nil
	}
	if err := os.Remove(w.copy); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the copy of a binary: %w", err)
	}
	return nil
}
