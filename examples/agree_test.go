package examples_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	base "assay/examples/hdrparse/base"
	head "assay/examples/hdrparse/head"
)

// section is the field section of either version.
type section[F any] interface {
	Len() int
	Field(int) F
	Next(int) int
	Lookup([]byte) int
}

// fieldsOf prints the lines of a section, and what it finds for the names in data.
func fieldsOf[F any](h section[F], data []byte) string {
	var text strings.Builder
	for i := range h.Len() {
		fmt.Fprintf(&text, "%+v %d\n", h.Field(i), h.Next(i))
	}
	for _, line := range bytes.Split(data, []byte("\r\n")) {
		name, _, _ := bytes.Cut(line, []byte(":"))
		fmt.Fprintf(&text, "%q %d %d\n", name, h.Lookup(name), h.Lookup(bytes.ToUpper(name)))
	}
	return text.String()
}

func baseSays(data []byte) string {
	u, err := base.ParseURL(data)
	text := fmt.Sprintln(u, err)
	if r, n, err := base.ParseRequest(data); err == nil {
		text += fmt.Sprintln(n, r.Method, r.Target, r.URL, r.Minor, fieldsOf(&r.Header, data))
	} else {
		text += fmt.Sprintln(err)
	}
	if r, n, err := base.ParseResponse(data); err == nil {
		text += fmt.Sprintln(n, r.Minor, r.Status, r.Reason, fieldsOf(&r.Header, data))
	} else {
		text += fmt.Sprintln(err)
	}
	return text + fmt.Sprintln(int(base.Tokenize(data)), int(base.TokenizeLower(data)))
}

func headSays(data []byte) string {
	u, err := head.ParseURL(data)
	text := fmt.Sprintln(u, err)
	if r, n, err := head.ParseRequest(data); err == nil {
		text += fmt.Sprintln(n, r.Method, r.Target, r.URL, r.Minor, fieldsOf(&r.Header, data))
	} else {
		text += fmt.Sprintln(err)
	}
	if r, n, err := head.ParseResponse(data); err == nil {
		text += fmt.Sprintln(n, r.Minor, r.Status, r.Reason, fieldsOf(&r.Header, data))
	} else {
		text += fmt.Sprintln(err)
	}
	return text + fmt.Sprintln(int(head.Tokenize(data)), int(head.TokenizeLower(data)))
}

// agree fails unless both versions say the same of data: results, error
// offsets, reasons.
func agree(t *testing.T, data []byte) {
	t.Helper()
	if b, h := baseSays(data), headSays(data); b != h {
		t.Errorf("%q\nbase: %s\nhead: %s", data, b, h)
	}
}

// inputs returns the inputs of the vectors.
func inputs(t testing.TB) [][]byte {
	t.Helper()
	text, err := os.ReadFile("hdrparse/base/testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, match := range regexp.MustCompile(`(?m)^(?:url|request|response) (".*")$`).FindAllSubmatch(text, -1) {
		input, err := strconv.Unquote(string(match[1]))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, []byte(input))
	}
	if len(all) == 0 {
		t.Fatal("no vectors")
	}
	return all
}

func TestVersionsAgreeOnVectors(t *testing.T) {
	t.Parallel()
	for _, data := range inputs(t) {
		agree(t, data)
	}
	for token := base.NoToken; token < base.Tokens; token++ {
		agree(t, []byte(token.String()))
		agree(t, []byte(strings.ToUpper(token.String())))
	}
}

func TestVersionsAgreeOnManyLines(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		text := []byte("GET / HTTP/1.1\r\n")
		kinds := 1 + random.IntN(150)
		for range random.IntN(300) {
			if kind := random.IntN(kinds); kind < int(base.Tokens)-1 {
				text = fmt.Appendf(text, "%s: a\r\n", base.Token(kind+1))
			} else {
				text = fmt.Appendf(text, "x-%d: b\r\n", kind)
			}
		}
		agree(t, append(text, "\r\n"...))
	}
}

func TestVersionsAgreeOnDamagedInput(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	seeds := inputs(t)
	const special = "\x00\t\r\n !#%/:?@[]AZaz09\x7f\x80\xff"
	for range 20000 {
		data := bytes.Clone(seeds[random.IntN(len(seeds))])
		for range 1 + random.IntN(3) {
			at := random.IntN(len(data) + 1)
			switch c := special[random.IntN(len(special))]; random.IntN(4) {
			case 0:
				data = append(data[:at:at], append([]byte{c}, data[at:]...)...)
			case 1:
				data = data[:at]
			case 2:
				other := seeds[random.IntN(len(seeds))]
				data = append(data[:at:at], other[random.IntN(len(other)+1):]...)
			case 3:
				if at < len(data) {
					data[at] = c
				}
			}
		}
		agree(t, data)
	}
}

// FuzzVersionsAgree looks for input on which the versions differ or panic.
func FuzzVersionsAgree(f *testing.F) {
	for _, data := range inputs(f) {
		f.Add(data)
	}
	f.Fuzz(agree)
}
