package gotest

import (
	"os"
	"strings"
	"testing"
	"time"

	"assay/internal/harness"
	"assay/internal/harness/harnesstest"
)

func TestSmoke(t *testing.T) {
	for _, dir := range strings.Fields(os.Getenv("SMOKE")) {
		tmp := t.TempDir()
		if err := os.CopyFS(tmp, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		tree := harnesstest.Tree(tmp)
		s := time.Now()
		layout, err := Adapter{}.Detect(t.Context(), tree, harness.Query{Dir: "."})
		if err != nil {
			t.Error(dir, err)
			continue
		}
		t.Log(dir, len(layout.Units), "units", time.Since(s), layout.Warnings)
		s = time.Now()
		plan, err := Adapter{}.Graft(tree, tree, layout)
		t.Log("graft", len(plan.Copy), plan.Remove, err, time.Since(s))
		s = time.Now()
		e, d, w, err := Adapter{}.Resolve(t.Context(), tree, tree, layout)
		t.Log("resolve", e, d, w, err, time.Since(s))
		for i, u := range layout.Units {
			if i >= 6 {
				break
			}
			a := harnesstest.Build(t, Adapter{}, harnesstest.RecipeOf(tree, layout, u))
			if a.Failure != nil {
				t.Log(u.Package, "FAILS", a.Failure.Missing, a.Failure.Text[:min(500, len(a.Failure.Text))])
				continue
			}
			for ext, names := range map[bool][]string{false: u.Internal, true: u.External} {
				if len(names) == 0 {
					continue
				}
				wk := harnesstest.Start(t, Adapter{}.Serve(a, ext))
				if err := wk.Hello(); err != nil {
					t.Log(u.Package, "no hello", err, wk.Output())
					continue
				}
				s = time.Now()
				r, p, err := wk.Ask(harness.Request{Op: harness.OpList})
				bad := 0
				for _, l := range r.Listed {
					if l.Failed != "" {
						bad++
						t.Log(l.Name, l.Failed)
					}
				}
				t.Log(u.Package, "files", u.Files, "leftout", len(u.LeftOut), "declared", len(names), "progress", len(p), "listed", len(r.Listed), "bad", bad, err, time.Since(s))
			}
		}
	}
}
