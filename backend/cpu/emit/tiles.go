package emit

import (
	"strings"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"ptc/backend/kernel"
)

// lowerMatBF16 emits BFMMLA. Its arithmetic is its own, so that no other target has it.
func lowerMatBF16(fn *function, s *kernel.Stmt) value.Value {
	c, x, y := fn.vals[s.Args[0]], fn.vals[s.Args[1]], fn.vals[s.Args[2]]
	if lanes := s.Result().Type.Lanes; !fn.m.t.HasMatBF16 || lanes != 4 {
		fn.fail("%s of %d lanes needs a processor with BFMMLA, and four", s.Op, lanes)
		return c
	}
	rows := vector(&bfloat{}, 8)
	f := fn.m.intrinsic("llvm.aarch64.neon.bfmmla", c.Type(), c.Type(), rows, rows)
	return fn.b.NewCall(f, c, fn.b.NewBitCast(x, rows), fn.b.NewBitCast(y, rows))
}

// tileConfiguration is what LDTILECFG reads (Intel, Software Developer's Manual, volume
// 1, 18.3, and LDTILECFG in volume 2): 64 bytes, palette 1 in the first one; from byte 16
// on two bytes for each tile register, the bytes of its rows, from byte 48 on one, its
// rows. There is room for 16 registers, and what is not there is zero.
func tileConfiguration() [64]byte {
	var c [64]byte
	c[0] = 1
	for t := range kernel.Tiles {
		c[16+2*t], c[48+t] = kernel.TileBytes, kernel.TileRows
	}
	return c
}

// configureTiles emits what gives the tile registers of a kernel their shape, if it has
// any, and returns what emits that they are no longer in use: a thread that sleeps, or
// is interrupted, then has none to save.
func (fn *function) configureTiles(k *kernel.Kernel) (release func()) {
	if !k.UsesTiles() {
		return func() {}
	}
	if !fn.m.t.HasTileBF16 {
		fn.fail("tile registers need a processor with AMX")
		return func() {}
	}
	if fn.m.tiles == nil {
		c := tileConfiguration()
		fn.m.tiles = fn.m.NewGlobalDef("tile.configuration", constant.NewCharArray(c[:]))
		fn.m.tiles.Immutable, fn.m.tiles.Linkage, fn.m.tiles.Align = true, enum.LinkageInternal, 64
	}
	fn.tileCall("ldtilecfg", fn.b.NewBitCast(fn.m.tiles, types.I8Ptr))
	return func() { fn.tileCall("tilerelease") }
}

// tileCall emits an instruction of tile registers. Numbers are LLVM's registers: it
// allocates none of its own, and keeps the order of these calls and of what they read
// and write.
func (fn *function) tileCall(name string, args ...value.Value) {
	var params []types.Type
	for _, a := range args {
		params = append(params, a.Type())
	}
	fn.b.NewCall(fn.m.intrinsic("llvm.x86."+name, types.Void, params...), args...)
}

// tileNumbers are the registers of s, which are part of the instruction.
func tileNumbers(s *kernel.Stmt) (out []value.Value) {
	for _, t := range s.Lanes {
		out = append(out, constant.NewInt(types.I8, int64(t)))
	}
	return out
}

func lowerTileZero(fn *function, s *kernel.Stmt) value.Value {
	fn.tileCall("tilezero", tileNumbers(s)...)
	return nil
}

// fillers are instructions that do nothing behind each product. Where another thread runs on
// the same core, loads of tiles and products take turns in its queues, and do not wait there
// for each other if they come at a distance: see docs/performance.md.
const fillers = 8

func lowerTileDot(fn *function, s *kernel.Stmt) value.Value {
	fn.tileCall("tdpbf16ps", tileNumbers(s)...)
	pause := ir.NewInlineAsm(types.NewPointer(types.NewFunc(types.Void)), strings.Repeat("nop;", fillers), "")
	pause.SideEffect = true
	fn.b.NewCall(pause)
	return nil
}

func lowerTileMove(fn *function, s *kernel.Stmt) value.Value {
	name := map[kernel.Op]string{kernel.OpTileLoad: "tileloadd64", kernel.OpTileStream: "tileloaddt164", kernel.OpTileStore: "tilestored64"}[s.Op]
	place := fn.b.NewBitCast(fn.place(s.Ref), types.I8Ptr)
	stride := constant.NewInt(types.I64, s.Ref.Stride*int64(s.Ref.Buf.Elem.Bytes()))
	fn.tileCall(name, append(tileNumbers(s), place, stride)...)
	return nil
}
