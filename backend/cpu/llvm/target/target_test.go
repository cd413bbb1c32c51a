package target

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	for _, name := range Names() {
		got, err := Resolve(name)
		if err != nil || got.Name != name {
			t.Errorf("%s: %q, %v", name, got.Name, err)
		}
		if short, err := Resolve(strings.TrimPrefix(name, "cpu:")); err != nil || short.Name != name {
			t.Errorf("%s without its prefix: %q, %v", name, short.Name, err)
		}
	}
	_, err := Resolve("cpu:x86-64-v9")
	if err == nil || !strings.Contains(err.Error(), "did you mean") || !strings.Contains(err.Error(), "cpu:neoverse-v2") {
		t.Errorf("error %v", err)
	}
}

// TestDescriptionsAreComplete holds for every target what generators rely on.
func TestDescriptionsAreComplete(t *testing.T) {
	for _, d := range all {
		t.Run(d.Name, func(t *testing.T) {
			if d.Arch == "" || d.Triple == "" || d.CPU == "" || len(d.Requires) == 0 {
				t.Errorf("incomplete: %+v", d)
			}
			if d.VectorBits < 128 || d.VectorBits&(d.VectorBits-1) != 0 || d.Registers < 16 || d.CacheLine != 64 {
				t.Errorf("vectors of %d bits in %d registers, lines of %d bytes", d.VectorBits, d.Registers, d.CacheLine)
			}
			if d.Lanes(32)*32 != d.VectorBits {
				t.Errorf("%d lanes of f32", d.Lanes(32))
			}
			if !(0 < d.L1 && d.L1 < d.L2 && d.L2 < d.L3) {
				t.Errorf("caches %d, %d, %d", d.L1, d.L2, d.L3)
			}
			for _, f := range strings.Split(d.Features, ",") {
				if f != "" && !slices.Contains(d.Requires, strings.TrimPrefix(f, "+")) {
					t.Errorf("code may use %s, which no host is asked for", f)
				}
			}
		})
	}
}

// TestCallersCannotChangeADescription: the slices are the caller's own.
func TestCallersCannotChangeADescription(t *testing.T) {
	d, err := Resolve("cpu:arm64")
	if err != nil {
		t.Fatal(err)
	}
	d.Requires[0] = "changed"
	if again, _ := Resolve("cpu:arm64"); again.Requires[0] != "neon" {
		t.Errorf("requires %v", again.Requires)
	}
}

func TestHost(t *testing.T) {
	for _, c := range []struct {
		what string
		p    processor
		want string
	}{
		{"Sapphire Rapids", processor{arch: "amd64", level: 4, pairs: true, tiles: true}, "cpu:x86-64-v4+amx"},
		{"Sapphire Rapids whose system keeps the tile registers", processor{arch: "amd64", level: 4, pairs: true}, "cpu:x86-64-v4"},
		{"Ice Lake", processor{arch: "amd64", level: 4}, "cpu:x86-64-v4"},
		{"Zen 4", processor{arch: "amd64", level: 4, amd: true, pairs: true}, "cpu:x86-64-v4+avx512bf16"},
		{"a processor of AMD with tile registers", processor{arch: "amd64", level: 4, amd: true, pairs: true, tiles: true}, "cpu:x86-64-v4+amx"},
		{"Zen 3", processor{arch: "amd64", level: 3, amd: true}, "cpu:x86-64-v3"},
		{"pairs without 512 bits", processor{arch: "amd64", level: 3, pairs: true}, "cpu:x86-64-v3"},
		{"tiles without 512 bits", processor{arch: "amd64", level: 3, pairs: true, tiles: true}, "cpu:x86-64-v3"},
		{"Nehalem", processor{arch: "amd64", level: 2}, "cpu:x86-64-v2"},
		{"an older one", processor{arch: "amd64", level: 1}, ""},
		{"a core of Arm", processor{arch: "arm64"}, "cpu:arm64"},
		{"another architecture", processor{arch: "riscv64"}, ""},
	} {
		if got := hostName(c.p); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
		if c.want == "" {
			continue
		}
		x, err := Resolve(c.want)
		if err != nil || x.HasTileBF16 && !c.p.tiles || x.HasDotBF16 && !x.HasTileBF16 && !c.p.amd {
			t.Errorf("%s: %+v, %v", c.what, x, err)
		}
	}
	h, err := Resolve("cpu")
	if err != nil {
		t.Fatal(err)
	}
	named, err := Resolve(h.Name)
	if err != nil || named.VectorBits != h.VectorBits || named.L3 != h.L3 {
		t.Errorf("the host on %s is %+v, and its name means %+v, %v", runtime.GOARCH, h, named, err)
	}
}
