package emu

import (
	"fmt"
	"strings"

	"ptc/backend/gpu/ptx"
)

// decodeMatrix is ldmatrix.sync.aligned.m8n8.{x1,x2,x4}[.trans].shared.b16 and stmatrix: lane 8·i + r has
// the address of row r of matrix i, of eight numbers of 16 bits; register i of lane l has two of
// its numbers, row l/4, columns 2·(l mod 4) and the next ("PTX ISA", 9.7.14.5.15 and 16).
func decodeMatrix(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	rest, ok := strings.CutPrefix(s.Op, parts[0]+".sync.aligned.m8n8.x")
	var n int
	var tail string
	if _, err := fmt.Sscanf(rest, "%d.%s", &n, &tail); !ok || err != nil || n != 1 && n != 2 && n != 4 {
		return fmt.Errorf("the instruction is not known")
	}
	tail, trans := strings.CutPrefix(tail, "trans.")
	if tail != "shared.b16" && tail != "shared::cta.b16" {
		return fmt.Errorf("the instruction is not known")
	}
	in.all, in.bytes, in.n = true, 16, 1
	forms, have, others := []form{(*decoder).result, (*decoder).address}, &in.to, 0
	in.run = func(w *warp, in *inst) error { return w.loadMatrix(in, trans) }
	if parts[0] == "stmatrix" {
		forms, have, others = []form{(*decoder).address, number(32)}, &in.from, 1
		in.run = func(w *warp, in *inst) error { return w.storeMatrix(in, trans) }
	}
	if err := d.operands(s.Args, in, "registers and an address", forms...); err != nil {
		return err
	}
	if k := len(*have) - others; k != n {
		return fmt.Errorf("%d registers; expected %d", k, n)
	}
	return nil
}

func (w *warp) storeMatrix(in *inst, trans bool) error {
	w.banks(in, in.from[0])
	for i, from := range in.from[1:] {
		var m [8][8]uint64
		for l := range lanes {
			r, c := l/4, l%4*2
			x, y := &m[r][c], &m[r][c+1]
			if trans {
				x, y = &m[c][r], &m[c+1][r]
			}
			*x, *y = w.file[from][l]&0xffff, w.file[from][l]>>16&0xffff
		}
		for r := range 8 {
			lane := 8*i + r
			b, err := w.place(shared, w.file[in.from[0]][lane]+uint64(in.offset), 16, lane, true)
			if err != nil {
				return err
			}
			for c := range 8 {
				store(b[2*c:2*c+2], m[r][c])
			}
		}
	}
	return nil
}

func (w *warp) loadMatrix(in *inst, trans bool) error {
	w.banks(in, in.from[0])
	for i, to := range in.to {
		var m [8][8]uint64
		for r := range 8 {
			lane := 8*i + r
			b, err := w.place(shared, w.file[in.from[0]][lane]+uint64(in.offset), 16, lane, false)
			if err != nil {
				return err
			}
			for c := range 8 {
				m[r][c] = load(b[2*c : 2*c+2])
			}
		}
		for l := range lanes {
			r, c := l/4, l%4*2
			x, y := m[r][c], m[r][c+1]
			if trans {
				x, y = m[c][r], m[c+1][r]
			}
			w.file[to][l] = x | y<<16
		}
	}
	return nil
}

// tensor is a kind of mma.sync: D = A·B + C with A of 16×k, B of k×8, the sums in f32.
// The fragments are those of "PTX ISA", 9.7.14.5.
type tensor struct {
	k    int // steps
	half string
	b    string // of the right operand, where that is another
}

var tensors = map[string]tensor{
	"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": {16, "bf16", ""},
	"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32":   {16, "f16", ""},
	"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32": {32, "e4m3", ""},
	"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32": {32, "e4m3", "e5m2"},
	"mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32": {32, "e5m2", "e4m3"},
	"mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32": {32, "e5m2", ""},
	"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32":  {8, "tf32", ""},
}

func decodeMMA(d *decoder, s *ptx.Stmt, _ []string, in *inst) error {
	t, ok := tensors[s.Op]
	if !ok {
		return fmt.Errorf("the instruction is not known")
	}
	if err := d.operands(s.Args, in, "four operands", (*decoder).result, number(32), number(32), number(32)); err != nil {
		return err
	}
	if len(in.to) != 4 || len(in.from) != 10 {
		return fmt.Errorf("%d and %d registers; expected 4 and 10", len(in.to), len(in.from))
	}
	in.all = true
	in.run = func(w *warp, in *inst) error { w.multiply(in, t); return nil }
	return nil
}

func (w *warp) multiply(in *inst, t tensor) {
	var a [16][32]float32
	var b [32][8]float32
	var sum [16][8]float32
	right := t
	if t.b != "" {
		right.half = t.b
	}
	for l := range lanes {
		g, q := l/4, l%4
		for r := range 4 { // of A: rows g and g+8, then the second half of the steps
			t.unpack(w.file[in.from[r]][l], q, func(i, k int, x float32) { a[g+r%2*8][k+r/2*t.k/2] = x })
		}
		for r := range 2 {
			right.unpack(w.file[in.from[4+r]][l], q, func(i, k int, x float32) { b[k+r*t.k/2][g] = x })
		}
		for r := range 4 {
			sum[g+r/2*8][2*q+r%2] = f32(w.file[in.from[6+r]][l])
		}
	}
	for i := range 16 {
		for j := range 8 {
			// Products are exact; how a GPU rounds their sum is not defined.
			x := float64(sum[i][j])
			for k := range t.k {
				x += float64(a[i][k]) * float64(b[k][j])
			}
			sum[i][j] = float32(x)
		}
	}
	for l := range lanes {
		g, q := l/4, l%4
		for r := range 4 {
			w.file[in.to[r]][l] = of32(sum[g+r/2*8][2*q+r%2])
		}
	}
}

// unpack gives the numbers of a register of lane q of four, and their step among half of them.
func (t tensor) unpack(x uint64, q int, f func(i, k int, x float32)) {
	if t.half == "tf32" {
		f(0, q, f32(x&^0x1fff))
		return
	}
	if fraction := fractions[t.half]; fraction > 0 {
		for i := range 4 {
			f(i, 4*q+i, fromFP8(byte(x>>(8*i)), fraction))
		}
		return
	}
	h := numType{kind: 'h', bits: 16, half: t.half}
	f(0, 2*q, float32(wide(h, x&0xffff)))
	f(1, 2*q+1, float32(wide(h, x>>16)))
}
