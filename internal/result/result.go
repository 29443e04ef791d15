// Package result is the data model that the measuring and the analysing half
// share: the plan of a run, what was built, and the stream of records that
// measuring it produced.
//
// In and out: values only. It must never do input or output, start a process,
// or compute a statistic.
package result

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"assay/internal/machine"
)

// Hash returns "sha256:" and the hex digest of v's JSON. It chains the stages of
// a plan: each holds the hash of its predecessor.
func Hash(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("hashing %T: %w", v, err)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Arm names one build being measured.
type Arm string

// The arms of an A/B. PlantedOne and PlantedTwo are base run for 1.01 N and
// 1.02 N iterations and divided by N: a positive control of known size.
const (
	Base       Arm = "base"
	Head       Arm = "head"
	BaseAA     Arm = "base-aa"
	PlantedOne Arm = "planted-1"
	PlantedTwo Arm = "planted-2"
)

// CaseID identifies one benchmark for ever: the full path, e.g.
// "example.com/hdr.BenchmarkURL/realistic". It is opaque.
type CaseID string

// Warning is a doubt that travels with a value up to the report.
type Warning struct {
	Code string `json:"code"` // stable, kebab-case, e.g. "graft-changed-dependency"
	Text string `json:"text"` // for a person; names the remedy where there is one
}

// Warning codes that more than one package must agree on.
const (
	WarnGraftChangedDependency = "graft-changed-dependency"
	WarnFilterSensitive        = "filter-sensitive"
	WarnDependsOnIterations    = "depends-on-iterations"
	WarnOptimisedAway          = "optimised-away"
	WarnParallelNeedsCores     = "parallel-needs-cores"
	WarnSharedProcess          = "shared-process"
	WarnTooFewRounds           = "too-few-rounds"
	WarnSharedCore             = "coordinator-shares-core"
	WarnHarnessDiffers         = "harness-differs"
)

// Setting is one named value that was read back or recorded, e.g. GOAMD64=v1.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source,omitempty"` // where it was read: "go env", "go version -m", "environment"
}

// Command is a command line, ready to run.
type Command struct {
	Argv []string `json:"argv"`
	Dir  string   `json:"dir,omitempty"` // working directory, absolute
	Env  []string `json:"env,omitempty"` // KEY=VALUE added to the inherited environment; KEY+=VALUE extends a comma-separated list (slots only)
}

// OverlayFile is a file that exists for the build alone and is never written
// into the tree. Content nil hides the file at Path.
type OverlayFile struct {
	Path    string // relative to the tree's root, slashes
	Content []byte // nil: the file is left out of the build
}

// Revision is one resolved state of the subject.
type Revision struct {
	Ref     string `json:"ref"`              // as the user named it, or "merge-base of main"
	Commit  string `json:"commit,omitempty"` // full id; empty for a working tree
	Tree    string `json:"tree"`             // git tree id, before any graft
	Subject string `json:"subject,omitempty"`
	Date    string `json:"date,omitempty"`  // committer date, RFC 3339
	Dirty   bool   `json:"dirty,omitempty"` // a snapshot of a working tree with changes
}

// ArmSpec is one arm of a plan.
type ArmSpec struct {
	Name     Arm      `json:"name"`
	Revision Revision `json:"revision"`
	Tree     string   `json:"tree"`             // git tree id of what is built: after graft and prepare
	Commit   string   `json:"commit,omitempty"` // commit of that tree in the cache's clone
	Dir      string   `json:"dir"`              // root of its tree on this machine
	Of       Arm      `json:"of,omitempty"`     // the arm whose artifact it runs, for base-aa and planted arms
	Scale    float64  `json:"scale,omitempty"`  // its iterations are N*Scale and are divided by N; 0 means 1
}

