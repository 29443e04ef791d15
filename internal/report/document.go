package report

// The report is built once as sections of blocks; a writer renders them. Texts
// in blocks are raw: each writer escapes them for its own format.

// style says how a span is set. Closed set.
type style int

const (
	plainStyle style = iota
	strongStyle
	codeStyle
	linkStyle
)

// span is a run of text of one style.
type span struct {
	text  string
	style style
	file  string // linkStyle: file relative to the report
}

// inline is a line of text.
type inline []span

func text(s string) span       { return span{text: s} }
func strong(s string) span     { return span{text: s, style: strongStyle} }
func code(s string) span       { return span{text: s, style: codeStyle} }
func link(s, file string) span { return span{text: s, style: linkStyle, file: file} }
func line(spans ...span) inline {
	return spans
}

// block is a part of a section. It hands itself to the writer.
type block interface{ render(blockWriter) }

// blockWriter is a format.
type blockWriter interface {
	paragraph(paragraph)
	list(list)
	table(table)
	verbatim(verbatim)
	figure(figure)
	fold(fold)
}

type (
	paragraph inline
	list      []inline
	// verbatim is text that keeps its lines: commands, diffs, captured output.
	verbatim struct{ language, text string }
	// table has one alignment letter per column: l or r.
	table struct {
		align string
		head  []string
		rows  [][]inline
	}
	// figure is a picture: the file of the run's folder, and the same as bytes.
	figure struct {
		file, alt string
		svg       []byte
	}
	// fold is shown closed, with its summary.
	fold struct {
		summary string
		blocks  []block
	}
)

func (p paragraph) render(w blockWriter) { w.paragraph(p) }
func (l list) render(w blockWriter)      { w.list(l) }
func (v verbatim) render(w blockWriter)  { w.verbatim(v) }
func (t table) render(w blockWriter)     { w.table(t) }
func (f figure) render(w blockWriter)    { w.figure(f) }
func (f fold) render(w blockWriter)      { w.fold(f) }

// section is a heading and what stands below it.
type section struct {
	title  string
	blocks []block
	// short stands in the main document when the section moves to the second
	// one; a link is added to it.
	short []block
	// spill is the order in which sections move, 1 first; 0: stays.
	spill int
}

// limited cuts a list to n items and says how many are left out.
func limited(items list, n int, what string) list {
	if len(items) <= n {
		return items
	}
	return append(items[:n:n], line(text("and "+count(len(items)-n, "more "+what, "more "+what))))
}

// folded puts blocks under a closed summary when there are many items.
func folded(many bool, summary string, blocks ...block) []block {
	if many {
		return []block{fold{summary, blocks}}
	}
	return blocks
}
