package machine

import (
	"fmt"
	"sync"
)

// outputPart is how much is kept of the beginning and of the end of a process's
// output: enough for any panic with a few hundred goroutines.
const outputPart = 256 << 10

// boundedBuffer takes any amount of text and keeps its first and last
// outputPart bytes. Writing never fails and never blocks on a reader.
type boundedBuffer struct {
	mu   sync.Mutex
	head []byte
	tail []byte // ring once it is full
	next int    // in a full tail: its oldest byte
	lost int64  // bytes between head and tail
}

// Write implements io.Writer.
func (b *boundedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(text)
	fits := min(outputPart-len(b.head), n)
	b.head = append(b.head, text[:fits]...)
	text = text[fits:]
	if over := len(text) - outputPart; over > 0 {
		text = text[over:]
		b.lost += int64(over)
	}
	fits = min(outputPart-len(b.tail), len(text))
	b.tail = append(b.tail, text[:fits]...)
	for text = text[fits:]; len(text) > 0; {
		k := copy(b.tail[b.next:], text)
		b.next = (b.next + k) % outputPart
		b.lost += int64(k)
		text = text[k:]
	}
	return n, nil
}

// bytes returns a copy of what is kept.
func (b *boundedBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := append([]byte(nil), b.head...)
	if b.lost > 0 {
		out = fmt.Appendf(out, "\n[... %d bytes of output left out ...]\n", b.lost)
	}
	out = append(out, b.tail[b.next:]...)
	return append(out, b.tail[:b.next]...)
}
