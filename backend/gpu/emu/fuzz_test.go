package emu

import (
	"os"
	"path/filepath"
	"testing"

	"ptc/backend/gpu/ptx"
)

// FuzzRun: no text makes the emulator panic, whatever it does.
func FuzzRun(f *testing.F) {
	files, err := filepath.Glob("testdata/*.ptx")
	if err != nil || len(files) == 0 {
		f.Fatal(err, files)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), uint64(0), false)
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64, late bool) {
		m, err := ptx.Parse(text)
		if err != nil {
			return
		}
		for _, e := range m.Entries {
			p, err := Load(e)
			if err != nil {
				continue
			}
			d := &Device{Options: Options{Check: true, Steps: 500, Seed: seed, Late: late}}
			x, _ := d.Alloc(4096)
			l := Launch{Grid: max(1, e.Cluster)}
			if e.Dynamic {
				l.Shared = 1 << 16
			}
			for _, param := range e.Params {
				b, err := (&TensorMap{Type: BFloat16, Rank: 2, Address: x, Sizes: [5]uint64{64, 32}, Strides: [4]uint64{128}, Box: [5]uint32{64, 16}, Steps: [5]uint32{1, 1}, Swizzle: Swizzle128}).Encode()
				if err != nil {
					t.Fatal(err)
				}
				b = append(b, make([]byte, 4096)...)
				l.Args = append(l.Args, Arg{Word: x, Bytes: b[:param.Bytes]})
			}
			_ = d.Run(p, l)
		}
	})
}
