// Package hdrparse parses the head of HTTP/1 messages: request-targets, field
// lines, requests, responses, and the names of standard fields.
//
// In: bytes of the caller. Out: byte ranges of them, or a *SyntaxError with the
// offset and the reason. It must never write to the input, read past it, or
// accept a head that RFC 9110 and RFC 9112 call invalid.
//
// Where the RFCs leave a choice, the parser is strict:
//   - a line ends in CRLF; a lone LF is an error (RFC 9112 section 2.2 allows
//     either);
//   - obs-fold is an error, since replacing it by spaces would mean to write to
//     the input (RFC 9112 section 5.2 lets servers and gateways choose);
//   - control characters in a field value are an error (RFC 9110 section 5.5).
//
// What a field means (Host, Content-Length, Transfer-Encoding) is for the
// caller to check.
package hdrparse

import "fmt"

// Limits of the input.
const (
	MaxBytes  = 1 << 30 // bytes handed to one call
	MaxFields = 4096    // field lines of one message
)

// Span is a byte range [Start, End) of the input. The zero Span is an absent
// part; an empty part has Start == End > 0.
type Span struct{ Start, End int32 }

// Of returns the bytes of the range, a slice of data.
func (s Span) Of(data []byte) []byte { return data[s.Start:s.End:s.End] }

// Present tells an empty part from an absent one.
func (s Span) Present() bool { return s != Span{} }

func span(start, end int) Span { return Span{int32(start), int32(end)} }

// Reason says why input was refused. Closed set.
type Reason string

// The reasons.
const (
	ReasonIncomplete    Reason = "the input ends before the head does"
	ReasonTooLong       Reason = "the input is longer than MaxBytes"
	ReasonTooManyFields Reason = "more than MaxFields field lines"
	ReasonMethod        Reason = "not a character of a method"
	ReasonTarget        Reason = "the method does not take this form of request-target"
	ReasonVersion       Reason = "not HTTP/1 followed by a minor version"
	ReasonStatus        Reason = "not a status code of three digits from 100"
	ReasonSpace         Reason = "a single space is expected"
	ReasonLineEnd       Reason = "CRLF is expected"
	ReasonFold          Reason = "a field line starts with white space (obs-fold)"
	ReasonName          Reason = "not a character of a field name"
	ReasonEmptyName     Reason = "a field line without a name"
	ReasonValue         Reason = "not a character of a field value"
	ReasonEmptyURL      Reason = "an empty URL"
	ReasonURLChar       Reason = "not a character of a URL"
	ReasonPercent       Reason = "a percent sign without two hexadecimal digits"
	ReasonScheme        Reason = "neither a path nor a scheme"
	ReasonUserinfo      Reason = "user information is not allowed here"
	ReasonHost          Reason = "not a valid host"
	ReasonPort          Reason = "not a port from 0 to 65535"
	ReasonBracket       Reason = "a square bracket outside an IP literal"
	ReasonFragment      Reason = "a number sign where none is allowed"
)

// SyntaxError is the error of every parsing function.
type SyntaxError struct {
	Offset int // of the offending byte; the input's length when bytes are missing
	Reason Reason
}

// Error returns the offset and the reason.
func (e *SyntaxError) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Reason) }

func bad(offset int, reason Reason) error { return &SyntaxError{offset, reason} }
