package hdrparse

import "strings"

// isTokenChar accepts tchar, the characters of methods and field names (RFC
// 9110 section 5.6.2).
func isTokenChar(c byte) bool { return tokenChars[c] }

var tokenChars = func() (table [256]bool) {
	for c := range table {
		table[c] = isAlphanumeric(byte(c)) || c < 0x80 && strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c))
	}
	return table
}()

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// isURLChar accepts the unreserved and reserved characters of RFC 3986 section
// 2; the percent sign is not among them.
func isURLChar(c byte) bool {
	if isAlphanumeric(c) {
		return true
	}
	switch c {
	case '-', '.', '_', '~', ':', '/', '?', '#', '[', ']', '@', '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=':
		return true
	}
	return false
}

// valueEnd returns the offset of the first byte from pos on that field-value
// and reason-phrase exclude (RFC 9110 section 5.5): a control other than HTAB.
func valueEnd(data []byte, pos int) int {
	for pos < len(data) && (data[pos] >= ' ' && data[pos] != 0x7f || data[pos] == '\t') {
		pos++
	}
	return pos
}

// lower returns c in lower case if it is an ASCII letter.
func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}
