package simulate

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// trigger says when a planned mishap happens.
type trigger struct {
	list bool // while the benchmark is listed
	run  bool // in every sample
	at   int  // in the sample of that number, counted over all processes of the program; 0: none
}

func (t trigger) hits(listing bool, sample int) bool {
	if listing {
		return t.list
	}
	return t.run || t.at > 0 && t.at == sample
}

// function is one line of a program: a benchmark, or code that benchmarks use.
type function struct {
	name     string
	uses     string
	ns       float64 // of an iteration
	grow     float64 // exponent: an iteration of a sample of n costs n^grow times as much
	spread   float64 // factor on the time where the process has two cores or more; 0: none
	setup    time.Duration
	alloc    float64 // bytes an iteration
	once     float64 // bytes that set-up allocates in every call, inside the timed part
	allocs   float64
	gcEvery  float64       // bytes allocated between two collections; 0: it never collects
	gcCost   time.Duration // of one collection, inside the timed part
	cold     float64       // memory-sensitive: factor on the first work after another process ran
	refill   time.Duration // how much work that is
	factor   float64       // bimodal: in a share of the processes everything takes that much longer
	share    float64
	parallel bool
	runnable int
	external bool
	metrics  []metric
	fail     trigger
	skip     trigger
	crash    trigger
	hang     trigger
	exit     trigger
}

// metric is a custom one: "requests/s=1200".
type metric struct {
	unit  string
	value float64
}

// program is what a simulated process runs.
type program struct {
	start     time.Duration // until its greeting
	idle      float64       // share of a core it uses between its samples while it is not frozen
	exits     bool          // ends before it has greeted
	silent    bool          // never greets
	settings  []string      // KEY=VALUE, of the build
	order     []string      // benchmarks in the order of the file
	functions map[string]*function
}

// defaultStart is what starting a simulated process costs.
const defaultStart = 2 * time.Millisecond

// read parses the program of a file.
func read(path string) (*program, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a simulated program: %w", err)
	}
	return parse(path, string(data))
}

func parse(path, text string) (*program, error) {
	p := &program{start: defaultStart, functions: map[string]*function{}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if err := p.line(fields); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	for _, name := range p.order {
		f := p.functions[name]
		if f.uses != "" && p.functions[f.uses] == nil {
			return nil, fmt.Errorf("%s: undefined: %s", path, f.uses)
		}
	}
	return p, nil
}

// line takes one line: "program key=value...", or a name, the nanoseconds of an
// iteration where it has its own, and options. A name is a benchmark if it begins
// as in Go.
func (p *program) line(fields []string) error {
	if fields[0] == "program" {
		return p.options(fields[1:])
	}
	f := &function{name: fields[0]}
	rest := fields[1:]
	if len(rest) > 0 {
		if ns, err := strconv.ParseFloat(rest[0], 64); err == nil {
			f.ns, rest = ns, rest[1:]
		}
	}
	for _, option := range rest {
		key, value, _ := strings.Cut(option, "=")
		if err := f.option(key, value); err != nil {
			return fmt.Errorf("option %q: %w", option, err)
		}
	}
	if strings.HasPrefix(f.name, "Benchmark") {
		p.order = append(p.order, f.name)
	}
	p.functions[f.name] = f
	return nil
}

func (p *program) options(options []string) (err error) {
	for _, option := range options {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "start":
			p.start, err = time.ParseDuration(value)
		case "idle":
			p.idle, err = strconv.ParseFloat(value, 64)
		case "exits":
			p.exits = true
		case "silent":
			p.silent = true
		default:
			p.settings = append(p.settings, option)
		}
		if err != nil {
			return fmt.Errorf("option %q: %w", option, err)
		}
	}
	return nil
}

func (f *function) option(key, value string) (err error) {
	number := func(target *float64) { *target, err = strconv.ParseFloat(value, 64) }
	lasting := func(target *time.Duration) { *target, err = time.ParseDuration(value) }
	when := func(target *trigger) { *target, err = parseTrigger(value) }
	first, second, _ := strings.Cut(value, ":")
	switch key {
	case "uses":
		f.uses = value
	case "grow":
		number(&f.grow)
	case "spread":
		number(&f.spread)
	case "setup":
		lasting(&f.setup)
	case "alloc":
		number(&f.alloc)
	case "setupalloc":
		number(&f.once)
	case "allocs":
		number(&f.allocs)
	case "gc":
		number(&f.gcEvery)
	case "gccost":
		lasting(&f.gcCost)
	case "cold": // factor:work
		value = first
		number(&f.cold)
		if err == nil {
			f.refill, err = time.ParseDuration(second)
		}
	case "bimodal": // factor:probability
		value = first
		if number(&f.factor); err == nil {
			value = second
			number(&f.share)
		}
	case "parallel":
		f.parallel = true
	case "runnable":
		f.runnable, err = strconv.Atoi(value)
	case "external":
		f.external = true
	case "fail":
		when(&f.fail)
	case "skip":
		when(&f.skip)
	case "crash":
		when(&f.crash)
	case "hang":
		when(&f.hang)
	case "exit":
		when(&f.exit)
	default:
		if !strings.Contains(key, "/") {
			return fmt.Errorf("unknown; a custom metric has a / in its unit")
		}
		f.metrics = append(f.metrics, metric{unit: key})
		number(&f.metrics[len(f.metrics)-1].value)
	}
	return err
}

// parseTrigger reads "" (always), "list", "run" or the number of a sample.
func parseTrigger(value string) (trigger, error) {
	switch value {
	case "":
		return trigger{list: true, run: true}, nil
	case "list":
		return trigger{list: true}, nil
	case "run":
		return trigger{run: true}, nil
	}
	at, err := strconv.Atoi(value)
	return trigger{at: at}, err
}

// code is the function whose costs a benchmark has.
func (p *program) code(f *function) *function {
	if f.uses != "" {
		return p.functions[f.uses]
	}
	return f
}

// top is the name of the top-level benchmark.
func top(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}
