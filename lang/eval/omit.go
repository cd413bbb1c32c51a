package eval

import (
	"maps"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Every instance of a repeated module has the same declaration and the same
// arguments, and what an expression evaluates to depends on the types of tensors
// and never on their elements. So where a loop over such a list comes to the same
// state after two instances in a row, it does from then on for each instance what
// it did for the last one, and the instances in the middle can be omitted:
//
//	0  1  2 ┊ 3  4  …  n−3 ┊ n−2  n−1
//	written    omitted        written
//
// The first three are written because a loop may begin in another way; of the last
// two, one is read behind the loop. An omitted instance has parameters and a path,
// for rules of layouts, and no operations: it does what the one before the gap does.
// Wherever that is not certain, the list is irregular: the lowering ends, and begins
// again with all of that list written.
const (
	leading  = 3
	trailing = 2
)

// Gap is the numbers of the instances of a list that are omitted: From to To−1.
type Gap struct{ From, To int }

// Omitted is a list of which a function lacks instances.
type Omitted struct {
	List string // its path
	Gap
}

// ListOf is the path of the outermost list that a path leads through, or empty.
func ListOf(path string) string {
	for i := 0; i < len(path); {
		end := len(path)
		if n := strings.IndexByte(path[i:], '.'); n >= 0 {
			end = i + n
		}
		if c := path[i]; i > 0 && c >= '0' && c <= '9' {
			return path[:i-1]
		}
		i = end + 1
	}
	return ""
}

// gapOf is what is omitted of a list of n instances, if anything is.
func (in *Interp) gapOf(list string, n int) (Gap, bool) {
	g := Gap{leading, n - trailing}
	return g, in.Omits != nil && g.To > g.From && ListOf(list) == "" && in.Omits(list)
}

// gap is what is omitted of the list, if anything is, and its path.
func (in *Interp) gap(v value.Instances) (string, Gap, bool) {
	list := ListOf(v[0].Path)
	if list+".0" != v[0].Path { // inside of another list
		return "", Gap{}, false
	}
	g, ok := in.gapOf(list, len(v))
	return list, g, ok
}

// Irregularly ends the lowering: the list at the path, or the one that it leads
// through, must be written with all its instances.
func (in *Interp) Irregularly(path string) {
	if list := ListOf(path); list != "" {
		path = list
	}
	if in.Irregular == "" {
		in.Irregular = path
	}
	in.Stopped = true
}

// Work is how much was done, for bounds on it.
type Work struct{ Steps, Ops, Sites, modules int }

// Work is that until now.
func (in *Interp) Work() Work {
	w := in.work
	if fb := in.Builder; fb != nil {
		w.Ops, w.Sites = fb.count(), fb.Sites
	}
	return w
}

// Since is the work after an earlier moment.
func (w Work) Since(o Work) Work {
	return Work{w.Steps - o.Steps, w.Ops - o.Ops, w.Sites - o.Sites, w.modules - o.modules}
}

// Omit counts work that is omitted so many times as if it were done. The list at the
// path is irregular if that goes beyond a bound: the mistake is found in its place.
func (in *Interp) Omit(path string, w Work, times int) {
	in.work.Steps += w.Steps * times
	in.work.modules += w.modules * times
	if fb := in.Builder; fb != nil {
		fb.omitted += w.Ops * times
		fb.Sites += w.Sites * times
	}
	now := in.Work()
	if now.Steps > source.MaxSteps || now.Ops > source.MaxOps || now.modules > source.MaxModules || len(in.Model.Params) > source.MaxParams {
		in.Irregularly(path)
	}
}

// moment is that until now.
func (in *Interp) moment() moment {
	m := in.Model
	return moment{len(m.Params), len(m.absent), len(m.Instances), in.Work()}
}

// round is what a loop did for one instance, and what it left.
type round struct {
	of          *value.Instance
	first, last int // its operations
	work        Work
	vars        map[string]value.Value
	sizes       map[string]int
}

// regularly runs a loop over a list of which instances are omitted.
func (f *Frame) regularly(s *syntax.For, v value.Instances, list string, g Gap) {
	in, fb := f.Interp, f.Interp.Builder
	if fb == nil || fb.inside {
		in.Irregularly(list)
		return
	}
	fb.inside = true
	defer func() { fb.inside = false }()
	var before round
	for k := 0; k < len(v) && !in.Stopped; k++ {
		start, first := in.Work(), len(fb.Func.Ops)
		if !in.tick(f, s.Over) {
			return
		}
		f.Vars[s.Var.Name] = v[k]
		_, done := f.block(s.Body)
		now := round{v[k], first, len(fb.Func.Ops), in.Work().Since(start), maps.Clone(f.Vars), maps.Clone(f.Sizes)}
		if done || (k == g.From-1 || k == g.To) && !fb.follows(now, before) {
			in.Irregularly(list)
			return
		}
		if k == g.To {
			fb.omit(Omitted{list, g}, before, now)
		}
		if before = now; k == g.From-1 {
			in.Omit(list, now.work, g.To-g.From)
			k = g.To - 1
		}
	}
}

// follows is whether b, of the instance after that of a, has left what a has left,
// but for what is of their own.
func (fb *Builder) follows(b, a round) bool {
	if b.last-b.first != a.last-a.first || !maps.Equal(a.sizes, b.sizes) || len(a.vars) != len(b.vars) {
		return false
	}
	for name, v := range a.vars {
		if w, ok := b.vars[name]; !ok || !fb.alike(v, w, a, b) {
			return false
		}
	}
	return true
}

// alike is whether w is for b what v is for a.
func (fb *Builder) alike(v, w value.Value, a, b round) bool {
	switch v := v.(type) {
	case value.Number, value.Text, value.Truth, value.Word, value.DType, value.Namespace, value.ModuleRef:
		return v == w
	case value.Traced:
		w, ok := w.(value.Traced)
		return ok && v.Number == w.Number && v.X.String() == w.X.String()
	case value.Tensor:
		w, ok := w.(value.Tensor)
		return ok && (v.V == w.V || v.V.Type.Equal(w.V.Type) && fb.ownTensor(v.V, w.V, a, b))
	case value.Tuple:
		w, ok := w.(value.Tuple)
		return ok && slices.EqualFunc(v, w, func(x, y value.Value) bool { return fb.alike(x, y, a, b) })
	case *value.Instance:
		w, ok := w.(*value.Instance)
		return ok && ownInstance(v, w, a, b)
	case value.Instances:
		w, ok := w.(value.Instances)
		return ok && len(v) == len(w) && ownInstance(v[0], w[0], a, b)
	case value.Function:
		w, ok := w.(value.Function)
		return ok && v.Decl == w.Decl && v.File == w.File && ownInstance(v.Inst, w.Inst, a, b)
	case Primitive:
		w, ok := w.(Primitive)
		return ok && v.builtin == w.builtin && (v.recv == nil && w.recv == nil || v.recv != nil && w.recv != nil && fb.alike(v.recv, w.recv, a, b))
	case value.Shape:
		w, ok := w.(value.Shape)
		return ok && v.Equal(w.Type)
	}
	return false
}

// ownInstance is whether v is in the instance of a what w is in that of b, or both
// are the same.
func ownInstance(v, w *value.Instance, a, b round) bool {
	if v == w || v == nil || w == nil {
		return v == w
	}
	return ownPath(v.Path, w.Path, a, b)
}

func ownPath(v, w string, a, b round) bool {
	x, inA := strings.CutPrefix(v, a.of.Path)
	y, inB := strings.CutPrefix(w, b.of.Path)
	return inA && inB && x == y && (x == "" || x[0] == '.')
}

// ownTensor is whether v and w are of the same operation of both rounds, or the same
// parameter of both instances.
func (fb *Builder) ownTensor(v, w *ir.Value, a, b round) bool {
	if (v.Def == nil) != (w.Def == nil) {
		return false
	}
	if v.Def == nil {
		x, y := "", ""
		for p, have := range fb.Values {
			switch have {
			case v:
				x = p.Path
			case w:
				y = p.Path
			}
		}
		return x != "" && y != "" && ownPath(x, y, a, b)
	}
	i, j := slices.Index(fb.Func.Ops[a.first:a.last], v.Def), slices.Index(fb.Func.Ops[b.first:b.last], w.Def)
	return i >= 0 && i == j && slices.Index(v.Def.Results, v) == slices.Index(w.Def.Results, w)
}
