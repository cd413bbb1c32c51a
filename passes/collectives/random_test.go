package collectives

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/verify"
	"ptc/passes/check"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// meshes of random programs. Devices of `one` have nobody to talk to.
var meshes = [][]ir.MeshAxis{
	{{Name: "n", Size: 2}, {Name: "e", Size: 2}},
	{{Name: "e", Size: 3}, {Name: "n", Size: 2}},
	{{Name: "n", Size: 2}, {Name: "one", Size: 1}, {Name: "e", Size: 2}},
	{{Name: "n", Size: 2}, {Name: "e", Size: 3}, {Name: "k", Size: 2}},
}

// program makes random programs of one device each: chains of collectives with
// some elementwise work between, as in the pass's input, but wilder.
type program struct {
	r    *rand.Rand
	m    *ir.Module
	b    op.Builder
	pool []*ir.Value
}

func randomProgram(seed int64, n int) *ir.Module {
	r := rand.New(rand.NewSource(seed))
	f := &ir.Func{Name: "f", Class: ir.Entry}
	p := &program{r: r, b: op.Builder{F: f}}
	p.m = &ir.Module{Level: ir.Local, Name: "random", Mesh: meshes[r.Intn(len(meshes))], Funcs: []*ir.Func{f}}
	for i := range 3 {
		t := ir.Type{DType: ir.F32}
		for _, k := range r.Perm(3)[:1+r.Intn(3)] {
			t.Axes = append(t.Axes, ir.Axis{Name: string(rune('a' + k)), Size: 12})
		}
		for _, a := range p.free(t) { // shard some axes
			if k := r.Intn(len(t.Axes) + 1); k < len(t.Axes) {
				x := &t.Axes[k]
				x.Size /= p.m.MeshSize(a)
				x.Mesh = append(x.Mesh, a)
			}
		}
		p.pool = append(p.pool, f.AddArg(t, ir.RoleData, fmt.Sprint("x", i), nil, diag.Pos{}))
	}
	for range n {
		p.grow()
	}
	for i, v := range p.pool {
		if v.Def != nil {
			var partial []string
			for _, x := range v.Type.Partial {
				partial = append(partial, x.Mesh)
			}
			if len(partial) > 0 {
				v = p.emit("all_reduce", v, partial, "reduce", ir.Name(v.Type.Partial[0].Reduce))
			}
			f.Results = append(f.Results, ir.Result{Value: v, Role: ir.RoleGrad, Path: fmt.Sprint("r", i)})
		}
	}
	return p.m
}

// free are the mesh axes that no part of t depends on, in random order.
func (p *program) free(t ir.Type) (out []string) {
	for _, i := range p.r.Perm(len(p.m.Mesh)) {
		name := p.m.Mesh[i].Name
		used := slices.ContainsFunc(t.Partial, func(o ir.Partial) bool { return o.Mesh == name })
		for _, a := range t.Axes {
			used = used || slices.Contains(a.Mesh, name)
		}
		if !used {
			out = append(out, name)
		}
	}
	return out
}

// grow reads a value, mostly a late one, which then has mostly no other reader.
func (p *program) grow() {
	i := p.r.Intn(len(p.pool))
	if p.r.Intn(3) > 0 {
		i = len(p.pool) - 1
	}
	v := p.pool[i]
	w := p.step(v)
	if w == nil {
		return
	}
	if p.r.Intn(8) > 0 && v.Def != nil {
		p.pool = slices.Delete(p.pool, i, i+1)
	}
	p.pool = append(p.pool, w)
}

