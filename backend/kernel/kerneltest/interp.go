package kerneltest

import (
	"fmt"
	"slices"

	"ptc/backend/kernel"
)

// Interp are the ways an interpretation may differ from the exact one.
type Interp struct {
	// NoFMA evaluates MulAdd with two roundings, like a machine without FMA.
	NoFMA bool
}

// Interpret runs the tasks [begin, end) of k on bufs, one little-endian byte
// slice per argument in ABI order, as Interp{}.Run does.
func Interpret(k *kernel.Kernel, bufs [][]byte, begin, end int64) error {
	return Interp{}.Run(k, bufs, begin, end)
}

// Run runs the tasks [begin, end) of k on bufs. It returns an error, where
// native code would go wrong silently: on buffers of the wrong number or size,
// tasks out of range, and any access outside its buffer. Scratch starts as
// 0xff bytes (NaN), as do tile registers, so that reading them before writing shows.
func (opt Interp) Run(k *kernel.Kernel, bufs [][]byte, begin, end int64) (err error) {
	args := k.Args()
	if len(bufs) != len(args) {
		return fmt.Errorf("kernel %s: %d buffers given, takes %d", k.Name, len(bufs), len(args))
	}
	if begin < 0 || end > k.Tasks {
		return fmt.Errorf("kernel %s: tasks [%d, %d) of %d", k.Name, begin, end, k.Tasks)
	}
	if len(k.Sections) > 0 {
		return opt.sections(k, bufs, begin, end)
	}
	m := &machine{opt: opt, mem: map[*kernel.Buffer][]byte{}, regs: map[*kernel.Value][]uint64{}}
	for i, b := range args {
		if int64(len(bufs[i])) < b.Bytes() {
			return fmt.Errorf("kernel %s: buffer %s has %d bytes, needs %d", k.Name, b.Name, len(bufs[i]), b.Bytes())
		}
		m.mem[b] = bufs[i][:b.Bytes()]
	}
	for _, b := range k.Buffers {
		if b.Space != kernel.Global {
			m.mem[b] = make([]byte, b.Bytes())
		}
	}
	for t := begin; t < end; t = k.Batch.Last(t, end) {
		for b, mem := range m.mem {
			if b.Space != kernel.Global {
				for i := range mem {
					mem[i] = 0xff
				}
			}
		}
		for i := range m.tiles {
			for j := range m.tiles[i] {
				m.tiles[i][j] = 0xff
			}
		}
		m.regs[k.Task] = []uint64{uint64(t)}
		if x := k.Batch; x != nil {
			m.regs[x.End] = []uint64{uint64(x.Last(t, end))}
		}
		if err := m.block(k.Body); err != nil {
			return fmt.Errorf("kernel %s: task %d: %w", k.Name, t, err)
		}
	}
	return nil
}

// sections runs what of the tasks is each section's.
func (opt Interp) sections(k *kernel.Kernel, bufs [][]byte, begin, end int64) error {
	for _, s := range k.Sections {
		lo, hi := max(begin, s.First), min(end, s.First+s.Tasks)
		if lo >= hi {
			continue
		}
		own := make([][]byte, len(s.Args))
		for i, a := range s.Args {
			own[i] = bufs[a]
		}
		if err := opt.Run(s.Kernel, own, lo-s.First, hi-s.First); err != nil {
			return fmt.Errorf("kernel %s: %w", k.Name, err)
		}
	}
	return nil
}

// machine is the state of an interpretation: register bits by lane, and memory.
type machine struct {
	opt  Interp
	mem  map[*kernel.Buffer][]byte
	regs map[*kernel.Value][]uint64
	tiles
}

func (m *machine) index(x kernel.Index) int64 {
	n := x.Const
	for _, t := range x.Terms {
		n += t.Coef * int64(m.regs[t.Var][0])
	}
	return n
}

