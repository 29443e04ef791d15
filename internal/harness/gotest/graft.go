package gotest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"sort"
	"strings"

	"assay/internal/harness"
	"assay/internal/result"
)

// Kinds of result.GraftFile.
const (
	kindTest     = "test"
	kindTestdata = "testdata"
	kindEmbed    = "embed"
	kindSupport  = "support"
)

// Graft lists the harness files of every unit of the source's layout, with what
// they read: testdata, embedded files, files they name by relative path, and
// helper packages of the module that only tests import. layout must come from
// Detect on source.
func (Adapter) Graft(source, onto harness.Tree, layout harness.Layout) (result.GraftPlan, error) {
	g := grafter{source: source.FS, onto: onto.FS, kinds: map[string]string{}, removed: map[string]bool{}, product: map[string]map[string]bool{}}
	g.reader = newReader(source.FS, layout.Settings, layout.Tags)
	for _, unit := range layout.Units {
		if err := g.unit(unit); err != nil {
			return result.GraftPlan{}, fmt.Errorf("finding the harness files of %s: %w", unit.Package, err)
		}
	}
	if err := g.helpers(layout); err != nil {
		return result.GraftPlan{}, fmt.Errorf("finding the helper packages of the harness: %w", err)
	}
	if err := g.support(layout.Support); err != nil {
		return result.GraftPlan{}, err
	}
	var plan result.GraftPlan
	for name, kind := range g.kinds {
		plan.Copy = append(plan.Copy, result.GraftFile{Path: name, Kind: kind})
	}
	sort.Slice(plan.Copy, func(i, j int) bool { return plan.Copy[i].Path < plan.Copy[j].Path })
	for name := range g.removed {
		plan.Remove = append(plan.Remove, name)
	}
	sort.Strings(plan.Remove)
	return plan, nil
}

// grafter collects the files of one graft.
type grafter struct {
	source, onto fs.FS
	reader       *reader
	kinds        map[string]string          // path to kind
	removed      map[string]bool            //
	product      map[string]map[string]bool // folder to the files its non-test code embeds
}

func (g *grafter) add(name, kind string) {
	if _, ok := g.kinds[name]; !ok {
		g.kinds[name] = kind
	}
}

func (g *grafter) unit(unit harness.Unit) error {
	for _, name := range unit.Files {
		g.add(name, kindTest)
	}
	if err := g.folder(path.Join(unit.Dir, "testdata"), kindTestdata); err != nil {
		return err
	}
	for _, name := range unit.Files {
		if err := g.reads(unit.Dir, name); err != nil {
			return err
		}
	}
	return nil
}

// folder adds all files below dir and removes those that only onto has.
func (g *grafter) folder(dir, kind string) error {
	ours, err := filesBelow(g.source, dir)
	if err != nil {
		return err
	}
	for _, name := range ours {
		g.add(name, kind)
	}
	theirs, err := filesBelow(g.onto, dir)
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for _, name := range ours {
		have[name] = true
	}
	for _, name := range theirs {
		if !have[name] {
			g.removed[name] = true
		}
	}
	return nil
}

