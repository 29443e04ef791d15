package hdrparse

import "bytes"

// URL is the parts of a URL or request-target as ranges of it. Userinfo, Host
// and Port are absent without an authority, Scheme in a path.
type URL struct {
	Scheme, Userinfo, Host, Port, Path, Query, Fragment Span
}

// ParseURL reads an absolute URL (RFC 3986 section 4.3, with a fragment) or a
// path that starts with a slash (RFC 9112 section 3.2.1). An http or https URL
// needs a host (RFC 9110 section 4.2). The error is a *SyntaxError,
// and the URL then zero.
func ParseURL(data []byte) (URL, error) {
	var u URL
	if err := u.parse(data); err != nil {
		return URL{}, err
	}
	return u, nil
}

func (u *URL) parse(data []byte) error {
	if len(data) == 0 {
		return bad(0, ReasonEmptyURL)
	}
	if len(data) > MaxBytes {
		return bad(MaxBytes, ReasonTooLong)
	}
	found := classes(data)
	if found&(urlBad|urlPercent) != 0 {
		if err := checkURL(data); err != nil {
			return err
		}
	}
	end, err := u.tail(data, found)
	if err != nil {
		return err
	}
	path := 0
	if data[0] != '/' {
		if path, err = u.front(data, end); err != nil {
			return err
		}
	}
	u.Path = span(path, end)
	if found&urlBracket != 0 {
		if i := bytes.IndexAny(data[path:], "[]"); i >= 0 {
			return bad(path+i, ReasonBracket)
		}
	}
	return nil
}

// classes returns the classes of all bytes of data, without a branch for each.
func classes(data []byte) (found uint8) {
	for ; len(data) >= 8; data = data[8:] {
		found |= urlClass[data[0]] | urlClass[data[1]] | urlClass[data[2]] | urlClass[data[3]] |
			urlClass[data[4]] | urlClass[data[5]] | urlClass[data[6]] | urlClass[data[7]]
	}
	for _, c := range data {
		found |= urlClass[c]
	}
	return found
}

// checkURL finds the first byte that no URL may have.
func checkURL(data []byte) error {
	for i, c := range data {
		switch class := urlClass[c]; {
		case class == urlBad:
			return bad(i, ReasonURLChar)
		case class == urlPercent && (i+2 >= len(data) || !isHex(data[i+1]) || !isHex(data[i+2])):
			return bad(i, ReasonPercent)
		}
	}
	return nil
}

// tail sets Query and Fragment and returns where the path ends. found are the
// classes in data.
func (u *URL) tail(data []byte, found uint8) (int, error) {
	end := len(data)
	if found&urlNumber != 0 {
		end = bytes.IndexByte(data, '#')
		u.Fragment = span(end+1, len(data))
		if i := bytes.IndexByte(data[end+1:], '#'); i >= 0 {
			return 0, bad(end+1+i, ReasonFragment)
		}
	}
	if found&urlQuery != 0 {
		if query := bytes.IndexByte(data[:end], '?'); query >= 0 {
			u.Query = span(query+1, end)
			end = query
		}
	}
	return end, nil
}

// front sets Scheme and the authority and returns where the path starts.
func (u *URL) front(data []byte, end int) (int, error) {
	colon := scheme(data[:end])
	if colon == 0 {
		return 0, bad(0, ReasonScheme)
	}
	u.Scheme = span(0, colon)
	path := colon + 1
	if path+1 < end && data[path] == '/' && data[path+1] == '/' {
		start := path + 2
		for path = start; path < end && data[path] != '/'; path++ {
		}
		if err := u.authority(data, start, path); err != nil {
			return 0, err
		}
	}
	if u.Host.Start == u.Host.End && isHTTP(data[:colon]) {
		return 0, bad(int(max(u.Host.Start, int32(colon+1))), ReasonHost)
	}
	return path, nil
}

func isHTTP(scheme []byte) bool {
	return isName(scheme, "http") || isName(scheme, "https")
}
