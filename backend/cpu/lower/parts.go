package lower

import (
	"ptc/backend/cpu/choose"
	"ptc/backend/cpu/gemm"
	"ptc/backend/kernel"
	"ptc/backend/tile/schedule"
	"ptc/ir/fusion"
)

// Parts is into how many parts the contracted axis of a product is cut on m
// ([fusion.InParts]), each of which is summed for itself: as given says, or where it has
// nothing for the kernel, as many as are estimated to save most; 1 is one.
func Parts(k *fusion.Kernel, m kernel.Machine, given *schedule.Table) int64 {
	if given != nil {
		if s, ok := given.Of(fusion.Key(k.F)); ok {
			return max(1, s.Split)
		}
	}
	best, most := int64(1), 0.0
	for _, c := range inParts(k, m) {
		if c.saves > most && gemm.Worth(c.saves) {
			best, most = c.n, c.saves
		}
	}
	return best
}

// cutting is a number of parts, and the share of the time that it is estimated to save.
type cutting struct {
	n     int64
	saves float64
}

// inParts are the numbers of parts that product k can be cut into on m.
func inParts(k *fusion.Kernel, m kernel.Machine) []cutting {
	whole, err := specOf(k, m)
	if err != nil {
		return nil
	}
	depth := int64(1)
	for _, a := range k.Reduce {
		depth *= int64(a.Size)
	}
	var out []cutting
	for _, n := range gemm.Numbers(int64(k.Root.Result().Type.Elems()), depth, m) {
		p, err := fusion.InParts(k.F, func(*fusion.Kernel) int64 { return n })
		if err != nil {
			continue
		}
		products, err := fusion.Analyze(p.Products)
		if err != nil {
			continue
		}
		spec, err := specOf(products, m)
		if err != nil {
			continue
		}
		if saves, ok := gemm.Saves(whole, spec, n, m); ok {
			out = append(out, cutting{n, saves})
		}
	}
	return out
}

// specOf is the product k as backend/cpu/gemm takes it. Its loads and stores are for
// asking what it would be like, as they belong to no kernel yet.
func specOf(k *fusion.Kernel, m kernel.Machine) (gemm.Spec, error) {
	x, err := productOf("product", k, choose.Schedule(k, int64(m.Lanes(kernel.F32))), m)
	if err != nil {
		return gemm.Spec{}, err
	}
	return x.spec(), nil
}
