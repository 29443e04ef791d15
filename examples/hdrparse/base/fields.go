package hdrparse

// Header is the field section of a message: its lines in order, those of one
// name chained. Its zero value is empty.
type Header struct {
	data   []byte
	fields []field
	seen   [16]uint64 // bit hash>>22 of 1024: some line has such a hash
}

type field struct {
	name, value Span
	hash        uint32
	next        int16 // next line of the same name, or -1
	token       Token
}

// Field is one field line: slices of the message, the value without the white
// space around it.
type Field struct {
	Name, Value []byte
	Token       Token
}

// ParseHeader reads field lines up to the empty line into h without copying: h
// refers to data until the next call. It returns the length of the section in
// bytes. The error is a *SyntaxError, after which h is unspecified.
func ParseHeader(h *Header, data []byte) (int, error) {
	if len(data) > MaxBytes {
		return 0, bad(MaxBytes, ReasonTooLong)
	}
	return h.parse(data, 0)
}

// Data returns the message that Spans of the head refer to.
func (h *Header) Data() []byte { return h.data }

// Len returns the number of field lines.
func (h *Header) Len() int { return len(h.fields) }

// Field returns line i, from 0.
func (h *Header) Field(i int) Field {
	f := &h.fields[i]
	return Field{f.name.Of(h.data), f.value.Of(h.data), f.token}
}

// Lookup returns the first line of that name in any case, or -1.
func (h *Header) Lookup(name []byte) int {
	hash := hashName(name)
	return h.first(name, hash)
}

// Find returns the first line of a standard name, or -1.
func (h *Header) Find(t Token) int {
	if t == NoToken {
		return -1
	}
	return h.first([]byte(names[t]), known.hash[t])
}

// Next returns the next line of the same name as line i, or -1.
func (h *Header) Next(i int) int { return int(h.fields[i].next) }

// parse reads field lines from pos on (RFC 9112 section 5).
func (h *Header) parse(data []byte, pos int) (int, error) {
	h.data, h.fields = data, h.fields[:0]
	h.seen = [16]uint64{}
	for {
		switch {
		case pos == len(data):
			return 0, bad(pos, ReasonIncomplete)
		case data[pos] == '\r':
			return lineEnd(data, pos)
		case data[pos] == ' ' || data[pos] == '\t':
			return 0, bad(pos, ReasonFold)
		case len(h.fields) == MaxFields:
			return 0, bad(pos, ReasonTooManyFields)
		}
		var err error
		if pos, err = h.line(data, pos); err != nil {
			return 0, err
		}
	}
}

// line reads one field line at pos and returns the offset behind it.
func (h *Header) line(data []byte, pos int) (int, error) {
	colon, hash := hashToColon(data, pos)
	if colon == len(data) {
		if err := checkName(data, pos, colon); err != nil {
			return 0, err
		}
		return 0, bad(colon, ReasonIncomplete)
	}
	if colon == pos {
		return 0, bad(pos, ReasonEmptyName)
	}
	name := data[pos:colon]
	f := field{name: span(pos, colon), hash: hash, next: -1, token: known.find(name, hash)}
	if f.token == NoToken {
		if err := checkName(data, pos, colon); err != nil {
			return 0, err
		}
	}
	start := colon + 1
	for start < len(data) && (data[start] == ' ' || data[start] == '\t') {
		start++
	}
	end := valueEnd(data, start)
	if end < len(data) && data[end] != '\r' {
		return 0, bad(end, ReasonValue)
	}
	next, err := lineEnd(data, end)
	if err != nil {
		return 0, err
	}
	for end > start && (data[end-1] == ' ' || data[end-1] == '\t') {
		end--
	}
	f.value = span(start, end)
	h.add(f)
	return next, nil
}

func checkName(data []byte, start, end int) error {
	for i := start; i < end; i++ {
		if !isTokenChar(data[i]) {
			return bad(i, ReasonName)
		}
	}
	return nil
}

// add appends f and chains it behind the lines of the same name.
func (h *Header) add(f field) {
	word, bit := &h.seen[f.hash>>28], uint64(1)<<(f.hash>>22%64)
	if *word&bit != 0 {
		if last := h.first(f.name.Of(h.data), f.hash); last >= 0 {
			for h.fields[last].next >= 0 {
				last = int(h.fields[last].next)
			}
			h.fields[last].next = int16(len(h.fields))
		}
	}
	*word |= bit
	h.fields = append(h.fields, f)
}

// first returns the first line of that name, or -1.
func (h *Header) first(name []byte, hash uint32) int {
	for i := range h.fields {
		f := &h.fields[i]
		if f.hash == hash && sameName(name, f.name.Of(h.data)) {
			return i
		}
	}
	return -1
}
