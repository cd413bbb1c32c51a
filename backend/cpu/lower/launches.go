package lower

import (
	"ptc/backend/kernel"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
)

// Launch is a kernel and which buffers it takes: numbers of a function's arguments, then
// its results, then memory between its launches.
type Launch struct {
	*kernel.Kernel
	Bufs []int
}

// Launches are what computes kernel f as a plan has it, one after the other, under names
// that begin with name: two where a sum is in parts. between are the bytes of the memory
// between them.
func Launches(name string, f *ir.Func, m kernel.Machine, given *schedule.Table) (list []Launch, between []int64, err error) {
	p, err := fusion.InParts(f, func(k *fusion.Kernel) int64 { return Parts(k, m, given) })
	if err != nil || p == nil { // as fuse does
		k, err := Kernel(name, f, m, given)
		return []Launch{{k, numbered(0, len(f.Args)+len(f.Results))}}, nil, err
	}
	products, err := Kernel(name, p.Products, m, given)
	if err != nil {
		return nil, nil, err
	}
	sum, err := Kernel(name+".sum", p.Sum, m, given)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range p.Products.Results[:p.N] {
		between = append(between, int64(r.Value.Type.Bytes()))
	}
	parts := numbered(len(f.Args)+len(f.Results), p.N)
	first := append(append([]int(nil), p.ProductArgs...), parts...)
	second := append(append([]int(nil), parts...), p.SumArgs...)
	return []Launch{
		{products, append(first, behind(p.ProductResults, len(f.Args))...)},
		{sum, append(second, behind(p.SumResults, len(f.Args))...)},
	}, between, nil
}

// numbered are n numbers from first on.
func numbered(first, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = first + i
	}
	return out
}

// behind are the numbers, each by n more.
func behind(numbers []int, n int) []int {
	var out []int
	for _, i := range numbers {
		out = append(out, n+i)
	}
	return out
}
