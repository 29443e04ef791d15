package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/harness"
	"assay/internal/measure"
)

// worker is a simulated process. It implements measure.Worker.
type worker struct {
	machine  *Machine
	id       int
	path     string
	program  *program
	place    measure.Placement
	external bool
	mode     float64 // the draw that decides a bimodal function's mode
	slow     bool    // in the slow mode of the machine's noise
	greeted  bool
	sampled  bool
	position int
	frozen   bool
	used     time.Duration // processor time
	ended    string        // how it ended by itself; empty: it has not
	output   string
	closed   bool
}

// deadlineGrain: a deadline is a time of the real clock, its rest is rounded up
// to this so that the virtual clock does not depend on the real one.
const deadlineGrain = 100 * time.Millisecond

// Call implements measure.Worker. What never answers returns at once and moves
// the virtual clock on to the deadline.
func (w *worker) Call(ctx context.Context, request harness.Request) (harness.Reply, error) {
	if err := ctx.Err(); err != nil {
		return harness.Reply{}, fmt.Errorf("waiting for the worker's reply: %w", err)
	}
	if w.closed || w.ended != "" {
		return harness.Reply{}, io.EOF
	}
	if w.frozen {
		return harness.Reply{}, errors.New("simulate: a frozen process was asked")
	}
	switch request.Op {
	case "":
		return w.greet(ctx)
	case harness.OpList:
		return w.list(ctx, request.Skip)
	case harness.OpRun, harness.OpProbe:
		return w.run(ctx, request)
	}
	return harness.Reply{Error: "unknown operation " + strconv.Quote(string(request.Op))}, nil
}

func (w *worker) greet(ctx context.Context) (harness.Reply, error) {
	w.machine.advance(w.program.start, w)
	switch {
	case w.program.exits:
		return harness.Reply{}, w.end("exit status 1", "testmain: nothing to run\n")
	case w.program.silent:
		return harness.Reply{}, w.hang(ctx)
	}
	w.greeted = true
	return harness.Reply{Hello: harness.WorkerProtocol, Procs: w.procs()}, nil
}

func (w *worker) procs() int { return max(1, len(w.place.CPUs)) }

// end lets the process end by itself.
func (w *worker) end(how, output string) error {
	w.ended, w.output = how, w.output+output
	w.machine.log("end %d %s", w.id, how)
	return io.EOF
}

func (w *worker) hang(ctx context.Context) error {
	w.machine.log("hang %d", w.id)
	deadline, ok := ctx.Deadline()
	if !ok {
		return errors.New("simulate: a process hangs and nobody set a limit")
	}
	left := time.Until(deadline)
	w.machine.advance((left+deadlineGrain-1)/deadlineGrain*deadlineGrain, w)
	return context.DeadlineExceeded
}

// mishap ends or stops the process where its program says so.
func (w *worker) mishap(ctx context.Context, f *function, listing bool, sample int) error {
	switch {
	case f.crash.hits(listing, sample):
		return w.end("exit status 2", "panic: simulated crash of "+f.name+"\n")
	case f.exit.hits(listing, sample):
		return w.end("exit status 3", "")
	case f.hang.hits(listing, sample):
		return w.hang(ctx)
	}
	return nil
}

// list runs every benchmark of its side once.
func (w *worker) list(ctx context.Context, skip []string) (harness.Reply, error) {
	w.machine.log("list %d skip=%v", w.id, skip)
	reply := harness.Reply{Procs: w.procs()}
	running := ""
	for _, name := range w.program.order {
		f := w.program.functions[name]
		if f.external != w.external || slices.Contains(skip, top(name)) {
			continue
		}
		running = top(name)
		code := w.program.code(f)
		w.machine.advance(listCost+w.setup(f)+time.Duration(code.ns), w)
		for _, g := range w.both(f) {
			if err := w.mishap(ctx, g, true, 0); err != nil {
				return harness.Reply{Progress: true, Name: running}, err
			}
		}
		listed := harness.Listed{Name: name, Skip: f.skip.list || code.skip.list}
		if f.fail.list || code.fail.list {
			listed.Failed = "--- FAIL: " + name + "\n    simulated\n"
		}
		reply.Listed = append(reply.Listed, listed)
	}
	return reply, nil
}

// both are the lines that make a benchmark: its own, and the code it uses.
func (w *worker) both(f *function) []*function {
	if code := w.program.code(f); code != f {
		return []*function{f, code}
	}
	return []*function{f}
}

// setup is the set-up of a benchmark, that of the code it uses included.
func (w *worker) setup(f *function) (sum time.Duration) {
	for _, g := range w.both(f) {
		sum += g.setup
	}
	return sum
}

// run takes one sample.
func (w *worker) run(ctx context.Context, r harness.Request) (harness.Reply, error) {
	m := w.machine
	f := w.program.functions[r.Name]
	if f == nil || f.external != w.external {
		return harness.Reply{Error: "no benchmark named " + r.Name}, nil
	}
	m.log("%s %d %s n=%d lead=%d", r.Op, w.id, r.Name, r.Iterations, r.Lead)
	m.samples++
	key := w.path + "\x00" + r.Name
	m.counts[key]++
	if m.config.Interrupt != nil && m.samples == m.config.AfterSamples {
		m.config.Interrupt()
	}
	if !w.sampled {
		w.position, w.sampled = m.position(w), true
	}
	reply := harness.Reply{Name: r.Name, Procs: w.procs()}
	for _, g := range w.both(f) {
		if err := w.mishap(ctx, g, false, m.counts[key]); err != nil {
			return harness.Reply{}, err
		}
		if g.fail.hits(false, m.counts[key]) {
			reply.Failed = "--- FAIL: " + r.Name + "\n    simulated\n"
		}
		reply.Skipped = reply.Skipped || g.skip.hits(false, m.counts[key])
		reply.RunParallel = reply.RunParallel || g.parallel && r.Op == harness.OpProbe
		if r.Op == harness.OpProbe {
			reply.Runnable = max(reply.Runnable, g.runnable, 1)
		}
	}
	if reply.Failed != "" || reply.Skipped {
		m.advance(callCost, w)
		return reply, nil
	}
	w.sample(f, r, &reply)
	return reply, nil
}

