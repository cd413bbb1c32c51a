package thread

import (
	"fmt"

	"ptc/backend/gpu/ptx"
	"ptc/backend/kernel"
)

// Pointer is an address in global memory, with what is stored there.
type Pointer struct {
	Elem kernel.Elem
	at   ptx.Operand // a register of 64 bits
	plus int64       // bytes
}

// Param declares the next argument: the address of elements e.
func (b *Builder) Param(name string, e kernel.Elem) Pointer {
	b.entry.Params = append(b.entry.Params, ptx.Param{Name: name})
	at := b.pure(ptx.B64, "ld.param.u64", ptx.AtSym(name, 0))
	return Pointer{Elem: e, at: b.pure(ptx.B64, "cvta.to.global.u64", at)}
}

// At is p moved by x elements.
func (b *Builder) At(p Pointer, x kernel.Index) Pointer {
	size := int64(p.Elem.Bytes())
	p.plus += x.Const * size
	x.Const = 0
	if !x.IsConst() {
		p.at = b.sum(kernel.I64, p.at, b.product(kernel.I64, b.index(x), ptx.Imm(size)))
	}
	return p
}

// As is p for elements e.
func (p Pointer) As(e kernel.Elem) Pointer { p.Elem = e; return p }

// Choose is p where cond holds, and otherwise q, which is of the same elements.
func (b *Builder) Choose(cond *Value, p, q Pointer) Pointer {
	if p.plus != 0 || q.plus != 0 {
		b.fail(fmt.Errorf("a choice of pointers into arrays"))
	}
	p.at = b.pure(ptx.B64, "selp.b64", p.at, q.at, b.operand(cond))
	return p
}

// Overlay runs body, whose shared memory nobody has who runs another overlay.
func (b *Builder) Overlay(body func()) {
	from := b.shared
	body()
	b.overlaid = max(b.overlaid, b.shared)
	b.shared = from
}

// UsesShared reports whether shared memory has been declared so far.
func (b *Builder) UsesShared() bool { return b.shared > 0 || b.overlaid > 0 }

// Shared is an array of the memory that the threads of a block share.
type Shared struct {
	Elem kernel.Elem
	at   ptx.Operand // a register of 32 bits
	plus int64
}

// NewShared declares n elements e of shared memory, at a multiple of align bytes.
func (b *Builder) NewShared(e kernel.Elem, n int, align int) Shared {
	b.shared = (b.shared + align - 1) / align * align
	s := Shared{Elem: e, at: b.pure(ptx.B32, "mov.u32", ptx.Sym(ptx.DynamicName)), plus: int64(b.shared)}
	b.shared += n * e.Bytes()
	return s
}

// Within is s moved by x elements, an i32.
func (b *Builder) Within(s Shared, x *Value) Shared {
	o := b.product(kernel.I32, b.operand(x), ptx.Imm(int64(s.Elem.Bytes())))
	if isInt(o) {
		s.plus += o.Imm
	} else {
		s.at = b.sum(kernel.I32, s.at, o)
	}
	return s
}

// Plus is s moved by n elements.
func (s Shared) Plus(n int64) Shared { s.plus += n * int64(s.Elem.Bytes()); return s }

// Access is how memory is read and written.
type Access struct {
	N  int    // elements next to each other; their bytes are at most 16, and the address a multiple of them
	If *Value // only where it holds; what is not read is zero
	// Have, of a copy, is how many of the elements there are, N or fewer; the others are zero. nil: all.
	Have *Value
}

// Load reads from global memory. Numbers of 16 and 8 bits come as f32.
func (b *Builder) Load(p Pointer, a Access) []*Value {
	return b.load("ld.global", p.Elem, ptx.At(p.at.Reg, p.plus), a)
}

// LoadShared reads from shared memory.
func (b *Builder) LoadShared(s Shared, a Access) []*Value {
	return b.load("ld.shared", s.Elem, ptx.At(s.at.Reg, s.plus), a)
}

// Store writes to global memory. Numbers are rounded where it has 16 bits or 8.
func (b *Builder) Store(p Pointer, a Access, vs []*Value) {
	b.store("st.global", p.Elem, ptx.At(p.at.Reg, p.plus), a, vs)
}

// StoreShared writes to shared memory.
func (b *Builder) StoreShared(s Shared, a Access, vs []*Value) {
	b.store("st.shared", s.Elem, ptx.At(s.at.Reg, s.plus), a, vs)
}

// words is how n elements e are moved: so many registers of a class, each of which has several.
func words(e kernel.Elem, n int) (count, each int, c ptx.Class, typ string) {
	bytes := e.Bytes() * n
	switch {
	case e.Bytes() == 8:
		return n, 1, ptx.B64, "b64"
	case e.Bytes() < 4 && bytes < 4:
		if bytes == 1 {
			return 1, 1, ptx.B16, "u8"
		}
		return n * e.Bytes() / 2, 2 / e.Bytes(), ptx.B16, "b16"
	}
	return bytes / 4, 4 / e.Bytes(), ptx.B32, "b32"
}

