package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWorst(t *testing.T) {
	t.Parallel()
	order := []Code{Interrupted, Usage, Refused, Failed, Slower, Inconclusive, Done}
	for i, want := range order {
		for _, other := range order[i:] {
			if got := worst(other, want); got != want {
				t.Errorf("%d and %d give %d", want, other, got)
			}
		}
	}
	if got := worst(); got != Done {
		t.Errorf("nothing gives %d", got)
	}
}

// TestExitTable: every code of the program has one line, in order, and worst
// knows all of them.
func TestExitTable(t *testing.T) {
	t.Parallel()
	want := []Code{Done, Failed, Usage, Slower, Inconclusive, Refused, Interrupted}
	for i, row := range exitMeanings() {
		if i >= len(want) || row.Code != want[i] || row.Text == "" {
			t.Errorf("line %d is %d %q", i, row.Code, row.Text)
		}
		if worst(row.Code) != row.Code {
			t.Errorf("worst does not know %d", row.Code)
		}
	}
	if len(exitMeanings()) != len(want) {
		t.Errorf("%d lines, want %d", len(exitMeanings()), len(want))
	}
}

// TestReadmeExitCodes: the section of the README is the table of the program.
func TestReadmeExitCodes(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if os.IsNotExist(err) {
		t.Skip("there is no README.md yet")
	}
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(data), "\n## Exit codes\n")
	if !found {
		t.Skip("README.md has no section \"Exit codes\" yet")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var got []string
	for line := range strings.Lines(section) {
		code, text, ok := readmeRow(line)
		if ok {
			got = append(got, code+" "+text)
		}
	}
	var want []string
	for _, row := range exitMeanings() {
		want = append(want, fmt.Sprintf("%d %s", row.Code, row.Text))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("README.md says\n%s\nthe program\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// readmeRow reads a line of a Markdown table or of a help text: a number, then
// what it means.
func readmeRow(line string) (code, text string, ok bool) {
	line = strings.Trim(strings.TrimSpace(line), "|")
	code, text, found := strings.Cut(strings.TrimSpace(line), " ")
	text = strings.Trim(strings.TrimSpace(text), "| ")
	code = strings.Trim(code, "`")
	if !found || code == "" || strings.Trim(code, "0123456789") != "" {
		return "", "", false
	}
	return code, strings.ReplaceAll(text, "`", ""), true
}
