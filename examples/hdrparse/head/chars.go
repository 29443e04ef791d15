package hdrparse

import "strings"

// folded maps tchar, the characters of methods and field names (RFC 9110
// section 5.6.2), to their lower case, and every other byte to 0.
var folded = func() (table [256]byte) {
	for c := range table {
		if isAlphanumeric(byte(c)) || c < 0x80 && strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			table[c] = lower(byte(c))
		}
	}
	return table
}()

func isTokenChar(c byte) bool { return folded[c] != 0 }

// What a byte is to a URL (RFC 3986 section 2), one bit each; 0: nothing that
// the scan has to stop for.
const (
	urlBad     uint8 = 1 << iota // neither unreserved, reserved nor a percent sign
	urlPercent                   // has to be followed by two digits
	urlBracket                   // only around an IP literal
	urlQuery                     // starts the query
	urlNumber                    // starts the fragment
)

var urlClass = func() (table [256]uint8) {
	for c := range table {
		if !isAlphanumeric(byte(c)) && (c >= 0x80 || !strings.ContainsRune("-._~:/@!$&'()*+,;=", rune(c))) {
			table[c] = urlBad
		}
	}
	table['%'] = urlPercent
	table['['], table[']'] = urlBracket, urlBracket
	table['?'] = urlQuery
	table['#'] = urlNumber
	return table
}()

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
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
