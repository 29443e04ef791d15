package machine

import (
	"fmt"
	"testing"
	"time"
)

func benchmarkCage(b *testing.B, cgroup bool, role string) {
	l := testLauncher(b)
	if cgroup && l.system.cgroups == nil {
		b.Skip(l.Freezes())
	}
	if !cgroup && l.system.cgroups != nil {
		if err := l.system.cgroups.close(); err != nil {
			b.Fatal(err)
		}
		l.system.cgroups = nil
	}
	p := start(b, l, role, []int{lastAllowed(b)})
	number(b, p)
	seat, err := KeepOff(New().Topology(), []int{lastAllowed(b)})
	if err != nil {
		b.Fatal(err)
	}
	var freezing, thawing, clock time.Duration
	for b.Loop() {
		t0 := time.Now()
		if err := p.Freeze(); err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		p.CPUTime()
		t2 := time.Now()
		if err := p.Thaw(); err != nil {
			b.Fatal(err)
		}
		t3 := time.Now()
		freezing, clock, thawing = freezing+t1.Sub(t0), clock+t2.Sub(t1), thawing+t3.Sub(t2)
		time.Sleep(time.Millisecond) // let it run
	}
	if err := seat.Restore(); err != nil {
		b.Fatal(err)
	}
	n := float64(b.N) * 1e3
	b.ReportMetric(float64(freezing)/n, "freeze-us")
	b.ReportMetric(float64(thawing)/n, "thaw-us")
	b.ReportMetric(float64(clock)/n, "clock-us")
}

func BenchmarkCage(b *testing.B) {
	for _, role := range []string{"one", "busy", "stubborn", "parent"} {
		for _, cgroup := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/cgroup=%v", role, cgroup), func(b *testing.B) {
				benchmarkCage(b, cgroup, role)
			})
		}
	}
}

func BenchmarkSteal(b *testing.B) {
	s := New()
	cpu := lastAllowed(b)
	for b.Loop() {
		if _, ok := s.Steal([]int{cpu}); !ok {
			b.Fatal("no steal")
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s := New()
	for b.Loop() {
		s.Snapshot()
	}
}