func (p *program) step(v *ir.Value) *ir.Value {
	if len(v.Type.Axes) == 0 {
		return nil
	}
	a := v.Type.Axes[p.r.Intn(len(v.Type.Axes))]
	switch p.r.Intn(9) {
	case 0:
		if over := p.suffix(a); len(over) > 0 {
			return p.emit("all_gather", v, over, "axis", ir.Name(a.Name))
		}
	case 1, 2:
		if over := p.some(p.free(v.Type)); len(over) > 0 {
			return p.emit("shard_slice", v, over, "axis", ir.Name(a.Name))
		}
	case 3:
		to := v.Type.Axes[p.r.Intn(len(v.Type.Axes))].Name
		if over := p.suffix(a); len(over) > 0 && to != a.Name {
			return p.emit("all_to_all", v, over, "axis", ir.Name(a.Name), "to", ir.Name(to))
		}
	case 4:
		return p.reduceLocally(v, a)
	case 5, 6:
		return p.reduce(v, a)
	case 7:
		return p.compute(v)
	case 8:
		to := map[ir.DType]string{ir.F32: "bf16", ir.BF16: "f32"}[v.Type.DType]
		if len(v.Type.Partial) == 0 {
			return p.try("cast", ir.A("to", ir.Name(to)), v)
		}
	}
	return nil
}

func (p *program) some(of []string) []string {
	if len(of) == 0 {
		return nil
	}
	return of[:1+p.r.Intn(len(of))]
}

func (p *program) suffix(a ir.Axis) []string {
	if len(a.Mesh) == 0 {
		return nil
	}
	return a.Mesh[p.r.Intn(len(a.Mesh)):]
}

func (p *program) try(name string, attrs ir.Attrs, args ...*ir.Value) *ir.Value {
	v, err := p.b.TryEmit(name, args, attrs)
	if err != nil {
		return nil
	}
	return v[0]
}

func (p *program) emit(kind string, v *ir.Value, over []string, kv ...any) *ir.Value {
	attrs := ir.A(kv...).With("over", ir.Names(slices.Clone(over)))
	if kind != "all_reduce" {
		attrs = attrs.With("parts", ir.Int(p.m.Group(over)))
	}
	return p.try(kind, attrs, v)
}

// reduceLocally leaves a partial sum or maximum.
func (p *program) reduceLocally(v *ir.Value, a ir.Axis) *ir.Value {
	if len(a.Mesh) == 0 || len(v.Type.Partial) > 0 || len(v.Type.Axes) < 2 {
		return nil
	}
	kind := []string{"sum", "max"}[p.r.Intn(2)]
	w := p.try("reduce_"+kind, ir.A("over", ir.Names{a.Name}), v)
	for _, m := range p.m.Mesh {
		if slices.Contains(a.Mesh, m.Name) {
			w.Type.Partial = append(w.Type.Partial, ir.Partial{Mesh: m.Name, Reduce: kind})
		}
	}
	return w
}

func (p *program) reduce(v *ir.Value, a ir.Axis) *ir.Value {
	if len(v.Type.Partial) == 0 {
		return nil
	}
	var over []string
	for _, i := range p.r.Perm(len(v.Type.Partial)) {
		over = append(over, v.Type.Partial[i].Mesh)
	}
	over, reduce := p.some(over), ir.Name(v.Type.Partial[0].Reduce)
	if p.r.Intn(2) == 0 {
		return p.emit("all_reduce", v, over, "reduce", reduce)
	}
	return p.emit("reduce_scatter", v, over, "axis", ir.Name(a.Name), "reduce", reduce)
}

// compute is elementwise, or a transposition.
func (p *program) compute(v *ir.Value) *ir.Value {
	if len(v.Type.Partial) > 0 {
		return nil
	}
	w := p.pool[p.r.Intn(len(p.pool))]
	switch {
	case p.r.Intn(3) == 0:
		order := ir.Names(v.Type.Names())
		slices.Reverse(order)
		return p.try("transpose", ir.A("order", order), v)
	case p.r.Intn(2) == 0 || len(w.Type.Partial) > 0 || w.Type.DType != v.Type.DType:
		return p.try("tanh", nil, v)
	}
	for _, a := range w.Type.Axes {
		if i := v.Type.Index(a.Name); i >= 0 && !slices.Equal(v.Type.Axes[i].Mesh, a.Mesh) {
			return nil
		}
		for _, m := range a.Mesh {
			if !v.Type.Has(a.Name) && !slices.Contains(p.free(v.Type), m) {
				return nil // the sum would be cut twice over m
			}
		}
	}
	return p.try("add", nil, v, w)
}

