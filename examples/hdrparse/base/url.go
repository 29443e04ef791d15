package hdrparse

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
	if err := checkURL(data); err != nil {
		return err
	}
	end, err := u.tail(data)
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
	for i := path; i < len(data); i++ {
		if data[i] == '[' || data[i] == ']' {
			return bad(i, ReasonBracket)
		}
	}
	return nil
}

// checkURL finds the first byte that no URL may have.
func checkURL(data []byte) error {
	for i, c := range data {
		switch {
		case c == '%':
			if i+2 >= len(data) || !isHex(data[i+1]) || !isHex(data[i+2]) {
				return bad(i, ReasonPercent)
			}
		case !isURLChar(c):
			return bad(i, ReasonURLChar)
		}
	}
	return nil
}

// tail sets Query and Fragment and returns where the path ends.
func (u *URL) tail(data []byte) (int, error) {
	query, fragment := -1, -1
	for i, c := range data {
		switch {
		case c == '#' && fragment >= 0:
			return 0, bad(i, ReasonFragment)
		case c == '#':
			fragment = i
		case c == '?' && query < 0 && fragment < 0:
			query = i
		}
	}
	end := len(data)
	if fragment >= 0 {
		u.Fragment = span(fragment+1, end)
		end = fragment
	}
	if query >= 0 {
		u.Query = span(query+1, end)
		end = query
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
