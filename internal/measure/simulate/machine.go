// Package simulate is a machine and a harness that do not exist: programs are
// small text files, time is virtual, noise is drawn from a seed. Whole runs are
// tested with it without a clock, a toolchain or a quiet box.
//
// In: program files, a Config. Out: what a measure.Machine and a harness.Adapter
// give, and a trace of everything that ran, in order. It must never start a
// process, read the clock for anything but a caller's deadline, or be part of the
// program: only tests import it.
package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"time"

	"assay/internal/machine"
	"assay/internal/measure"
	"assay/internal/result"
)

// Costs of the machine itself, chosen near those of a small Linux box.
const (
	callCost   = 60 * time.Microsecond  // of a request and its reply
	freezeCost = 30 * time.Microsecond  // of stopping or continuing a process
	listCost   = 200 * time.Microsecond // of listing one benchmark, above its own time
	tick       = 10 * time.Millisecond  // of the steal counter
	ownAlloc   = 20 << 10               // bytes the worker itself allocates in a call
)

// epoch is when every simulation begins.
const epoch = 1_780_000_000 // Unix seconds

// Config is one machine. The zero value is quiet and cannot freeze.
type Config struct {
	Seed    uint64
	Freezes string // as measure.Machine.Freezes; empty: idle processes run on
	NoSteal bool   // the system does not say what was stolen
	NoCPU   bool   // the system does not say what a process used
	Noise   Noise
	// Interrupt is called once, after the sample with the number AfterSamples.
	Interrupt    context.CancelFunc
	AfterSamples int
}

// Noise is what disturbs the samples. The zero value is silence.
type Noise struct {
	Quiet      float64       // standard deviation of a sample's log time
	Walk       float64       // standard deviation of a random walk of the log speed, for a root of a minute
	Drift      float64       // amplitude of a sine in the log speed
	Period     time.Duration // of that sine
	Spikes     float64       // expected number of thefts of the core in a second of work
	SpikeTime  time.Duration // mean length of one
	Second     float64       // relative slow-down of every process of a round but the first
	WarmUp     float64       // relative slow-down at the start of the session
	WarmUpTime time.Duration // in which it falls to 1/e
	Bimodal    float64       // relative slow-down of every other process, by a coin
}

// Machine implements measure.Machine.
type Machine struct {
	config  Config
	random  *rand.Rand
	clock   time.Duration
	walk    float64
	walked  time.Duration // when the walk was last moved on
	stolen  time.Duration
	samples int
	counts  map[string]int // samples by program and benchmark
	alive   []*worker
	last    *worker // the one that took the last sample
	second  bool    // the next lone process is the second of its round
	nextID  int
	trace   []string
}

var _ measure.Machine = (*Machine)(nil)

// New returns a machine at the epoch.
func New(config Config) *Machine {
	return &Machine{config: config, random: rand.New(rand.NewPCG(config.Seed, epoch)), counts: map[string]int{}}
}

// Now implements measure.Machine.
func (m *Machine) Now() time.Time { return time.Unix(epoch, 0).Add(m.clock).UTC() }

// Elapsed is the virtual time since the machine was made.
func (m *Machine) Elapsed() time.Duration { return m.clock }

// Samples is the number of samples taken so far, of every program.
func (m *Machine) Samples() int { return m.samples }

// Alive is the number of processes that were started and not closed.
func (m *Machine) Alive() int { return len(m.alive) }

// Trace returns everything that ran, in order, one line each: "launch 3 head.sim
// cpus=[1]", "run 3 BenchmarkA n=100 lead=10", "freeze 3", "thaw 3", "close 3".
func (m *Machine) Trace() []string { return append([]string(nil), m.trace...) }

func (m *Machine) log(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf(format, args...))
}

// Steal implements measure.Machine: all cores share one counter.
func (m *Machine) Steal([]int) (int64, bool) {
	return int64(m.stolen / tick), !m.config.NoSteal
}

// Snapshot implements measure.Machine.
func (m *Machine) Snapshot() machine.Snapshot {
	load := 0.5
	s := machine.Snapshot{Time: m.Now(), Load1: &load}
	if !m.config.NoSteal {
		s.Steal = []int64{int64(m.stolen / tick)}
	}
	return s
}

// Freezes implements measure.Machine.
func (m *Machine) Freezes() string { return m.config.Freezes }

// Launch implements measure.Machine: it reads the program of cmd.Argv[0]. The
// argument "external" selects the benchmarks of the external test package.
func (m *Machine) Launch(ctx context.Context, cmd result.Command, place measure.Placement) (measure.Worker, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Argv[0], err)
	}
	p, err := read(cmd.Argv[0])
	if err != nil {
		return nil, err
	}
	m.nextID++
	w := &worker{machine: m, id: m.nextID, path: cmd.Argv[0], program: p, place: place}
	w.external = len(cmd.Argv) > 1 && cmd.Argv[1] == "external"
	w.mode = m.random.Float64()
	w.slow = m.config.Noise.Bimodal > 0 && m.random.Float64() < 0.5
	m.alive = append(m.alive, w)
	side := ""
	if w.external {
		side = " external"
	}
	m.log("launch %d %s%s cpus=%v", w.id, filepath.Base(w.path), side, place.CPUs)
	return w, nil
}

// advance moves the clock on. Whoever is not frozen, is not busy and burns
// processor time between its samples is charged for it.
func (m *Machine) advance(d time.Duration, busy *worker) {
	m.clock += d
	for _, w := range m.alive {
		if w != busy && !w.frozen && w.greeted {
			w.used += time.Duration(w.program.idle * float64(d))
		}
	}
}

// position is 0 for the first process of a round and 1 for the others, decided at
// a process's first sample. In lockstep the others are alive; in blocks every
// second lone process is the second.
func (m *Machine) position(w *worker) int {
	others := 0
	for _, o := range m.alive {
		if o != w {
			others++
			if o.sampled {
				return 1
			}
		}
	}
	if others > 0 {
		return 0
	}
	m.second = !m.second
	if m.second {
		return 0
	}
	return 1
}

// disturbance is the factor that a sample beginning now takes longer.
func (m *Machine) disturbance(w *worker) float64 {
	n := m.config.Noise
	log := n.Quiet * m.random.NormFloat64()
	if n.Walk > 0 {
		m.walk += n.Walk * math.Sqrt((m.clock - m.walked).Minutes()) * m.random.NormFloat64()
		m.walked = m.clock
		log += m.walk
	}
	if n.Drift != 0 {
		log += n.Drift * math.Sin(2*math.Pi*m.clock.Seconds()/n.Period.Seconds())
	}
	if n.WarmUp != 0 {
		log += math.Log1p(n.WarmUp * math.Exp(-m.clock.Seconds()/n.WarmUpTime.Seconds()))
	}
	if w.position > 0 {
		log += math.Log1p(n.Second)
	}
	if w.slow {
		log += math.Log1p(n.Bimodal)
	}
	return math.Exp(log)
}

// theft is how often and how long the core is taken away during work.
func (m *Machine) theft(work time.Duration) (times int, lost time.Duration) {
	n := m.config.Noise
	if n.Spikes == 0 {
		return 0, 0
	}
	for left := work.Seconds(); ; times++ {
		left -= m.random.ExpFloat64() / n.Spikes
		if left < 0 {
			m.stolen += lost
			return times, lost
		}
		lost += time.Duration(m.random.ExpFloat64() * float64(n.SpikeTime))
	}
}
