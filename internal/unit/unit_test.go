package unit

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseFoldsSpellings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text   string
		name   string
		factor float64
		better Direction
	}{
		{"ns/op", "ns/op", 1, Lower},
		{"µs/op", "ns/op", 1e3, Lower},
		{"μs/op", "ns/op", 1e3, Lower},
		{"us", "ns/op", 1e3, Lower},
		{"ms", "ns/op", 1e6, Lower},
		{" sec/op ", "ns/op", 1e9, Lower},
		{"B/op", "B/op", 1, Lower},
		{"allocs/op", "allocs/op", 1, Lower},
		{"MB/s", "B/s", 1e6, Higher},
		{"ops/s", "ops/s", 1, Higher},
		{"p99-ns", "p99-ns", 1, Unknown},
		{"", "", 1, Unknown},
	}
	for _, tt := range tests {
		u, factor := Parse(tt.text)
		if u.Name != tt.name || factor != tt.factor || u.Better != tt.better {
			t.Errorf("Parse(%q) = %+v, %v; want %s, %v, %s", tt.text, u, factor, tt.name, tt.factor, tt.better)
		}
	}
}

func TestFormat(t *testing.T) {
	t.Parallel()
	bytes, _ := Parse("B/op")
	throughput, _ := Parse("MB/s")
	tests := []struct {
		unit  Unit
		value float64
		want  string
	}{
		{Time(), 217.38, "217.4 ns"},
		{Time(), 51.66, "51.66 ns"},
		{Time(), 4142.33, "4142 ns"},
		{Time(), 12344.9, "12.34 µs"},
		{Time(), 2.5e6, "2.500 ms"},
		{Time(), 3e9, "3.000 s"},
		{Time(), 0, "0 ns"},
		{Time(), 0.25, "0.2500 ns"},
		{Time(), math.NaN(), "n/a"},
		{Time(), math.Inf(1), "n/a"},
		{bytes, 16, "16 B/op"},
		{bytes, 1234567, "1234567 B/op"},
		{bytes, 16.5, "16.50 B/op"},
		{throughput, 1.25e9, "1.250 GB/s"},
		{Unit{}, 3, "3"},
	}
	for _, tt := range tests {
		if got := tt.unit.Format(tt.value, 4); got != tt.want {
			t.Errorf("%s.Format(%v) = %q, want %q", tt.unit.Name, tt.value, got, tt.want)
		}
	}
}

func TestScaleIsSharedByARow(t *testing.T) {
	t.Parallel()
	s := Time().Scale(12344.9, 900, math.NaN())
	if got := s.Format(900, 4); got != "0.9000 µs" {
		t.Errorf("900 ns beside 12344.9 ns prints as %q", got)
	}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ratio    float64
		decimals int
		want     string
	}{
		{-0.762, 1, "-76.2 %"},
		{0.011, 1, "+1.1 %"},
		{0, 1, "0.0 %"},
		{-0.0001, 1, "0.0 %"},
		{0.0001, 1, "0.0 %"},
		{math.Copysign(0, -1), 0, "0 %"},
		{-0.0001, 2, "-0.01 %"},
		{22.62, 1, "+2262 %"},
		{-1, 1, "-100.0 %"},
		{-0.99996, 1, "-99.996 %"},
		{-0.9999, 0, "-99.99 %"},
		{math.NaN(), 1, "n/a"},
		{math.Inf(-1), 1, "n/a"},
	}
	for _, tt := range tests {
		if got := Percent(tt.ratio, tt.decimals); got != tt.want {
			t.Errorf("Percent(%v, %d) = %q, want %q", tt.ratio, tt.decimals, got, tt.want)
		}
	}
}

func TestPercentNeverSignsZero(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ratio := rapid.Float64Range(-1, 100).Draw(t, "ratio")
		got := Percent(ratio, rapid.IntRange(0, 3).Draw(t, "decimals"))
		digits := strings.Trim(got, "+-0. %")
		if digits == "" && strings.ContainsAny(got, "+-") {
			t.Fatalf("Percent(%v) = %q", ratio, got)
		}
	})
}
