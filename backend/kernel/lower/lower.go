package lower

import (
	"fmt"

	"ptc/backend/kernel"
	"ptc/ir"
	"ptc/ir/fusion"
)

// Kernel generates f under the symbol name.
func Kernel(name string, f *ir.Func, m kernel.Machine) (*kernel.Kernel, error) {
	k, err := fusion.Analyze(f)
	if err != nil {
		return nil, fmt.Errorf("kernel @%s: %w", f.Name, err)
	}
	if err := supported(f); err != nil {
		return nil, fmt.Errorf("kernel @%s: %w", f.Name, err)
	}
	out, err := generate(name, k, m)
	if err != nil {
		return nil, fmt.Errorf("kernel @%s (%s): %w", f.Name, k.Class, err)
	}
	return out, nil
}

// generate runs the generator of k's class.
func generate(name string, k *fusion.Kernel, m kernel.Machine) (*kernel.Kernel, error) {
	if err := onDevice(k.F); err != nil {
		return nil, err
	}
	g := &gen{k: k, m: m, name: name, at: map[string]coord{}, readers: map[*ir.Value][]*ir.Op{}}
	for _, o := range k.F.Ops {
		for _, a := range o.Args {
			g.readers[a] = append(g.readers[a], o)
		}
	}
	switch class := classes[k.Class]; {
	case k.Class == fusion.Horizontal:
		return horizontal(name, k, m)
	case class == nil:
		return nil, fmt.Errorf("there is no generator for the class")
	default:
		return class(g)
	}
}

// classes holds the generator of each kernel class.
var classes = map[fusion.Class]func(*gen) (*kernel.Kernel, error){
	fusion.Map:     (*gen).mapped,
	fusion.Row:     (*gen).row,
	fusion.Column:  (*gen).column,
	fusion.Scatter: (*gen).scatter,
	fusion.Pieces:  (*gen).pieces,
	fusion.Gemm:    (*gen).gemm,
	fusion.Attend:  (*gen).attention,
}

// gen is the state of generating one kernel.
type gen struct {
	k    *fusion.Kernel
	m    kernel.Machine
	name string
	b    *kernel.Builder

	args    []*kernel.Buffer // of the function's arguments
	results []*kernel.Buffer
	coords  *kernel.Buffer // the device's coordinates, or nil
	readers map[*ir.Value][]*ir.Op

	at     map[string]coord // where the computation is, by axis
	lanes  int              // of the vector axis at present; 1 outside of it
	mask   *kernel.Value    // lanes that exist, or nil for all
	scopes []map[*ir.Value]*kernel.Value
	loads  map[*ir.Value]func() *kernel.Value // values kept in scratch
}

// coord is a position along one axis: lane l is at idx, plus l on the vector
// axis, plus lane[l] where it was looked up.
type coord struct {
	idx  kernel.Index
	vec  bool
	lane *kernel.Value // i32, or nil
}

// begin starts the form with a buffer for each argument and result. Results
// may be written over arguments, so no buffer is declared distinct from those.
func (g *gen) begin(tasks int64) {
	g.b = kernel.New(g.name, tasks)
	g.lanes = 1
	g.scopes = []map[*ir.Value]*kernel.Value{{}}
	g.loads = map[*ir.Value]func() *kernel.Value{}
	f := g.k.F
	aliased := make([]bool, len(f.Args))
	result := make([]bool, len(f.Results))
	for a := range f.Args {
		for r := range f.Results {
			if g.k.InPlace(a, r) {
				aliased[a], result[r] = true, true
			}
		}
	}
	declare := func(name string, t ir.Type, alias bool, use kernel.Use) *kernel.Buffer {
		if alias {
			return g.b.ArgAliased(name, elem(t.DType), int64(t.Elems()), use)
		}
		return g.b.Arg(name, elem(t.DType), int64(t.Elems()), use)
	}
	for i, a := range f.Args {
		buf := declare(fmt.Sprintf("in%d", i), a.Value.Type, aliased[i], kernel.Read)
		g.args = append(g.args, buf)
		if a.Path == fusion.Coordinates {
			g.coords = buf
		}
	}
	for i, r := range f.Results {
		g.results = append(g.results, declare(fmt.Sprintf("out%d", i), r.Value.Type, result[i], kernel.ReadWrite))
	}
}

// within runs body in a scope of its own: values computed there are forgotten
// after it.
func (g *gen) within(body func()) {
	g.scopes = append(g.scopes, map[*ir.Value]*kernel.Value{})
	body()
	g.scopes = g.scopes[:len(g.scopes)-1]
}

func elem(d ir.DType) kernel.Elem { return kernel.Elem(d) }

// supported says what no CPU kernel can do yet.
func supported(f *ir.Func) error {
	for _, o := range f.Ops {
		if len(o.Results) != 1 {
			return fmt.Errorf("%s has %d results", o.Name, len(o.Results))
		}
		if o.Result().Type.DType == ir.F64 || len(o.Args) > 0 && o.Args[0].Type.DType == ir.F64 {
			return fmt.Errorf("f64 runs on the target ref only")
		}
		if n, ok := natives[o.Name]; !ok || n.gone {
			return fmt.Errorf("no native code for %s", o.Name)
		}
	}
	return nil
}