func (m *machine) block(b *kernel.Block) error {
	for _, s := range b.Stmts {
		if err := m.stmt(s); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) stmt(s *kernel.Stmt) error {
	switch s.Op {
	case kernel.OpFor:
		return m.loop(s)
	case kernel.OpIf:
		return m.branch(s)
	case kernel.OpLoad:
		return m.load(s)
	case kernel.OpStore:
		return m.store(s)
	case kernel.OpPrefetch:
		return nil
	}
	if s.Op.OfTiles() {
		return m.tile(s)
	}
	r := s.Result()
	out := make([]uint64, r.Type.Lanes)
	switch {
	case s.Op == kernel.OpMulAdd && m.opt.NoFMA:
		m.lanes(s, mulThenAdd, out)
	case s.Op == kernel.OpMatBF16:
		matBF16(m.regs[s.Args[0]], m.regs[s.Args[1]], m.regs[s.Args[2]], out)
	case s.Math != nil:
		m.lanes(s, call(s.Math), out)
	case lanewise[s.Op] != nil:
		m.lanes(s, lanewise[s.Op], out)
	case s.Op.Fold() != kernel.InvalidOp:
		out[0] = fold(s.Op.Fold(), r.Type.Elem, m.regs[s.Args[0]])
	default:
		m.other(s, out)
	}
	m.regs[r] = out
	return nil
}

func (m *machine) lanes(s *kernel.Stmt, f lane, out []uint64) {
	e := s.Args[0].Type.Elem
	var in [3][]uint64
	for i, a := range s.Args {
		in[i] = m.regs[a]
	}
	for l := range out {
		var a [3]uint64
		for i := range s.Args {
			a[i] = in[i][l]
		}
		out[l] = f(e, a)
	}
}

// fold combines halves until one lane is left.
func fold(op kernel.Op, e kernel.Elem, x []uint64) uint64 {
	x = append([]uint64(nil), x...)
	for n := len(x) / 2; n > 0; n /= 2 {
		for l := range n {
			x[l] = lanewise[op](e, [3]uint64{x[l], x[l+n]})
		}
	}
	return x[0]
}

// other evaluates the ops that are neither lane-wise nor reductions.
func (m *machine) other(s *kernel.Stmt, out []uint64) {
	var in [3][]uint64
	for i, a := range s.Args {
		in[i] = m.regs[a]
	}
	e := s.Result().Type.Elem
	for l := range out {
		switch s.Op {
		case kernel.OpConst:
			out[l] = s.Bits
		case kernel.OpIota:
			out[l] = uint64(l)
		case kernel.OpSplat:
			out[l] = in[0][0]
		case kernel.OpToValue:
			out[l] = uint64(m.index(s.Index))
		case kernel.OpTailMask:
			out[l] = truth(int64(l) < m.index(s.Index))
		case kernel.OpExtract:
			out[l] = in[0][s.Lanes[0]]
		case kernel.OpShuffle:
			if from := s.Lanes[l]; from < len(in[0]) {
				out[l] = in[0][from]
			} else {
				out[l] = in[1][from-len(in[0])]
			}
		case kernel.OpSelect:
			out[l] = in[2][l]
			if in[0][min(l, len(in[0])-1)] != 0 {
				out[l] = in[1][l]
			}
		case kernel.OpConvert:
			out[l] = convert(s.Args[0].Type.Elem, e, in[0][l])
		case kernel.OpBitcast:
			out[l] = in[0][l]
		case kernel.OpPackBF16:
			from := append(slices.Clone(in[0]), in[1]...)
			out[l] = pairBF16(from[2*l], from[2*l+1])
		case kernel.OpZipBF16:
			out[l] = pairBF16(in[0][l], in[1][l])
		case kernel.OpRound:
			out[l] = roundTo(s.Elem, in[0][l])
		default:
			panic(fmt.Sprintf("kerneltest: no interpretation of %s", s.Op))
		}
	}
}

// pairBF16 is the word of two f32 rounded to bf16.
func pairBF16(low, high uint64) uint64 {
	half := func(x uint64) uint64 { return roundTo(kernel.BF16, x) >> 16 }
	return half(low) | half(high)<<16
}

func roundTo(e kernel.Elem, x uint64) uint64 {
	return bits32(e.DType().FromBits(e.DType().ToBits(f32(x))))
}

func (m *machine) loop(s *kernel.Stmt) error {
	l := s.Loop
	carried := m.get(s.Args)
	hi := m.index(l.Hi)
	for i := m.index(l.Lo); i < hi; i += l.Step {
		m.regs[l.Var] = []uint64{uint64(i)}
		m.set(l.Carry, carried)
		if err := m.block(l.Body); err != nil {
			return err
		}
		carried = m.get(l.Body.Yield)
	}
	m.set(s.Results, carried)
	return nil
}

func (m *machine) branch(s *kernel.Stmt) error {
	taken := s.Else
	if m.regs[s.Args[0]][0] != 0 {
		taken = s.Then
	}
	if err := m.block(taken); err != nil {
		return err
	}
	m.set(s.Results, m.get(taken.Yield))
	return nil
}

func (m *machine) get(vs []*kernel.Value) [][]uint64 {
	out := make([][]uint64, len(vs))
	for i, v := range vs {
		out[i] = m.regs[v]
	}
	return out
}

func (m *machine) set(vs []*kernel.Value, to [][]uint64) {
	for i, v := range vs {
		m.regs[v] = to[i]
	}
}

// place is the bytes of lane l of an access, nil if the lane is masked off.
func (m *machine) place(s *kernel.Stmt, l int) ([]byte, error) {
	r := s.Ref
	if r.Mask != nil && m.regs[r.Mask][l] == 0 && r.Stride != 0 {
		return nil, nil
	}
	lane := int64(l)
	if r.Gather != nil {
		lane = r.Gather.Type.Elem.Signed(m.regs[r.Gather][l])
	}
	at := m.index(r.Index) + r.Stride*lane
	if at < 0 || at >= r.Buf.Len {
		return nil, fmt.Errorf("%s: lane %d at element %d of %s[%d]", s.Op, l, at, r.Buf.Name, r.Buf.Len)
	}
	if r.Mask != nil && m.regs[r.Mask][l] == 0 {
		return nil, nil
	}
	size := int64(r.Buf.Elem.Bytes())
	return m.mem[r.Buf][at*size : (at+1)*size], nil
}

func (m *machine) load(s *kernel.Stmt) error {
	r := s.Result()
	out := make([]uint64, r.Type.Lanes)
	for l := range out {
		p, err := m.place(s, l)
		if err != nil {
			return err
		}
		if p != nil {
			out[l] = read(s.Ref.Buf.Elem, p)
		}
	}
	m.regs[r] = out
	return nil
}

func (m *machine) store(s *kernel.Stmt) error {
	for l, x := range m.regs[s.Args[0]] {
		p, err := m.place(s, l)
		if err != nil {
			return err
		}
		if p != nil {
			write(s.Ref.Buf.Elem, p, x)
		}
	}
	return nil
}

func read(e kernel.Elem, p []byte) uint64 {
	var x uint64
	for i := range e.Bytes() {
		x |= uint64(p[i]) << (8 * i)
	}
	switch {
	case e.IsNarrow():
		return bits32(e.DType().FromBits(uint32(x)))
	case e == kernel.Bool:
		return truth(x != 0)
	}
	return x
}

func write(e kernel.Elem, p []byte, x uint64) {
	if e.IsNarrow() {
		x = uint64(e.DType().ToBits(f32(x)))
	} else if e == kernel.Bool {
		x &= 1
	}
	for i := range e.Bytes() {
		p[i] = byte(x >> (8 * i))
	}
}