// Recipe is how one package of one arm is built.
type Recipe struct {
	Arm        Arm       `json:"arm"`
	Harness    string    `json:"harness"`
	Dir        string    `json:"dir"`         // root of the arm's tree, absolute
	Package    string    `json:"package"`     // import path or the harness's own name of the unit
	PackageDir string    `json:"package_dir"` // relative to Dir, slashes
	ModuleDir  string    `json:"module_dir"`  // relative to Dir, slashes
	Internal   []string  `json:"internal,omitempty"`
	External   []string  `json:"external,omitempty"`
	LeftOut    []string  `json:"left_out,omitempty"` // files hidden from the build, relative to Dir
	Flags      []string  `json:"flags,omitempty"`
	Tags       []string  `json:"tags,omitempty"`
	Env        []string  `json:"env,omitempty"`       // KEY=VALUE from assay.yaml
	Language   string    `json:"language,omitempty"`  // oldest language level of the arms, e.g. "1.18"
	Toolchain  string    `json:"toolchain,omitempty"` // one fixed version for all arms, e.g. "go1.26.8"
	Settings   []Setting `json:"settings,omitempty"`  // environment that changes code: GOAMD64, GOFLAGS, CGO_ENABLED ...
	Trimmed    bool      `json:"trimmed"`             // built with -trimpath
}

// Artifact is what came out of a recipe.
type Artifact struct {
	Arm        Arm           `json:"arm"`
	Package    string        `json:"package"`
	PackageDir string        `json:"package_dir"`
	Path       string        `json:"path,omitempty"`        // the binary on this machine
	RunDir     string        `json:"run_dir,omitempty"`     // working directory of its processes, absolute
	Digest     string        `json:"digest,omitempty"`      // sha256:... of the file
	CodeDigest string        `json:"code_digest,omitempty"` // sha256:... of code and data sections, notes and symbols left out
	Size       int64         `json:"size,omitempty"`
	Commands   []Command     `json:"commands"`           // that built it
	Settings   []Setting     `json:"settings,omitempty"` // effective flags, read back from the binary
	Warnings   int           `json:"compiler_warnings"`
	Cached     bool          `json:"cached,omitempty"`
	Failure    *BuildFailure `json:"failure,omitempty"`
}

// BuildFailure says why there is no artifact.
type BuildFailure struct {
	Text    string   `json:"text"`              // the compiler's words
	Missing []string `json:"missing,omitempty"` // symbols or packages the arm lacks
	Remedy  string   `json:"remedy"`
}

// GraftFile is one file put onto the grafted arm.
type GraftFile struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"`             // test, testdata, embed, support, removed
	Before string `json:"before,omitempty"` // sha256 on the arm before, empty if it did not exist
	After  string `json:"after,omitempty"`  // sha256 on both arms after, empty if removed
}

// ManifestEdit is a change of a file that must name the harness but belongs to
// the arm (go.mod).
type ManifestEdit struct {
	Path       string   `json:"path"`
	Diff       string   `json:"diff"`                  // unified; empty when only BuildFlags are needed
	BuildFlags []string `json:"build_flags,omitempty"` // that every arm's build must then carry, e.g. -mod=mod
}

// DependencyChange is a module that the graft added or moved.
type DependencyChange struct {
	Module string `json:"module"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// GraftPlan says what to put onto an arm. Pure: an adapter computes it from trees.
type GraftPlan struct {
	Copy   []GraftFile // Path and Kind set
	Remove []string    // paths below a harness-only folder that the source arm lacks
}

// GraftProof shows that both arms carry byte-identical harness source.
type GraftProof struct {
	From         string             `json:"from"`           // arm or revision the harness came from, "none"
	Onto         Arm                `json:"onto,omitempty"` // the arm that was changed
	Files        []GraftFile        `json:"files,omitempty"`
	LeftOut      []string           `json:"left_out,omitempty"` // harness files of the packages that are built on no arm
	Edits        []ManifestEdit     `json:"edits,omitempty"`
	Dependencies []DependencyChange `json:"dependencies,omitempty"`
	Stat         string             `json:"stat,omitempty"`         // diff stat of the arm against arm+graft
	HarnessDiff  string             `json:"harness_diff,omitempty"` // diff of the harness between arms after the graft; must be empty
	Differ       []string           `json:"differ,omitempty"`       // paths in which the arms do differ
	Commits      []string           `json:"commits,omitempty"`      // commits between the arms that touched the harness, "id subject"
	Patch        string             `json:"patch,omitempty"`        // file name in the run's folder
	Commit       string             `json:"commit,omitempty"`       // commit of arm+graft in the cache's clone
	Warnings     []Warning          `json:"warnings,omitempty"`
}

// Environment is the machine as it was when the run was made.
type Environment struct {
	Machine machine.Fingerprint `json:"machine"`
	Start   machine.Snapshot    `json:"start"`
	Pinned  bool                `json:"pinned"` // the system can pin processes to cores
	Freezes string              `json:"freezes,omitempty"`
}
