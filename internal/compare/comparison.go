// Package compare turns the records of two arms into verdicts.
//
// In: measurements and failures as they were recorded, and the plan's options.
// Out: one Comparison per case and metric, and warnings. It must never read a
// clock, a file or a machine, never drop a case, and never pair what was not
// measured as a pair.
package compare

import (
	"assay/internal/result"
)

// Format is the format version of comparison.json.
const Format = "assay.comparison/1"

// Verdict is the closed set of answers (statistics.md "Verdicts").
type Verdict string

// The verdicts, in the order in which the first that applies is taken.
const (
	FailedBase        Verdict = "failed-base"
	FailedHead        Verdict = "failed-head"
	FailedBoth        Verdict = "failed-both"
	MissingBase       Verdict = "missing-base"
	MissingHead       Verdict = "missing-head"
	NotComparable     Verdict = "not-comparable"
	IdenticalBinary   Verdict = "identical-binary"
	BelowResolution   Verdict = "below-resolution"
	Mixed             Verdict = "mixed"
	ScheduleDependent Verdict = "schedule-dependent"
	Faster            Verdict = "faster"
	Slower            Verdict = "slower"
	Changed           Verdict = "changed"
	Trivial           Verdict = "trivial"
	Equivalent        Verdict = "equivalent"
	Inconclusive      Verdict = "inconclusive"
	// Better and Worse are for exploratory metrics only, outside the family.
	Better Verdict = "better"
	Worse  Verdict = "worse"
	Same   Verdict = "same"
)

// Side is one arm's numbers of a case.
type Side struct {
	Median      float64   `json:"median"`           // over rounds, canonical unit
	Mean        float64   `json:"mean,omitempty"`   // total time over total iterations, unfiltered
	Spread      float64   `json:"spread"`           // (max-min)/median over rounds
	Rounds      []float64 `json:"rounds,omitempty"` // value of each round, in the order of measurement
	Collections float64   `json:"collections_per_sample,omitempty"`
}

// Estimate is a ratio with its interval and test. Ratios are head/base - 1.
type Estimate struct {
	Delta  float64     `json:"delta"`
	CI     *[2]float64 `json:"ci,omitempty"` // absent when too few rounds bound it
	P      float64     `json:"p"`
	Rounds int         `json:"rounds"`
}

// Comparison is one case and metric.
type Comparison struct {
	ID     result.CaseID `json:"id"`
	Title  string        `json:"title,omitempty"`
	Metric string        `json:"metric"`
	Unit   string        `json:"unit"`
	Better string        `json:"better"` // lower, higher, unknown
	Paired bool          `json:"paired"`
	Margin float64       `json:"margin"`
	// Base and Head are absent when the arm has no value.
	Base *Side `json:"base,omitempty"`
	Head *Side `json:"head,omitempty"`
	// Delta, CI, P and Rounds are those of the estimand the verdict stands on
	// (typical). They are absent when no estimate could be made.
	Delta          *float64    `json:"delta,omitempty"`
	RatioOfMedians *float64    `json:"ratio_of_medians,omitempty"`
	CI             *[2]float64 `json:"ci,omitempty"`
	P              *float64    `json:"p,omitempty"`
	PAdjusted      *float64    `json:"p_adjusted,omitempty"`
	Verdict        Verdict     `json:"verdict"`
	Overlap        string      `json:"overlap,omitempty"` // none, partial, full
	Resolution     *float64    `json:"resolution,omitempty"`
	Rounds         int         `json:"rounds"`
	RoundsNeeded   int         `json:"rounds_needed,omitempty"` // inconclusive: estimate of what would be enough
	// The second estimand and the cross-checks, each with its own interval.
	Typical      *Estimate   `json:"typical,omitempty"`
	MeanEstimate *Estimate   `json:"mean,omitempty"`
	Lockstep     *Estimate   `json:"lockstep,omitempty"`
	Blocks       *Estimate   `json:"blocks,omitempty"`
	SignCI       *[2]float64 `json:"sign_ci,omitempty"` // sign-test order-statistic interval, decides nothing
	Contaminated *Shares     `json:"contaminated,omitempty"`
	Unfiltered   *float64    `json:"delta_unfiltered,omitempty"`
	// Absolute is head minus base for a metric compared exactly or with a base of 0.
	Absolute      *float64         `json:"absolute,omitempty"`
	Exact         bool             `json:"exact,omitempty"`       // constant in both arms: compared exactly
	Exploratory   bool             `json:"exploratory,omitempty"` // outside the family
	Control       bool             `json:"control"`
	SizeUncertain *float64         `json:"size_at_least,omitempty"` // note of faster/slower: at least this much
	Schedule      result.Schedule  `json:"schedule,omitempty"`
	Kind          result.Kind      `json:"kind,omitempty"`
	Rule          result.Rule      `json:"rule,omitempty"`
	Iterations    int64            `json:"iterations,omitempty"`
	Partner       string           `json:"partner,omitempty"`
	Failures      []result.Failure `json:"failures,omitempty"`
	Warnings      []result.Warning `json:"warnings,omitempty"`
}

// Shares are the shares of contaminated samples per arm.
type Shares struct {
	Base float64 `json:"base"`
	Head float64 `json:"head"`
}

// Planted is the result of the planted control.
type Planted struct {
	True     float64       `json:"true"` // 0.01: base run 1 % longer
	ID       result.CaseID `json:"id"`
	Estimate *Estimate     `json:"estimate,omitempty"`
	Found    bool          `json:"found"`
}

// AA is the base-against-base control of the session.
type AA struct {
	Cases       int     `json:"cases"`
	FalseAlarms int     `json:"false_alarms"`
	Floor       float64 `json:"floor"`
}

// ArmSummary names an arm in comparison.json.
type ArmSummary struct {
	Revision string `json:"revision"`
	Digest   string `json:"digest,omitempty"` // over the digests of its artifacts
}

// Summary counts verdicts of the confirmatory metric.
type Summary struct {
	Faster            int `json:"faster"`
	Slower            int `json:"slower"`
	Changed           int `json:"changed"`
	Trivial           int `json:"trivial"`
	Equivalent        int `json:"equivalent"`
	Inconclusive      int `json:"inconclusive"`
	Mixed             int `json:"mixed"`
	ScheduleDependent int `json:"schedule_dependent"`
	BelowResolution   int `json:"below_resolution"`
	Identical         int `json:"identical"`
	Failed            int `json:"failed"`
	Missing           int `json:"missing"`
	NotComparable     int `json:"not_comparable"`
}

// File is comparison.json.
type File struct {
	Format       string                    `json:"format"`
	Run          string                    `json:"run"`
	Input        string                    `json:"input"` // hash of run.json and measurements.jsonl
	Alpha        float64                   `json:"alpha"`
	Confidence   float64                   `json:"confidence"`
	MinEffect    float64                   `json:"min_effect"`
	Arms         map[result.Arm]ArmSummary `json:"arms"`
	Benchmarks   []Comparison              `json:"benchmarks"`
	Summary      Summary                   `json:"summary"`
	Geomean      *Geomean                  `json:"geomean,omitempty"`
	AA           *AA                       `json:"aa,omitempty"`
	Planted      []Planted                 `json:"planted,omitempty"`
	Replications []string                  `json:"replications"`
	Warnings     []result.Warning          `json:"warnings"`
	NotSupported []string                  `json:"not_supported"`
}

// Geomean is the geometric mean of head/base over the cases both arms have.
type Geomean struct {
	Cases int     `json:"cases"`
	Delta float64 `json:"delta"`
}
