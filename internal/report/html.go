package report

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"
)

// pageStyle is the whole style of the page; nothing is loaded from elsewhere.
const pageStyle = `
:root{color-scheme:light dark;--ink:#1f2328;--dim:#59636e;--line:#d1d9e0;--soft:#f6f8fa;--ground:#fff;--link:#0969da}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9198a1;--line:#3d444d;--soft:#151b23;--ground:#0d1117;--link:#4493f8}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1180px;padding:24px 20px 64px;background:var(--ground);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI","Noto Sans",Helvetica,Arial,sans-serif}
h1{font-size:1.6em;margin:0 0 .6em}
h2{font-size:1.2em;margin:2em 0 .6em;padding-bottom:.3em;border-bottom:1px solid var(--line)}
a{color:var(--link)}
code,pre{font:.87em/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
code{background:var(--soft);padding:.15em .35em;border-radius:4px;overflow-wrap:anywhere}
pre{background:var(--soft);border:1px solid var(--line);border-radius:6px;padding:12px;overflow-x:auto}
.wide{overflow-x:auto;margin:1em 0}
table{border-collapse:collapse;font-size:.92em}
th,td{border-bottom:1px solid var(--line);padding:5px 10px;text-align:left;vertical-align:top}
th{color:var(--dim);font-weight:600;white-space:nowrap}
td:first-child{overflow-wrap:anywhere;min-width:16em}
.r{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
details{margin:.8em 0}
summary{cursor:pointer;color:var(--dim)}
figure{margin:1.2em 0;overflow-x:auto}
svg{max-width:100%;height:auto}
`

// HTML writes one self-contained page: no script, nothing loaded from
// elsewhere, light and dark, the charts drawn inline.
func HTML(w io.Writer, v *View) error {
	var h htmlPage
	h.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">` + "\n" +
		`<meta name="viewport" content="width=device-width, initial-scale=1">` + "\n")
	title := "Benchmark: base against head"
	if a := v.armsText(); a != "" {
		title += ", " + a
	}
	h.WriteString("<title>" + escapeHTML(title) + "</title>\n<style>" + pageStyle + "</style>\n</head>\n<body>\n<h1>Benchmark: base against head, measured</h1>\n")
	h.blocks(v.head)
	for _, s := range v.sections {
		h.WriteString("<h2>" + escapeHTML(s.title) + "</h2>\n")
		h.blocks(s.blocks)
	}
	h.WriteString("</body>\n</html>\n")
	if _, err := w.Write(h.Bytes()); err != nil {
		return fmt.Errorf("writing the HTML report: %w", err)
	}
	return nil
}

// htmlPage is a blockWriter.
type htmlPage struct{ bytes.Buffer }

func (h *htmlPage) blocks(all []block) {
	for _, b := range all {
		b.render(h)
	}
}

func (h *htmlPage) paragraph(p paragraph) { h.WriteString("<p>" + h.inline(inline(p)) + "</p>\n") }

func (h *htmlPage) list(l list) {
	h.WriteString("<ul>\n")
	for _, item := range l {
		h.WriteString("<li>" + h.inline(item) + "</li>\n")
	}
	h.WriteString("</ul>\n")
}

func (h *htmlPage) verbatim(v verbatim) {
	h.WriteString("<pre>" + escapeHTML(strings.TrimRight(v.text, "\n")) + "</pre>\n")
}

func (h *htmlPage) table(t table) {
	h.WriteString("<div class=\"wide\"><table>\n<thead><tr>")
	class := func(i int) string {
		if t.align[i] == 'r' {
			return ` class="r"`
		}
		return ""
	}
	for i, c := range t.head {
		h.WriteString("<th" + class(i) + ">" + escapeHTML(c) + "</th>")
	}
	h.WriteString("</tr></thead>\n<tbody>\n")
	for _, r := range t.rows {
		h.WriteString("<tr>")
		for i, c := range r {
			h.WriteString("<td" + class(i) + ">" + h.inline(c) + "</td>")
		}
		h.WriteString("</tr>\n")
	}
	h.WriteString("</tbody></table></div>\n")
}

func (h *htmlPage) figure(f figure) {
	h.WriteString("<figure>\n")
	h.Write(f.svg)
	h.WriteString("</figure>\n")
}

func (h *htmlPage) fold(f fold) {
	h.WriteString("<details><summary>" + escapeHTML(f.summary) + "</summary>\n")
	h.blocks(f.blocks)
	h.WriteString("</details>\n")
}

func (h *htmlPage) inline(spans inline) string {
	var b strings.Builder
	for _, s := range spans {
		t := escapeHTML(s.text)
		switch s.style {
		case plainStyle:
			b.WriteString(t)
		case strongStyle:
			b.WriteString("<strong>" + t + "</strong>")
		case codeStyle:
			b.WriteString("<code>" + t + "</code>")
		case linkStyle:
			b.WriteString(`<a href="` + escapeHTML(target(s.file)) + `">` + t + "</a>")
		}
	}
	return b.String()
}

// escapeHTML makes text of any text, in content and in attributes.
func escapeHTML(s string) string { return html.EscapeString(lines(s)) }
