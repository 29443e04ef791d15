package cli

import (
	"bytes"
	"path/filepath"

	"assay/internal/compare"
	"assay/internal/report"
	"assay/internal/result"
	"assay/internal/store"
)

// analysis is a stored run, compared and ready to be written.
type analysis struct {
	run  *store.Run
	file compare.File
	view *report.View
}

// collect splits the records between the comparison and the report.
type collect struct {
	builder *compare.Builder
	input   *report.Input
}

// Put implements result.Sink.
func (c collect) Put(record result.Record) error {
	switch v := record.(type) {
	case result.Failure:
		c.input.Failures = append(c.input.Failures, v)
	case result.Damaged:
		c.input.Damaged = append(c.input.Damaged, v)
	case result.Sensor:
		c.input.Sensors = append(c.input.Sensors, v)
	case result.End:
		c.input.End = &v
	case result.Slot, result.Measurement, result.Round, result.LookResult:
	}
	return c.builder.Put(record)
}

// analyse reads a run back from disk and compares its arms: what is reported is
// what is stored.
func analyse(run *store.Run) (*analysis, error) {
	in := report.Input{Plan: run.Plan}
	builder := &compare.Builder{}
	if err := run.Read(collect{builder, &in}); err != nil {
		return nil, err
	}
	file := compare.Arms(builder, run.Plan)
	var err error
	if file.Input, err = run.InputHash(); err != nil {
		return nil, err
	}
	if in.Notes, err = run.Notes(); err != nil {
		return nil, err
	}
	if files, err := filepath.Glob(run.File(store.CapturesDir + "/*")); err == nil && len(files) > 0 {
		in.Captures = []string{store.CapturesDir}
	}
	in.Comparison = file
	return &analysis{run: run, file: file, view: report.New(in)}, nil
}

// write puts the rendered files into the run's folder.
func (a *analysis) write() error {
	var comparison bytes.Buffer
	if err := report.JSON(&comparison, a.file); err != nil {
		return err
	}
	main, details := report.MarkdownParts(a.view)
	var page bytes.Buffer
	if err := report.HTML(&page, a.view); err != nil {
		return err
	}
	files := []struct {
		name string
		data []byte
	}{
		{store.ComparisonFile, comparison.Bytes()}, {store.ReportFile, main}, {store.DetailsFile, details},
		{store.HTMLFile, page.Bytes()}, {report.ForestFile, report.Forest(a.view)},
	}
	for _, f := range files {
		if len(f.data) == 0 {
			continue
		}
		if err := a.run.Write(f.name, f.data); err != nil {
			return err
		}
	}
	return nil
}

// print writes the terminal's table, or JSON.
func (a *analysis) print(env *Env, asJSON, color bool) error {
	if asJSON {
		return report.JSON(env.Stdout, a.file)
	}
	return report.Text(env.Stdout, a.view, report.TextOptions{Color: color, Width: env.Columns, Report: a.run.File(store.ReportFile)})
}

// verdict is the exit code of a comparison.
func (a *analysis) verdict(f failing) error {
	codes := []Code{}
	s := a.file.Summary
	measured := false
	for _, c := range a.file.Benchmarks {
		if !c.Exploratory {
			measured = measured || (c.Base != nil && c.Head != nil) || c.Verdict == compare.IdenticalBinary
		}
	}
	if s.Failed > 0 || !measured {
		codes = append(codes, Failed)
	}
	if a.run.Plan.Draft.AA && s.Faster+s.Slower+s.Changed > 0 {
		codes = append(codes, Slower) // one tree was called changed: a false alarm
	}
	for _, word := range f.verdicts {
		switch {
		case word == "slower" && s.Slower > 0, word == "faster" && s.Faster > 0, word == "changed" && s.Faster+s.Slower+s.Changed > 0:
			codes = append(codes, Slower)
		case word == "inconclusive" && s.Inconclusive > 0:
			codes = append(codes, Inconclusive)
		}
	}
	for _, c := range a.file.Benchmarks {
		for _, metric := range f.metrics {
			if c.Metric == metric && (c.Verdict == compare.Worse || c.Verdict == compare.Slower) {
				codes = append(codes, Slower)
			}
		}
	}
	if code := worst(codes...); code != Done {
		return &Problem{Exit: code, Code: "verdict", Told: true, Text: "see the report"}
	}
	return nil
}
