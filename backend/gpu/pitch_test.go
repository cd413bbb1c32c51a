package gpu_test

import (
	"strings"
	"testing"
)

// TestOddVocabulary: with GPT-2's vocabulary, whose rows of logits are no multiple of 16 bytes, no kernel with products
// moves two bytes at a time, on any kind of device, and those of the logits' gradients read them by tensor maps.
func TestOddVocabulary(t *testing.T) {
	p := compile(t, "gpt/gpt", "layers=1 embed=768 heads=12 head=64 ffn=3072 vocab=50257 seq=1024 batch=32", "precision { compute = bf16 }", hopper)
	q := p.With(&p.Variants[0])
	padded := 0
	for i, k := range p.Kernels {
		if !strings.Contains(k.IR, "vocab=50257+47") {
			continue
		}
		padded++
		for _, x := range []struct {
			arch string
			text string
		}{{"sm_90a", entry(t, string(p.Code[k.Code].Data), k.Symbol)}, {"sm_80", entry(t, string(q.Code[q.Kernels[i].Code].Data), q.Kernels[i].Symbol)}} {
			for _, narrow := range []string{"ld.global.b16", "st.global.b16"} {
				if n := strings.Count(x.text, narrow); n > 0 {
					t.Errorf("%s for %s: %d of %s\n%s", k.Name, x.arch, n, narrow, k.IR)
				}
			}
		}
		if maps := map[string]int{"gemm": 2, "horizontal": 4}[k.Class]; k.Factors != "" && len(k.Maps) != maps {
			t.Errorf("%s: %d tensor maps, expected %d\n%s", k.Name, len(k.Maps), maps, k.IR)
		}
	}
	if padded < 4 {
		t.Errorf("%d kernels of rows with padding", padded)
	}
	for _, d := range p.Devices {
		for i := range d.Buffers {
			if b := &d.Buffers[i]; b.Pad != 0 && (b.Pad != 47 || b.Size() != b.Bytes) {
				t.Errorf("buffer %d of %d bytes has %d elements of padding behind each row, %d bytes in all", i, b.Bytes, b.Pad, b.Size())
			}
		}
	}
}

// entry is the text of one entry of a module.
func entry(t *testing.T, module, name string) string {
	t.Helper()
	for part := range strings.SplitSeq(module, ".visible .entry ") {
		if strings.HasPrefix(part, name+"(") {
			return part
		}
	}
	t.Fatalf("there is no entry %s", name)
	return ""
}
