package gotest

import (
	"context"
	"encoding/json"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"assay/internal/harness"
	"assay/internal/result"
)

// recordedSettings are the variables of `go env` that change code or say which
// tool made it (go help environment, Go 1.26), in the order they are recorded.
// Those of another architecture are absent from what go env prints of them.
func recordedSettings() []string {
	return []string{
		"GOVERSION", "GOTOOLCHAIN", "GOOS", "GOARCH",
		"GO386", "GOAMD64", "GOARM", "GOARM64", "GOMIPS", "GOMIPS64", "GOPPC64", "GORISCV64",
		"GOEXPERIMENT", "GOFIPS140", "GOFLAGS", "GODEBUG", "GOWORK",
		"CGO_ENABLED", "CC", "CXX", "CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_CXXFLAGS", "CGO_LDFLAGS",
	}
}

// toolSettings asks the go command what it would build with in dir, a path
// relative to the tree's root.
func toolSettings(ctx context.Context, tree harness.Tree, dir string, env []string) ([]result.Setting, error) {
	if tree.Exec == nil {
		return nil, nil
	}
	at := filepath.Join(tree.Dir, filepath.FromSlash(dir))
	stdout, stderr, err := tree.Exec(ctx, result.Command{Argv: []string{"go", "env", "-json"}, Dir: at, Env: env})
	if err != nil {
		return nil, fmt.Errorf("asking the go command for its settings in %s (is Go installed and on PATH?): %w: %s", at, err, strings.TrimSpace(string(stderr)))
	}
	values := map[string]string{}
	if err := json.Unmarshal(stdout, &values); err != nil {
		return nil, fmt.Errorf("reading the output of go env -json in %s: %w", at, err)
	}
	if rel, err := filepath.Rel(tree.Dir, values["GOWORK"]); err == nil && filepath.IsAbs(values["GOWORK"]) {
		values["GOWORK"] = filepath.ToSlash(rel) // arms stand in different folders
	}
	var settings []result.Setting
	for _, key := range recordedSettings() {
		if value, ok := values[key]; ok {
			settings = append(settings, result.Setting{Key: key, Value: value, Source: "go env"})
		}
	}
	return settings, nil
}

// setting returns the value of a key, "" if it is not recorded.
func setting(settings []result.Setting, key string) string {
	for _, s := range settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// splitFlags takes a GOFLAGS value apart: fields parted by spaces, a field in
// single or double quotes may hold spaces.
func splitFlags(text string) []string {
	var flags []string
	for {
		text = strings.TrimLeft(text, " \t\n\r")
		if text == "" {
			return flags
		}
		var field string
		if quote := text[0]; quote == '\'' || quote == '"' {
			field, text, _ = strings.Cut(text[1:], string(quote))
		} else if end := strings.IndexAny(text, " \t\n\r"); end >= 0 {
			field, text = text[:end], text[end:]
		} else {
			field, text = text, ""
		}
		flags = append(flags, field)
	}
}

// flagValue returns the last value that flags give to a flag in the form
// -name=value or -name value, and whether there is one.
func flagValue(flags []string, name string) (value string, ok bool) {
	for i, flag := range flags {
		bare := strings.TrimLeft(flag, "-")
		if bare == flag {
			continue
		}
		if v, found := strings.CutPrefix(bare, name+"="); found {
			value, ok = v, true
		} else if bare == name && i+1 < len(flags) {
			value, ok = flags[i+1], true
		}
	}
	return value, ok
}

// switchedOn reports whether flags turn a boolean flag on.
func switchedOn(flags []string, name string) bool {
	on := false
	for _, flag := range flags {
		bare := strings.TrimLeft(flag, "-")
		if v, found := strings.CutPrefix(bare, name+"="); found {
			b, err := strconv.ParseBool(v)
			on = err == nil && b
		} else if bare == name && bare != flag {
			on = true
		}
	}
	return on
}

// splitTags splits a -tags value: commas, or spaces as in older versions.
func splitTags(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// instrumented warns of flags that change what is measured.
func instrumented(flags []string) []result.Warning {
	var warnings []result.Warning
	for _, name := range []string{"race", "msan", "asan", "cover"} {
		if switchedOn(flags, name) {
			warnings = append(warnings, result.Warning{Code: WarnInstrumented,
				Text: fmt.Sprintf("GOFLAGS or the build flags hold -%s: instrumented code is measured; remove it unless that is meant", name)})
		}
	}
	return warnings
}

// buildContext is the go/build view of a tree: which files the go command
// would compile with these settings and tags.
func buildContext(tree fs.FS, settings []result.Setting, tags []string) *build.Context {
	ctxt := build.Default
	ctxt.GOOS, ctxt.GOARCH = runtime.GOOS, runtime.GOARCH
	ctxt.BuildTags = append(splitTags(first(flagValue(splitFlags(setting(settings, "GOFLAGS")), "tags"))), tags...)
	if setting(settings, "CGO_ENABLED") != "" {
		ctxt.CgoEnabled = setting(settings, "CGO_ENABLED") == "1"
	}
	if minor, ok := goMinor(setting(settings, "GOVERSION")); ok {
		ctxt.ReleaseTags = nil
		for i := 1; i <= minor; i++ {
			ctxt.ReleaseTags = append(ctxt.ReleaseTags, "go1."+strconv.Itoa(i))
		}
	}
	ctxt.ToolTags = toolTags(ctxt.ToolTags, settings)
	ctxt.JoinPath = path.Join
	ctxt.OpenFile = func(name string) (io.ReadCloser, error) { return tree.Open(name) }
	ctxt.ReadDir = func(name string) ([]fs.FileInfo, error) {
		entries, err := fs.ReadDir(tree, name)
		if err != nil {
			return nil, err
		}
		infos := make([]fs.FileInfo, 0, len(entries))
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				return nil, err
			}
			infos = append(infos, info)
		}
		return infos, nil
	}
	return &ctxt
}

// toolTags adds the tags that GOAMD64 and GOEXPERIMENT set.
func toolTags(base []string, settings []result.Setting) []string {
	tags := append([]string(nil), base...)
	if level, ok := strings.CutPrefix(setting(settings, "GOAMD64"), "v"); ok {
		if n, err := strconv.Atoi(level); err == nil {
			for i := 1; i <= n; i++ {
				tags = append(tags, "amd64.v"+strconv.Itoa(i))
			}
		}
	}
	for _, experiment := range strings.Split(setting(settings, "GOEXPERIMENT"), ",") {
		if experiment != "" {
			tags = append(tags, "goexperiment."+experiment)
		}
	}
	return tags
}

func first(value string, _ bool) string { return value }

// goMinor reads the 26 of "go1.26.8" or "1.26".
func goMinor(version string) (int, bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(version, "go"), "1.")
	if !ok {
		return 0, false
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	minor, err := strconv.Atoi(rest[:end])
	return minor, err == nil
}
