package weights

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ptc/internal/dtype"
	"ptc/internal/hfclass"
	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/program"
)

// Names of a folder of an adapter, as PEFT writes it.
const (
	adapterConfigFile = "adapter_config.json"
	adapterFile       = "adapter_model.safetensors"
	adapterPrefix     = "base_model.model." // of every tensor
	factorA           = ".lora_A.weight"    // [rank, in]
	factorB           = ".lora_B.weight"    // [out, rank]
	weightSuffix      = ".weight"           // of the tensor of a module
)

// lowRank is the adapter of a module: W + scale · B · A, with rank rows of A. Where the tensor is of
// several parameters, each has rows of A and columns of B of its own.
type lowRank struct {
	module        string
	in, out, rank int64
	scale         float64
	dtype         dtype.DType
	blocks        []block
}

// block is the part of a module's adapter that one parameter's is.
type block struct {
	path            string
	a               *adapter
	m               *matrix
	inner           int   // the dimension of the matrix that is summed over
	row, col, first int64 // where its rows of B, columns of A and ranks begin
	rank            int64
}

// ExportAdapter writes the adapters that a plan trains as a folder that PEFT reads: nothing of the
// parameters that they are of. It gives the number of modules with one.
func ExportAdapter(src Source, plan *program.Plan, n *program.Names, dir string, o Options) (int, error) {
	p, err := plan.Expanded()
	if err != nil {
		return 0, err
	}
	if n.Refuse != "" {
		return 0, fmt.Errorf("this model cannot be written as %s: %s", n.Format, n.Refuse)
	}
	list, err := lowRanks(src, p, n, o.DType)
	if err != nil {
		return 0, err
	}
	var tensors []safetensors.Tensor
	for _, l := range list {
		tensors = append(tensors, safetensors.Tensor{Name: adapterPrefix + l.module + factorA, DType: l.dtype, Shape: []int64{l.rank, l.in}},
			safetensors.Tensor{Name: adapterPrefix + l.module + factorB, DType: l.dtype, Shape: []int64{l.out, l.rank}})
	}
	text, err := adapterConfig(list, n, o.Base)
	if err != nil {
		return 0, err
	}
	return len(list), WriteFolder(dir, func(tmp string) error {
		err := safetensors.WriteFile(filepath.Join(tmp, adapterFile), tensors, map[string]string{"format": "pt"}, func(w *safetensors.Writer) error {
			r := factors{src: src}
			for i := range list {
				if err := r.write(w, &list[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return atomicfile.WriteFile(filepath.Join(tmp, adapterConfigFile), text)
	})
}

// lowRanks are the adapters by the modules of the other program, in the order of its names.
func lowRanks(src Source, p *program.Plan, n *program.Names, to dtype.DType) ([]lowRank, error) {
	all := adapters(p)
	if len(all) == 0 {
		return nil, fmt.Errorf("the plan has no adapters: its train block has no lora")
	}
	for i := range p.Devices {
		for _, t := range p.Devices[i].Tensors {
			if t.Train && !p.Adapters.Has(t.Path) {
				return nil, fmt.Errorf("the plan trains %s besides its adapters, and an adapter alone has only these; --format hf writes both", t.Path)
			}
		}
	}
	var out []lowRank
	used := map[string]bool{}
	for i := range n.Tensors {
		l, err := lowRankOf(src, all, &n.Tensors[i])
		if err != nil {
			return nil, err
		}
		if l == nil {
			continue
		}
		for _, b := range l.blocks {
			used[b.path] = true
		}
		if to != 0 {
			l.dtype = to
		}
		out = append(out, *l)
	}
	for _, path := range sortedKeys(all) {
		if !used[path] {
			return nil, fmt.Errorf("%s has an adapter, but the family %s has no tensor for it", path, n.Family)
		}
	}
	return out, nil
}

// lowRankOf is the adapter of one tensor, nil where no parameter of it has one.
func lowRankOf(src Source, all map[string]*adapter, t *program.Named) (*lowRank, error) {
	if !slices.ContainsFunc(t.Pieces, func(p program.Piece) bool { return all[p.Param] != nil }) {
		return nil, nil
	}
	module, isWeight := strings.CutSuffix(t.Name, weightSuffix)
	if !isWeight || hfclass.Embedding(module) {
		return nil, fmt.Errorf("%s has an adapter, and is the output besides %s: PEFT adapts one of them alone; --format hf adds the adapter to the weights", t.Pieces[0].Param, t.Name)
	}
	l := &lowRank{module: module}
	row, col := int64(0), int64(0)
	inner := -1
	for i := range t.Pieces {
		p := &t.Pieces[i]
		m := matrixOf(p)
		a := all[p.Param]
		if a != nil && m == nil {
			return nil, fmt.Errorf("%s has an adapter, but %s is not a matrix of its rows and columns", p.Param, t.Name)
		}
		if a != nil {
			in, err := m.inner(a)
			if err != nil {
				return nil, err
			}
			if inner >= 0 && in != inner {
				return nil, fmt.Errorf("%s has parameters whose products sum over its rows, and others over its columns", t.Name)
			}
			inner = in
			down, up := src.Describe(p.Param+program.AdapterDown), src.Describe(p.Param+program.AdapterUp)
			if down == nil || up == nil {
				return nil, fmt.Errorf("the checkpoint lacks the adapter of %s", p.Param)
			}
			rank := a.downShape[slices.Index(a.down, rankAxis)]
			if len(l.blocks) == 0 {
				l.scale, l.dtype = a.scale, down.DType
			}
			l.blocks = append(l.blocks, block{p.Param, a, m, in, row, col, l.rank, rank})
			l.rank += rank
		}
		if t.Over == 0 {
			row += p.Shape[0]
		} else {
			col += p.Shape[1]
		}
	}
	shape := shapeOf(t)
	l.in, l.out = shape[inner], shape[1-inner]
	if inner == 0 { // rows of the tensor are columns of A
		for i := range l.blocks {
			b := &l.blocks[i]
			b.row, b.col = b.col, b.row
		}
	}
	return l, nil
}

// rankAxis is the axis between the two parts of an adapter.
const rankAxis = "lora_rank"

// factors reads the parts of adapters, and keeps those of the last parameter.
type factors struct {
	src      Source
	path     string
	down, up []float64
	d, u     *safetensors.Tensor
}

func (f *factors) read(b *block) (err error) {
	if f.path == b.path {
		return nil
	}
	if f.d, f.down, err = readWhole(f.src, b.path+program.AdapterDown, b.a.down); err != nil {
		return err
	}
	if f.u, f.up, err = readWhole(f.src, b.path+program.AdapterUp, b.a.up); err != nil {
		return err
	}
	if !slices.Equal(f.d.Shape, b.a.downShape) || !slices.Equal(f.u.Shape, b.a.upShape) {
		return fmt.Errorf("the adapter of %s has the shapes %v and %v, but the plan's has %v and %v", b.path, f.d.Shape, f.u.Shape, b.a.downShape, b.a.upShape)
	}
	f.path = b.path
	return nil
}

// write writes the two matrices of a module.
func (f *factors) write(w *safetensors.Writer, l *lowRank) error {
	a, b := make([]float64, l.rank*l.in), make([]float64, l.out*l.rank)
	for i := range l.blocks {
		x := &l.blocks[i]
		if err := f.read(x); err != nil {
			return err
		}
		downs, downRank := strides(x.a.base, x.a.down, x.a.downShape)
		ups, upRank := strides(x.a.base, x.a.up, x.a.upShape)
		for j := range x.m.piece.Shape[x.inner] {
			at := x.m.place(x.inner, j, downs)
			for k := range x.rank {
				a[(x.first+k)*l.in+x.col+j] = f.down[at+k*downRank]
			}
		}
		ratio := 1.0
		if x.a.scale != l.scale {
			ratio = x.a.scale / l.scale
		}
		for j := range x.m.piece.Shape[1-x.inner] {
			at := x.m.place(1-x.inner, j, ups)
			for k := range x.rank {
				b[(x.row+j)*l.rank+x.first+k] = ratio * f.up[at+k*upRank]
			}
		}
	}
	for _, part := range []struct {
		name string
		x    []float64
	}{{factorA, a}, {factorB, b}} {
		data := make([]byte, dtype.Bytes(l.dtype, len(part.x)))
		l.dtype.Encode(data, part.x)
		if err := w.WriteSlice(adapterPrefix+l.module+part.name, safetensors.Slice{}, data); err != nil {
			return err
		}
	}
	return nil
}

// common is the value that most of a list have; of several the one that comes first.
func common[T cmp.Ordered](list []T) T {
	count := map[T]int{}
	for _, x := range list {
		count[x]++
	}
	best := list[0]
	for _, x := range list {
		if count[x] > count[best] {
			best = x
		}
	}
	return best
}
