package emit

import (
	"fmt"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
)

// Machine is what kernel generators need to know of t.
func Machine(t target.Target) kernel.Machine {
	return kernel.Machine{
		VectorBits: t.VectorBits, Registers: t.Registers,
		FMA: t.HasFMA, DotBF16: t.HasDotBF16, MatBF16: t.HasMatBF16, TileBF16: t.HasTileBF16, Masked: t.HasMask,
		L1: t.L1, L2: t.L2, L3: t.L3,
	}
}

// Module is the LLVM IR text of kernels, each under its own name, for t. Math
// calls are expanded. The error names a kernel that is not well formed, a name
// used twice, or an operation that t cannot do.
func Module(t target.Target, kernels ...*kernel.Kernel) (string, error) {
	m := &module{Module: ir.NewModule(), t: t, intrinsics: map[string]*ir.Func{}}
	seen := map[string]bool{}
	for _, k := range kernels {
		if seen[k.Name] {
			return "", fmt.Errorf("two kernels are named %s", k.Name)
		}
		seen[k.Name] = true
		if err := m.kernel(k); err != nil {
			return "", err
		}
	}
	return m.String(), nil
}

type module struct {
	*ir.Module
	t          target.Target
	intrinsics map[string]*ir.Func
	tiles      *ir.Global // the configuration of tile registers, where one is needed
}

// function is the emission of one kernel's body: the open block, and what the
// form's values and buffers have become.
type function struct {
	m      *module
	f      *ir.Func
	b      *ir.Block
	vals   map[*kernel.Value]value.Value
	halves map[*kernel.Value]value.Value // of vectors loaded as bf16: the bits of the elements
	bufs   map[*kernel.Buffer]value.Value
	err    error
}

func (m *module) kernel(k *kernel.Kernel) error {
	if err := kernel.Verify(k); err != nil {
		return err
	}
	bodies := map[*kernel.Kernel]body{}
	for _, of := range k.Bodies() {
		b, err := vmath.Expand(of)
		if err != nil {
			return err
		}
		fn := m.body(b)
		if fn.err != nil {
			return fmt.Errorf("kernel %s for %s: %w", b.Name, m.t.Name, fn.err)
		}
		bodies[of] = body{fn.f, b.Buffers}
	}
	m.entry(k, bodies)
	return nil
}

// body is the internal function of a kernel's tasks, and its buffers in the order of
// the function's parameters.
type body struct {
	f       *ir.Func
	buffers []*kernel.Buffer
}

// body emits the internal function (buffers…, i64 begin, i64 end).
func (m *module) body(k *kernel.Kernel) *function {
	fn := &function{m: m, vals: map[*kernel.Value]value.Value{}, halves: map[*kernel.Value]value.Value{}, bufs: map[*kernel.Buffer]value.Value{}}
	var params []*ir.Param
	for i, b := range k.Buffers {
		p := ir.NewParam(fmt.Sprintf("b%d", i), types.NewPointer(memType(b.Elem)))
		p.Attrs = append(p.Attrs, enum.ParamAttrNoCapture, ir.Align(64))
		if b.Distinct {
			p.Attrs = append(p.Attrs, enum.ParamAttrNoAlias)
		}
		if b.Space == kernel.Global && b.Use == kernel.Read {
			p.Attrs = append(p.Attrs, enum.ParamAttrReadOnly)
		}
		params = append(params, p)
		fn.bufs[b] = p
	}
	begin, end := ir.NewParam("begin", types.I64), ir.NewParam("end", types.I64)
	fn.f = m.NewFunc(k.Name+".tasks", types.Void, append(params, begin, end)...)
	fn.f.Linkage = enum.LinkageInternal
	fn.f.FuncAttrs = append(m.attributes(), enum.FuncAttrNoInline)
	fn.b = fn.f.NewBlock("entry")
	release := fn.configureTiles(k)
	if k.Batch != nil {
		fn.batches(k, begin, end)
	} else {
		fn.countedLoop(begin, end, 1, nil, 0, func(task value.Value, _ []value.Value) []value.Value {
			fn.vals[k.Task] = task
			fn.stmts(k.Body)
			return nil
		})
	}
	release()
	fn.b.NewRet(nil)
	return fn
}

