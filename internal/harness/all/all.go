// Package all is the visible list of harnesses that assay can measure.
//
// In: nothing. Out: the adapters, in the order in which a tree is offered to
// them. It must never register anything by side effect: a harness is here or it
// does not exist.
package all

import (
	"assay/internal/harness"
	"assay/internal/harness/gotest"
)

// Adapters returns every adapter with its name.
func Adapters() []harness.Named {
	return []harness.Named{{Name: gotest.Name, Adapter: gotest.Adapter{}}}
}
