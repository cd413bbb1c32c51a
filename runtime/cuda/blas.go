package cuda

import (
	"errors"
	"fmt"
	"slices"

	"ptc/internal/units"
	"ptc/runtime/cuda/blaslt"
	"ptc/runtime/program"
)

// maxWorkspace is how much memory of the GPU algorithms of the library may use: what NVIDIA advises
// for the largest of them ("cuBLAS", cublasSetWorkspace).
const maxWorkspace = 32 << 20

// blas is the library that may take the place of kernels which are products. A product whose own
// kernel is not slower is not its.
type blas struct {
	*launches
	library   *blaslt.Library
	handle    *blaslt.Handle
	workspace uint64 // its address; 0: none
	limit     int64  // its bytes

	products map[[2]int]*blaslt.Product // by kernel, and number in it
	calls    map[[2]int][]matmul        // by program and instruction
	all, own int                        // kernels that are products; those that the library failed
	why      error                      // the first failure
}

func (b *blas) open() (err error) {
	if b.library, err = blaslt.Open(b.drv.version); err != nil {
		return err
	}
	if b.handle, err = b.library.New(); err != nil {
		return err
	}
	if err := b.needEvents(2); err != nil {
		return err
	}
	switch at, err := b.drv.alloc(maxWorkspace); {
	case err == nil:
		b.workspace, b.limit = at, maxWorkspace
	case code(err) != outOfMemory: // without, there are fewer algorithms
		return fmt.Errorf("%s of workspace: %w", units.Bytes(maxWorkspace), err)
	}
	return nil
}

func (b *blas) freeWorkspace() {
	if b.workspace != 0 {
		_ = b.drv.free(b.workspace) // nothing could be done about it
	}
	b.workspace, b.limit = 0, 0
}

// close frees what the library holds, when no graph has any of it.
func (b *blas) close() {
	if b == nil {
		return
	}
	for _, p := range b.products {
		p.Close()
	}
	b.handle.Close()
	b.freeWorkspace()
}

// of is what the library does for an instruction; nil: nothing.
func (b *blas) of(prog, instr int) []matmul {
	if b == nil {
		return nil
	}
	return b.calls[[2]int{prog, instr}]
}

// launch is an instruction that is products, with where its buffers lie.
type launch struct {
	in      *program.Instr
	kernel  *program.Kernel
	buffers []uint64 // by argument
	at      []blaslt.Addresses
}

// launch is that of an instruction; nil where it is not products, or the plan is wrong about it, which who
// captures it says.
func (b *blas) launch(in *program.Instr) *launch {
	k := &b.r.Plan.Kernels[in.Kernel]
	if len(k.Products) == 0 || len(in.Bufs) != len(k.Args) || k.Tasks < 1 || k.Tasks > maxGrid {
		return nil
	}
	l := &launch{in: in, kernel: k, buffers: b.addresses(in)}
	for i := range k.Products {
		p := &k.Products[i]
		at := blaslt.Addresses{Left: l.address(&p.Left), Right: l.address(&p.Right), Out: l.address(&p.Out)}
		if p.Add != nil {
			at.Add = l.address(p.Add)
		}
		if p.Bias != nil {
			at.Bias = l.address(p.Bias)
		}
		l.at = append(l.at, at)
	}
	return l
}

// address is where matrices begin.
func (l *launch) address(m *program.Matrices) uint64 {
	return l.buffers[m.Arg] + uint64(m.Offset)*uint64(program.DTypeSize(m.DType))
}

// apart says whether results lie in the place of nothing that is read, but for what is added to them element by
// element.
func (l *launch) apart() bool {
	for i := range l.kernel.Products {
		out := &l.kernel.Products[i].Out
		for j := range l.kernel.Products {
			p := &l.kernel.Products[j]
			for _, m := range []*program.Matrices{&p.Left, &p.Right, p.Bias} {
				if m != nil && l.meet(out.Arg, m.Arg) {
					return false
				}
			}
			if p.Add != nil && l.meet(out.Arg, p.Add.Arg) && !(i == j && l.at[i].Add == l.at[i].Out && p.Add.Row == out.Row && p.Add.Batch == out.Batch) {
				return false
			}
			if i != j && l.meet(out.Arg, p.Out.Arg) {
				return false
			}
		}
	}
	return true
}

// meet says whether two arguments have bytes in common.
func (l *launch) meet(i, j int) bool {
	a, b := l.kernel.Args, l.buffers
	return b[i] < b[j]+uint64(a[j].Bytes) && b[j] < b[i]+uint64(a[i].Bytes)
}

// described are the products of a kernel as the library knows them.
func (b *blas) described(l *launch) (out []*blaslt.Product, err error) {
	for i := range l.kernel.Products {
		key := [2]int{l.in.Kernel, i}
		if b.products[key] == nil {
			p, err := b.library.Describe(&l.kernel.Products[i])
			if err != nil {
				return nil, err
			}
			b.products[key] = p
		}
		out = append(out, b.products[key])
	}
	return out, nil
}

// errNoOffer is of a product that the library has no algorithm for.
var errNoOffer = errors.New("the library offers no algorithm that needs so little workspace")

// mostOffers is how many algorithms are tried for a product.
const mostOffers = 8

// offers are the algorithms for each product of a kernel.
func (b *blas) offers(l *launch, products []*blaslt.Product) (out [][]blaslt.Algorithm, err error) {
	for i, p := range products {
		all, err := b.handle.Offers(p, l.at[i], b.limit, mostOffers)
		if err != nil {
			return nil, err
		}
		var some []blaslt.Algorithm
		for _, a := range all {
			if a.Workspace <= uint64(b.limit) {
				some = append(some, a)
			}
		}
		if len(some) == 0 {
			return nil, errNoOffer
		}
		out = append(out, some)
	}
	return out, nil
}

// matmul is a product that the library computes in the place of a kernel, or of a section of one.
type matmul struct {
	product *blaslt.Product
	at      blaslt.Addresses
	algo    blaslt.Algorithm
}

// enqueue gives the stream products, one behind the other: they share the workspace.
func (b *blas) enqueue(list []matmul) error {
	for i := range list {
		m := &list[i]
		if err := b.handle.Enqueue(m.product, m.at, &m.algo, b.workspace, b.stream); err != nil {
			return err
		}
	}
	return nil
}

// capture makes a graph of what the library does for products: its kernels and their arguments, which it
// does not tell otherwise.
func (b *blas) capture(list []matmul) (graph uintptr, err error) {
	return b.drv.capture(b.stream, func() error { return b.enqueue(list) })
}

// works says whether products use the workspace.
func works(list []matmul) bool {
	return slices.ContainsFunc(list, func(m matmul) bool { return m.algo.Workspace > 0 })
}
