package machine

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
)

// cLibrary is the C library that programs of this system load. glibc carries its
// version as text; musl's is known to the package manager only.
func (s *System) cLibrary() reading {
	arch := s.file("/proc/sys/kernel/arch")().value
	if arch == "" && s.root == "" {
		arch = systemCall("arch").value
	}
	for _, pattern := range []string{
		"/lib/" + arch + "-linux-gnu*/libc.so.6", "/usr/lib/" + arch + "-linux-gnu*/libc.so.6",
		"/lib64/libc.so.6", "/usr/lib64/libc.so.6", "/lib/libc.so.6", "/usr/lib/libc.so.6",
	} {
		for _, file := range s.glob(pattern) {
			library, err := os.ReadFile(s.path(file))
			if err != nil {
				continue
			}
			if version := glibcVersion(library); version != "" {
				return reading{"glibc " + version, file}
			}
		}
	}
	if files := s.glob("/lib/ld-musl-*.so.1"); len(files) > 0 {
		const packages = "/lib/apk/db/installed"
		database, _ := s.read(packages)
		for entry := range strings.SplitSeq(database, "\n\n") {
			if field(entry, "P") == "musl" && field(entry, "V") != "" {
				return reading{"musl " + field(entry, "V"), packages}
			}
		}
		return reading{"musl, version unknown", files[0]}
	}
	return reading{}
}

// glibcVersion finds the version in the banner that libc.so.6 prints when it is
// run, for example "2.36" or "2.35-0ubuntu3.8".
func glibcVersion(library []byte) string {
	_, after, found := bytes.Cut(library, []byte("GNU C Library ("))
	if !found {
		return ""
	}
	banner, _, _ := bytes.Cut(after[:min(len(after), 200)], []byte("\n"))
	vendor, rest, _ := strings.Cut(string(banner), ") ")
	if words := strings.Fields(vendor); len(words) > 0 && strings.HasPrefix(words[len(words)-1], "2.") {
		return words[len(words)-1] // the distribution's own number says more
	}
	_, version, found := strings.Cut(rest, "version ")
	if !found {
		return ""
	}
	return strings.TrimRight(version, ".")
}

// instanceID is the name that a cloud gave to this machine, if it is readable.
func (s *System) instanceID() reading {
	const cloudInit, assetTag, uuid = "/var/lib/cloud/data/instance-id", "/sys/class/dmi/id/board_asset_tag", "/sys/class/dmi/id/product_uuid"
	if found := s.file(cloudInit)(); found.value != "" {
		return found
	}
	if tag := s.file(assetTag)(); strings.HasPrefix(tag.value, "i-") { // Amazon EC2
		return tag
	}
	return s.file(uuid)()
}

// hypervisor is "none" only on x86, where a processor flag says so.
func (s *System) hypervisor() reading {
	if xen := s.file("/sys/hypervisor/type")(); xen.value != "" {
		return xen
	}
	if tree := s.file("/sys/firmware/devicetree/base/hypervisor/compatible")(); tree.value != "" {
		return tree
	}
	info, _ := s.read("/proc/cpuinfo")
	flags := strings.Fields(field(info, "flags"))
	if len(flags) == 0 {
		return reading{}
	}
	found := false
	for _, flag := range flags {
		found = found || flag == "hypervisor"
	}
	if !found {
		return reading{"none", "/proc/cpuinfo flags"}
	}
	vendor, _ := s.read("/sys/class/dmi/id/sys_vendor")
	product, _ := s.read("/sys/class/dmi/id/product_name")
	if name := strings.TrimSpace(vendor + " " + product); name != "" {
		return reading{name, "/proc/cpuinfo flags, /sys/class/dmi/id"}
	}
	return reading{"unnamed", "/proc/cpuinfo flags"}
}

func (s *System) aslr() reading {
	const source = "/proc/sys/kernel/randomize_va_space"
	switch text, _ := s.read(source); text {
	case "0":
		return reading{"off", source}
	case "1":
		return reading{"on, heap fixed", source}
	case "2":
		return reading{"on", source}
	default:
		return reading{}
	}
}

// powerSource is "battery" if a battery of the machine itself discharges.
func (s *System) powerSource() reading {
	const folder = "/sys/class/power_supply"
	if _, err := os.Stat(s.path(folder)); err != nil {
		return reading{}
	}
	battery, mains := false, false
	for _, file := range s.glob(folder + "/*/type") {
		dir := path.Dir(file)
		kind, _ := s.read(file)
		scope, _ := s.read(dir + "/scope")
		status, _ := s.read(dir + "/status")
		online, _ := s.readInt(dir + "/online")
		switch {
		case scope == "Device": // a mouse
		case kind == "Battery":
			battery = battery || status == "Discharging"
		default:
			mains = mains || online == 1
		}
	}
	switch {
	case battery:
		return reading{"battery", folder}
	case mains:
		return reading{"mains", folder}
	default:
		return reading{"no battery", folder}
	}
}

// quota is how many cores' worth of time the cgroup of this process may use; 0
// is no limit. It is false if that cannot be read.
func (s *System) quota() (cores float64, source string, ok bool) {
	if dir, mount, err := s.cgroupDir("cpu"); err == nil { // version 1
		for _, above := range ancestors(dir, mount) {
			quota, okQuota := s.readInt(above + "/cpu.cfs_quota_us")
			period, okPeriod := s.readInt(above + "/cpu.cfs_period_us")
			if okQuota && okPeriod && period > 0 {
				source, ok = dir+"/cpu.cfs_quota_us", true
				cores = tighter(cores, float64(quota)/float64(period))
			}
		}
		if ok {
			return cores, source, true
		}
	}
	dir, mount, err := s.cgroupDir("")
	if err != nil {
		return 0, "", false
	}
	for _, above := range ancestors(dir, mount) {
		text, _ := s.read(above + "/cpu.max") // no file where the controller is off
		if _, readable := s.read(above + "/cgroup.controllers"); readable {
			source, ok = dir+"/cpu.max", true
		}
		quota, period, _ := strings.Cut(text, " ")
		q, errQuota := strconv.ParseFloat(quota, 64)
		p, errPeriod := strconv.ParseFloat(period, 64)
		if errQuota == nil && errPeriod == nil && p > 0 { // else "max"
			cores = tighter(cores, q/p)
		}
	}
	return cores, source, ok
}

// tighter is the smaller of two limits, neither of which counts unless positive.
func tighter(a, b float64) float64 {
	if b <= 0 {
		return a
	}
	if a <= 0 {
		return b
	}
	return min(a, b)
}

func (s *System) quotaFact() reading {
	cores, source, ok := s.quota()
	switch {
	case !ok:
		return reading{}
	case cores == 0:
		return reading{"none", source}
	default:
		return reading{fmt.Sprintf("%.4g cores", cores), source}
	}
}
