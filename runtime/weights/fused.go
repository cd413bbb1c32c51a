package weights

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ptc/runtime/program"
)

// Of experts, new versions of PEFT write the factors of all in two tensors, as new versions of transformers have the
// experts' matrices: the rows of A are those of one expert after the other, and the columns of B are for each rank
// those of all experts. The matrices w1 and w3 are one, w1 first.
const (
	fusedExperts = ".mlp.experts"
	apartExperts = ".block_sparse_moe.experts."
	fusedRouter  = ".mlp.gate"
	apartRouter  = ".block_sparse_moe.gate"
	wrapped      = ".base_layer" // the first of two parameters of a module
)

// fusedPart is where the factors of one expert are in those of all.
type fusedPart struct {
	expert, experts int64
	row, rows, in   int64 // of B
}

// cut takes the expert's factors out of those of all.
func (f *fusedPart) cut(rank int64, a, b []float64) (x, y []float64) {
	x = a[f.expert*rank*f.in : (f.expert+1)*rank*f.in]
	y = make([]float64, f.rows*rank)
	for i := range f.rows {
		for k := range rank {
			y[i*rank+k] = b[((f.row+i)*rank+k)*f.experts+f.expert]
		}
	}
	return x, y
}

// split makes factors of all experts those of each.
func (ad *Adapter) split(n *program.Names) error {
	shapes := map[string][]int64{}
	for i := range n.Tensors {
		shapes[n.Tensors[i].Name] = shapeOf(&n.Tensors[i])
	}
	for _, name := range sortedKeys(ad.modules) {
		m := ad.modules[name]
		module := strings.TrimSuffix(name, weightSuffix)
		if layer, ok := strings.CutSuffix(module, fusedRouter); ok && shapes[name] == nil && shapes[layer+apartRouter+weightSuffix] != nil {
			delete(ad.modules, name)
			if err := ad.alone(m, layer+apartRouter, module+weightSuffix, shapes); err != nil {
				return err
			}
			continue
		}
		bare, first := strings.CutSuffix(module, wrapped)
		layer, ok := strings.CutSuffix(bare, fusedExperts)
		if !ok || shapes[layer+apartExperts+"0.w1.weight"] == nil {
			continue
		}
		delete(ad.modules, name)
		if m.a == "" || m.b == "" {
			return fmt.Errorf("the adapter of %s has one factor without the other", module)
		}
		parts, label := []string{"w2"}, "down_proj"
		if first || ad.onlyFirst() {
			parts, label = []string{"w1", "w3"}, "gate_up_proj"
		}
		if err := ad.experts(m, layer, bare+"."+label, parts, shapes); err != nil {
			return err
		}
	}
	return nil
}

// onlyFirst is whether of the two matrices of experts the one of w1 and w3 alone has factors.
func (ad *Adapter) onlyFirst() bool {
	for _, t := range ad.config.Parameters {
		if strings.HasSuffix(t, "down_proj") {
			return false
		}
	}
	return true
}

// alone takes a module under its old name.
func (ad *Adapter) alone(m *peftModule, module, label string, shapes map[string][]int64) error {
	rank, scale, err := ad.config.of(label)
	if err != nil {
		return err
	}
	shape := shapes[module+weightSuffix]
	m.fused = &fusedPart{experts: 1, rows: shape[0], in: shape[1]}
	m.rank, m.scale = rank, scale
	ad.modules[module+weightSuffix] = m
	return ad.fits(m, label, 1, shape[0], shape[1])
}

// experts takes factors of all experts apart.
func (ad *Adapter) experts(m *peftModule, layer, label string, parts []string, shapes map[string][]int64) error {
	count := int64(0)
	for shapes[layer+apartExperts+strconv.FormatInt(count, 10)+"."+parts[0]+weightSuffix] != nil {
		count++
	}
	rank, scale, err := ad.config.of(label)
	if err != nil {
		return err
	}
	shape := shapes[layer+apartExperts+"0."+parts[0]+weightSuffix]
	m.rank, m.scale = rank, scale
	if err := ad.fits(m, label, count, shape[0]*int64(len(parts)), shape[1]); err != nil {
		return err
	}
	for e := range count {
		for i, p := range parts {
			own := *m
			own.fused = &fusedPart{expert: e, experts: count, row: int64(i) * shape[0], rows: shape[0], in: shape[1]}
			ad.modules[layer+apartExperts+strconv.FormatInt(e, 10)+"."+p+weightSuffix] = &own
		}
	}
	return nil
}

// fits holds the shapes of the factors of all experts against the model's.
func (ad *Adapter) fits(m *peftModule, label string, experts, out, in int64) error {
	if m.a == "" || m.b == "" {
		return fmt.Errorf("the adapter of %s has one factor without the other", label)
	}
	a, b := ad.file.Find(m.a).Shape, ad.file.Find(m.b).Shape
	wantA, wantB := []int64{experts * m.rank, in}, []int64{out, experts * m.rank}
	if !slices.Equal(a, wantA) || !slices.Equal(b, wantB) {
		return fmt.Errorf("the factors of %s have the shapes %v and %v, but the rank %d of %s requires %v and %v", label, a, b, m.rank, adapterConfigFile, wantA, wantB)
	}
	return nil
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
