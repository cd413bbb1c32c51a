package gpu_test

import (
	"slices"
	"strings"
	"testing"

	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/ptx"
	"ptc/runtime/program"
)

// counted is what the first blocks of a kernel do, on memory that is zero.
func counted(t *testing.T, k *program.Kernel, m *ptx.Module) emu.Counts {
	t.Helper()
	d := &emu.Device{Options: emu.Options{Steps: 1 << 24}}
	var words []emu.Arg
	for _, a := range k.Args {
		at, _ := d.Alloc(int(a.Bytes))
		words = append(words, emu.Word(at))
	}
	for _, x := range k.Maps {
		words = append(words, tensorMap(t, x, words[x.Arg].Word))
	}
	for _, e := range m.Entries {
		if e.Name != k.Symbol {
			continue
		}
		entry, err := emu.Load(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Run(entry, emu.Launch{Grid: int(k.Tasks), Only: 1, Shared: int(k.Shared), Args: words}); err != nil {
			t.Fatalf("%s: %v\n%s", k.Name, err, k.IR)
		}
	}
	return d.Counts
}

// TestTraffic: kernels that memory bounds ask for whole lines of it, whichever dimension they reduce, and compute little
// for what they move. Lines count: the cache serves one a clock, so that a load of 32 rows takes 32 clocks for 64
// bytes. Nothing computes in f64.
func TestTraffic(t *testing.T) {
	const gpt = "layers=1 embed=256 heads=4 head=64 ffn=512 vocab=512 seq=128 batch=4"
	const llama = "layers=1 embed=1024 heads=16 kv=4 head=64 ffn=1024 vocab=1024 seq=512 batch=2"
	for _, m := range []struct {
		name, set, layout, target string
	}{
		{"gpt/gpt", gpt, "precision { compute = bf16 }", hopper},
		{"gpt/gpt", gpt, "", "cuda:sm_80"},
		{"llama/llama", llama, "precision { compute = bf16 }", hopper},
		{"llama/llama", llama, "", "cuda:sm_80"},
	} {
		seen := map[string]int{}
		p := compile(t, m.name, m.set, m.layout, m.target)
		for i := range p.Kernels {
			k := &p.Kernels[i]
			// Products are judged by their own tests. Embeddings read and add rows one at a time, as ids say.
			if !slices.Contains([]string{"map", "row", "column", "pieces", "horizontal"}, k.Class) || k.Factors != "" || strings.Contains(k.IR, " = dot ") || strings.Contains(k.IR, " = scatter") || strings.Contains(k.IR, " = gather ") {
				continue
			}
			mod, err := ptx.Parse(string(p.Code[k.Code].Data))
			if err != nil {
				t.Fatal(err)
			}
			c := counted(t, k, mod)
			if c.Doubles > 0 {
				t.Errorf("%s %s: %s: %d instructions in f64\n%s", m.name, m.target, k.Name, c.Doubles, k.IR)
			}
			if c.Requests < 8 {
				continue // a few numbers
			}
			seen[k.Class]++
			rotary := strings.Contains(k.IR, " = concat ")
			if rotary {
				seen["rotary"]++
			}
			// A block of columns may have half of a line, in 16 bits.
			if moved := c.Lines * 128; moved > 5*c.GlobalBytes/2 {
				t.Errorf("%s %s: %s: %d requests of %d bytes touch %d lines, %.1f each\n%s", m.name, m.target, k.Name, c.Requests, c.GlobalBytes, c.Lines,
					float64(c.Lines)/float64(c.Requests), k.IR)
			}
			if n := c.GlobalSectors * 32; rotary && c.Instructions > n {
				t.Errorf("%s %s: %s: %d instructions of warps for %d bytes\n%s", m.name, m.target, k.Name, c.Instructions, n, k.IR)
			}
		}
		if seen["row"] == 0 || seen["horizontal"]+seen["column"] == 0 || (seen["rotary"] == 0) != (m.name == "gpt/gpt") {
			t.Errorf("%s %s: kernels by class: %v", m.name, m.target, seen)
		}
	}
}
