package machine

import (
	"path"
	"strconv"
	"strings"
)

// field returns the value of "key: value" in text such as /proc/self/status,
// the first if there are several, "" if there is none.
func field(text, key string) string {
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// parseSize reads the sizes of caches and memory, "48K", "32M", "512 kB", in
// bytes; 0 if it is none.
func parseSize(text string) int64 {
	digits := strings.TrimRight(text, " kKmMGB")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	scale := map[string]int64{"": 1, "B": 1, "K": 1 << 10, "KB": 1 << 10, "M": 1 << 20, "MB": 1 << 20, "G": 1 << 30, "GB": 1 << 30}
	unit, ok := scale[strings.ToUpper(strings.TrimSpace(text[len(digits):]))]
	if !ok || n > (1<<62)/unit {
		return 0
	}
	return n * unit
}

// ancestors lists dir and the folders above it down to top, the nearest first.
func ancestors(dir, top string) []string {
	dirs := []string{dir}
	for dir != top && dir != "/" && dir != "." {
		dir = path.Dir(dir)
		dirs = append(dirs, dir)
	}
	return dirs
}

// cutLast is strings.Cut around the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// threadState finds the state in /proc/<pid>/stat, 0 if it is not there. The
// name before it stands in parentheses and may hold any character.
func threadState(stat string) byte {
	_, after, found := cutLast(stat, ") ")
	if !found || after == "" {
		return 0
	}
	return after[0]
}
