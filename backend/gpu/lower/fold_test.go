package lower

import (
	"fmt"
	"math/rand"
	"testing"

	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/nvptx"
	"ptc/backend/tile"
	"ptc/backend/tile/tiletest"
	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
)

// folded is an attention of one block of keys after the other: a loop that multiplies twice, reduces,
// and carries sums that it scales. Keys and values are copied ahead.
func folded(dtype string, rows, keys, stages int, dot string) string {
	const seq, head = 64, 32
	n := seq * head
	return fmt.Sprintf(`tile @attention
  schedule rows=%d cols=%d%s left=task right=task stages=%d
  arg q : %[5]s[%[6]d] read
  arg k : %[5]s[%[6]d] read
  arg v : %[5]s[%[6]d] read
  arg o : f32[%[6]d] write
  view vq : q [seq=%[7]d:%[8]d, head=%[8]d:1]
  view vk : k [kseq=%[7]d:%[8]d, head=%[8]d:1]
  view vv : v [kseq=%[7]d:%[8]d, head=%[8]d:1]
  view vo : o [seq=%[7]d:%[8]d, head=%[8]d:1]
  phase i in seq=%[7]d by %[1]d, d in head=%[8]d by %[8]d
    %%0 : %[5]s[i, d] = load vq[i, d]
    %%2 : f32[i] = const -inf
    %%3 : f32[i] = const 0
    %%4 : f32[i, d] = const 0
    %%10 : f32[i], %%11 : f32[i], %%12 : f32[i, d] = loop j in kseq=%[7]d by %[2]d stages %[4]d carry %%13 : f32[i] = %%2, %%14 : f32[i] = %%3, %%15 : f32[i, d] = %%4
      %%16 : shared %[5]s[d, j] = copy vk[j, d]
      %%17 : shared %[5]s[d, j] = copy vv[j, d]
      wait %%16
      %%18 : f32[i, j] = dot %%0, %%16 over d
      %%27 : f32[i] = reduce_max %%18 over j
      %%28 : f32[i] = max %%13, %%27
      %%29 : f32[i] = sub %%13, %%28
      %%30 : f32[i] = exp %%29
      %%31 : f32[i, j] = sub %%18, %%28
      %%40 : f32[i, j] = exp %%31
      %%32 : %[5]s[i, j] = cast %%40
      %%33 : f32[i] = reduce_sum %%40 over j
      %%34 : f32[i] = mul %%14, %%30
      %%35 : f32[i] = add %%34, %%33
      %%36 : f32[i, d] = mul %%15, %%30
      wait %%17
      %%37 : f32[i, d] = dot %%32, %%17 over j init %%36
      yield %%28, %%35, %%37
    end
    %%38 : f32[i, d] = div %%12, %%11
    store vo[i, d], %%38
  end
end
`, rows, keys, dot, stages, dtype, n, seq, head)
}

// TestFolded compares such loops with the interpreter of tile programs, for copies that end at once,
// late and at any time.
func TestFolded(t *testing.T) {
	for seed, c := range []struct {
		dtype              string
		rows, keys, stages int
		dot                string
	}{
		{"bf16", 32, 16, 2, " dot=mma(16x8x16)"}, {"bf16", 16, 24, 3, " dot=mma(16x8x16)"}, {"f16", 64, 32, 1, " dot=mma(16x8x16)"},
		{"bf16", 20, 10, 3, ""}, {"bf16", 32, 16, 4, ""},
	} {
		text := folded(c.dtype, c.rows, c.keys, c.stages, c.dot)
		p, err := tile.Parse(text)
		if err == nil {
			err = tile.Verify(p)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		r := rand.New(rand.NewSource(int64(seed)))
		var memories []*tiletest.Memory
		d := &emu.Device{Options: emu.Options{Check: true, Steps: 1 << 22, Seed: uint64(seed), Late: seed%2 == 1}}
		var words []emu.Arg
		var out []byte
		for _, b := range p.Buffers {
			x := tensor.New(ir.Type{DType: b.DType, Axes: []ir.Axis{{Name: "n", Size: int(b.Len)}}})
			bytes := make([]byte, x.Type.Bytes())
			if b.Use == tile.Read {
				for i := range x.Data {
					x.Data[i] = 2*r.Float64() - 1
				}
				x.Round()
				x.Put(bytes)
				memories = append(memories, tiletest.Holding(x))
			} else {
				memories = append(memories, tiletest.Blank(b.Len))
				out = bytes
			}
			words = append(words, emu.Word(d.Map(bytes)))
		}
		if err := (tiletest.Options{}).Run(p, memories); err != nil {
			t.Fatal(err)
		}
		warps := 1 << r.Intn(4)
		kernels, err := Kernels(nvptx.Machine{}, p, warps)
		if err != nil {
			t.Fatal(err)
		}
		e, err := emu.Load(kernels[0].Entry)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Run(e, emu.Launch{Grid: int(kernels[0].Blocks), Shared: kernels[0].Shared, Args: words}); err != nil {
			t.Fatalf("%v, %d warps: %v", c, warps, err)
		}
		got := tensor.New(ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "n", Size: len(memories[3].Data)}}})
		got.Get(out)
		want := &tensor.Tensor{Type: got.Type, Data: memories[3].Data}
		if at, diff := irtest.Worst(got, want); !(diff < tolerance(ir.BF16)) {
			t.Errorf("%v, %d warps: element %d is %v, want %v", c, warps, at, got.Data[at], want.Data[at])
		}
	}
}
