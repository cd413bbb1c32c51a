package emu

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ptc/backend/gpu/ptx"
)

// A product of a warpgroup is D = ±A·±B + D, with A of 64×k in registers or shared memory, B
// of k×n in shared memory, and the sums in f32 ("PTX ISA", 9.7.15). It runs by itself: it
// begins when all four warps have asked for it, one after the other, reads shared memory and
// changes registers at any time until they have waited for it. Each sum is that of exact products in
// the order of k, in f64, rounded once to f32; a GPU adds them in another order and rounds otherwise.
type product struct {
	*inst
	kind     gmma
	a, b     descriptor // of matrices in shared memory
	scale    bool       // whether D is read; 0 stands in its place otherwise
	asked    int        // by how many warps
	done     bool
	operands [3]uint64 // descriptors and scale of the first warp
}

// gmma is what an instruction says.
type gmma struct {
	name         string // shape and types
	n, k         int
	a, b         element
	negA, negB   bool
	rowsA, rowsB bool // M- and N-major
	registers    bool // A is in registers
}

// element is a type of the operands of products.
type element struct {
	bytes int
	value func(bits uint64) float32
}

var elements = map[string]element{
	"bf16": {2, func(x uint64) float32 { return f32(x & 0xffff << 16) }},
	"f16":  {2, func(x uint64) float32 { return fromHalf(uint16(x)) }},
	"tf32": {4, func(x uint64) float32 { return f32(x &^ 0x1fff) }},
	"e4m3": {1, func(x uint64) float32 { return fromFP8(byte(x), 3) }},
	"e5m2": {1, func(x uint64) float32 { return fromFP8(byte(x), 2) }},
}

// fromFP8 is a number of 8 bits, of which so many are behind the point: e5m2 is as f16, and e4m3
// has no infinity, and one pattern for what is no number (OCP, "8-bit Floating Point Specification", 2023).
func fromFP8(x byte, fraction int) float32 {
	if fraction == 2 {
		return fromHalf(uint16(x) << 8)
	}
	exp, frac := int(x>>3&15), float64(x&7)
	v := math.Ldexp(1+frac/8, exp-7)
	switch {
	case x&0x7f == 0x7f:
		return float32(math.NaN())
	case exp == 0:
		v = math.Ldexp(frac, -9)
	}
	return float32(math.Copysign(v, float64(int8(x|1))))
}

func decodeWGMMA(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	d.p.alone, d.p.products = true, true
	in.all, in.product = true, true
	switch s.Op {
	case "wgmma.fence.sync.aligned":
		in.run = func(w *warp, _ *inst) error { w.products.epoch++; return nil }
		return none(s)
	case "wgmma.commit_group.sync.aligned":
		in.run = func(w *warp, _ *inst) error {
			w.products.closed = append(w.products.closed, w.products.asked)
			return nil
		}
		return none(s)
	case "wgmma.wait_group.sync.aligned":
		if len(s.Args) != 1 || s.Args[0].Kind != ptx.IsImm || s.Args[0].Imm < 0 || s.Args[0].Imm > 7 {
			return fmt.Errorf("expected a number of groups, 0 to 7")
		}
		in.n = int(s.Args[0].Imm)
		in.run = func(w *warp, in *inst) error { return w.waitProducts(in.n) }
		return nil
	}
	return decodeProduct(d, s, parts, in)
}

func none(s *ptx.Stmt) error {
	if len(s.Args) > 0 {
		return fmt.Errorf("expected no operands")
	}
	return nil
}

