package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// System is a machine whose state is read from /proc and /sys.
type System struct {
	root string // in front of every path; empty for the machine itself

	mu     sync.Mutex
	stat   *os.File // /proc/stat, kept open for Steal
	buffer []byte   // what was read from it
}

// New is the machine this program runs on. Systems other than Linux have hardly
// any of the files, and most facts are unknown there.
func New() *System { return &System{} }

// path joins a slash-separated absolute path to the root.
func (s *System) path(name string) string {
	if s.root == "" {
		return name
	}
	return filepath.Join(s.root, filepath.FromSlash(name))
}

// read returns a small file without the white space around it.
func (s *System) read(name string) (string, bool) {
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		return "", false
	}
	return strings.Trim(string(text), " \t\r\n\x00"), true
}

func (s *System) readInt(name string) (int64, bool) {
	text, ok := s.read(name)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// glob returns the matching paths without the root, sorted.
func (s *System) glob(pattern string) []string {
	found, err := filepath.Glob(s.path(pattern))
	if err != nil {
		return nil // only a malformed pattern
	}
	for i := range found {
		found[i] = filepath.ToSlash(strings.TrimPrefix(found[i], s.root))
	}
	return found
}

// cgroupMount is one mounted cgroup hierarchy as /proc/self/mountinfo has it.
type cgroupMount struct {
	root    string // the cgroup that is mounted
	point   string
	version int      // 1 or 2
	options []string // version 1: its controllers
}

// parseCgroupMounts reads /proc/self/mountinfo (proc_pid_mountinfo(5)).
func parseCgroupMounts(mountinfo string) []cgroupMount {
	var mounts []cgroupMount
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 5 || len(right) < 3 {
			continue
		}
		mount := cgroupMount{root: left[3], point: left[4], options: strings.Split(right[2], ",")}
		switch right[0] {
		case "cgroup":
			mount.version = 1
		case "cgroup2":
			mount.version = 2
		default:
			continue
		}
		mounts = append(mounts, mount)
	}
	return mounts
}

// parseOwnCgroups reads /proc/self/cgroup: the cgroup of this process per
// controller of version 1, and under the empty name that of version 2.
func parseOwnCgroups(text string) map[string]string {
	own := map[string]string{}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			own[controller] = parts[2]
		}
	}
	return own
}

// cgroupDir is the folder of this process's cgroup and the folder at which its
// hierarchy is mounted; controller is empty for version 2.
func (s *System) cgroupDir(controller string) (dir, mount string, err error) {
	mountinfo, ok := s.read("/proc/self/mountinfo")
	own, okOwn := s.read("/proc/self/cgroup")
	if !ok || !okOwn {
		return "", "", errors.New("/proc/self/cgroup or mountinfo cannot be read")
	}
	path, ok := parseOwnCgroups(own)[controller]
	if !ok {
		return "", "", errors.New("this process is in none")
	}
	for _, m := range parseCgroupMounts(mountinfo) {
		if (controller == "") != (m.version == 2) || (controller != "" && !slices.Contains(m.options, controller)) {
			continue
		}
		below, err := filepath.Rel(m.root, path)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			continue // the mount shows another part of the hierarchy
		}
		return filepath.Join(m.point, below), m.point, nil
	}
	return "", "", fmt.Errorf("the hierarchy of %s is not mounted", path)
}

// cgroup2Dir is the folder of this process's cgroup of version 2.
func (s *System) cgroup2Dir() (string, error) {
	dir, _, err := s.cgroupDir("")
	if err != nil {
		return "", fmt.Errorf("cgroup version 2: %w", err)
	}
	return dir, nil
}
