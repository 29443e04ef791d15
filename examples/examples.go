// Package examples holds the sources of the repositories that the demo
// measures, as commits to be made.
//
// In: nothing; the files below this folder are embedded. Out: lists of commits
// whose ids depend on those files alone. It must never read a clock or a disk.
package examples

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// Commit is one commit of a generated repository, parents before children.
type Commit struct {
	Message     string
	Author      string // name
	AuthorEmail string
	Date        time.Time // of author and committer
	Files       []File    // the whole tree, sorted by Path
}

// File is one regular file of a commit.
type File struct {
	Path    string // from the repository's root, with slashes
	Content []byte
}

// HdrParseModule is the module path of the repository that HdrParse describes.
const HdrParseModule = "example.com/hdrparse"

//go:embed hdrparse/README.md hdrparse/assay.yaml hdrparse/base/*.go hdrparse/base/testdata/vectors.txt hdrparse/head/*.go
var sources embed.FS

// HdrParse returns the two commits of the HTTP/1 header parser: the slower one,
// and the faster one with the benchmarks and assay.yaml. Both need the standard
// library only.
func HdrParse() ([]Commit, error) {
	shared := []string{
		"hdrparse/README.md", "hdrparse/base/hdrparse_test.go", "hdrparse/base/testdata/vectors.txt",
	}
	base, err := sourceTree("hdrparse/base/*.go", shared)
	if err != nil {
		return nil, err
	}
	head, err := sourceTree("hdrparse/head/*.go", append(shared, "hdrparse/assay.yaml"))
	if err != nil {
		return nil, err
	}
	first := time.Date(2026, time.September, 1, 10, 0, 0, 0, time.UTC)
	return []Commit{
		{"hdrparse: parse the head of HTTP/1 messages\n", "assay", "assay@example.com", first, base},
		{"hdrparse: scan URLs without branches, chain fields, hash names once\n\nAdds the benchmarks.\n",
			"assay", "assay@example.com", first.AddDate(0, 0, 1), head},
	}, nil
}

// sourceTree returns go.mod and the embedded files, those that match pattern
// and those listed, without "hdrparse/" and the arm's folder.
func sourceTree(pattern string, listed []string) ([]File, error) {
	names, err := fs.Glob(sources, pattern)
	if err != nil {
		return nil, fmt.Errorf("listing the example's sources %s: %w", pattern, err)
	}
	names = append(names, listed...)
	slices.Sort(names)
	files := []File{{"go.mod", []byte("module " + HdrParseModule + "\n\ngo 1.24\n")}}
	for _, name := range slices.Compact(names) {
		content, err := sources.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading the example's source: %w", err)
		}
		inTree := strings.TrimPrefix(name, "hdrparse/")
		for _, arm := range []string{"base/", "head/"} {
			inTree = strings.TrimPrefix(inTree, arm)
		}
		files = append(files, File{path.Clean(inTree), content})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}
