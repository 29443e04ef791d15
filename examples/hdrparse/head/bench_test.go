package hdrparse

import (
	"fmt"
	"net/textproto"
	"strings"
	"testing"
)

const realisticURL = "https://www.example.com:8443/products/2026/list/item.html?sort=price&page=12&lang=en-GB&q=water%20bottle#reviews"

const realisticRequest = "GET /orders?limit=50 HTTP/1.1\r\n" +
	"Host: api.example.com\r\n" +
	"User-Agent: example-client/4.2.1 (linux; amd64) orders/2026.9\r\n" +
	"Accept: application/json\r\n" +
	"Accept-Encoding: gzip, br\r\n" +
	"Authorization: Bearer 8f14e45fceea167a5a36dedd4bea2543c9f0f895fb98ab91\r\n" +
	"Connection: keep-alive\r\n\r\n"

const browserRequest = "GET /articles/small-effects?ref=front HTTP/1.1\r\n" +
	"Host: www.example.com\r\n" +
	"Connection: keep-alive\r\n" +
	"sec-ch-ua: \"Chromium\";v=\"140\", \"Not=A?Brand\";v=\"24\"\r\n" +
	"sec-ch-ua-mobile: ?0\r\n" +
	"sec-ch-ua-platform: \"Linux\"\r\n" +
	"Upgrade-Insecure-Requests: 1\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36\r\n" +
	"Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n" +
	"Sec-Fetch-Site: same-origin\r\n" +
	"Sec-Fetch-Mode: navigate\r\n" +
	"Sec-Fetch-User: ?1\r\n" +
	"Sec-Fetch-Dest: document\r\n" +
	"Referer: https://www.example.com/\r\n" +
	"Accept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Accept-Language: en-GB,en;q=0.9\r\n" +
	"Cookie: session=0123456789abcdef; theme=dark\r\n\r\n"

const realisticFields = "Date: Tue, 01 Sep 2026 10:15:03 GMT\r\n" +
	"Server: assay/1.0\r\n" +
	"Content-Type: text/html; charset=utf-8\r\n" +
	"Content-Length: 18231\r\n" +
	"Cache-Control: public, max-age=3600\r\n" +
	"ETag: \"5f3c-18e2a\"\r\n" +
	"Last-Modified: Mon, 31 Aug 2026 08:00:00 GMT\r\n" +
	"Content-Security-Policy: default-src 'self'; img-src 'self' https://images.example.com; object-src 'none'\r\n" +
	"Strict-Transport-Security: max-age=31536000; includeSubDomains; preload\r\n" +
	"Vary: Accept-Encoding\r\n\r\n"

// lines repeats a field line, the number of the line in its %d.
func lines(count int, format string) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}

// hundredFields has every field name once, and made-up names up to 100.
func hundredFields() string {
	var text strings.Builder
	text.WriteString("GET / HTTP/1.1\r\n")
	for t := NoToken + 1; t < Tokens; t++ {
		fmt.Fprintf(&text, "%s: the value of field %d, as long as values in practice often are\r\n", t, t)
	}
	text.WriteString(lines(101-int(Tokens), "X-Request-Detail-%d: one more detail of the request, for the server to read\r\n"))
	return text.String() + "\r\n"
}

func BenchmarkURL(b *testing.B) {
	b.Run("realistic", func(b *testing.B) {
		data := []byte(realisticURL)
		for b.Loop() {
			if _, err := ParseURL(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	zeroCopy := func(text string) func(*testing.B) {
		return func(b *testing.B) {
			data := []byte(text)
			var r Request
			for b.Loop() {
				if _, err := r.Parse(data); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("realistic (zero-copy)", zeroCopy(realisticRequest))
	b.Run("realistic (copy)", func(b *testing.B) {
		data := []byte(realisticRequest)
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := ParseRequest(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("modern browser (zero-copy)", zeroCopy(browserRequest))
	b.Run("100 fields", zeroCopy(hundredFields()))
}

func BenchmarkResponse(b *testing.B) {
	parse := func(text string) func(*testing.B) {
		return func(b *testing.B) {
			data := []byte("HTTP/1.1 200 OK\r\n" + text)
			var r Response
			for b.Loop() {
				if _, err := r.Parse(data); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("realistic", parse(realisticFields))
	b.Run("50 dup fields", parse(lines(50, "Set-Cookie: id%d=8f14e45fceea167a5a36dedd; Domain=example.com; Path=/; Max-Age=86400; Secure; HttpOnly; SameSite=Lax\r\n")+"\r\n"))
}

func BenchmarkMIME(b *testing.B) {
	parse := func(text string) func(*testing.B) {
		return func(b *testing.B) {
			data := []byte(text)
			var h Header
			for b.Loop() {
				if _, err := ParseHeader(&h, data); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("realistic fields", parse(realisticFields))
	b.Run("50 wks-miss fields", parse(lines(50, "X-Unknown-Field-%d: a value of a length that such fields often have\r\n")+"\r\n"))
}

func BenchmarkWKS(b *testing.B) {
	all := func(spelling func(string) string, tokenize func([]byte) Token) func(*testing.B) {
		return func(b *testing.B) {
			var names [][]byte
			for t := NoToken + 1; t < Tokens; t++ {
				names = append(names, []byte(spelling(t.String())))
			}
			for b.Loop() {
				for i, name := range names {
					if tokenize(name) != NoToken+1+Token(i) {
						b.Fatalf("%s: wrong token", name)
					}
				}
			}
		}
	}
	b.Run("tokenize all field names", all(textproto.CanonicalMIMEHeaderKey, Tokenize))
	b.Run("tokenize, lowercased (H2)", all(strings.ToLower, TokenizeLower))
}