// filesBelow lists the regular files below dir, links to files included; none
// if there is no such folder.
func filesBelow(tree fs.FS, dir string) ([]string, error) {
	var files []string
	err := fs.WalkDir(tree, dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := fs.Stat(tree, name); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return files, err
}

// reads adds what a Go file embeds and what its string literals name.
func (g *grafter) reads(dir, name string) error {
	file, _, err := g.reader.file(path.Dir(name), path.Base(name))
	if err != nil || file == nil {
		return err
	}
	embedded, err := embeddedFiles(g.source, dir, file)
	if err != nil {
		return err
	}
	for _, embed := range embedded {
		g.add(embed, kindEmbed)
	}
	for _, text := range literals(file) {
		if err := g.named(dir, text); err != nil {
			return err
		}
	}
	return nil
}

// named adds the file or folder that text names relative to dir, if it is data
// of the harness: product code, what product code embeds and folders that hold
// the package itself are not.
func (g *grafter) named(dir, text string) error {
	if text == "" || len(text) > 255 || text[0] == '/' || strings.ContainsAny(text, "\n\x00*?") {
		return nil
	}
	target := path.Join(dir, text)
	if !fs.ValidPath(target) || target == "." || target == dir || strings.HasPrefix(dir, target+"/") || strings.HasPrefix(target+"/", ".git/") {
		return nil
	}
	info, err := fs.Stat(g.source, target)
	switch {
	case err != nil: // most literals are no path
		return nil
	case info.IsDir():
		files, err := filesBelow(g.source, target)
		if err != nil {
			return err
		}
		for _, name := range files {
			if g.isProduct(name) {
				return nil
			}
		}
		return g.folder(target, kindTestdata)
	case info.Mode().IsRegular() && !g.isProduct(target):
		g.add(target, kindTestdata)
	}
	return nil
}

// isProduct says whether a file belongs to the code under test: a Go file or a
// manifest outside testdata, or a file that non-test code embeds.
func (g *grafter) isProduct(name string) bool {
	if strings.Contains("/"+name, "/testdata/") {
		return false
	}
	switch base := path.Base(name); {
	case path.Ext(name) == ".go", base == "go.mod", base == "go.sum", base == "go.work", base == "go.work.sum", base == "modules.txt":
		return true
	case path.Ext(name) == ".s", path.Ext(name) == ".c", path.Ext(name) == ".h":
		return true
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if g.productEmbeds(dir)[name] {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

// productEmbeds lists the files that the non-test Go files of dir embed.
func (g *grafter) productEmbeds(dir string) map[string]bool {
	if known, ok := g.product[dir]; ok {
		return known
	}
	embeds := map[string]bool{}
	g.product[dir] = embeds
	entries, err := fs.ReadDir(g.source, dir)
	if err != nil {
		return embeds
	}
	for _, entry := range entries {
		if entry.IsDir() || path.Ext(entry.Name()) != ".go" || isTestFile(entry) {
			continue
		}
		data, err := fs.ReadFile(g.source, path.Join(dir, entry.Name()))
		if err != nil || !bytes.Contains(data, []byte("//go:embed")) {
			continue
		}
		file, _, err := g.reader.file(dir, entry.Name())
		if err != nil || file == nil {
			continue
		}
		files, err := embeddedFiles(g.source, dir, file)
		if err != nil {
			continue
		}
		for _, name := range files {
			embeds[name] = true
		}
	}
	return embeds
}

// support adds the files of either tree that the globs of assay.yaml name.
func (g *grafter) support(globs []string) error {
	for _, glob := range globs {
		pattern, err := globExpression(glob)
		if err != nil {
			return err
		}
		matching := func(tree fs.FS) ([]string, error) {
			files, err := filesBelow(tree, ".")
			var out []string
			for _, name := range files {
				if pattern.MatchString(name) && !strings.HasPrefix(name, ".git/") {
					out = append(out, name)
				}
			}
			return out, err
		}
		ours, err := matching(g.source)
		if err != nil {
			return fmt.Errorf("matching the graft pattern %q: %w", glob, err)
		}
		theirs, err := matching(g.onto)
		if err != nil {
			return fmt.Errorf("matching the graft pattern %q: %w", glob, err)
		}
		have := map[string]bool{}
		for _, name := range ours {
			g.add(name, kindSupport)
			have[name] = true
		}
		for _, name := range theirs {
			if !have[name] {
				g.removed[name] = true
			}
		}
	}
	return nil
}

// globExpression turns a glob over slashed paths into a regular expression: *
// and ? stay inside one element, ** spans elements. A glob that names a folder
// takes everything below it.
func globExpression(glob string) (*regexp.Regexp, error) {
	glob = strings.TrimSuffix(path.Clean(glob), "/")
	if glob == "." || strings.HasPrefix(glob, "../") || strings.HasPrefix(glob, "/") {
		return nil, fmt.Errorf("the graft pattern %q does not name files below the repository's root", glob)
	}
	expression := regexp.QuoteMeta(glob)
	for _, swap := range [][2]string{{`\*\*/`, "(?:.+/)?"}, {`\*\*`, ".*"}, {`\*`, "[^/]*"}, {`\?`, "[^/]"}} {
		expression = strings.ReplaceAll(expression, swap[0], swap[1])
	}
	return regexp.Compile("^" + expression + "(?:/.*)?$")
}