// sample fills the reply with what a call of a benchmark gives and takes.
func (w *worker) sample(f *function, r harness.Request, reply *harness.Reply) {
	m, code := w.machine, w.program.code(f)
	n := float64(r.Iterations)
	setup := w.setup(f)
	each := w.iteration(code, r.Iterations) * m.disturbance(w)
	lead := time.Duration(float64(r.Lead) * each)
	if r.Lead > 0 {
		m.advance(setup+lead, w)
		w.used += setup + lead
	}
	if code.gcEvery > 0 {
		reply.Collections = int64(n * code.alloc / code.gcEvery) // a forced one has emptied the heap
	}
	work := time.Duration(math.Round(n*each + float64(w.coldWork(code, lead)) + float64(reply.Collections)*float64(code.gcCost)))
	times, lost := m.theft(work)
	elapsed := work + lost + time.Duration(w.idleShare()*float64(work))
	reply.StartNS = m.Now().UnixNano()
	m.advance(setup+elapsed, w)
	w.used += setup + work
	reply.WallNS = int64(setup + elapsed)
	if !m.config.NoCPU {
		reply.CPUNS = int64(setup + work)
	}
	reply.Switches, reply.AllocBytes = int64(times), int64(n*code.alloc+code.once)+ownAlloc
	m.advance(callCost, w)
	m.last = w
	if r.Name == top(r.Name) {
		reply.ElapsedNS = int64(elapsed)
	}
	reply.Text = w.text(f, code, r, float64(elapsed)/n)
}

// iteration is what one of n iterations costs in this process, in ns.
func (w *worker) iteration(code *function, n int64) float64 {
	ns := code.ns * math.Pow(float64(n), code.grow)
	if code.spread > 0 && len(w.place.CPUs) > 1 {
		ns *= code.spread
	}
	if w.mode < code.share {
		ns *= code.factor
	}
	return ns
}

// coldWork is what a sample takes longer because another process emptied the
// cache, less what the lead-in has already refilled.
func (w *worker) coldWork(code *function, lead time.Duration) time.Duration {
	if code.refill == 0 || w.machine.last == w || w.machine.last == nil {
		return 0
	}
	return time.Duration((code.cold - 1) * float64(max(0, code.refill-lead)))
}

// idleShare is the share of the core that other processes use meanwhile.
func (w *worker) idleShare() float64 {
	sum := 0.0
	for _, o := range w.machine.alive {
		if o != w && !o.frozen && o.greeted {
			sum += o.program.idle
		}
	}
	return sum
}

// text is the result line as package testing prints it.
func (w *worker) text(f, code *function, r harness.Request, ns float64) string {
	var out strings.Builder
	out.WriteString(r.Name)
	if w.procs() > 1 {
		fmt.Fprintf(&out, "-%d", w.procs())
	}
	fmt.Fprintf(&out, "\t%8d\t%s ns/op", r.Iterations, fourDigits(ns))
	for _, g := range w.both(f) {
		for _, metric := range g.metrics {
			fmt.Fprintf(&out, "\t%s %s", strconv.FormatFloat(metric.value, 'f', -1, 64), metric.unit)
		}
	}
	allocs := code.allocs
	if allocs == 0 && code.alloc > 0 {
		allocs = 1
	}
	fmt.Fprintf(&out, "\t%8.0f B/op\t%8.0f allocs/op", math.Floor(code.alloc+code.once/float64(r.Iterations)), allocs)
	return out.String()
}

// fourDigits rounds as package testing does.
func fourDigits(ns float64) string {
	digits := 0
	for limit := 999.95; digits < 4 && ns < limit && ns > 0; limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(ns, 'f', digits, 64)
}

// Freeze implements measure.Worker.
func (w *worker) Freeze() error {
	if w.ended != "" || w.closed {
		return errors.New("the process has ended")
	}
	w.machine.log("freeze %d", w.id)
	w.machine.advance(freezeCost, w)
	w.frozen = true
	return nil
}

// Thaw implements measure.Worker.
func (w *worker) Thaw() error {
	if w.ended != "" || w.closed {
		return errors.New("the process has ended")
	}
	w.machine.log("thaw %d", w.id)
	w.machine.advance(freezeCost, w)
	w.frozen = false
	return nil
}

// CPUTime implements measure.Worker.
func (w *worker) CPUTime() (time.Duration, bool) { return w.used, !w.machine.config.NoCPU && !w.closed }

// Close implements measure.Worker.
func (w *worker) Close() measure.Exit {
	if !w.closed {
		w.closed = true
		w.machine.log("close %d %s", w.id, filepath.Base(w.path))
		w.machine.alive = slices.DeleteFunc(w.machine.alive, func(o *worker) bool { return o == w })
	}
	return measure.Exit{Text: w.ended, Output: []byte(w.output)}
}
