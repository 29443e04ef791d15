package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"assay/internal/result"
)

// Writer appends records to a run. It implements result.RunSink. It is not safe
// for use by two goroutines.
type Writer struct {
	dir  string
	file *os.File
	buf  *bufio.Writer
}

// Append opens the record stream of the run for appending. A torn last line of an
// interrupted run is cut off first.
func (r *Run) Append() (*Writer, error) {
	path := r.File(MeasurementsFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the records of the run: %w", err)
	}
	end, err := wholeLines(file)
	if err == nil {
		err = file.Truncate(end)
	}
	if err == nil {
		_, err = file.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, errors.Join(err, file.Close()))
	}
	return &Writer{dir: r.Dir, file: file, buf: bufio.NewWriterSize(file, 1<<16)}, nil
}

// wholeLines returns the offset behind the last newline.
func wholeLines(file *os.File) (int64, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	chunk := make([]byte, 1<<16)
	for end := size; end > 0; {
		start := max(0, end-int64(len(chunk)))
		part := chunk[:end-start]
		if _, err := file.ReadAt(part, start); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return 0, nil
}

// line is a record with its kind in front.
type line struct {
	Kind result.RecordKind `json:"kind"`
}

// Put appends one record as one line.
func (w *Writer) Put(record result.Record) error {
	head, err := json.Marshal(line{record.RecordKind()})
	if err != nil {
		return fmt.Errorf("encoding a record: %w", err)
	}
	body, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("encoding a %s record: %w", record.RecordKind(), err)
	}
	head[len(head)-1] = ','
	if _, err := w.buf.Write(append(append(head, body[1:]...), '\n')); err != nil {
		return fmt.Errorf("storing a %s record: %w", record.RecordKind(), err)
	}
	return nil
}

// Output keeps the raw output of a slot. Empty output makes no file.
func (w *Writer) Output(slot int, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	path := filepath.Join(w.dir, CapturesDir, fmt.Sprintf("slot-%06d.txt", slot))
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		return fmt.Errorf("keeping the output of slot %d: %w", slot, err)
	}
	return nil
}

// Sync returns when everything put so far is on disk.
func (w *Writer) Sync() error {
	if err := errors.Join(w.buf.Flush(), w.file.Sync()); err != nil {
		return fmt.Errorf("syncing the records of the run: %w", err)
	}
	return nil
}

// Close syncs and closes the stream.
func (w *Writer) Close() error { return errors.Join(w.Sync(), w.file.Close()) }

// commit names the samples that a Round record commits.
type commit struct {
	round int
	id    result.CaseID
	pilot bool
	slot  int
}

// Read hands every committed record of the run to the sink, in order. Samples
// that no Round record commits are left out (their round was cut off and is
// measured again by --resume); so is a torn last line. A line that does not parse
// elsewhere is an error naming file and line.
func (r *Run) Read(sink result.Sink) error {
	committed := map[commit]bool{}
	err := r.scan(func(record result.Record) error {
		if round, ok := record.(result.Round); ok {
			for _, slot := range round.Slots {
				committed[commit{round.Round, round.ID, round.Pilot, slot}] = true
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.scan(func(record result.Record) error {
		if s, ok := record.(result.Measurement); ok && !committed[commit{s.Round, s.ID, s.Pilot, s.Slot}] {
			return nil
		}
		return sink.Put(record)
	})
}

// scan parses the stream line by line.
func (r *Run) scan(each func(result.Record) error) error {
	path := r.File(MeasurementsFile)
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the records of the run: %w", err)
	}
	defer func() { _ = file.Close() }() // read only: nothing to lose
	reader := bufio.NewReaderSize(file, 1<<16)
	for number := 1; ; number++ {
		text, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // a torn last line is tolerated
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		record, err := decode(text)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
		if err := each(record); err != nil {
			return err
		}
	}
}

// decode parses one line of the stream.
func decode(text []byte) (result.Record, error) {
	var kind line
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, fmt.Errorf("damaged record: %w", err)
	}
	switch kind.Kind {
	case result.KindSlot:
		return into[result.Slot](text)
	case result.KindSample:
		return into[result.Measurement](text)
	case result.KindDamaged:
		return into[result.Damaged](text)
	case result.KindFailure:
		return into[result.Failure](text)
	case result.KindSensor:
		return into[result.Sensor](text)
	case result.KindLook:
		return into[result.LookResult](text)
	case result.KindRound:
		return into[result.Round](text)
	case result.KindEnd:
		return into[result.End](text)
	}
	return nil, fmt.Errorf("record of unknown kind %q", kind.Kind)
}

func into[T result.Record](text []byte) (result.Record, error) {
	var record T
	if err := json.Unmarshal(text, &record); err != nil {
		return nil, fmt.Errorf("damaged %s record: %w", record.RecordKind(), err)
	}
	return record, nil
}

// Progress is how far the sessions of a run came.
type Progress struct {
	Committed []result.Round // counted ones, in order
	Failed    []result.Failure
	Looks     []result.LookResult
	LastSlot  int
	LastSeq   int64
	Ended     bool // the last session was not interrupted
}

// Progress reads how far the run came.
func (r *Run) Progress() (Progress, error) {
	var p Progress
	err := r.scan(func(record result.Record) error {
		switch v := record.(type) {
		case result.Round:
			if !v.Pilot {
				p.Committed = append(p.Committed, v)
			}
		case result.Failure:
			p.Failed = append(p.Failed, v)
			p.LastSlot = max(p.LastSlot, v.Slot) // a slot that failed to start has no record of its own
		case result.LookResult:
			p.Looks = append(p.Looks, v)
		case result.Slot:
			p.LastSlot = max(p.LastSlot, v.Slot)
		case result.Measurement:
			p.LastSeq = max(p.LastSeq, v.Seq)
		case result.End:
			p.Ended = !v.Interrupted
		case result.Damaged, result.Sensor:
		}
		return nil
	})
	return p, err
}

// Buffer is a RunSink in memory, for what is measured before a run has a folder.
type Buffer struct {
	records []result.Record
	outputs []output
}

type output struct {
	slot int
	raw  []byte
}

// Put keeps a record.
func (b *Buffer) Put(record result.Record) error {
	b.records = append(b.records, record)
	return nil
}

// Output keeps the raw output of a slot.
func (b *Buffer) Output(slot int, raw []byte) error {
	b.outputs = append(b.outputs, output{slot, raw})
	return nil
}

// Sync does nothing: memory is as safe as it gets.
func (b *Buffer) Sync() error { return nil }

// Records hands the kept records to a sink, in order.
func (b *Buffer) Records(sink result.Sink) error {
	for _, record := range b.records {
		if err := sink.Put(record); err != nil {
			return err
		}
	}
	return nil
}

// Replay hands everything kept to a sink and syncs it.
func (b *Buffer) Replay(sink result.RunSink) error {
	if err := b.Records(sink); err != nil {
		return err
	}
	for _, o := range b.outputs {
		if err := sink.Output(o.slot, o.raw); err != nil {
			return err
		}
	}
	return sink.Sync()
}