// decodeProduct is wgmma.mma_async.sync.aligned.mMnNkK.f32.A.B d, a, b, scale-d, ±1, ±1[, transposed A and B].
func decodeProduct(d *decoder, s *ptx.Stmt, parts []string, in *inst) error {
	rest, ok := strings.CutPrefix(s.Op, "wgmma.mma_async.sync.aligned.m64n")
	g := gmma{name: rest}
	if _, err := fmt.Sscanf(rest, "%dk%d", &g.n, &g.k); !ok || err != nil || len(parts) != 8 || parts[5] != "f32" {
		return fmt.Errorf("the instruction is not known")
	}
	g.a, g.b = elements[parts[6]], elements[parts[7]]
	same := parts[6] == parts[7] || g.a.bytes == 1 && g.b.bytes == 1
	if g.a.bytes == 0 || !same || g.k*g.a.bytes != operandBytes || g.n < 8 || g.n > 256 || g.n%8 != 0 ||
		parts[4] != fmt.Sprintf("m64n%dk%d", g.n, g.k) {
		return fmt.Errorf("the instruction is not known")
	}
	if len(s.Args) < 6 {
		return fmt.Errorf("expected a result, two operands, a predicate and two signs")
	}
	g.registers = s.Args[1].Kind == ptx.IsVec
	if err := g.decodeSigns(s.Args[4:]); err != nil {
		return err
	}
	if err := d.result(s.Args[0], in); err != nil {
		return err
	}
	if err := d.read(s.Args[2], 64, in); err != nil {
		return err
	}
	if s.Args[3].Kind != ptx.IsReg || s.Args[3].Reg.Class != ptx.Pred {
		return fmt.Errorf("expected a predicate that says whether the result is added to")
	}
	in.from = append(in.from, d.slot(s.Args[3].Reg))
	if err := d.read(s.Args[1], 64, in); err != nil {
		return err
	}
	operands := 1
	if g.registers {
		operands = 4
	}
	if len(in.to) != g.n/2 || len(in.from) != 2+operands {
		return fmt.Errorf("%d and %d registers; expected %d and %d", len(in.to), len(in.from)-2, g.n/2, operands)
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(in.to))); len(distinct) != len(in.to) {
		return fmt.Errorf("a register has two results")
	}
	in.run = func(w *warp, in *inst) error { return w.ask(in, g) }
	return nil
}

// decodeSigns is the numbers behind the operands: signs, and of 16 bits, which of the matrices in shared memory
// are M- or N-major.
func (g *gmma) decodeSigns(args []ptx.Operand) error {
	into := []*bool{&g.negA, &g.negB}
	if g.a.bytes == 2 && !g.registers {
		into = append(into, &g.rowsA)
	}
	if g.a.bytes == 2 {
		into = append(into, &g.rowsB)
	}
	if len(args) != len(into) {
		return fmt.Errorf("%d numbers behind the operands; expected %d", len(args), len(into))
	}
	for i, x := range args {
		no, yes := int64(1), int64(-1)
		if i > 1 {
			no, yes = 0, 1
		}
		if x.Kind != ptx.IsImm || x.Imm != no && x.Imm != yes {
			return fmt.Errorf("expected %d or %d", no, yes)
		}
		*into[i] = x.Imm == yes
	}
	return nil
}

// ask is a warp at a product.
func (w *warp) ask(in *inst, g gmma) error {
	n, err := w.warpgroup()
	if err != nil {
		return err
	}
	p := &product{inst: in, kind: g}
	for i := range p.operands {
		if i == 2 && g.registers {
			break
		}
		if p.operands[i], err = w.uniform(in.from[i]); err != nil {
			return err
		}
	}
	p.scale = p.operands[1] != 0
	if p.b, err = decodeDescriptor(p.operands[0], g.rowsB, g.b.bytes); err != nil {
		return err
	}
	if !g.registers {
		if p.a, err = decodeDescriptor(p.operands[2], g.rowsA, g.a.bytes); err != nil {
			return err
		}
	}
	if err := w.readMatrices(p); err != nil {
		return err
	}
	if err := w.hold(p); err != nil {
		return err
	}
	all := &w.b.products[n]
	if w.products.asked == len(*all) {
		*all = append(*all, p)
	}
	q := (*all)[w.products.asked]
	if q.inst != in || q.operands != p.operands {
		return fmt.Errorf("another warp of the warpgroup is at `%s`, or has other operands", w.b.p.entry.Body[q.inst.at].String())
	}
	w.products.asked++
	if q.asked++; q.asked == groupWarps {
		w.b.c.progress()
		if w.b.now() {
			w.b.multiplyUntil(n, w.products.asked)
		}
	}
	return nil
}

// readMatrices checks that what a warp's part of a product reads of shared memory is there,
// and that nobody writes it.
func (w *warp) readMatrices(p *product) error {
	read := func(at int) error {
		if at+16 > len(w.b.shared.bytes) {
			return fmt.Errorf("16 bytes of shared memory at %d; there are %d", at, len(w.b.shared.bytes))
		}
		if err := w.b.shared.keepsOff(at, 16); err != nil {
			return err
		}
		s := w.b.shadow
		if s == nil {
			return nil
		}
		now := access{clock: uint32(len(w.products.closed) + 1), who: int32(^(s.threads + w.id))}
		return s.alone(w, everyone, w.b.shared.base+at, 16, false, now, len(s.warps)+w.id)
	}
	if !p.kind.registers {
		first := w.number % groupWarps * 16
		if err := p.a.units(first, first+16, p.kind.k, read); err != nil {
			return fmt.Errorf("operand A: %w", err)
		}
	}
	if err := p.b.units(0, p.kind.n, p.kind.k, read); err != nil {
		return fmt.Errorf("operand B: %w", err)
	}
	return nil
}

