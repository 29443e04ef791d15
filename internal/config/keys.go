package config

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"

	"assay/internal/unit"
)

// key is one key of a mapping that fills a T. The tables below are the one
// definition of the format: Parse, Schema and Template all follow them.
type key[T any] struct {
	name  string
	doc   string // one sentence for editors and for the first assay.yaml
	shape shape[T]
}

func configKeys() []key[Config] {
	return []key[Config]{
		{"harness", "The benchmark framework. Left out: it is detected.",
			text(func(c *Config) *string { return &c.Harness }, word)},
		{"packages", "Packages whose benchmarks are measured, as --package takes them. Left out: all below the folder.",
			list(func(c *Config) *[]string { return &c.Packages }, word)},
		{"bench", "Pattern of the benchmarks to measure, in the harness's own syntax. Left out: all.",
			text(func(c *Config) *string { return &c.Bench }, word)},
		{"prepare", "Shell commands run in an arm's tree before it is built.",
			object(func(c *Config) *Prepare { return &c.Prepare }, prepareKeys())},
		{"graft", "Globs of further files that belong to the harness and are copied onto the other arm.",
			list(func(c *Config) *[]string { return &c.Graft }, glob)},
		{"build", "What is added to the build of every arm.",
			object(func(c *Config) *Build { return &c.Build }, buildKeys())},
		{"benchmarks", "Settings of benchmarks: each key is an id, or a regular expression over ids.",
			objects(func(c *Config) *[]Benchmark { return &c.Benchmarks },
				func(match string) Benchmark { return Benchmark{Match: match} }, pattern, benchmarkKeys())},
		{"history", "Settings of the release matrix (assay history).",
			object(func(c *Config) *History { return &c.History }, historyKeys())},
	}
}

func prepareKeys() []key[Prepare] {
	return []key[Prepare]{
		{"base", "Commands for base alone, after those for all.",
			list(func(p *Prepare) *[]string { return &p.Base }, word)},
		{"head", "Commands for head alone, after those for all.",
			list(func(p *Prepare) *[]string { return &p.Head }, word)},
		{"all", "Commands for every arm.",
			list(func(p *Prepare) *[]string { return &p.All }, word)},
	}
}

func buildKeys() []key[Build] {
	return []key[Build]{
		{"env", "Environment variables of the build.",
			settings(func(b *Build) *[]Setting { return &b.Env }, variable)},
		{"flags", "Arguments added to the build command.",
			list(func(b *Build) *[]string { return &b.Flags }, word)},
		{"options", "Options of the harness.",
			settings(func(b *Build) *[]Setting { return &b.Options }, word)},
	}
}

func benchmarkKeys() []key[Benchmark] {
	return []key[Benchmark]{
		{"title", "What tables and charts show.",
			text(func(b *Benchmark) *string { return &b.Title }, line)},
		{"margin", "Practical margin in per cent, with or without the sign: an effect below it does not matter.",
			percent(func(b *Benchmark) *float64 { return &b.Margin })},
		{"control", "The change cannot affect this benchmark.",
			boolean(func(b *Benchmark) *bool { return &b.Control })},
		{"better", "Which way the metric improves. Left out: from its unit.",
			choice(func(b *Benchmark) *unit.Direction { return &b.Better }, unit.Lower, unit.Higher)},
		{"metric", "The metric that is judged. Left out: time.",
			text(func(b *Benchmark) *string { return &b.Metric }, word)},
	}
}

func historyKeys() []key[History] {
	return []key[History]{
		{"sources", "Where releases come from.",
			list(func(h *History) *[]string { return &h.Sources }, word)},
		{"releases", "The releases to measure. Left out: all that the sources have.",
			list(func(h *History) *[]string { return &h.Releases }, word)},
		{"order", "Releases in order, oldest first; wins over the order of versions.",
			list(func(h *History) *[]string { return &h.Order }, word)},
		{"pattern", "Regular expression of the names that are releases.",
			text(func(h *History) *string { return &h.Pattern }, pattern)},
		{"isolation", "One binary for each shape, or one shared by all.",
			choice(func(h *History) *Isolation { return &h.Isolation }, IsolationShape, IsolationShared)},
		{"toolchain", "The one toolchain of the series.",
			text(func(h *History) *string { return &h.Toolchain }, word)},
		{"profile", "The one build profile of the series.",
			text(func(h *History) *string { return &h.Profile }, word)},
		{"metric", "The headline metric.",
			text(func(h *History) *string { return &h.Metric }, word)},
		{"aliases", "Old benchmark ids, each with the id that continues it.",
			settings(func(h *History) *[]Setting { return &h.Aliases }, word)},
	}
}

// A check says what is wrong with a text, or nil.
type check func(text string) error

func word(text string) error {
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("is empty: write a value or leave the key out")
	}
	if strings.ContainsRune(text, 0) {
		return fmt.Errorf("holds a NUL character")
	}
	return nil
}

func line(text string) error {
	if strings.ContainsAny(text, "\r\n") {
		return fmt.Errorf("must be one line")
	}
	return word(text)
}

func pattern(text string) error {
	if _, err := regexp.Compile(text); err != nil {
		return fmt.Errorf("is not a regular expression: %w (put \\ before a character that stands for itself)", err)
	}
	return word(text)
}

func glob(text string) error {
	if _, err := path.Match(text, ""); err != nil {
		return fmt.Errorf("is not a glob: %w", err)
	}
	if path.IsAbs(text) || text == ".." || strings.HasPrefix(text, "../") || strings.Contains(text, "/../") {
		return fmt.Errorf("must stay inside the repository: name it relative to its root")
	}
	return word(text)
}

func variable(text string) error {
	if strings.Contains(text, "=") {
		return fmt.Errorf("is not the name of an environment variable: it holds \"=\"")
	}
	return word(text)
}

// Percent reads a percentage above 0 and below 100, with or without the sign,
// as a fraction: "1.5%", "1.5 %" and "1.5" are 0.015. The error begins with a
// verb, to stand after the text.
func Percent(text string) (float64, error) {
	value, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
	if err != nil || math.IsNaN(value) {
		return 0, fmt.Errorf("is not a percentage such as 1.5%%")
	}
	if value <= 0 || value >= 100 {
		return 0, fmt.Errorf("must be above 0%% and below 100%%")
	}
	return value / 100, nil
}
