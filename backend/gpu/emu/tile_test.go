package emu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// tensorCase is a random map, with the memory of its tensor.
type tensorCase struct {
	m      TensorMap
	memory []byte
	at     [5]int // the position of a tile, in part outside of the tensor
}

func randomTensor(r *rand.Rand, d *Device, swizzle Swizzle) tensorCase {
	c := tensorCase{m: TensorMap{Rank: 1 + r.IntN(5), Swizzle: swizzle, Type: []TensorType{Uint8, BFloat16, Float32, Float64}[r.IntN(4)]}}
	size := tensorBytes[c.m.Type]
	c.m.Box[0] = uint32(min(256, swizzle.span()/size))
	if swizzle == NoSwizzle {
		c.m.Box[0] = uint32(16 * (1 + r.IntN(6)) / size)
	}
	bytes := 1
	for i := range c.m.Rank {
		c.m.Sizes[i] = uint64(1 + r.IntN(12))
		c.m.Steps[i] = 1
		if i == 0 {
			c.m.Sizes[i] = uint64(1 + r.IntN(2*int(c.m.Box[0])))
			bytes = int(c.m.Sizes[0]) * size
		} else {
			c.m.Box[i] = uint32(1 + r.IntN([]int{0, 4, 2, 2, 2}[i]))
			c.m.Steps[i] = uint32(1 + r.IntN(2))
			c.m.Strides[i-1] = uint64((bytes+15)/16*16 + 16*r.IntN(2))
			bytes = int(c.m.Strides[i-1] * c.m.Sizes[i])
		}
		c.at[i] = r.IntN(int(c.m.Sizes[i])+4) - 2
	}
	c.m.Address, c.memory = d.Alloc(bytes)
	for i := range c.memory {
		c.memory[i] = byte(1 + r.IntN(255))
	}
	return c
}

// elements calls f for each element of the tile: where it lies in shared memory, and in the
// tensor's memory; below 0 outside of it.
func (c *tensorCase) elements(f func(at, global int)) {
	m := &c.m
	size := tensorBytes[m.Type]
	n := [5]int{1, 1, 1, 1, 1}
	for i := range m.Rank {
		n[i] = int(m.Box[i])
		if i > 0 {
			n[i] = (n[i] + int(m.Steps[i]) - 1) / int(m.Steps[i])
		}
	}
	row := 0
	for i4 := range n[4] {
		for i3 := range n[3] {
			for i2 := range n[2] {
				for i1 := range n[1] {
					for i0 := range n[0] {
						global := 0
						for k, i := range []int{i0, i1, i2, i3, i4}[:m.Rank] {
							x, stride := c.at[k]+i, size
							if k > 0 {
								x, stride = c.at[k]+i*int(m.Steps[k]), int(m.Strides[k-1])
							}
							if x < 0 || x >= int(m.Sizes[k]) {
								global = -1
								break
							}
							global += x * stride
						}
						// Within a row, units of 16 bytes change places by the number of the row.
						unit, byte0 := i0*size/16, i0*size%16
						switch m.Swizzle {
						case Swizzle128:
							unit ^= row % 8
						case Swizzle64:
							unit ^= row / 2 % 4
						case Swizzle32:
							unit ^= row / 4 % 2
						}
						f(row*n[0]*size+16*unit+byte0, global)
					}
					row++
				}
			}
		}
	}
}

// ranked is a program for tiles of so many dimensions.
func ranked(text string, rank, bytes int) string {
	registers := []string{"%r2", "%r3", "%r4", "%r5", "%r6"}
	text = strings.Replace(text, strings.Join(registers, ", "), strings.Join(registers[:rank], ", "), 1)
	text = strings.Replace(text, "tensor.5d", fmt.Sprintf("tensor.%dd", rank), 1)
	return strings.Replace(text, "_, [%r0+4096], 4096", fmt.Sprintf("_, [%%r0+4096], %d", bytes), 1)
}

func (c *tensorCase) args(t *testing.T, other uint64) []Arg {
	t.Helper()
	b, err := c.m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	out := []Arg{{Bytes: b}, Word(other)}
	for _, x := range c.at {
		out = append(out, Word(uint64(int64(x))))
	}
	return out
}

// TestTiles copies random tiles of random tensors both ways.
func TestTiles(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		d := &Device{Options: ways[seed%uint64(len(ways))]}
		c := randomTensor(r, d, Swizzle(seed%4))
		size := tensorBytes[c.m.Type]
		total := 0
		c.elements(func(int, int) { total += size })

		y, out := d.Alloc(4096)
		text := ranked(source(t, "load"), c.m.Rank, total)
		if err := launch(d, text, Launch{Grid: 1, Shared: 4104, Args: c.args(t, y)}); err != nil {
			t.Fatalf("%d: %+v: %v", seed, c.m, err)
		}
		c.elements(func(at, global int) {
			want := make([]byte, size)
			if global >= 0 {
				copy(want, c.memory[global:])
			}
			if !bytes.Equal(out[at:at+size], want) {
				t.Fatalf("%d: %+v at %v: %d is %x, want %x", seed, c.m, c.at, at, out[at:at+size], want)
			}
		})

		x, in := d.Alloc(4096)
		for i := range in {
			in[i] = byte(r.IntN(256))
		}
		want := slices.Clone(c.memory)
		c.elements(func(at, global int) {
			if global >= 0 {
				copy(want[global:], in[at:at+size])
			}
		})
		text = ranked(source(t, "store"), c.m.Rank, total)
		if err := launch(d, text, Launch{Grid: 1, Shared: 4096, Args: c.args(t, x)}); err != nil {
			t.Fatalf("%d: %+v: %v", seed, c.m, err)
		}
		if !bytes.Equal(c.memory, want) {
			t.Fatalf("%d: %+v at %v: the tensor is not what was stored", seed, c.m, c.at)
		}
	}
}

