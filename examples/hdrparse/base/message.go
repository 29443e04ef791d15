package hdrparse

import (
	"bytes"
	"errors"
)

// Request is the head of a request. Its zero value is ready for Parse, and one
// Request can parse any number of messages.
type Request struct {
	Method, Target Span // in the message
	URL            URL  // in Target
	Minor          int  // of HTTP/1.Minor
	Header         Header
}

// ParseRequest is the copying form of Request.Parse: the result owns a copy of
// the head. The int is the length of the head in bytes.
func ParseRequest(data []byte) (*Request, int, error) {
	r := new(Request)
	n, err := r.Parse(data)
	if err != nil {
		return nil, 0, err
	}
	r.Header.data = bytes.Clone(data[:n])
	return r, n, nil
}

// Parse reads a request-line and field lines up to the empty line (RFC 9112
// sections 3 and 5) without copying: r refers to data until the next Parse. One
// empty line before the request is skipped (section 2.2). It returns the length
// of the head in bytes. The error is a *SyntaxError, after which r is
// unspecified.
func (r *Request) Parse(data []byte) (int, error) {
	if len(data) > MaxBytes {
		return 0, bad(MaxBytes, ReasonTooLong)
	}
	pos := 0
	if bytes.HasPrefix(data, []byte("\r\n")) {
		pos = 2
	}
	start := pos
	for pos < len(data) && isTokenChar(data[pos]) {
		pos++
	}
	switch {
	case pos == len(data):
		return 0, bad(pos, ReasonIncomplete)
	case pos == start || data[pos] != ' ':
		return 0, bad(pos, ReasonMethod)
	}
	r.Method = span(start, pos)
	pos++
	size := bytes.IndexByte(data[pos:], ' ')
	if size < 0 {
		return 0, noTargetEnd(data, pos)
	}
	r.Target = span(pos, pos+size)
	err := r.URL.target(r.Method.Of(data), r.Target.Of(data))
	if err != nil {
		return 0, shift(err, pos)
	}
	if r.Minor, pos, err = version(data, pos+size+1); err != nil {
		return 0, err
	}
	if pos, err = lineEnd(data, pos); err != nil {
		return 0, err
	}
	return r.Header.parse(data, pos)
}

// noTargetEnd is the error for a request-target from pos on that no space ends.
func noTargetEnd(data []byte, pos int) error {
	if i := bytes.IndexAny(data[pos:], "\r\n"); i >= 0 {
		return bad(pos+i, ReasonSpace)
	}
	return bad(len(data), ReasonIncomplete)
}

// target reads a request-target in the form that the method takes (RFC 9112
// section 3.2). Fragments are not part of it, and user information in it is an
// error (RFC 9110 section 4.2.4).
func (u *URL) target(method, target []byte) error {
	*u = URL{}
	switch {
	case string(method) == "CONNECT":
		return u.connect(target)
	case string(target) == "*" && string(method) == "OPTIONS":
		u.Path = Span{0, 1}
		return nil
	case string(target) == "*":
		return bad(0, ReasonTarget)
	}
	if err := u.parse(target); err != nil {
		return err
	}
	if u.Userinfo.Present() {
		return bad(int(u.Userinfo.Start), ReasonUserinfo)
	}
	if u.Fragment.Present() {
		return bad(int(u.Fragment.Start)-1, ReasonFragment)
	}
	return nil
}

// shift moves the offset of a SyntaxError from a part to the whole.
func shift(err error, by int) error {
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		syntax.Offset += by
	}
	return err
}

// Response is the head of a response. Its zero value is ready for Parse, and
// one Response can parse any number of messages.
type Response struct {
	Minor  int  // of HTTP/1.Minor
	Status int  // 100 to 999
	Reason Span // reason-phrase, may be empty
	Header Header
}

// ParseResponse is the copying form of Response.Parse: the result owns a copy
// of the head. The int is the length of the head in bytes.
func ParseResponse(data []byte) (*Response, int, error) {
	r := new(Response)
	n, err := r.Parse(data)
	if err != nil {
		return nil, 0, err
	}
	r.Header.data = bytes.Clone(data[:n])
	return r, n, nil
}

// Parse reads a status-line and field lines up to the empty line (RFC 9112
// sections 4 and 5) without copying: r refers to data until the next Parse. It
// returns the length of the head in bytes. The error is a *SyntaxError, after
// which r is unspecified.
func (r *Response) Parse(data []byte) (int, error) {
	if len(data) > MaxBytes {
		return 0, bad(MaxBytes, ReasonTooLong)
	}
	minor, pos, err := version(data, 0)
	if err != nil {
		return 0, err
	}
	if pos, err = space(data, pos); err != nil {
		return 0, err
	}
	r.Minor, r.Status = minor, 0
	for start := pos; pos < start+3; pos++ {
		if pos == len(data) {
			return 0, bad(pos, ReasonIncomplete)
		}
		if c := data[pos]; c < '0' || c > '9' || pos == start && c == '0' {
			return 0, bad(pos, ReasonStatus)
		}
		r.Status = r.Status*10 + int(data[pos]-'0')
	}
	if pos, err = space(data, pos); err != nil {
		return 0, err
	}
	end := valueEnd(data, pos)
	r.Reason = span(pos, end)
	if pos, err = lineEnd(data, end); err != nil {
		return 0, err
	}
	return r.Header.parse(data, pos)
}

// version reads "HTTP/1." and a digit at pos (RFC 9112 section 2.3) and returns
// the digit's value and the offset behind it.
func version(data []byte, pos int) (minor, next int, err error) {
	const name = "HTTP/1."
	for i := range len(name) + 1 {
		if pos+i == len(data) {
			return 0, 0, bad(len(data), ReasonIncomplete)
		}
		c := data[pos+i]
		if i < len(name) && c != name[i] || i == len(name) && (c < '0' || c > '9') {
			return 0, 0, bad(pos+i, ReasonVersion)
		}
		minor = int(c) - '0'
	}
	return minor, pos + len(name) + 1, nil
}

// space expects a space at pos and returns the offset behind it.
func space(data []byte, pos int) (int, error) {
	if pos == len(data) {
		return 0, bad(pos, ReasonIncomplete)
	}
	if data[pos] != ' ' {
		return 0, bad(pos, ReasonSpace)
	}
	return pos + 1, nil
}

// lineEnd expects CRLF at pos and returns the offset behind it.
func lineEnd(data []byte, pos int) (int, error) {
	for _, want := range []byte("\r\n") {
		if pos == len(data) {
			return 0, bad(pos, ReasonIncomplete)
		}
		if data[pos] != want {
			return 0, bad(pos, ReasonLineEnd)
		}
		pos++
	}
	return pos, nil
}
