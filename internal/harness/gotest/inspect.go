package gotest

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"sort"
	"strings"

	"assay/internal/result"
)

// Inspect reads the effective build settings out of a test binary and digests
// its code and constants.
//
// The digest is over every section that is loaded, but for what differs between
// binaries whose code is equal:
//   - line tables (.gopclntab; before Go 1.26 also go:func.*, which holds the
//     first lines of inlined functions) and debugging sections, which move with a
//     comment;
//   - moduledata (.go.module, before Go 1.26 the symbol runtime.firstmoduledata),
//     which points into the line tables and says how long they are;
//   - build information (.go.buildinfo, runtime.modinfo.str), the FIPS
//     check sum over addresses, and notes.
//
// Seen on linux/amd64 with Go 1.26.8: code refers only to sections before the line
// tables and to data that begins on the next page, so a comment leaves both as
// they are unless the tables grow over a page. Then the digests differ although
// the code is equal: the error is always on the side of measuring.
// A file that is neither ELF nor Mach-O, or stripped by an older linker, gets the
// digest of all its bytes.
func (Adapter) Inspect(name string) ([]result.Setting, string, error) {
	info, err := buildinfo.ReadFile(name)
	if err != nil {
		return nil, "", fmt.Errorf("reading the build settings of %s: %w", name, err)
	}
	const source = "go version -m"
	settings := []result.Setting{{Key: "GOVERSION", Value: info.GoVersion, Source: source}}
	for _, s := range info.Settings {
		settings = append(settings, result.Setting{Key: s.Key, Value: s.Value, Source: source})
	}
	sections, symbols, err := loadedSections(name)
	if err != nil {
		return nil, "", fmt.Errorf("reading the sections of %s: %w", name, err)
	}
	sum := sha256.New()
	if err := digestSections(sum, sections, symbols); err != nil {
		return nil, "", fmt.Errorf("digesting %s: %w", name, err)
	}
	if len(sections) == 0 || !locatable(sections, symbols) {
		sum.Reset()
		if err := digestFile(sum, name); err != nil {
			return nil, "", fmt.Errorf("digesting %s: %w", name, err)
		}
	}
	return settings, "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// section is one loaded section; read is nil if the file holds no bytes of it.
type section struct {
	name       string
	addr, size uint64
	read       func() ([]byte, error)
}

// symbol is the address of a name.
type symbol struct {
	name string
	addr uint64
}

// digestSections hashes what counts, with the ranges of symbols that do not
// count set to zero.
func digestSections(sum hash.Hash, sections []section, symbols []symbol) error {
	sort.SliceStable(symbols, func(i, j int) bool { return symbols[i].addr < symbols[j].addr })
	for _, s := range sections {
		if excludedSection(s.name) {
			continue
		}
		if _, err := fmt.Fprintf(sum, "%s %d\n", s.name, s.size); err != nil {
			return err
		}
		if s.read == nil {
			continue
		}
		data, err := s.read()
		if err != nil {
			return fmt.Errorf("section %s: %w", s.name, err)
		}
		for i, sym := range symbols {
			if !excludedSymbol(sym.name) || sym.addr < s.addr || sym.addr >= s.addr+s.size {
				continue
			}
			end := s.addr + s.size
			for _, next := range symbols[i+1:] {
				if next.addr > sym.addr {
					end = min(end, next.addr)
					break
				}
			}
			from, to := min(sym.addr-s.addr, uint64(len(data))), min(end-s.addr, uint64(len(data)))
			clear(data[from:to])
		}
		if _, err := io.Copy(sum, bytes.NewReader(data)); err != nil {
			return err
		}
	}
	return nil
}

// excludedSection names sections whose bytes do not count, in ELF's and in
// Mach-O's spelling.
func excludedSection(name string) bool {
	name = strings.TrimLeft(name, "._")
	switch name {
	case "gopclntab", "go.buildinfo", "go_buildinfo", "go.module", "go_module", "go.fipsinfo", "go_fipsinfo", "gosymtab", "data.rel.ro.gopclntab":
		return true
	}
	return strings.HasPrefix(name, "note")
}

func excludedSymbol(name string) bool {
	switch strings.TrimPrefix(name, "_") {
	case "runtime.firstmoduledata", "go:func.*", "runtime.modinfo.str":
		return true
	}
	return false
}

// locatable says whether moduledata could be found and left out.
func locatable(sections []section, symbols []symbol) bool {
	for _, s := range sections {
		if name := strings.TrimLeft(s.name, "._"); name == "go.module" || name == "go_module" {
			return true
		}
	}
	for _, s := range symbols {
		if strings.TrimPrefix(s.name, "_") == "runtime.firstmoduledata" {
			return true
		}
	}
	return false
}

// loadedSections reads an ELF or Mach-O file; nothing of another kind.
func loadedSections(name string) ([]section, []symbol, error) {
	if file, err := elf.Open(name); err == nil {
		sections, symbols := elfSections(file)
		return readAll(sections), symbols, file.Close()
	}
	if file, err := macho.Open(name); err == nil {
		sections, symbols := machoSections(file)
		return readAll(sections), symbols, file.Close()
	}
	return nil, nil, nil
}

// readAll reads the sections while their file is open.
func readAll(sections []section) []section {
	for i := range sections {
		if sections[i].read == nil || excludedSection(sections[i].name) {
			continue
		}
		data, err := sections[i].read()
		sections[i].read = func() ([]byte, error) { return data, err }
	}
	return sections
}

func elfSections(file *elf.File) ([]section, []symbol) {
	var sections []section
	for _, s := range file.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		one := section{name: s.Name, addr: s.Addr, size: s.Size}
		if s.Type != elf.SHT_NOBITS {
			one.read = s.Data
		}
		sections = append(sections, one)
	}
	var symbols []symbol
	if table, err := file.Symbols(); err == nil { // a stripped file has none
		for _, s := range table {
			symbols = append(symbols, symbol{s.Name, s.Value})
		}
	}
	return sections, symbols
}

func machoSections(file *macho.File) ([]section, []symbol) {
	const zeroFill = 1 // S_ZEROFILL, the low byte of the flags (mach-o/loader.h)
	var sections []section
	for _, s := range file.Sections {
		if s.Seg == "__DWARF" {
			continue
		}
		one := section{name: s.Name, addr: s.Addr, size: s.Size}
		if s.Flags&0xff != zeroFill {
			one.read = s.Data
		}
		sections = append(sections, one)
	}
	var symbols []symbol
	if file.Symtab != nil {
		for _, s := range file.Symtab.Syms {
			symbols = append(symbols, symbol{s.Name, s.Value})
		}
	}
	return sections, symbols
}

func digestFile(sum io.Writer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(sum, file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}
