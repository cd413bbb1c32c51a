package fusion

import (
	"ptc/internal/dtype"
	"ptc/ir"
	"ptc/ir/op"
)

// Moves is how many bytes a launch of kernel function f reads and writes: each argument and each
// result once, but of an argument of which elements are looked up, or a part is read, as many at
// most. What a cache does not hold, and is read again, is not among them.
func Moves(f *ir.Func) (bytes int64) {
	part, whole := map[*ir.Value]int64{}, map[*ir.Value]bool{}
	for _, o := range f.Ops {
		for i, a := range o.Args {
			if i == 0 && (o.Name == op.Gather || o.Name == op.Slice) {
				part[a] += dtype.Bytes(a.Type.DType, int64(o.Result().Type.Elems()))
			} else {
				whole[a] = true
			}
		}
	}
	for _, r := range f.Results {
		whole[r.Value] = true
		bytes += int64(r.Value.Type.Bytes())
	}
	for _, a := range f.Args {
		n := int64(a.Value.Type.Bytes())
		if p, ok := part[a.Value]; ok && !whole[a.Value] {
			n = min(n, p)
		}
		bytes += n
	}
	return bytes
}
