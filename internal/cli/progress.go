package cli

import (
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"assay/internal/measure"
)

// lineEvery is how often progress is told where there is no terminal.
const lineEvery = 10 * time.Second

// progress shows events: a bar on a terminal, a line now and then elsewhere.
type progress struct {
	notes notes
	bars  *mpb.Progress
	bar   *mpb.Bar
	stage string
	text  string
	last  time.Time
}

func newProgress(env *Env, n notes) *progress {
	p := &progress{notes: n}
	if env.Terminal && !n.quiet {
		p.bars = mpb.New(mpb.WithOutput(env.Stderr), mpb.WithWidth(40))
	}
	return p
}

// event shows one step.
func (p *progress) event(e measure.Event) {
	if p.notes.quiet {
		return
	}
	p.text = e.Case
	if p.bars == nil {
		p.line(e)
		return
	}
	if e.Stage != p.stage {
		p.finish()
		p.stage = e.Stage
		p.bar = p.bars.AddBar(1,
			mpb.PrependDecorators(decor.Name(e.Stage, decor.WC{W: 8, C: decor.DindentRight})),
			mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), decor.Any(func(decor.Statistics) string { return " " + p.text }, decor.WC{W: 30})),
			mpb.BarRemoveOnComplete())
	}
	if e.Total > 0 {
		p.bar.SetTotal(int64(e.Total), false)
		p.bar.SetCurrent(min(int64(e.Done), int64(e.Total)-1))
	}
}

func (p *progress) line(e measure.Event) {
	now := p.notes.env.Now()
	if e.Stage == p.stage && now.Sub(p.last) < lineEvery {
		return
	}
	p.stage, p.last = e.Stage, now
	switch {
	case e.Stage == "measure" && e.Total > 0:
		p.notes.say("measuring: %d %% of about %v", int(100*e.Done/e.Total), e.Total.Round(time.Second))
	case e.Stage == "pilot":
		p.notes.say("pilot: case %d of %d", int(e.Done)+1, int(e.Total))
	default:
		p.notes.say("%s: %s", e.Stage, e.Case)
	}
}

func (p *progress) finish() {
	if p.bar != nil {
		p.bar.SetTotal(-1, true)
		p.bar = nil
	}
}

// close ends the bars.
func (p *progress) close() {
	p.finish()
	if p.bars != nil {
		p.bars.Wait()
	}
}