// waitProducts returns when at most n of the groups that were closed are under way.
func (w *warp) waitProducts(n int) error {
	group, err := w.warpgroup()
	if err != nil {
		return err
	}
	x := &w.products
	done := len(x.closed) - n
	if done <= 0 {
		return nil
	}
	before := x.closed[done-1]
	all := w.b.products[group]
	for _, p := range all[min(x.waited, before):before] {
		if p.asked < groupWarps {
			w.flow.sleep(p)
			return nil
		}
	}
	w.b.multiplyUntil(group, before)
	for slot := range x.held {
		if h := &x.held[slot]; h.product != 0 && h.product <= before {
			*h = hold{}
		}
	}
	x.waited = max(x.waited, before)
	if s := w.b.shadow; s != nil {
		s.learn(w, w.flow.mask, s.threads+w.id, uint32(done))
	}
	return nil
}

// String says who is missing, for errors.
func (p *product) String() string {
	return fmt.Sprintf("a product that %d of the %d warps of its warpgroup have come to", p.asked, groupWarps)
}

// multiplyUntil does the products of a warpgroup before one, in their order.
func (b *blockRun) multiplyUntil(group, before int) {
	all := b.products[group]
	i := before
	for i > 0 && !all[i-1].done {
		i--
	}
	for _, p := range all[i:before] {
		b.multiply(p, b.warps[group*groupWarps:(group+1)*groupWarps])
		p.done = true
	}
}

// multiply does a product.
func (b *blockRun) multiply(p *product, warps []*warp) {
	g := &p.kind
	a, right := make([]float64, 64*g.k), make([]float64, g.k*g.n)
	number := func(e element, neg bool, x uint64) float64 {
		if neg {
			return -float64(e.value(x))
		}
		return float64(e.value(x))
	}
	for k := range g.k {
		for j := range g.n {
			at := p.b.at(j, k)
			right[k*g.n+j] = number(g.b, g.negB, load(b.shared.bytes[at:at+g.b.bytes]))
		}
	}
	if g.registers {
		for i, w := range warps {
			w.operand(p, func(row, k int, x uint64) { a[(16*i+row)*g.k+k] = number(g.a, g.negA, x) })
		}
	} else {
		for i := range 64 {
			for k := range g.k {
				at := p.a.at(i, k)
				a[i*g.k+k] = number(g.a, g.negA, load(b.shared.bytes[at:at+g.a.bytes]))
			}
		}
	}
	sums := make([]float64, g.n)
	for i := range 64 {
		w := warps[i/16]
		// Row i is in the lanes 4·(i mod 8) and the next three, two columns each.
		slot := func(j int) *uint64 { return &w.file[p.to[j/8*4+i%16/8*2+j%2]][i%8*4+j%8/2] }
		for j := range sums {
			sums[j] = 0
			if p.scale {
				sums[j] = float64(f32(*slot(j)))
			}
		}
		for k := range g.k {
			x := a[i*g.k+k]
			for j, y := range right[k*g.n : (k+1)*g.n] {
				sums[j] += x * y
			}
		}
		for j, x := range sums {
			*slot(j) = of32(float32(x))
		}
	}
}

// operand gives the numbers of A that a warp has in registers: rows g and g+8, the first half of the
// steps and the second, as many behind each other as a register has.
func (w *warp) operand(p *product, f func(row, k int, x uint64)) {
	each := 4 / p.kind.a.bytes
	for r, slot := range p.from[2:] {
		for l := range lanes {
			x := w.file[slot][l]
			for i := range each {
				f(l/4+r%2*8, r/2*p.kind.k/2+l%4*each+i, x>>(8*p.kind.a.bytes*i)&mask(8*p.kind.a.bytes))
			}
		}
	}
}

// driftProducts does products at random times.
func (b *blockRun) driftProducts() {
	for n := range b.products {
		all := b.products[n]
		i := len(all)
		for i > 0 && !all[i-1].done {
			i--
		}
		for i < len(all) && all[i].asked == groupWarps && b.random.IntN(4) == 0 {
			i++
			b.multiplyUntil(n, i)
		}
	}
}

// productsLeft is the error of a warp that ends before its products.
func (w *warp) productsLeft() error {
	if x := &w.products; x.waited < x.asked {
		return fmt.Errorf("warp %d ends with %d products under way", w.number, x.asked-x.waited)
	}
	return nil
}
