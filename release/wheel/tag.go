package wheel

import (
	"bytes"
	"debug/elf"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// floor is the glibc of manylinux2014: the first one of 64-bit ARM, and older than
// which no installer is that knows these tags (PEP 599, PEP 600).
var floor = [2]int{2, 17}

// allowed are the libraries that PEP 599 lets a wheel take from the system, as far as
// they are glibc's.
var allowed = []string{"libc.so.6", "libdl.so.2", "libpthread.so.0", "libm.so.6", "librt.so.1"}

var machines = map[string]struct {
	elf  elf.Machine
	name string
}{"amd64": {elf.EM_X86_64, "x86_64"}, "arm64": {elf.EM_AARCH64, "aarch64"}}

// platform is the tag of the systems that a binary runs on (PEP 600): manylinux with the
// version of glibc that its symbols need.
func platform(binary []byte, arch string) (string, error) {
	machine, ok := machines[arch]
	if !ok {
		return "", fmt.Errorf("wheels know no architecture %q", arch)
	}
	f, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return "", err
	}
	if f.Machine != machine.elf {
		return "", fmt.Errorf("the binary is for %v, not for %s", f.Machine, arch)
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return "", err
	}
	for _, l := range libraries {
		if !slices.Contains(allowed, l) {
			return "", fmt.Errorf("the binary needs %s, which not every system has", l)
		}
	}
	var versions []string
	if len(libraries) > 0 {
		symbols, err := f.ImportedSymbols()
		if err != nil {
			return "", err
		}
		for _, s := range symbols {
			versions = append(versions, s.Version)
		}
	}
	v, err := newest(versions)
	return fmt.Sprintf("manylinux_%d_%d_%s", v[0], v[1], machine.name), err
}

var ofGlibc = regexp.MustCompile(`^GLIBC_(\d+)\.(\d+)(\.\d+)?$`)

// newest is the version of glibc that has all versions of symbols. A symbol without one
// is taken as every glibc has it.
func newest(versions []string) ([2]int, error) {
	out := floor
	for _, v := range versions {
		m := ofGlibc.FindStringSubmatch(v)
		if m == nil {
			if v == "" {
				continue
			}
			return out, fmt.Errorf("the binary needs %s, which is no version of glibc", v)
		}
		major, err1 := strconv.Atoi(m[1])
		minor, err2 := strconv.Atoi(m[2])
		if err1 != nil || err2 != nil {
			return out, fmt.Errorf("%s is no version", v)
		}
		if got := [2]int{major, minor}; slices.Compare(got[:], out[:]) > 0 {
			out = got
		}
	}
	return out, nil
}

var semantic = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-(dev|alpha|beta|rc)\.?(\d*))?$`)

// pythonVersion is a version as Python writes it (PEP 440).
func pythonVersion(v string) (string, error) {
	m := semantic.FindStringSubmatch(v)
	if m == nil {
		return "", fmt.Errorf("Python has no version %s; it has 1.2.3, and before it -dev, -alpha.1, -beta.1, -rc.1", v)
	}
	if m[2] == "" {
		return m[1], nil
	}
	number := m[3]
	if number == "" {
		number = "0"
	}
	stage := map[string]string{"dev": ".dev", "alpha": "a", "beta": "b", "rc": "rc"}[m[2]]
	return m[1] + stage + strings.TrimLeft(number[:len(number)-1], "0") + number[len(number)-1:], nil
}
