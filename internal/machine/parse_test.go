package machine

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestParseCPUList(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{"": nil, " \n": nil, "0": {0}, "0,2-3\n": {0, 2, 3}, "3,1,1-2": {1, 2, 3}} {
		if got, err := ParseCPUList(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{",", "1,", "a", "2-1", "-1", "1-", "0-8192", "99999999999", "0x1", "+1"} {
		if got, err := ParseCPUList(text); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"48K": 48 << 10, "2 MB": 2 << 20, "100 kB": 100 << 10, "7": 7, "1G": 1 << 30, "": 0, "K": 0, "5 KM": 0, "-1K": 0, "9223372036854775807G": 0} {
		if got := parseSize(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestBoundedBuffer(t *testing.T) {
	t.Parallel()
	for _, chunk := range []int{1000, outputPart - 1, 2*outputPart + 1, 5 * outputPart} {
		var all []byte
		var b boundedBuffer
		for i := 0; len(all) < 3*outputPart; i++ {
			text := bytes.Repeat([]byte{byte(i), byte(i >> 8), 'x'}, chunk/3+1)
			all = append(all, text...)
			if n, err := b.Write(text); n != len(text) || err != nil {
				t.Fatal(n, err)
			}
		}
		got := b.bytes()
		if !bytes.HasPrefix(got, all[:outputPart]) || !bytes.HasSuffix(got, all[len(all)-outputPart:]) {
			t.Errorf("chunks of %d: the ends differ", chunk)
		}
		if b.lost != int64(len(all)-2*outputPart) {
			t.Errorf("chunks of %d: %d lost, want %d", chunk, b.lost, len(all)-2*outputPart)
		}
	}
}

func FuzzParseCPUList(f *testing.F) {
	for _, text := range []string{"", "0", "0,2-3", "1-", "8191", "0-8192", "3,2,1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cpus, err := ParseCPUList(text)
		if err != nil {
			return
		}
		again, err := ParseCPUList(FormatCPUList(cpus))
		if err != nil || !slices.Equal(cpus, again) || !slices.IsSorted(cpus) {
			t.Errorf("%q: %v, then %v, %v", text, cpus, again, err)
		}
	})
}

// FuzzProc gives arbitrary text to every reader of files of the kernel: none may
// panic, and what they return must make sense.
func FuzzProc(f *testing.F) {
	f.Add("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n")
	f.Add("24 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	f.Add("5:cpu,cpuacct:/docker/abc\n0::/x\n")
	f.Add("MemTotal:  12 kB\n")
	f.Add("77 (a (b) c) S 1 2 3")
	f.Add("GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\n")
	f.Add("cpu8191 0 0 0 0 0 0 0 -1\n")
	f.Fuzz(func(t *testing.T, text string) {
		for cpu, ticks := range parseSteal([]byte(text)) {
			if ticks < -1 || cpu >= maxCPU {
				t.Errorf("core %d has %d ticks", cpu, ticks)
			}
		}
		for _, m := range parseCgroupMounts(text) {
			if m.point == "" || m.root == "" || (m.version != 1 && m.version != 2) {
				t.Errorf("%+v", m)
			}
		}
		parseOwnCgroups(text)
		glibcVersion([]byte(text))
		threadState(text)
		if parseSize(text) < 0 || parseSize(field(text, "MemTotal")) < 0 {
			t.Error("negative size")
		}
		if dirs := ancestors(text, "/"); len(dirs) == 0 {
			t.Error("no folder")
		}
	})
}

func TestThreadState(t *testing.T) {
	t.Parallel()
	for stat, want := range map[string]byte{
		"12 (go) S 1 1": 'S', "12 (a) R (b) T 1 1": 'T', "12 (x)": 0, "": 0, "12 (y) ": 0,
	} {
		if got := threadState(stat); got != want {
			t.Errorf("%q: %c, want %c", stat, got, want)
		}
	}
}
