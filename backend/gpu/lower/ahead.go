package lower

import (
	"slices"

	"ptc/backend/tile"
)

// stores reports whether a block of operations writes to memory, which copies ahead may read.
func stores(body *tile.Block) bool {
	return body != nil && slices.ContainsFunc(body.Ops, func(o *tile.Op) bool {
		return o.Kind == tile.Store || o.Kind == tile.Scatter || stores(o.Then) || stores(o.Else) || o.Loop != nil && stores(o.Loop.Body)
	})
}

// dots are the products of a block of operations, and of those that it has under conditions.
func dots(body *tile.Block) (out []*tile.Op) {
	for _, o := range body.Ops {
		switch o.Kind {
		case tile.Dot:
			out = append(out, o)
		case tile.If:
			out = append(append(out, dots(o.Then)...), dots(o.Else)...)
		}
	}
	return out
}

// multiplies reports whether the loop does nothing but multiply tiles that are known ahead.
func (x *pipeline) multiplies() bool {
	body := x.o.Loop.Body
	for _, o := range body.Ops {
		if o.Kind != tile.Dot && o.Kind != tile.Wait && effects[o.Kind] != nil {
			return false
		}
		if o.Kind != tile.Dot {
			continue
		}
		for i, v := range o.Args {
			sum := i == 2 && (!x.inner[v] || v.Def.Kind == tile.Dot || v.Def.Kind == tile.Const)
			if !sum && !x.free(v, map[*tile.Value]bool{}) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(body.Yield, func(v *tile.Value) bool { return x.inner[v] && v.Def.Kind != tile.Dot })
}

// free reports whether v depends neither on what the loop carries nor on what threads compute
// together in it.
func (x *pipeline) free(v *tile.Value, seen map[*tile.Value]bool) bool {
	switch {
	case seen[v]:
		return true
	case slices.Contains(x.o.Loop.Carry, v):
		return false
	case !x.inner[v]: // from outside
		return true
	case effects[v.Def.Kind] != nil:
		return false
	}
	seen[v] = true
	for _, a := range v.Def.Args {
		if !x.free(a, seen) {
			return false
		}
	}
	for _, at := range v.Def.At {
		for _, t := range at.Terms {
			if t.Value != nil && !x.free(t.Value, seen) {
				return false
			}
		}
	}
	return true
}