// entry emits the exported function, which calls the body; or those of the sections,
// each for what of the tasks is its own.
func (m *module) entry(k *kernel.Kernel, bodies map[*kernel.Kernel]body) {
	bufs := ir.NewParam("bufs", types.NewPointer(types.I8Ptr))
	begin, end := ir.NewParam("begin", types.I64), ir.NewParam("end", types.I64)
	scratch := ir.NewParam("scratch", types.I8Ptr)
	f := m.NewFunc(k.Name, types.Void, bufs, begin, end, scratch)
	f.FuncAttrs = m.attributes()
	b := f.NewBlock("entry")
	call := func(of body, at func(arg int) int, begin, end value.Value) {
		var args []value.Value
		for _, buf := range of.buffers {
			var p value.Value
			if buf.Space == kernel.Global {
				slot := b.NewGetElementPtr(types.I8Ptr, bufs, constant.NewInt(types.I64, int64(at(buf.Arg))))
				p = b.NewLoad(types.I8Ptr, slot)
			} else {
				p = b.NewGetElementPtr(types.I8, scratch, constant.NewInt(types.I64, buf.Offset))
			}
			args = append(args, b.NewBitCast(p, types.NewPointer(memType(buf.Elem))))
		}
		b.NewCall(of.f, append(args, begin, end)...)
	}
	if len(k.Sections) == 0 {
		call(bodies[k], func(arg int) int { return arg }, begin, end)
	}
	for i, s := range k.Sections {
		at := func(n int64) value.Value { return constant.NewInt(types.I64, n) }
		clamp := func(x value.Value) value.Value { // what x is among the section's tasks, 0 or all of them beyond
			own := b.NewSub(x, at(s.First))
			low := b.NewSelect(b.NewICmp(enum.IPredSLT, own, at(0)), at(0), own)
			return b.NewSelect(b.NewICmp(enum.IPredSGT, low, at(s.Tasks)), at(s.Tasks), low)
		}
		lo, hi := clamp(begin), clamp(end)
		run, next := f.NewBlock(fmt.Sprintf("section%d", i)), f.NewBlock(fmt.Sprintf("after%d", i))
		b.NewCondBr(b.NewICmp(enum.IPredSLT, lo, hi), run, next)
		b = run
		call(bodies[s.Kernel], func(arg int) int { return s.Args[arg] }, lo, hi)
		b.NewBr(next)
		b = next
	}
	b.NewRet(nil)
}

// attributes keep LLVM from making library calls ("no-builtins") and from
// splitting vectors in a narrower width than the generator chose.
func (m *module) attributes() []ir.FuncAttribute {
	attrs := []ir.FuncAttribute{
		enum.FuncAttrNoUnwind,
		ir.AttrPair{Key: "target-cpu", Value: m.t.CPU},
		ir.AttrString("no-builtins"),
	}
	if m.t.Features != "" {
		attrs = append(attrs, ir.AttrPair{Key: "target-features", Value: m.t.Features})
	}
	if m.t.Arch == "x86-64" {
		attrs = append(attrs, ir.AttrPair{Key: "prefer-vector-width", Value: fmt.Sprint(m.t.VectorBits)})
	}
	return attrs
}

// intrinsic declares an LLVM intrinsic on first use.
func (m *module) intrinsic(name string, ret types.Type, params ...types.Type) *ir.Func {
	if f := m.intrinsics[name]; f != nil {
		return f
	}
	var ps []*ir.Param
	for _, t := range params {
		ps = append(ps, ir.NewParam("", t))
	}
	f := m.NewFunc(name, ret, ps...)
	m.intrinsics[name] = f
	return f
}

func (fn *function) fail(format string, args ...any) {
	if fn.err == nil {
		fn.err = fmt.Errorf(format, args...)
	}
}
