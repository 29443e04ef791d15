package hdrparse

import (
	"bytes"
	"net/netip"
)

// scheme returns the length of the scheme that data starts with (RFC 3986
// section 3.1), 0 when no scheme with its colon is there.
func scheme(data []byte) int {
	for i, c := range data {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		switch {
		case letter:
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return i
		default:
			return 0
		}
	}
	return 0
}

// authority splits data[start:end] into u's Userinfo, Host and Port (RFC 3986
// section 3.2).
func (u *URL) authority(data []byte, start, end int) error {
	if at := bytes.IndexByte(data[start:end], '@'); at >= 0 {
		u.Userinfo = span(start, start+at)
		if i := bytes.IndexAny(u.Userinfo.Of(data), "/?#[]"); i >= 0 {
			return bad(start+i, ReasonUserinfo)
		}
		start += at + 1
	}
	host := end
	if start < end && data[start] == '[' {
		size := bytes.IndexByte(data[start:end], ']')
		if size < 0 || !ipLiteral(data[start+1:start+size]) {
			return bad(start, ReasonHost)
		}
		host = start + size + 1
	} else {
		if colon := bytes.IndexByte(data[start:end], ':'); colon >= 0 {
			host = start + colon
		}
		if i := bytes.IndexAny(data[start:host], "/?#[]@"); i >= 0 {
			return bad(start+i, ReasonHost)
		}
	}
	u.Host = span(start, host)
	if host == end {
		return nil
	}
	if data[host] != ':' {
		return bad(host, ReasonHost)
	}
	u.Port = span(host+1, end)
	return port(data, host+1, end)
}

// connect reads an authority-form, in which host and port are both needed (RFC
// 9112 section 3.2.3).
func (u *URL) connect(target []byte) error {
	if len(target) == 0 {
		return bad(0, ReasonEmptyURL)
	}
	if err := checkURL(target); err != nil {
		return err
	}
	if bytes.IndexByte(target, '@') >= 0 {
		return bad(0, ReasonUserinfo)
	}
	if err := u.authority(target, 0, len(target)); err != nil {
		return err
	}
	if u.Host.Start == u.Host.End || u.Port.Start == u.Port.End {
		return bad(0, ReasonTarget)
	}
	return nil
}

// port accepts digits up to 65535. An empty port is allowed (RFC 3986 section
// 3.2.3).
func port(data []byte, start, end int) error {
	number := 0
	for i := start; i < end; i++ {
		c := data[i]
		if c < '0' || c > '9' {
			return bad(i, ReasonPort)
		}
		if number = number*10 + int(c-'0'); number > 65535 {
			return bad(start, ReasonPort)
		}
	}
	return nil
}

// ipLiteral accepts what may stand between square brackets: an IPv6 address
// without a zone, or IPvFuture (RFC 3986 section 3.2.2).
func ipLiteral(text []byte) bool {
	if len(text) > 0 && text[0]|0x20 == 'v' {
		version, rest, found := bytes.Cut(text[1:], []byte("."))
		for _, c := range version {
			if !isHex(c) {
				return false
			}
		}
		return found && len(version) > 0 && len(rest) > 0 && !bytes.ContainsAny(rest, "/?#[]@%")
	}
	address, err := netip.ParseAddr(string(text))
	return err == nil && address.Is6() && address.Zone() == ""
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}