func total(m *ir.Module) (n int64, ops int) {
	for _, o := range m.Funcs[0].Ops {
		n += sent(m, o)
		if exchange(o) {
			ops++
		}
	}
	return n, ops
}

func rewrite(t *testing.T, m *ir.Module) (*ir.Module, []pass.Remark) {
	t.Helper()
	after := m.Clone()
	c := &pass.Context{Pass: "collectives"}
	if err := Run(c, after); err != nil {
		t.Fatal(err)
	}
	passtest.Numbered(t, m, after)
	return after, c.Remarks
}

// The rules keep every result of random programs on simulated devices, in
// float64, and never send more bytes; each of them is met. The bytes that remarks
// speak of are those that are saved.
func TestRules(t *testing.T) {
	met := map[string]int{}
	for seed := int64(1); seed <= 3000; seed++ {
		m := randomProgram(seed, 24)
		if errs := verify.Module(m); len(errs) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, errs, ir.Print(m))
		}
		after, remarks := rewrite(t, m)
		said := int64(0)
		for _, r := range remarks {
			name, rest, _ := strings.Cut(r.Text, ":")
			met[name]++
			var saved int64
			if _, err := fmt.Sscanf(rest[strings.Index(rest, " sends "):], " sends %d byte", &saved); err == nil {
				said += saved
			}
			if saved < 0 {
				t.Errorf("seed %d: %s", seed, r.Text)
			}
		}
		was, ops := total(m)
		is, left := total(after)
		if is > was || is == was && left > ops || said > was-is {
			t.Errorf("seed %d: %d operations of %d bytes became %d of %d; remarks say %d less", seed, ops, was, left, is, said)
		}
		passtest.Same(t, m, after)
		if again, more := rewrite(t, after); len(more) > 0 {
			t.Errorf("seed %d: a second run finds %v\n%s", seed, more, ir.Print(again))
		}
		if t.Failed() {
			t.Fatalf("seed %d\n%s\n%s", seed, ir.Print(m), ir.Print(after))
		}
	}
	for _, r := range rules {
		if met[r.name] == 0 {
			t.Errorf("no program met the rule %q", r.name)
		}
	}
	t.Log(met)
}

// Two levels keep every result as well, whatever the order of the list and of the
// mesh; what is only moved is the same bit for bit.
func TestTwoLevels(t *testing.T) {
	lists := [][]string{{"n", "e"}, {"e", "n"}, {"n", "e", "k"}, {"k", "e", "n"}}
	met := map[string]int{}
	for seed := int64(1); seed <= 3000; seed++ {
		m := randomProgram(seed, 20)
		list := lists[seed%int64(len(lists))]
		if len(list) > len(m.Mesh) || m.MeshSize(list[len(list)-1]) == 0 || m.MeshSize("k") > 0 && len(list) == 2 && seed%2 == 0 {
			list = []string{"n", "e"}
		}
		m.Meta = []ir.Term{layoutTerm(list, 0)}
		if errs := verify.Module(m); len(errs) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, errs, ir.Print(m))
		}
		after, remarks := rewrite(t, m)
		for _, r := range remarks {
			if name, rest, _ := strings.Cut(r.Text, ":"); name == "two levels" {
				met[strings.Fields(rest)[0]]++
			}
		}
		passtest.Same(t, m, after)
		if t.Failed() {
			t.Fatalf("seed %d\n%s\n%s", seed, ir.Print(m), ir.Print(after))
		}
	}
	for _, kind := range []string{"all_to_all", "all_reduce", "all_gather", "reduce_scatter"} {
		if met[kind] < 20 {
			t.Errorf("%d times two levels of %s", met[kind], kind)
		}
	}
	t.Log(met)
}

