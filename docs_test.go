package assay_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// TestLinks: every relative link of the documents leads to a file of the tree,
// and its fragment to a heading of it.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, broken := range brokenLinks(t, os.DirFS(".")) {
		t.Error(broken)
	}
}

func TestLinksPlanted(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"a.md": {Data: []byte("# Top & `code`\n[x](doc/b.md) [y](doc/b.md#good-one) [z](#top--code) [w](https://example.com/x) `[c](no)`\n" +
			"```\n[in code](no.md)\n```\n[gone](doc/c.md) [bad](doc/b.md#bad) ![p](p.svg)\n[ref]: gone.md\n")},
		"doc/b.md":      {Data: []byte("## Good one\n[up](../a.md) [folder](../doc)\n")},
		".tools/x/b.md": {Data: []byte("[gone](gone.md)\n")},
	}
	want := []string{
		"a.md: doc/c.md: no such file", "a.md: doc/b.md#bad: no such heading",
		"a.md: p.svg: no such file", "a.md: gone.md: no such file",
	}
	if diff := cmp.Diff(want, brokenLinks(t, tree)); diff != "" {
		t.Errorf("broken links (-want +got):\n%s", diff)
	}
}

func brokenLinks(t *testing.T, tree fs.FS) []string {
	t.Helper()
	link := regexp.MustCompile(`\]\(<?([^)>\s]+)>?(?:\s+"[^"]*")?\)|(?m)^\[[^\]]+\]:\s*(\S+)`)
	var broken []string
	err := fs.WalkDir(tree, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && file != "." && (name == "testdata" || strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(file) != ".md" {
			return nil
		}
		data, err := fs.ReadFile(tree, file)
		if err != nil {
			return err
		}
		for _, match := range link.FindAllStringSubmatch(prose(string(data)), -1) {
			target := match[1] + match[2]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			if wrong := followLink(tree, file, target); wrong != "" {
				broken = append(broken, file+": "+target+": "+wrong)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return broken
}

// followLink says what is wrong with a link in a file, or "".
func followLink(tree fs.FS, file, target string) string {
	name, fragment, _ := strings.Cut(target, "#")
	if name == "" {
		name = file
	} else {
		name = path.Join(path.Dir(file), name)
	}
	if _, err := fs.Stat(tree, name); err != nil {
		return "no such file"
	}
	if fragment == "" || path.Ext(name) != ".md" {
		return ""
	}
	data, err := fs.ReadFile(tree, name)
	if err != nil || !slices.Contains(headings(string(data)), fragment) {
		return "no such heading"
	}
	return ""
}

// prose is a document without its code.
func prose(text string) string {
	text = regexp.MustCompile("(?ms)^[ \t]*(```|~~~).*?^[ \t]*(```|~~~)[ \t]*$").ReplaceAllString(text, "")
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllString(text, "`")
}

// headings are the fragments of a document: lower case, spaces as hyphens,
// other punctuation left out.
func headings(text string) []string {
	var fragments []string
	for line := range strings.Lines(text) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		fragments = append(fragments, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, strings.TrimSpace(title)))
	}
	return fragments
}

// TestGlossary: the glossary defines the design's words, each once and in order.
func TestGlossary(t *testing.T) {
	t.Parallel()
	want := []string{
		"subject", "revision, release", "arm", "harness", "graft", "benchmark (case)", "slot", "round", "sample",
		"iteration", "measurement", "pass", "pair", "lockstep", "blocks", "contaminated", "control", "floor",
		"resolution", "margin", "metric", "look", "pilot", "plan", "recipe, artifact", "capture", "run, session",
		"family", "anchor", "verdict", "layout", "envelope", "variant", "run key", "era", "cell", "step, spike, drift",
	}
	data, err := os.ReadFile("doc/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(string(data), -1) {
		if row[1] != "word" {
			got = append(got, row[1])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("words of the glossary (-want +got):\n%s", diff)
	}
}
