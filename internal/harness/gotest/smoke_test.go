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
	dirs := strings.Fields(os.Getenv("SMOKE"))
	for n := 0; n+1 < len(dirs); n += 2 {
		bdir, hdir := t.TempDir(), t.TempDir()
		for from, to := range map[string]string{dirs[n]: bdir, dirs[n+1]: hdir} {
			if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
		}
		base, head := harnesstest.Tree(bdir), harnesstest.Tree(hdir)
		layout, err := Adapter{}.Detect(t.Context(), head, harness.Query{Dir: ".", Packages: strings.Fields(os.Getenv("PKGS"))})
		if err != nil {
			t.Error(err)
			continue
		}
		s := time.Now()
		plan, err := Adapter{}.Graft(head, base, layout)
		t.Log("====", dirs[n], dirs[n+1], "units", len(layout.Units), "graft", len(plan.Copy), plan.Remove, err, time.Since(s), layout.Warnings)
		for _, f := range plan.Copy {
			if f.Kind != "test" {
				t.Log("   ", f.Kind, f.Path)
			}
		}
		os.Chmod(bdir, 0o777)
		harnesstest.Apply(t, head, bdir, plan)
		s = time.Now()
		e, d, w, err := Adapter{}.Resolve(t.Context(), head, base, layout)
		t.Log("resolve", len(e), d, w, err, time.Since(s))
		for i, u := range layout.Units {
			if i >= 8 {
				break
			}
			u.LeftOut, _ = LeftOut(base.FS, u)
			a := harnesstest.Build(t, Adapter{}, harnesstest.RecipeOf(base, layout, u))
			t.Log(u.Package, len(u.Internal), len(u.External), u.Files, u.LeftOut)
			if a.Failure != nil {
				t.Log(u.Package, "FAILS", a.Failure.Missing, a.Failure.Text[:min(900, len(a.Failure.Text))])
			}
		}
	}
}
