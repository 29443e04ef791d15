package gotest

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// embeddedFiles expands the //go:embed lines of a file in dir as package embed
// documents: a folder stands for its files, those that begin with . or _ left
// out unless the pattern begins with "all:".
func embeddedFiles(tree fs.FS, dir string, file *ast.File) ([]string, error) {
	var files []string
	for _, group := range file.Comments {
		for _, comment := range group.List {
			args, ok := strings.CutPrefix(comment.Text, "//go:embed ")
			if !ok {
				continue
			}
			for _, pattern := range embedPatterns(args) {
				pattern, all := strings.CutPrefix(pattern, "all:")
				matches, err := fs.Glob(tree, path.Join(dir, pattern))
				if err != nil {
					return nil, fmt.Errorf("reading //go:embed %s in %s: %w", pattern, dir, err)
				}
				for _, match := range matches {
					below, err := embedBelow(tree, match, all)
					if err != nil {
						return nil, err
					}
					files = append(files, below...)
				}
			}
		}
	}
	return files, nil
}

// embedPatterns splits the arguments of a //go:embed line: spaces part them,
// Go string syntax quotes them.
func embedPatterns(args string) []string {
	var patterns []string
	for args = strings.TrimSpace(args); args != ""; args = strings.TrimSpace(args) {
		if quoted, err := strconv.QuotedPrefix(args); err == nil {
			if text, err := strconv.Unquote(quoted); err == nil {
				patterns = append(patterns, text)
			}
			args = args[len(quoted):]
			continue
		}
		end := strings.IndexAny(args, " \t")
		if end < 0 {
			end = len(args)
		}
		patterns = append(patterns, args[:end])
		args = args[end:]
	}
	return patterns
}

func embedBelow(tree fs.FS, root string, all bool) ([]string, error) {
	files, err := filesBelow(tree, root)
	if err != nil {
		return nil, fmt.Errorf("listing what %s embeds: %w", root, err)
	}
	kept := files[:0]
	for _, name := range files {
		hidden := false
		for _, element := range strings.Split(strings.TrimPrefix(name, root), "/") {
			hidden = hidden || element != "" && (element[0] == '.' || element[0] == '_')
		}
		if all || !hidden {
			kept = append(kept, name)
		}
	}
	return kept, nil
}
