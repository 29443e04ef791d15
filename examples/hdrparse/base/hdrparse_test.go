package hdrparse

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/textproto"
	"net/url"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the parser says into testdata/vectors.txt")

const vectorFile = "testdata/vectors.txt"

// vector is one paragraph of the vector file: "kind quoted-input", then the
// result as render prints it, or a comment.
type vector struct{ kind, input, want string }

func vectors(t testing.TB) []vector {
	t.Helper()
	text, err := os.ReadFile(vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	for _, paragraph := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		first, want, _ := strings.Cut(paragraph, "\n")
		kind, quoted, _ := strings.Cut(first, " ")
		if kind == "#" {
			all = append(all, vector{kind, quoted, want})
			continue
		}
		input, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %s: %v", vectorFile, first, err)
		}
		all = append(all, vector{kind, input, want})
	}
	return all
}

func TestVectors(t *testing.T) {
	var text strings.Builder
	var r Request
	var s Response
	for _, v := range vectors(t) {
		if v.kind == "#" {
			fmt.Fprintf(&text, "# %s\n%s\n\n", v.input, v.want)
			continue
		}
		got := render(t, v.kind, v.input, &r, &s)
		fmt.Fprintf(&text, "%s %q\n%s\n\n", v.kind, v.input, got)
		if got != v.want && !*update {
			t.Errorf("%s %q:\n%s\nwant:\n%s", v.kind, v.input, got, v.want)
		}
		if fresh := render(t, v.kind, v.input, new(Request), new(Response)); fresh != got {
			t.Errorf("%s %q: a used parser says\n%s\na new one\n%s", v.kind, v.input, got, fresh)
		}
	}
	if *update {
		tidy := strings.TrimSpace(strings.ReplaceAll(text.String(), "\n\n\n", "\n\n")) + "\n"
		if err := os.WriteFile(vectorFile, []byte(tidy), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// render parses the input and prints the result, one part a line.
func render(t testing.TB, kind, input string, r *Request, s *Response) string {
	t.Helper()
	data := []byte(input)
	var err error
	var n int
	var text string
	switch kind {
	case "url":
		var u URL
		if u, err = ParseURL(data); err == nil {
			text = renderURL(u, data)
		}
	case "request":
		if n, err = r.Parse(data); err == nil {
			target := r.Target.Of(data)
			text = fmt.Sprintf("%s HTTP/1.%d, %d bytes%s%s", r.Method.Of(data), r.Minor, n, renderURL(r.URL, target), renderHeader(t, &r.Header))
		}
	case "response":
		if n, err = s.Parse(data); err == nil {
			text = fmt.Sprintf("HTTP/1.%d %d %q, %d bytes%s", s.Minor, s.Status, s.Reason.Of(data), n, renderHeader(t, &s.Header))
		}
	default:
		t.Fatalf("unknown kind %q", kind)
	}
	if string(data) != input {
		t.Fatalf("%s %q: the input was changed", kind, input)
	}
	if err != nil {
		return checkError(t, err, len(data)).Error()
	}
	return strings.TrimPrefix(text, "\n")
}

func checkError(t testing.TB, err error, size int) *SyntaxError {
	t.Helper()
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > size || syntax.Reason == "" {
		t.Fatalf("not a syntax error within %d bytes: %#v", size, err)
	}
	return syntax
}

func renderURL(u URL, data []byte) string {
	var text strings.Builder
	parts := reflect.ValueOf(u)
	for i := range parts.NumField() {
		if s := parts.Field(i).Interface().(Span); s.Present() {
			fmt.Fprintf(&text, "\n%s %d %q", parts.Type().Field(i).Name, s.Start, s.Of(data))
		}
	}
	return text.String()
}

func renderHeader(t testing.TB, h *Header) string {
	t.Helper()
	var text strings.Builder
	firsts := 0
	for i := range h.Len() {
		f := h.Field(i)
		fmt.Fprintf(&text, "\n%q: %q", f.Name, f.Value)
		if f.Token != NoToken {
			fmt.Fprintf(&text, " %s", f.Token)
		}
		if next := h.Next(i); next >= 0 {
			fmt.Fprintf(&text, " then %d", next)
		}
		first := h.Lookup(bytes.ToUpper(f.Name))
		if first == i {
			firsts++
		}
		if f.Token != NoToken && h.Find(f.Token) != first {
			t.Fatalf("%q: Find gives %d, Lookup %d", f.Name, h.Find(f.Token), first)
		}
	}
	checkGroups(t, h, firsts)
	return text.String()
}

// checkGroups compares the chains of names with net/textproto's grouping.
func checkGroups(t testing.TB, h *Header, firsts int) {
	t.Helper()
	if h.Len() == 0 {
		return
	}
	section := h.Data()[h.fields[0].name.Start:]
	want, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(section))).ReadMIMEHeader()
	if err != nil {
		t.Fatalf("%q: accepted, but net/textproto says %v", section, err)
	}
	if firsts != len(want) {
		t.Fatalf("%q: %d names, want %d", section, firsts, len(want))
	}
	for name, values := range want {
		i := h.Lookup([]byte(name))
		for _, value := range values {
			if i < 0 || string(h.Field(i).Value) != value {
				t.Fatalf("%q: line %d is not the next of %s, %q", section, i, name, value)
			}
			i = h.Next(i)
		}
		if i >= 0 {
			t.Fatalf("%q: line %d is one too many of %s", section, i, name)
		}
	}
}

func TestAbsentNames(t *testing.T) {
	var h Header
	if _, err := ParseHeader(&h, []byte("Host: a\r\nX-A: b\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "X-B", "X-A ", "Hos", "Host:", "\u212aeep-alive", "accept"} {
		if i := h.Lookup([]byte(name)); i != -1 {
			t.Errorf("Lookup(%q) = %d", name, i)
		}
	}
	if i := h.Find(NoToken); i != -1 {
		t.Errorf("Find(NoToken) = %d", i)
	}
}

func TestTokenize(t *testing.T) {
	for token := NoToken + 1; token < Tokens; token++ {
		name := token.String()
		spellings := map[string]Token{
			name:                                   token,
			strings.ToUpper(name):                  token,
			textproto.CanonicalMIMEHeaderKey(name): token,
			name + "\x00":                          NoToken,
			name + "-":                             NoToken,
			" " + name:                             NoToken,
			name[1:] + name[:1]:                    NoToken,
			strings.ReplaceAll(name, "-", "\r") + "\r": NoToken,
		}
		for spelling, want := range spellings {
			if got := Tokenize([]byte(spelling)); got != want {
				t.Errorf("Tokenize(%q) = %d, want %d", spelling, got, want)
			}
			if spelling != name {
				want = NoToken
			}
			if got := TokenizeLower([]byte(spelling)); got != want {
				t.Errorf("TokenizeLower(%q) = %d, want %d", spelling, got, want)
			}
		}
	}
	if Tokenize(nil) != NoToken || TokenizeLower(nil) != NoToken {
		t.Error("the empty name has a Token")
	}
}

const goodRequest = "POST http://a.example:80/p?q HTTP/1.1\r\nHost: a.example\r\nX-A: 1\r\nx-a: 2\r\n\r\nbody"

const goodResponse = "HTTP/1.0 404 Not Found\r\nServer: s\r\n\r\n"

func TestEveryPrefixIsIncomplete(t *testing.T) {
	check := func(input string, size int, err error) {
		syntax := checkError(t, err, size)
		if syntax.Offset != size || syntax.Reason != ReasonIncomplete {
			t.Errorf("%q cut at %d: %v", input, size, err)
		}
	}
	for size := range len(goodRequest) - len("body") {
		_, err := new(Request).Parse([]byte(goodRequest[:size]))
		check(goodRequest, size, err)
	}
	for size := range len(goodResponse) {
		_, err := new(Response).Parse([]byte(goodResponse[:size]))
		check(goodResponse, size, err)
	}
}

func TestCopyingFormOwnsItsBytes(t *testing.T) {
	for _, form := range []struct {
		input string
		parse func([]byte) (*Header, int, error)
	}{
		{goodRequest, func(data []byte) (*Header, int, error) {
			r, n, err := ParseRequest(data)
			return &r.Header, n, err
		}},
		{goodResponse, func(data []byte) (*Header, int, error) {
			r, n, err := ParseResponse(data)
			return &r.Header, n, err
		}},
	} {
		data := []byte(form.input)
		h, n, err := form.parse(data)
		if err != nil {
			t.Fatal(err)
		}
		clear(data)
		if string(h.Data()) != form.input[:n] {
			t.Errorf("the copy is %q", h.Data())
		}
	}
	if r, n, err := ParseRequest(nil); r != nil || n != 0 || err == nil {
		t.Error("ParseRequest returns a result with an error")
	}
	if r, n, err := ParseResponse(nil); r != nil || n != 0 || err == nil {
		t.Error("ParseResponse returns a result with an error")
	}
}

func TestZeroCopyFormDoesNotAllocate(t *testing.T) {
	request, response := []byte(goodRequest), []byte(goodResponse)
	var r Request
	var s Response
	if n := testing.AllocsPerRun(10, func() {
		if _, err := r.Parse(request); err != nil {
			t.Error(err)
		}
		if _, err := s.Parse(response); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if name := r.Header.Field(0).Name; &name[0] != &request[r.Header.fields[0].name.Start] {
		t.Error("a name is not a slice of the input")
	}
}

func TestMaxFields(t *testing.T) {
	var h Header
	line := "A: b\r\n"
	if _, err := ParseHeader(&h, []byte(strings.Repeat(line, MaxFields)+"\r\n")); err != nil || h.Len() != MaxFields {
		t.Errorf("%d lines, %v", h.Len(), err)
	}
	_, err := ParseHeader(&h, []byte(strings.Repeat(line, MaxFields+1)+"\r\n"))
	if syntax := checkError(t, err, len(line)*(MaxFields+2)); syntax.Reason != ReasonTooManyFields || syntax.Offset != len(line)*MaxFields {
		t.Error(err)
	}
}

// FuzzParse looks for panics, errors outside the input, changed input, and
// accepted input of which the standard library has another opinion.
func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.input)
	}
	f.Fuzz(func(t *testing.T, input string) {
		for _, kind := range []string{"url", "request", "response"} {
			render(t, kind, input, new(Request), new(Response))
		}
		if u, err := ParseURL([]byte(input)); err == nil && u.Scheme.Present() {
			checkURLParts(t, input, u)
		}
	})
}

// checkURLParts compares with net/url where that accepts the input and keeps
// the parts as they are written.
func checkURLParts(t *testing.T, input string, u URL) {
	want, err := url.Parse(input)
	if err != nil {
		return
	}
	text := func(s Span) string { return string(s.Of([]byte(input))) }
	host := text(u.Host)
	if u.Port.Present() {
		host += ":" + text(u.Port)
	}
	if !strings.Contains(host, "%") && host != want.Host {
		t.Errorf("%q: host %q, net/url says %q", input, host, want.Host)
	}
	path, err := url.PathUnescape(text(u.Path))
	if err != nil || path != want.Path && text(u.Path) != want.Opaque {
		t.Errorf("%q: path %q (%v), net/url says %q", input, path, err, want.Path)
	}
	if text(u.Query) != want.RawQuery {
		t.Errorf("%q: query %q, net/url says %q", input, text(u.Query), want.RawQuery)
	}
}
