package result

import "time"

// Format versions of the files of a run.
const (
	RunFormat   = "assay.run/1"
	ErrorFormat = "assay.error/1"
)

// Plan is run.json: all that is decided before the first counted sample.
type Plan struct {
	Format      string      `json:"format"`
	ID          string      `json:"id"`
	Draft       Draft       `json:"draft"`
	Expansion   Expansion   `json:"expansion"`
	Calibration Calibration `json:"calibration"`
	Environment Environment `json:"environment"`
	Tool        Tool        `json:"tool"`
}

// Tool is the assay that made a file.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Go      string `json:"go"`
}

// Draft is what is decided before anything is built. Its hash is the
// predecessor of the expansion.
type Draft struct {
	Created      time.Time      `json:"created"`
	Repository   string         `json:"repository"`      // path of the measured repository
	Clone        string         `json:"clone,omitempty"` // git folder of the cache's clone, from which derived commits can be fetched
	Invocation   []string       `json:"invocation"`      // arguments that repeat the run
	Harness      string         `json:"harness"`
	Bench        string         `json:"bench,omitempty"`
	Packages     []string       `json:"packages,omitempty"`
	Arms         []ArmSpec      `json:"arms"`
	Recipes      []Recipe       `json:"recipes"`
	Graft        GraftProof     `json:"graft"`
	MoreGrafts   []GraftProof   `json:"more_grafts,omitempty"` // --graft REV changes both arms
	Options      []Setting      `json:"options,omitempty"`     // flags that were given: --resume must not contradict them
	Seed         uint64         `json:"seed"`
	Alpha        float64        `json:"alpha"`
	MinEffect    float64        `json:"min_effect"` // default margin, a fraction: 0.01 is 1 %
	Cases        []CaseSettings `json:"cases,omitempty"`
	BudgetNS     int64          `json:"budget_ns"`        // whole measuring time; 0: follows from the number of cases
	Rounds       int            `json:"rounds,omitempty"` // asked for; 0: from the pilot
	Looks        []Look         `json:"looks"`
	Rules        []Rule         `json:"contamination_rules"`
	CPUs         []int          `json:"cpus"`                    // cores of the slots; empty: unpinned
	CPUsGiven    bool           `json:"cpus_given"`              // by --cpu
	ParallelCPUs []int          `json:"parallel_cpus,omitempty"` // cores of cases that need several
	AA           bool           `json:"aa,omitempty"`            // one tree as both arms
	Warnings     []Warning      `json:"warnings,omitempty"`
}

// CaseSettings is what assay.yaml says of the cases whose id matches Match.
type CaseSettings struct {
	Match   string  `json:"match"` // regular expression over the id, or the id itself
	Title   string  `json:"title,omitempty"`
	Margin  float64 `json:"margin,omitempty"` // fraction; 0: the default
	Control bool    `json:"control,omitempty"`
	Better  string  `json:"better,omitempty"`
	Metric  string  `json:"metric,omitempty"`
}

// Look is a declared interim analysis, the last one included.
type Look struct {
	AfterRound int     `json:"after_round"` // 0: after the last round
	Level      float64 `json:"level"`       // share of alpha spent, as a level
}

// Rule marks samples as contaminated. Closed set.
type Rule string

// The closed list of contamination rules (measurement.md).
const (
	RuleNone            Rule = "none"
	RuleSwitches        Rule = "switches"          // an involuntary context switch
	RuleCPU             Rule = "cpu"               // wall minus own CPU above the pilot's median by 2 % of wall
	RuleSteal           Rule = "steal"             // steal ticks on the core
	RuleSwitchesOrSteal Rule = "switches-or-steal" //
)

// Rules lists the closed set in its fixed order.
func Rules() []Rule {
	return []Rule{RuleNone, RuleSwitches, RuleCPU, RuleSteal, RuleSwitchesOrSteal}
}

// Case is one benchmark that the built arms list.
type Case struct {
	ID       CaseID  `json:"id"`
	Package  string  `json:"package"`
	Name     string  `json:"name"`               // the harness's own name
	External bool    `json:"external,omitempty"` // declared in an external test package
	Title    string  `json:"title,omitempty"`
	Margin   float64 `json:"margin"`
	Control  bool    `json:"control,omitempty"`
	Better   string  `json:"better,omitempty"` // direction set by the config
	Metric   string  `json:"metric,omitempty"` // confirmatory metric set by the config; empty: time
	Missing  []Arm   `json:"missing,omitempty"`
	Partner  string  `json:"partner,omitempty"` // likely the same benchmark under another name
	// Identical: the arms' binaries have the same code and data.
	Identical bool `json:"identical_binary,omitempty"`
	// Failed: arms on which listing or building already failed.
	Failed []Failure `json:"failed,omitempty"`
}