func TestTileMutants(t *testing.T) {
	run := func(name string) func(text string, o Options) error {
		return func(text string, o Options) error {
			d := &Device{Options: o}
			m := TensorMap{Type: Float32, Rank: 2, Sizes: [5]uint64{32, 32}, Strides: [4]uint64{128}, Box: [5]uint32{32, 32}, Steps: [5]uint32{1, 1}, Swizzle: Swizzle128}
			tensor, memory := floats(d, 1024, func(i int) float32 { return float32(i) })
			m.Address = tensor
			c := tensorCase{m: m}
			x, raw := floats(d, 1024, func(i int) float32 { return float32(-i) })
			if err := launch(d, text, Launch{Grid: 1, Shared: 4104, Args: c.args(t, x)}); err != nil {
				return err
			}
			wrong := 0
			c.elements(func(at, global int) {
				if !bytes.Equal(raw[at:at+4], memory[global:global+4]) {
					wrong++
				}
			})
			if wrong > 0 {
				return fmt.Errorf("%d elements are wrong", wrong)
			}
			return nil
		}
	}
	hunt(t, ranked(source(t, "load"), 2, 4096), run("load"), []mutant{
		{old: "fence.mbarrier_init.release.cluster;", all: true}, {old: "[%r0+4096], 4096", new: "[%r0+4096], 4095", all: true},
		{old: "@!%p1 bra WAIT;"}, {old: "bar.warp.sync -1;", all: true}, {old: "cvta.param.u64 %d0, %d0;", all: true},
		{old: "bytes [%r0], ", new: "bytes [%r0+64], ", all: true}, {old: "[%r0+4096], 0", new: "[%r0+4096], 1", all: true},
		{old: "tensor.2d", new: "tensor.1d", all: true}, {old: "ld.param.u32 %r3, [b];", new: "mov.u32 %r3, 1;", all: true},
	})
	hunt(t, ranked(source(t, "store"), 2, 4096), run("store"), []mutant{
		{old: "fence.proxy.async;", all: true}, {old: "bar.warp.sync -1;", all: true}, {old: "@!%p0 bra DONE;", all: true},
		{old: "cp.async.bulk.commit_group;", all: true}, {old: "cp.async.bulk.wait_group 0;", all: true},
	})
}

func TestTensorMap(t *testing.T) {
	good := func() *TensorMap {
		return &TensorMap{Type: BFloat16, Rank: 3, Address: 1 << 20, Sizes: [5]uint64{100, 7, 3}, Strides: [4]uint64{208, 2048},
			Box: [5]uint32{64, 8, 1}, Steps: [5]uint32{1, 1, 2}, Swizzle: Swizzle128}
	}
	b, err := good().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if m, err := decodeTensorMap(b); err != nil || *m != *good() {
		t.Errorf("%+v is read, %v", m, err)
	}
	for i := range b {
		changed := slices.Clone(b)
		changed[i] ^= 1
		if _, err := decodeTensorMap(changed); err == nil {
			t.Errorf("a map with byte %d changed is read", i)
		}
	}
	for what, change := range map[string]func(m *TensorMap){
		"type": func(m *TensorMap) { m.Type = 11 }, "rank": func(m *TensorMap) { m.Rank = 6 }, "no rank": func(m *TensorMap) { m.Rank = 0 },
		"address": func(m *TensorMap) { m.Address += 8 }, "size": func(m *TensorMap) { m.Sizes[1] = 0 }, "large": func(m *TensorMap) { m.Sizes[0] = 1<<32 + 1 },
		"stride": func(m *TensorMap) { m.Strides[0] = 200 }, "far": func(m *TensorMap) { m.Strides[1] = 1 << 40 },
		"box": func(m *TensorMap) { m.Box[1] = 257 }, "no box": func(m *TensorMap) { m.Box[2] = 0 }, "span": func(m *TensorMap) { m.Box[0] = 72 },
		"inner": func(m *TensorMap) { m.Box[0] = 4 }, "step": func(m *TensorMap) { m.Steps[1] = 9 }, "no step": func(m *TensorMap) { m.Steps[0] = 0 },
		"swizzle": func(m *TensorMap) { m.Swizzle = 4 },
	} {
		m := good()
		change(m)
		if _, err := m.Encode(); err == nil {
			t.Errorf("%s: %+v is taken", what, m)
		}
	}
}
