package hdrparse

// Token is a standard field name as a small integer, which may be another in
// another version of this package.
type Token uint8

// NoToken is the Token of a name that is not a standard one.
const NoToken Token = 0

// Tokens is the number of Tokens, NoToken included: valid ones are below it.
const Tokens = Token(len(names))

// String returns the name in lower case, "" for NoToken.
func (t Token) String() string { return names[t] }

// names are field names in lower case, by Token: a selection of the permanent
// entries of IANA's HTTP Field Name Registry (RFC 9110 section 18.4) and of
// fields that browsers and proxies send.
var names = [...]string{
	"", "accept", "accept-charset", "accept-encoding", "accept-language", "accept-ranges",
	"access-control-allow-credentials", "access-control-allow-headers", "access-control-allow-methods",
	"access-control-allow-origin", "access-control-expose-headers", "access-control-max-age",
	"access-control-request-headers", "access-control-request-method", "age", "allow", "alt-svc",
	"authentication-info", "authorization", "cache-control", "cache-status", "connection",
	"content-disposition", "content-encoding", "content-language", "content-length", "content-location",
	"content-range", "content-security-policy", "content-type", "cookie", "date", "dnt", "early-data",
	"etag", "expect", "expires", "forwarded", "from", "host", "if-match", "if-modified-since",
	"if-none-match", "if-range", "if-unmodified-since", "keep-alive", "last-modified", "link", "location",
	"max-forwards", "origin", "permissions-policy", "pragma", "priority", "proxy-authenticate",
	"proxy-authentication-info", "proxy-authorization", "proxy-connection", "proxy-status", "range",
	"referer", "referrer-policy", "refresh", "retry-after", "sec-ch-ua", "sec-ch-ua-mobile",
	"sec-ch-ua-platform", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-user",
	"sec-websocket-key", "sec-websocket-version", "server", "server-timing", "set-cookie",
	"strict-transport-security", "te", "timing-allow-origin", "trailer", "transfer-encoding", "upgrade",
	"upgrade-insecure-requests", "user-agent", "vary", "via", "www-authenticate", "x-content-type-options",
	"x-forwarded-for", "x-forwarded-proto", "x-frame-options", "x-requested-with", "x-xss-protection",
}