// Expansion adds what was built and the cases that the artifacts list.
type Expansion struct {
	Draft     string     `json:"draft"` // hash of the draft
	Artifacts []Artifact `json:"artifacts"`
	Cases     []Case     `json:"cases"`
	Warnings  []Warning  `json:"warnings,omitempty"`
}

// Schedule is how the samples of the arms alternate. Closed set.
type Schedule string

// The two schedules.
const (
	Lockstep Schedule = "lockstep"
	Blocks   Schedule = "blocks"
)

// Kind says what a slot reports for a case and why. Closed set.
type Kind string

// The kinds of case, decided by the pilot.
const (
	Steady     Kind = "steady"     // short samples; median of clean samples
	Collecting Kind = "collecting" // collects garbage; total time over total iterations
	Parallel   Kind = "parallel"   // needs several cores; blocks
)

// CasePlan is the calibration of one case.
type CasePlan struct {
	ID           CaseID    `json:"id"`
	Kind         Kind      `json:"kind"`
	Schedule     Schedule  `json:"schedule"`      // of the rounds that are not the block cross-check
	Iterations   int64     `json:"iterations"`    // per sample, same in every arm
	Lead         int64     `json:"lead"`          // iterations of the untimed lead-in
	Warmup       int       `json:"warmup"`        // samples discarded at the start of a slot
	Passes       int       `json:"passes"`        // per lockstep round
	BlockSamples int       `json:"block_samples"` // per arm in a round of blocks
	BlockPhase   int       `json:"block_phase"`   // rounds r with r%4 == phase run as blocks; -1: none (cross-check not needed)
	Rule         Rule      `json:"rule"`
	RuleLimitNS  int64     `json:"rule_limit_ns,omitempty"` // for cpu: the pilot's median of wall minus CPU
	CPUs         []int     `json:"cpus,omitempty"`          // cores of its slots when it needs others than the draft's
	Planted      bool      `json:"planted,omitempty"`       // carries the planted control
	Shared       bool      `json:"shared_process,omitempty"`
	TimeoutNS    int64     `json:"timeout_ns"`     // for one sample
	CostNS       int64     `json:"cost_ns"`        // expected wall time of one round
	Skip         string    `json:"skip,omitempty"` // why it is not measured: identical-binary, missing, failed, parallel-needs-cores
	Warnings     []Warning `json:"warnings,omitempty"`
	Pilot        PilotCase `json:"pilot"`
}

// PilotSummary is what the label-blind analysis says of the pilot.
type PilotSummary struct {
	Cases []PilotCase `json:"cases"`
}

// PilotCase is the label-blind summary of one case: nothing in it tells which
// arm was the slower.
type PilotCase struct {
	ID              CaseID      `json:"id"`
	Iterations      int64       `json:"iterations"`         // per pilot sample
	FastNS          float64     `json:"fast_ns_per_op"`     // of the faster unlabelled process
	SlowNS          float64     `json:"slow_ns_per_op"`     // of the slower
	StartNS         int64       `json:"start_ns"`           // cost of starting one process, to its first answer
	OverheadNS      int64       `json:"overhead_ns"`        // wall of a sample that is not the timed part
	SetupNS         int64       `json:"setup_ns"`           // wall of a call for one iteration: set-up that runs again for every sample
	Collections     float64     `json:"collections_per_op"` // of the arm with fewer
	AllocBytes      float64     `json:"alloc_bytes_per_op"` // of the arm with more
	Runnable        int         `json:"runnable"`           // most goroutines running or runnable at once; 0: not probed
	RunParallel     bool        `json:"run_parallel,omitempty"`
	Unfrozen        bool        `json:"unfrozen,omitempty"` // idle processes could not be frozen: the case runs in blocks
	IterationChange float64     `json:"iteration_change"`   // per-iteration time at 2N over N, minus 1, worse arm
	Between         float64     `json:"between_variance"`   // of slot means of pair log-ratios
	Within          float64     `json:"within_variance"`    // of pair log-ratios inside a slot
	Rules           []RulePilot `json:"rules,omitempty"`
	Samples         int         `json:"samples"`
	Failed          []Failure   `json:"failed,omitempty"`
}

// RulePilot is how one rule did on the pilot.
type RulePilot struct {
	Rule    Rule    `json:"rule"`
	Kept    int     `json:"kept"`   // passes
	Spread  float64 `json:"spread"` // of pair differences over the root of the passes kept
	LimitNS int64   `json:"limit_ns,omitempty"`
}

// Calibration adds the schedule. It is on disk before the first counted sample.
type Calibration struct {
	Expansion  string     `json:"expansion"` // hash of the expansion
	Rounds     int        `json:"rounds"`
	BudgetNS   int64      `json:"budget_ns"`
	ExpectedNS int64      `json:"expected_ns"`
	Cases      []CasePlan `json:"cases"`
	Looks      []Look     `json:"looks"` // with the rounds filled in
	Warnings   []Warning  `json:"warnings,omitempty"`
}