func (b *Builder) load(name string, e kernel.Elem, at ptx.Operand, a Access) []*Value {
	n := max(1, a.N)
	count, each, c, typ := words(e, n)
	if n*e.Bytes() > 16 || count > 4 || count == 3 {
		b.fail(fmt.Errorf("a load of %d %s", n, e))
		return nil
	}
	regs := make([]ptx.Operand, count)
	for i := range regs {
		regs[i] = ptx.R(b.reg(c))
		if a.If != nil {
			b.op(moves[c], regs[i], ptx.Imm(0))
		}
	}
	to := regs[0]
	if count > 1 {
		name += fmt.Sprintf(".v%d", count)
		to = ptx.Vec(regs...)
	}
	b.guarded(a.If, name+"."+typ, to, at)
	var out []*Value
	for _, r := range regs {
		out = append(out, b.unpack(e, r, each)...)
	}
	return out
}

// unpack is the elements of a register, as arithmetic has them.
func (b *Builder) unpack(e kernel.Elem, r ptx.Operand, each int) []*Value {
	half := halfName(e)
	switch {
	case e.DType().IsScaled():
		return b.widenFloat8s(e, r, each)
	case e == kernel.BF16 && each == 2: // a shift and a mask, where moves of halves are two instructions
		return []*Value{b.value(kernel.F32, b.pure(ptx.B32, "shl.b32", r, ptx.Imm(16))),
			b.value(kernel.F32, b.pure(ptx.B32, "and.b32", r, ptx.Imm(-65536)))}
	case e.IsNarrow() && each == 2:
		low, high := ptx.R(b.reg(ptx.B16)), ptx.R(b.reg(ptx.B16))
		b.op("mov.b32", ptx.Vec(low, high), r)
		return []*Value{b.value(kernel.F32, b.widen(half, low)), b.value(kernel.F32, b.widen(half, high))}
	case e.IsNarrow():
		return []*Value{b.value(kernel.F32, b.widen(half, r))}
	case e.Bytes() == 1: // truth values
		var out []*Value
		wide := r
		if r.Reg.Class == ptx.B16 {
			wide = b.pure(ptx.B32, "cvt.u32.u16", r)
		}
		for i := range each {
			x := b.pure(ptx.B32, "and.b32", wide, ptx.Imm(0xff<<(8*i)))
			out = append(out, b.value(kernel.I1, b.pure(ptx.Pred, "setp.ne.u32", x, ptx.Imm(0))))
		}
		return out
	}
	return []*Value{b.value(e.Register(), r)}
}

func (b *Builder) store(name string, e kernel.Elem, at ptx.Operand, a Access, vs []*Value) {
	count, each, c, typ := words(e, len(vs))
	if len(vs)*e.Bytes() > 16 || count > 4 || count == 3 || len(vs) == 0 {
		b.fail(fmt.Errorf("a store of %d %s", len(vs), e))
		return
	}
	regs := make([]ptx.Operand, count)
	for i := range regs {
		regs[i] = b.pack(e, c, vs[i*each:(i+1)*each])
	}
	from := regs[0]
	if count > 1 {
		name += fmt.Sprintf(".v%d", count)
		from = ptx.Vec(regs...)
	}
	b.guarded(a.If, name+"."+typ, at, from)
}

// pack is elements in one register, as memory has them.
func (b *Builder) pack(e kernel.Elem, c ptx.Class, vs []*Value) ptx.Operand {
	half := halfName(e)
	switch {
	case e.DType().IsScaled():
		return b.narrowFloat8s(e, c, vs)
	case e.IsNarrow() && len(vs) == 2:
		return b.pure(ptx.B32, "cvt.rn."+half+"x2.f32", b.inReg(vs[1]), b.inReg(vs[0]))
	case e.IsNarrow():
		return b.pure(ptx.B16, "cvt.rn."+half+".f32", b.inReg(vs[0]))
	case e.Bytes() == 1:
		sum := ptx.Imm(0)
		for i, v := range vs {
			bit := b.pure(ptx.B32, "selp.b32", ptx.Imm(1<<(8*i)), ptx.Imm(0), b.operand(v))
			if i == 0 {
				sum = bit
			} else {
				sum = b.pure(ptx.B32, "or.b32", sum, bit)
			}
		}
		if c == ptx.B16 {
			return b.pure(ptx.B16, "cvt.u16.u32", sum)
		}
		return sum
	}
	return b.inReg(vs[0])
}

// guarded is an instruction that is executed where cond holds, or always if there is none.
func (b *Builder) guarded(cond *Value, name string, args ...ptx.Operand) {
	s := ptx.Stmt{Op: name, Args: args}
	if cond != nil {
		s.Guard = b.operand(cond).Reg
	}
	b.entry.Body = append(b.entry.Body, s)
}
