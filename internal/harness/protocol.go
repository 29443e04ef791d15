package harness

// The worker protocol: one JSON object a line. Requests arrive at the worker on
// file descriptor WorkerRequests, replies leave it on WorkerReplies; standard
// output and error stay the program's own. The worker sends a Hello before it
// reads the first request. At end of file on the requests it exits with status 0.
// A worker never runs two requests at once.
const (
	WorkerRequests = 3
	WorkerReplies  = 4
)

// WorkerProtocol is the version that Hello carries.
const WorkerProtocol = "assay.worker/1"

// Op is what a request asks for. Closed set.
type Op string

// The operations.
const (
	// OpList runs every benchmark for one iteration and replies with their names.
	// It sends a Reply with Name set as each top-level benchmark begins
	// (Progress true), so that a crash or a hang can be blamed.
	OpList Op = "list"
	// OpRun runs exactly one benchmark for exactly Iterations iterations.
	OpRun Op = "run"
	// OpProbe is OpRun while goroutines are watched: the reply has Runnable and
	// RunParallel. Its time is not to be used.
	OpProbe Op = "probe"
)

// Request is one line to the worker.
type Request struct {
	Op         Op       `json:"op"`
	Name       string   `json:"name,omitempty"`       // full benchmark name without processor suffix
	Iterations int64    `json:"iterations,omitempty"` // of the timed part
	Lead       int64    `json:"lead,omitempty"`       // iterations run untimed just before
	Skip       []string `json:"skip,omitempty"`       // OpList: top-level benchmarks to leave out
}

// Listed is one benchmark in the reply to OpList.
type Listed struct {
	Name   string `json:"name"`
	Failed string `json:"failed,omitempty"`  // its output if it failed for one iteration
	Skip   bool   `json:"skipped,omitempty"` // it skipped itself
}

// Reply is one line from the worker.
type Reply struct {
	Hello    string `json:"hello,omitempty"` // first line only: protocol version "assay.worker/1"
	Progress bool   `json:"progress,omitempty"`
	Name     string `json:"name,omitempty"`
	// Text is the standard result line of the harness, parsed by its Format.
	Text string `json:"text,omitempty"`
	// ElapsedNS is the time of the timed part where the worker knows it exactly
	// (a top-level benchmark), else 0: the printed value rounds to four digits.
	ElapsedNS   int64    `json:"elapsed_ns,omitempty"`
	StartNS     int64    `json:"start_unix_ns,omitempty"` // wall clock at the begin of the call
	WallNS      int64    `json:"wall_ns,omitempty"`       // of the timed call, lead-in left out
	CPUNS       int64    `json:"cpu_ns,omitempty"`        // of the process during it
	Switches    int64    `json:"nivcsw,omitempty"`        // involuntary, during it
	Collections int64    `json:"collections,omitempty"`   // not forced, during it
	AllocBytes  int64    `json:"alloc_bytes,omitempty"`   // during it
	Procs       int      `json:"procs,omitempty"`         // GOMAXPROCS
	Runnable    int      `json:"runnable,omitempty"`      // OpProbe: most goroutines running or runnable at once
	RunParallel bool     `json:"run_parallel,omitempty"`  // OpProbe: testing.B.RunParallel was seen on a stack
	Failed      string   `json:"failed,omitempty"`        // the benchmark failed: its output
	Skipped     bool     `json:"skipped,omitempty"`
	Error       string   `json:"error,omitempty"` // the request could not be served: no such benchmark
	Listed      []Listed `json:"listed,omitempty"`
}