// TestTwoLevelsOfParts: of a list of mesh axes of which one is refined, the parts of
// that one are of one level.
func TestTwoLevelsOfParts(t *testing.T) {
	met := map[string]int{}
	for seed := int64(1); seed <= 2000; seed++ {
		m := randomProgram(seed, 20)
		if m.MeshSize("k") == 0 {
			continue
		}
		list := [][]string{{"n", "x"}, {"x", "n"}}[seed%2]
		m.Meta = []ir.Term{layoutTerm(list, 0), {Head: "refined", Args: ir.A("e", ir.Name("x"), "k", ir.Name("x"))}}
		after, remarks := rewrite(t, m)
		for _, r := range remarks {
			if name, rest, _ := strings.Cut(r.Text, ":"); name == "two levels" {
				met[strings.Fields(rest)[0]]++
				_, over, _ := strings.Cut(rest, " over ")
				if over, _, _ = strings.Cut(over, " is "); !strings.Contains(over, "n") {
					t.Errorf("seed %d: %s", seed, r.Text)
				}
			}
		}
		passtest.Same(t, m, after)
		if t.Failed() {
			t.Fatalf("seed %d\n%s\n%s", seed, ir.Print(m), ir.Print(after))
		}
	}
	if t.Log(met); len(met) != 4 {
		t.Errorf("two levels of %v", met)
	}
}

func layoutTerm(list []string, large int64) ir.Term {
	return ir.Term{Head: "layout", Args: ir.A("name", ir.Str("x"), "rules", ir.Terms{
		{Head: "shard", Args: ir.A("axes", ir.Names{"a"}, "over", ir.Names(list), "at", ir.Str("t.ptl:1:1"))},
		{Head: "two_level", Args: ir.A("bytes", ir.Int(large))},
	})}
}

// An exchange of two levels gives the same bits in every place, for each order of
// mesh and list, and sends as many bytes across nodes in fewer messages.
func TestExchangeBits(t *testing.T) {
	for _, mesh := range []string{"node=2, ep=4", "ep=4, node=2", "node=3, ep=2", "pod=2, node=2, ep=2"} {
		var names []string
		for _, s := range strings.Split(mesh, ", ") {
			names = append(names, s[:strings.Index(s, "=")])
		}
		at := strings.Join(names, "@")
		n := map[bool]int{true: 6, false: 8}[strings.Contains(mesh, "3")]
		text := fmt.Sprintf(`ptir 1 local "t"
mesh %s

func @f class=entry
  arg %%0 : f32[g=5@%s, c=%d, x=3] data "x"
  %%1 : f32[g=%d, c=2@%s, x=3] = all_to_all %%0 axis=g over=(%s) parts=%d to=c
  result %%1 grad "r"
end
`, mesh, at, 2*n, 5*n, at, strings.Join(names, ", "), n)
		m := passtest.Parse(t, text)
		slow := slices.Clone(names)
		slices.SortFunc(slow, func(a, b string) int { return rank(a) - rank(b) })
		m.Meta = []ir.Term{layoutTerm(slow, 0)}
		after, _ := rewrite(t, m)
		var kinds []string
		for _, o := range after.Funcs[0].Ops {
			if exchange(o) {
				kinds = append(kinds, o.Name+" "+strings.Join(over(o), ","))
			}
		}
		want := []string{"all_to_all ep", "all_to_all node"}
		if len(names) == 3 {
			want = append(want, "all_to_all pod")
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("%s: %v, want %v", mesh, kinds, want)
		}
		in := check.RandomInputs(m, 3)
		a, err := check.Execute(m, in, false)
		if err != nil {
			t.Fatal(err)
		}
		b, err := check.Execute(after, in, false)
		if err != nil {
			t.Fatal(err)
		}
		if where, diff := check.Difference(a, b); diff != 0 {
			t.Errorf("%s: %s differs by %g", mesh, where, diff)
		}
	}
}

func rank(name string) int { return map[string]int{"pod": 0, "node": 1, "ep": 2}[name] }
