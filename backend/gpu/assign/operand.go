package assign

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// contiguous is the dimension of v whose neighbours are next to each other in the memory that most of
// it is loaded from; the last one where that is none.
func contiguous(v *tile.Value) int {
	best, most := max(0, len(v.Type.Dims)-1), 0
	seen := map[*tile.Value]bool{}
	var walk func(x *tile.Value)
	walk = func(x *tile.Value) {
		if seen[x] || x.Def == nil {
			return
		}
		seen[x] = true
		switch o := x.Def; {
		case o.Kind == tile.Load || o.Kind == tile.Copy:
			if r := neighbours(o); r != nil && len(x.Type.Dims) > most {
				if d := slices.Index(v.Type.Dims, r); d >= 0 {
					best, most = d, len(x.Type.Dims)
				}
			}
		case o.Kind == tile.Repeat || elementwise.Known(o.Kind):
			for _, a := range o.Args {
				walk(a)
			}
		}
	}
	walk(v)
	return best
}

// Vec is how many elements e have 16 bytes.
func Vec(e kernel.Elem) int { return max(1, 16/e.Bytes()) }

// turned reports whether v, of eight bits, is transposed on its way into memory.
func turned(v *tile.Value, in *layout.Memory) bool {
	if !v.Type.DType.IsScaled() || len(v.Type.Dims) != 2 {
		return false
	}
	at := in.Bits[contiguous(v)]
	return len(at) > 0 && at[0] != 1
}
