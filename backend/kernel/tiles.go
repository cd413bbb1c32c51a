package kernel

import (
	"fmt"
	"slices"
)

// Tile registers are state of the task, not values: a statement names the ones that it
// reads and writes by their numbers. There are eight, each of 16 rows of 64 bytes, as
// AMX has them (Intel, Software Developer's Manual, volume 1, chapter 18: palette 1).
// Nothing of them is known where a task begins.
//
// OpTileDot has in its left register rows of 32 bf16, and in its right one rows of 16
// pairs: row k has steps 2k and 2k+1 of 16 columns. It is what TDPBF16PS does (the same,
// volume 2): products of even steps and those of odd steps are summed apart, from zero on
// in order, each step rounded once; both sums are added, and then added to what was
// there. Machines take subnormal operands for zero, and give zero for a subnormal sum.
const (
	Tiles     = 8  // tile registers
	TileRows  = 16 // rows of each
	TileBytes = 64 // of a row
)

// TileZero clears tile register t.
func (b *Builder) TileZero(t int) { b.append(&Stmt{Op: OpTileZero, Lanes: []int{t}}) }

// TileLoad fills tile register t with rows of 64 bytes, r.Stride elements apart.
func (b *Builder) TileLoad(t int, r Ref) { b.append(&Stmt{Op: OpTileLoad, Lanes: []int{t}, Ref: r}) }

// TileStream is TileLoad of what is not soon loaded again.
func (b *Builder) TileStream(t int, r Ref) {
	b.append(&Stmt{Op: OpTileStream, Lanes: []int{t}, Ref: r})
}

// TileStore writes tile register t, as [Builder.TileLoad] reads.
func (b *Builder) TileStore(r Ref, t int) { b.append(&Stmt{Op: OpTileStore, Lanes: []int{t}, Ref: r}) }

// TileDot adds the product of left and right to sum: see [Tiles].
func (b *Builder) TileDot(sum, left, right int) {
	b.append(&Stmt{Op: OpTileDot, Lanes: []int{sum, left, right}})
}

// UsesTiles says whether k has statements of tile registers.
func (k *Kernel) UsesTiles() bool {
	return slices.ContainsFunc(k.Bodies(), func(b *Kernel) bool { return b.Body.usesTiles() })
}

func (b *Block) usesTiles() bool {
	return b != nil && slices.ContainsFunc(b.Stmts, func(s *Stmt) bool {
		return s.Op.OfTiles() || s.Then.usesTiles() || s.Else.usesTiles() || s.Loop != nil && s.Loop.Body.usesTiles()
	})
}

// OfTiles says whether op reads or writes tile registers.
func (op Op) OfTiles() bool { return op >= OpTileZero && op <= OpTileDot }

func checkTile(s *Stmt) error {
	want := 1
	if s.Op == OpTileDot {
		want = 3
	}
	if len(s.Lanes) != want || len(s.Results) != 0 {
		return fmt.Errorf("has %d tile registers and %d results, must have %d and none", len(s.Lanes), len(s.Results), want)
	}
	for i, t := range s.Lanes {
		if t < 0 || t >= Tiles {
			return fmt.Errorf("no tile register %d", t)
		}
		if slices.Contains(s.Lanes[:i], t) { // which the instruction does not take
			return fmt.Errorf("tile register %d twice", t)
		}
	}
	switch s.Op {
	case OpTileLoad, OpTileStream:
		if e := s.Ref.Buf; e == nil || e.Elem != I32 && e.Elem != F32 && e.Elem != BF16 {
			return fmt.Errorf("from no buffer of i32, f32 or bf16")
		}
	case OpTileStore:
		if b := s.Ref.Buf; b == nil || b.Elem != F32 || b.Space == Global && b.Use == Read {
			return fmt.Errorf("into no buffer of f32 that may be written")
		}
	default:
		return nil
	}
	if s.Ref.Mask != nil || s.Ref.Gather != nil {
		return fmt.Errorf("has a mask or lane offsets")
	}
	return nil
}
