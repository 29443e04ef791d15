package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"assay/internal/compare"
	"assay/internal/result"
)

// JSON writes comparison.json: one benchmark a line, the same bytes for the
// same comparison. A number that JSON cannot carry (NaN, an infinity) is an
// error that names its benchmark, and nothing is written.
func JSON(w io.Writer, file compare.File) error {
	raw := make([]json.RawMessage, len(file.Benchmarks))
	for i, c := range file.Benchmarks {
		data, err := encode(c)
		if err != nil {
			return fmt.Errorf("writing %s of benchmark %q to comparison.json: %w", c.Metric, c.ID, err)
		}
		raw[i] = data
	}
	file.Benchmarks = []compare.Comparison{}
	file.Replications = list0(file.Replications)
	file.Warnings = list0(file.Warnings)
	file.NotSupported = list0(file.NotSupported)
	if file.Arms == nil {
		file.Arms = map[result.Arm]compare.ArmSummary{}
	}
	whole, err := encode(file)
	if err != nil {
		return fmt.Errorf("writing comparison.json: %w", err)
	}
	const empty = `"benchmarks":[`
	at := bytes.Index(whole, []byte(empty)) + len(empty)
	var out bytes.Buffer
	out.Write(whole[:at])
	for i, data := range raw {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(data)
	}
	out.Write(whole[at:])
	out.WriteByte('\n')
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("writing comparison.json: %w", err)
	}
	return nil
}

// list0 is the list, never null in JSON.
func list0[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
