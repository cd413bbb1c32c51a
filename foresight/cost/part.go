package cost

import (
	"fmt"
	"sync"

	"ptc/backend/gpu/choose"
	"ptc/backend/gpu/target"
	"ptc/backend/tile/schedule"
	"ptc/internal/dtype"
	"ptc/internal/wide"
	"ptc/ir"
	"ptc/ir/fusion"
)

// Part is one loop nest of a kernel: the whole kernel, or a section of a horizontal one.
type Part struct {
	Class fusion.Class
	Key   string // fusion.Key: kernels with one key do the same work
	DType string // of the factors of its products, in the words of internal/dtype; empty where it has none
	Flops int64
	Bytes int64 // read and written at least
	// Multiplies are the operations among Flops that are of matrix products; of attention, all.
	Multiplies int64
	// Product has the sizes of a matrix product, and Tile the block of its result that one processor computes at a
	// time. Both are nil in a part of another class, and Tile also where the machine is not a GPU.
	Product *Product
	Tile    *Tile
}

// Product is Batch matrix products [M, K] · [K, N].
type Product struct{ Batch, M, N, K int64 }

// flops are its multiplications and additions.
func (x *Product) flops() int64 {
	n := int64(2)
	for _, size := range []int64{x.Batch, x.M, x.N, x.K} {
		n = wide.Mul(n, size)
	}
	return n
}

// Tile is a block of the result of a product, in elements. Split is among how many processors its sum is split.
type Tile struct{ M, N, Split int64 }

// PartsOf reads the parts of a kernel from its printed function. Tiles are those of the schedule that ptc generates
// for the machine's own target, or of a given one.
func (m *Model) PartsOf(name, text string, given *schedule.Table) ([]Part, error) {
	mod, errs := ir.Parse(name, []byte(kernelHead()+text))
	if len(errs) > 0 {
		return nil, fmt.Errorf("kernel %s of the plan: %w", name, errs)
	}
	if len(mod.Funcs) != 1 {
		return nil, fmt.Errorf("kernel %s of the plan: found %d functions; expected one", name, len(mod.Funcs))
	}
	k, err := fusion.Analyze(mod.Funcs[0])
	if err != nil {
		return nil, fmt.Errorf("kernel %s of the plan: %w", name, err)
	}
	sections := k.Apart()
	out := make([]Part, len(sections))
	for i, s := range sections {
		out[i] = m.partOf(s, len(sections), given)
	}
	return out, nil
}

// kernelHead is the head of a module in which a kernel function is parsed.
var kernelHead = sync.OnceValue(func() string {
	return ir.Print(&ir.Module{Level: ir.Fused, Name: "kernels"}) + "\n"
})

func (m *Model) partOf(k *fusion.Kernel, sections int, given *schedule.Table) Part {
	p := Part{Class: k.Class, Key: fusion.Key(k.F), DType: fusion.Factors(k.F), Flops: fusion.Flops(k.F), Bytes: fusion.Moves(k.F)}
	c := k.Contraction
	if k.Class == fusion.Attend {
		p.Multiplies = p.Flops
	}
	if c == nil {
		return p
	}
	p.Product = &Product{
		Batch: fusion.Iterations(c.Outer), M: fusion.Iterations(c.M), N: fusion.Iterations(c.N),
		K: fusion.Iterations(c.K) * fusion.Iterations(c.OuterK),
	}
	p.Multiplies = min(p.Flops, p.Product.flops())
	if m.gpu == nil {
		return p
	}
	s, ok := given.Of(p.Key)
	if !ok {
		s = choose.Schedule(k, choose.On(*m.gpu, sections))
	}
	p.Tile = &Tile{M: max(s.Rows, 1), N: max(s.Cols, 1), Split: max(s.Cluster, 1)}
	return p
}

// gpuOf is the description of the GPU that a machine names as its target, or nil.
func gpuOf(name string) *target.Target {
	t, err := target.Resolve(name)
	if err != nil {
		return nil
	}
	return &t
}

// sizeOf is the bytes of an element of a dtype; 4 for a name that is no dtype.
func sizeOf(name string) int64 {
	if d, ok := dtype.Parse(name); ok {
		return max(1, dtype.Bytes(d, int64(1)))
	}
	return 4
}
