package weights

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/program"
)

// Add has an adapter added to the tensors of the folder as they are read, each element summed in 64
// bits and rounded once.
func (f *Folder) Add(ad *Adapter) { f.adapt = ad }

// change makes a slice of a tensor what it is with the adapter: replaced, where the adapter has the
// tensor whole, and then with the product of its factors added.
func (ad *Adapter) change(name string, at safetensors.Slice, data []byte, d dtype.DType, add bool) error {
	if of := ad.whole[name]; of != "" {
		from := ad.file.Find(of).DType
		raw := make([]byte, dtype.Bytes(from, dtype.Elems(d, len(data))))
		if err := ad.file.ReadSlice(of, at, raw); err != nil {
			return err
		}
		copy(data, convert(raw, from, d))
	}
	if !add || ad.modules[name] == nil {
		return nil
	}
	m, a, b, err := ad.factors(name)
	if err != nil {
		return err
	}
	in := int64(len(a)) / m.rank
	rows, cols := at.Extent[0], at.Extent[1]
	sum, w := make([]float64, cols), make([]float64, cols)
	for i := range rows {
		clear(sum)
		row := at.Offset[0] + i
		for k := range m.rank {
			if m.transposed {
				for j := range sum {
					sum[j] += a[k*in+row] * b[(at.Offset[1]+int64(j))*m.rank+k]
				}
				continue
			}
			y, line := b[row*m.rank+k], a[k*in+at.Offset[1]:]
			for j := range sum {
				sum[j] += y * line[j]
			}
		}
		part := data[dtype.Bytes(d, i*cols):dtype.Bytes(d, (i+1)*cols)]
		d.Decode(w, part)
		for j := range w {
			w[j] += m.scale * sum[j]
		}
		d.Encode(part, w)
	}
	return nil
}

// factor is a part of an adapter by its path.
type factor struct {
	path  string
	shape []int64
	x     []float64
	set   []bool
}

// Keep has the factors of an adapter next to the parameters, as those that a plan's lora blocks
// train, and gives the number of parameters with some. Only tensors that the adapter has whole take the place of the
// folder's.
func (f *Folder) Keep(ad *Adapter, n *program.Names, plan *program.Plan) (int, error) {
	p, err := plan.Expanded()
	if err != nil {
		return 0, err
	}
	k := keeper{ad: ad, all: adapters(p), made: map[string]*[2]factor{}}
	for i := range n.Tensors {
		if t := &n.Tensors[i]; ad.modules[t.Name] != nil {
			if err := k.module(t); err != nil {
				return 0, err
			}
		}
	}
	f.adapt, f.apart = ad, []factor{}
	for _, path := range sortedKeys(k.made) {
		f.apart = append(f.apart, k.made[path][0], k.made[path][1])
	}
	return len(k.made), nil
}

type keeper struct {
	ad   *Adapter
	all  map[string]*adapter
	made map[string]*[2]factor
}

// module takes the factors of one module to the parameters that it is of.
func (k *keeper) module(t *program.Named) error {
	m, a, b, err := k.ad.factors(t.Name)
	if err != nil {
		return err
	}
	module := strings.TrimSuffix(t.Name, weightSuffix)
	in := int64(len(a)) / m.rank
	row, col := int64(0), int64(0)
	for i := range t.Pieces {
		p := &t.Pieces[i]
		at := k.all[p.Param]
		if at == nil {
			return fmt.Errorf("the adapter is of %s, and no lora block of the plan selects %s; without --plan the adapter is added to the weights", module, p.Param)
		}
		x := matrixOf(p)
		if x == nil {
			return fmt.Errorf("%s is not a matrix of the rows and columns of %s", p.Param, module)
		}
		inner, err := x.inner(at)
		if err != nil {
			return err
		}
		if m.embedding || (inner == 0) != m.transposed {
			return fmt.Errorf("the adapter is of %s as what is looked up, and the lora block's of %s as a factor of a product", module, p.Param)
		}
		first, begin := row, col // of the piece in B and in A
		if inner == 0 {
			first, begin = col, row
		}
		own := slab{a: a, b: b, rank: m.rank, in: in, row: first, rows: p.Shape[1-inner], col: begin, cols: p.Shape[inner]}
		if err := k.piece(module, x, inner, at, m.scale, own); err != nil {
			return err
		}
		if t.Over == 0 {
			row += p.Shape[0]
		} else {
			col += p.Shape[1]
		}
	}
	return nil
}

// slab is the rows of B and the columns of A that are of one parameter.
type slab struct {
	a, b                           []float64
	rank, in, row, rows, col, cols int64
}

// ranks are those of which the parameter's part is not nothing, filled up with others to as many as
// there are to be.
func (s *slab) ranks(want int64) []int64 {
	var some, none []int64
	for k := range s.rank {
		a := slices.ContainsFunc(s.a[k*s.in+s.col:k*s.in+s.col+s.cols], func(x float64) bool { return x != 0 })
		b := false
		for i := range s.rows {
			b = b || s.b[(s.row+i)*s.rank+k] != 0
		}
		switch {
		case a && b:
			some = append(some, k)
		case a:
			none = append(none, k)
		}
	}
	if n := want - int64(len(some)); n > 0 {
		some = append(some, none[:min(n, int64(len(none)))]...)
	}
	slices.Sort(some)
	return some
}

// piece writes the factors of one parameter, or of a slice of it.
func (k *keeper) piece(module string, x *matrix, inner int, at *adapter, scale float64, s slab) error {
	param := x.piece.Param
	rank := at.downShape[slices.Index(at.down, rankAxis)]
	list := s.ranks(rank)
	if s.rank == rank {
		list = list[:0]
		for r := range rank {
			list = append(list, r)
		}
	}
	if int64(len(list)) != rank {
		return fmt.Errorf("the adapter has the rank %d for %s, and the lora block of the plan %d; a lora block with rank = %d takes it, or without --plan the adapter is added to the weights", max(int64(len(list)), s.rank), module, rank, s.rank)
	}
	made := k.made[param]
	if made == nil {
		made = &[2]factor{newFactor(param+program.AdapterDown, at.downShape), newFactor(param+program.AdapterUp, at.upShape)}
		k.made[param] = made
	}
	downs, downRank := strides(at.base, at.down, at.downShape)
	ups, upRank := strides(at.base, at.up, at.upShape)
	ratio := 1.0
	if scale != at.scale {
		ratio = scale / at.scale
	}
	if math.IsInf(ratio, 0) || math.IsNaN(ratio) {
		return fmt.Errorf("the lora block of %s multiplies by %v, but the adapter by %v", param, at.scale, scale)
	}
	for to, from := range list {
		for j := range s.cols {
			if !made[0].put(x.place(inner, j, downs)+int64(to)*downRank, s.a[from*s.in+s.col+j]) {
				return shares(module, param, made[0].path)
			}
		}
		for j := range s.rows {
			if !made[1].put(x.place(1-inner, j, ups)+int64(to)*upRank, ratio*s.b[(s.row+j)*s.rank+from]) {
				return shares(module, param, made[1].path)
			}
		}
	}
	return nil
}

func shares(module, param, path string) error {
	return fmt.Errorf("the adapter has a factor of its own for %s, and %s is one for all of %s; without --plan the adapter is added to the weights", module, path, param)
}

func newFactor(path string, shape []int64) factor {
	return factor{path, shape, make([]float64, elems(shape)), make([]bool, elems(shape))}
}

// put sets an element, and is false where it is another one already.
func (f *factor) put(at int64, x float64) bool {
	if f.set[at] && f.x[at] != x {
		return false
	}
	f.set[at], f.x[at] = true, x
	return true
}
