package gotest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"assay/internal/harness"
	"assay/internal/result"
)

// Build returns the one go command that makes a unit's test binary, and the
// overlay: the workers, and the left-out test files hidden. It reads the package
// clauses from recipe.Dir. The error names the benchmark or the flag at fault.
func (Adapter) Build(recipe result.Recipe, output string) ([]result.Command, []result.OverlayFile, error) {
	goflags := splitFlags(recipeEnv(recipe, "GOFLAGS"))
	for _, flag := range recipe.Flags {
		switch name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "="); name {
		case "overlay", "o", "c", "C", "exec":
			return nil, nil, fmt.Errorf("building %s: the flag -%s belongs to assay: take it out of build.flags", recipe.Package, name)
		}
	}
	overlay, err := overlayFiles(recipe)
	if err != nil {
		return nil, nil, err
	}
	argv := []string{"go", "test", "-c", "-o", output, "-buildvcs=false", "-vet=off", "-overlay", harness.OverlayArg}
	argv = append(argv, fmt.Sprintf("-trimpath=%t", recipe.Trimmed))
	argv = append(argv, withoutFlags(recipe.Flags, "ldflags", "tags")...)
	argv = append(argv, "-ldflags="+mergedLdflags(goflags, recipe.Flags))
	if tags := mergedTags(recipe.Tags, goflags, recipe.Flags); len(tags) > 0 {
		argv = append(argv, "-tags="+strings.Join(tags, ","))
	}
	target := "."
	if rel := relativeTo(recipe.ModuleDir, recipe.PackageDir); rel != "." {
		target = "./" + rel
	}
	command := result.Command{Argv: append(argv, target), Dir: filepath.Join(recipe.Dir, filepath.FromSlash(recipe.ModuleDir))}
	if recipe.Toolchain != "" {
		command.Env = append(command.Env, "GOTOOLCHAIN="+recipe.Toolchain)
	}
	command.Env = append(command.Env, recipe.Env...)
	return []result.Command{command}, overlay, nil
}

// recipeEnv is the value that a variable will have in the build.
func recipeEnv(recipe result.Recipe, key string) string {
	value := setting(recipe.Settings, key)
	for _, pair := range recipe.Env {
		if v, ok := strings.CutPrefix(pair, key+"="); ok {
			value = v
		}
	}
	return value
}

// mergedLdflags keeps the user's linker flags, which one -ldflags on the command
// line would drop, and empties the build id. The command line wins over GOFLAGS,
// as in the go command.
func mergedLdflags(goflags, flags []string) string {
	value, ok := flagValue(flags, "ldflags")
	if !ok {
		value, _ = flagValue(goflags, "ldflags")
	}
	return strings.TrimSpace(value + " -buildid=")
}

// mergedTags is the union, sorted, of all tags asked for: a -tags on the command
// line would drop those of GOFLAGS.
func mergedTags(tags, goflags, flags []string) []string {
	all := append(append([]string(nil), tags...), splitTags(first(flagValue(goflags, "tags")))...)
	all = append(all, splitTags(first(flagValue(flags, "tags")))...)
	sort.Strings(all)
	var out []string
	for i, tag := range all {
		if i == 0 || tag != all[i-1] {
			out = append(out, tag)
		}
	}
	return out
}

// withoutFlags drops flags of the given names, with their separate values.
func withoutFlags(flags []string, names ...string) []string {
	var out []string
	for i := 0; i < len(flags); i++ {
		name, _, joined := strings.Cut(strings.TrimLeft(flags[i], "-"), "=")
		drop := false
		for _, n := range names {
			drop = drop || n == name && strings.HasPrefix(flags[i], "-")
		}
		if !drop {
			out = append(out, flags[i])
		} else if !joined {
			i++
		}
	}
	return out
}

// overlayFiles hides what is left out and adds a worker for each test package
// that declares benchmarks.
func overlayFiles(recipe result.Recipe) ([]result.OverlayFile, error) {
	hidden := map[string]bool{}
	var files []result.OverlayFile
	for _, name := range recipe.LeftOut {
		hidden[name] = true
		files = append(files, result.OverlayFile{Path: name})
	}
	reader := newReader(os.DirFS(recipe.Dir), recipe.Settings, mergedTags(recipe.Tags, nil, recipe.Flags))
	pkg, err := reader.tests(recipe.PackageDir)
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", recipe.Package, err)
	}
	for s, benchmarks := range [2][]string{recipe.Internal, recipe.External} {
		if len(benchmarks) == 0 {
			continue
		}
		clause, missing := pkg.clause(s == 1, benchmarks, hidden)
		if len(missing) > 0 {
			return nil, fmt.Errorf("building %s: no test file in %s declares %s", recipe.Package, path.Join(recipe.Dir, recipe.PackageDir), strings.Join(missing, ", "))
		}
		name := [2]string{internalFile, externalFile}[s]
		worker, err := workerFile(recipe, name, clause, benchmarks)
		if err != nil {
			return nil, err
		}
		files = append(files, worker)
	}
	return files, nil
}

// clause finds the package name of the files that declare the benchmarks, and
// which benchmarks no file declares.
func (p *testPackage) clause(external bool, benchmarks []string, hidden map[string]bool) (name string, missing []string) {
	declared := map[string]bool{}
	for _, f := range p.files {
		if f.external != external || hidden[f.path] {
			continue
		}
		name = f.syntax.Name.Name
		for _, b := range f.benchmarks {
			declared[b] = true
		}
	}
	for _, b := range benchmarks {
		if !declared[b] {
			missing = append(missing, b)
		}
	}
	return name, missing
}
