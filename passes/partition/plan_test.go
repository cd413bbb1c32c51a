package partition

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// shardy are reshards of f32 tensors as Shardy's tests have them, and the bytes
// that a device sends, by the costs of [problem.cost], in the sequences that they
// expect: sizes of mesh axes and of axes, what shards each of the axes before and
// after, over what the tensor is partial both times.
// github.com/openxla/shardy, transforms/export/test/reshard_to_collectives.mlir.
var shardy = []struct {
	mesh, sizes, from, to, partial string
	sent                           int64
}{
	{"x=6", "24 8", "x|", "|", "", 640},
	{"x=2 y=2", "16 8", "y|x", "y|", "", 128},
	{"x=2 y=2 z=2", "16 8", "x y z|", "x|", "", 192},
	{"x=2 y=2 z=2", "16 8", "y z|x", "y|x", "", 64},
	{"x=2 y=2 z=2", "16 8", "|", "x|y z", "", 0},
	{"x=2 y=2 z=2", "16 8", "x|y", "x|y z", "", 0},
	{"x=2 y=2 z=2", "16 8 8", "x|y|", "|y|x", "", 512},
	{"x=2 y=2 z=2", "16 8 8", "x||y z", "x|y z|", "", 384},
	{"x=2 y=2 z=2", "16 8", "x z|y", "x|y z", "", 32},
	{"x=4 y=2 z=4", "16 8 8", "|y x|", "x||y", "", 640},
	{"x=4 y=2 z=4", "16 8 8", "x|y z|", "x z||y", "", 160},
	{"x=2 y=2 z=2", "16 8 8", "y|x|", "||x y", "", 1024},
	{"x=2 y=2 z=2", "16 8 8", "y|x z|", "||x y z", "", 1152},
	{"x=4 y=2 z=4", "16 8 8", "|y z|", "x z||y", "", 160},
	{"x=2 y=2 z=2", "16 8 8", "|x|", "||x y z", "", 448},
	{"x=2 y=2 z=2", "16 8 8", "z|x|", "||x y z", "", 640},
	{"x=2 y=2 z=2", "16 8 8", "y|x|", "||x y z", "", 640},
	{"x=2 y=2 z=2", "16 8 8", "|x y|", "x||y z", "", 640},
	{"x=2 y=2 z=2 w=2", "64 32 32", "z|x|", "||x y z w", "", 24576},
	{"x=2 y=2 z=2", "8 4", "x y|", "x|y z", "", 12},
	{"x=2 y=2 z=2 w=2", "16 8 8", "z|x|", "w||x y", "", 896},
	{"x=2 y=2 z=2", "16 8", "|x", "x y|z", "", 64},
	{"x=2 y=2 z=2", "16 8 8", "|x|z", "||x y z", "", 768},
	{"x=2 y=2 z=2", "16 4", "|x", "x y z|", "", 48},
	{"x=2 y=2 z=2", "16 4 8", "|x y|", "x||y z", "", 512},
	{"x=2 y=2 z=2", "4 4", "x y|", "x|y z", "", 12},
	{"x=2 y=2", "4 10", "|x", "x y|", "", 60},
	{"x=2 y=2 z=2", "16 8", "z|y", "z|x", "", 128},
	{"x=4 y=2 z=4", "16 8", "z|y", "z|x", "", 32},
	{"x=4 y=2 z=4", "16 8", "z|x", "z|y", "", 64},
	{"x=2 y=2 z=2 w=2", "16 8", "x y z|", "w y z|", "", 64},
	{"x=2 y=2 z=2", "16 8", "x y|", "z|", "", 256},
	{"x=2 y=2 z=2", "16 8", "x y|z", "z|", "", 256},
	{"x=2 y=2", "16 8", "x|", "|y", "", 128},
	{"x=4 y=2", "16 8", "x|", "|y", "", 192},
	{"x=2 y=2 z=2 w=2 u=2 v=2", "8 8 8 8", "x|y z||", "||w u|v", "", 1792},
	{"x=4 y=2", "16 8", "y|", "|x", "", 64},
	{"x=2 y=2 z=2 w=4", "16 8", "y z w|", "y|x w", "", 28},
	{"x=2 y=2", "16 8", "x|y", "y|x", "", 128},
	{"x=2 y=2 z=2", "16 8", "x|y", "x y|z", "", 64},
	{"x=2 y=2", "8 8 8", "x|y|", "|x|y", "", 768},
	{"x=4 y=2 z=4", "16 8", "x y|z", "y x|z", "", 16},
	{"x=4 y=2 z=4", "16 8", "x y|z", "y z|x", "", 16},
	{"x=2 y=2", "16 8 8", "y||", "x y||", "", 1024},
	{"x=2 y=2 z=2", "16 8", "y x z|", "z|", "", 256},
	{"x=2 y=2 z=2", "16 8", "y x z|", "z|y", "", 160},
	{"x=2 y=2 z=2", "16 8", "z y x|", "|y", "", 288},
	{"x=2 y=2", "16 8 8", "|y x|", "x y||", "", 1792},
	{"x=4 y=2 z=4", "64 32 32", "z|y x|", "x y z||", "", 15360},
	{"x=4 y=2 z=4", "64 32 32", "|x z y|", "x y||z", "", 21504},
	{"x=4 y=2 z=4", "64 32 32", "|y z x|", "x y||z", "", 21504},
	{"x=2 y=3", "12 12", "x|", "y|", "", 192},
	{"x=2 y=3", "12 12", "y|", "x|", "", 288},
	{"x=2 y=3", "12 12", "x|y", "y|x", "", 208},
	{"x=2 y=2 z=2", "16 8", "y z|", "|y", "x", 320},
	{"x=4 y=2 z=4", "16 8", "x z|", "y|", "", 256},
	{"x=4 y=2", "16 8", "x|y", "y|x", "", 96},
	{"x=4 y=2 z=4", "16 8", "z|y", "y z|x", "", 16},
	{"x=4 y=2 z=4", "16 8", "z y|x", "x z|", "", 40},
	{"x=4 y=6", "12 12", "x|", "y|", "", 96},
	{"x=4 y=6", "12 12", "y|", "x|", "", 144},
	{"x=4 y=6 z=2", "12 12", "x|z", "y|", "", 96},
	{"x=4 y=6 z=5", "12 10", "x|z", "y|", "", 80},
}

// typeOf is an f32 of whole sizes, sharded and partial as the text says.
func typeOf(t *testing.T, m *ir.Module, sizes, axes, partial string) ir.Type {
	t.Helper()
	typ := ir.Type{DType: ir.F32}
	for i, mesh := range strings.Split(axes, "|") {
		n, err := strconv.Atoi(strings.Fields(sizes)[i])
		if err != nil {
			t.Fatal(err)
		}
		a := ir.Axis{Name: string(rune('a' + i)), Size: n, Mesh: strings.Fields(mesh)}
		if a.Size%m.Group(a.Mesh) != 0 {
			t.Fatalf("%s is not even", axes)
		}
		typ.Axes = append(typ.Axes, a)
	}
	for _, x := range strings.Fields(partial) {
		typ.Partial = append(typ.Partial, ir.Partial{Mesh: x, Reduce: "sum"})
	}
	return typ
}

func meshOf(text string) (mesh []ir.MeshAxis) {
	for _, a := range strings.Fields(text) {
		name, size, _ := strings.Cut(a, "=")
		n, _ := strconv.Atoi(size)
		mesh = append(mesh, ir.MeshAxis{Name: name, Size: n})
	}
	return mesh
}

// sends is the plan for a reshard and the bytes that a device sends by it.
func sends(t *testing.T, mesh, sizes, from, to, partial string) (plan, int64) {
	t.Helper()
	m := &ir.Module{Mesh: meshOf(mesh)}
	r := reshardOf(m, typeOf(t, m, sizes, from, partial), typeOf(t, m, sizes, to, partial))
	return r.plan, r.bytes(r.plan.sent())
}

// reshardOf plans a reshard, as it is done in a module that has no other.
func reshardOf(m *ir.Module, from, to ir.Type) *Reshard {
	v := &ir.Value{Type: from}
	o := &ir.Op{Name: "reshard", Args: []*ir.Value{v}}
	o.Results = []*ir.Value{{Type: to, Def: o}}
	m = &ir.Module{Mesh: m.Mesh, Funcs: []*ir.Func{{Ops: []*ir.Op{o}}}}
	return planReshards(&pass.Context{}, m, nil)[o]
}

func describe(steps []step) string {
	var out []string
	for _, st := range steps {
		out = append(out, fmt.Sprintf("%s%v %v", st.kind, st.over, st.then.axes))
	}
	return strings.Join(out, "; ")
}

// TestShardy: no reshard sends more than in the sequence that Shardy has for it,
// which may be over parts of mesh axes.
func TestShardy(t *testing.T) {
	fewer := 0
	for _, c := range shardy {
		best, got := sends(t, c.mesh, c.sizes, c.from, c.to, c.partial)
		switch {
		case got > c.sent:
			t.Errorf("%s: %s to %s sends %d bytes, want at most %d: %s", c.mesh, c.from, c.to, got, c.sent, describe(best.steps))
		case got < c.sent:
			fewer++
		}
	}
	if t.Logf("fewer in %d of %d", fewer, len(shardy)); len(shardy) != 63 {
		t.Errorf("%d reshards", len(shardy))
	}
}

// TestBounds: a reshard of many mesh axes is planned too, with a search or without.
func TestBounds(t *testing.T) {
	for n := 5; n <= 9; n++ {
		var mesh, from, to []string
		for i := range n {
			name := string(rune('p' + i))
			mesh, from = append(mesh, name+"=2"), append(from, name)
			to = append([]string{name}, to...)
		}
		half, back := strings.Join(from[:n/2], " ")+"|"+strings.Join(from[n/2:], " "), strings.Join(to[:n/2], " ")+"|"+strings.Join(to[n/2:], " ")
		best, got := sends(t, strings.Join(mesh, " "), "1024 1024", half, back, "")
		whole := int64(4 * 1024 * 1024)
		if want := whole >> n; n <= maxMoving && got != want || got >= whole {
			t.Errorf("%d mesh axes: %d bytes, want %d: %s", n, got, want, describe(best.steps))
		}
	}
}

// TestSplit: a sum over the minor of two mesh axes is scattered among the shards
// of the major one, and what is left exchanged: of S bytes on 2 by 4 devices
// 3/4 · S and 1/2 · S/4.
func TestSplit(t *testing.T) {
	m := &ir.Module{Mesh: meshOf("dp=2 tp=4")}
	from := typeOf(t, m, "8 16", "|dp", "tp")
	to := typeOf(t, m, "8 16", "dp tp|", "")
	r := reshardOf(m, from, to)
	p, best := r.p, r.plan
	s := p.local(p.from)
	if got, want := p.total(best.steps).Sent, s*3/4+s/8; got != want || len(best.steps) != 2 {
		t.Errorf("sends %d of %d, want %d: %s", got, s, want, describe(best.steps))
	}
}

// TestFar: of gathers and of scatters of several axes, the one over the devices that are the farthest
// apart, which differ on the first mesh axis, moves the least.
func TestFar(t *testing.T) {
	for _, c := range []struct{ from, to, partial, first string }{
		{"x|y", "|", "", "all_gather[0] [[] [1]]"},
		{"y|x", "|", "", "all_gather[0] [[1] []]"},
		{"y|x|z", "||", "", "all_gather[0] [[1] [] [2]]"},
		{"|", "x|y", "x y", "reduce_scatter[1] [[] [1]]"},
		{"|", "y|x", "x y", "reduce_scatter[1] [[1] []]"},
	} {
		m := &ir.Module{Mesh: meshOf("x=2 y=4 z=2")}
		sizes := strings.Repeat("16 ", strings.Count(c.from, "|")+1)
		steps := reshardOf(m, typeOf(t, m, sizes, c.from, c.partial), typeOf(t, m, sizes, c.to, "")).plan.steps
		if got, _, _ := strings.Cut(describe(steps), ";"); got != c.first {
			t.Errorf("%s of %s to %s: %s first, want %s", c.from, c.partial, c.to, got, c.first)
		}
	}
}

// sharded is a random sharding of axes of 24 over the mesh axes that used has not.
func sharded(r *rand.Rand, mesh []ir.MeshAxis, used map[string]bool, rank int) string {
	axes := make([]string, rank)
	parts := make([]int, rank)
	for _, k := range r.Perm(len(mesh)) {
		i, a := r.Intn(rank+1), mesh[k]
		if i == rank || used[a.Name] || 24%(max(parts[i], 1)*a.Size) != 0 {
			continue
		}
		parts[i] = max(parts[i], 1) * a.Size
		axes[i] += " " + a.Name
	}
	return strings.Join(axes, "|")
}

// TestRandom: reshards of random tensors on random meshes send no more than in the
// fixed order, nor than where everything is gathered and then sliced, and give the
// same tensor on simulated devices.
func TestRandom(t *testing.T) {
	kinds, cheaper, split, refined := map[string]int{}, 0, 0, 0
	for seed := range int64(400) {
		r := rand.New(rand.NewSource(seed))
		m := &ir.Module{}
		for i := range 2 + r.Intn(2) {
			m.Mesh = append(m.Mesh, ir.MeshAxis{Name: string(rune('x' + i)), Size: []int{1, 2, 2, 2, 3, 3, 4, 4, 6}[r.Intn(9)]})
		}
		rank := 1 + r.Intn(3)
		var partial []string
		used, k := map[string]bool{}, 1
		for _, a := range m.Mesh {
			if r.Intn(4) == 0 {
				partial, used[a.Name], k = append(partial, a.Name), true, k*a.Size
			}
		}
		from, to := sharded(r, m.Mesh, used, rank), sharded(r, m.Mesh, nil, rank)
		sizes := strings.Repeat("24 ", rank)
		x, y := typeOf(t, m, sizes, from, strings.Join(partial, " ")), typeOf(t, m, sizes, to, "")
		planned := reshardOf(m, x, y)
		p, best, fixed := planned.p, planned.plan, planned.p.fixed()
		if best.splits != nil {
			split++
		}
		if best.by != nil {
			refined++
			if whole := p.best(nil); best.sent() >= whole.sent() {
				t.Errorf("%d: refined, it sends %d, and %d otherwise", seed, best.sent(), whole.sent())
			}
		}
		for _, st := range best.steps {
			kinds[st.kind]++
		}
		got, old := best.of.total(best.steps), p.total(fixed)
		gathered := p.from.clone()
		gathered.partial = 0
		for i := range gathered.axes {
			gathered.axes[i] = nil
		}
		all := p.local(gathered) - p.local(p.from) + 2*p.local(p.from)*(int64(k)-1)/int64(k)
		if got.Sent > old.Sent || got.Sent > all {
			t.Errorf("%d: %v: %s to %s sends %d, %d in the fixed order, %d gathered: %s", seed, m.Mesh, from, to, got.Sent, old.Sent, all, describe(best.steps))
		}
		if got.Sent < old.Sent {
			cheaper++
		}
		atLeast(t, best.of, best.steps)
		atLeast(t, p, fixed)
		execute(t, m, k, partial, x, y)
		if t.Failed() {
			t.Fatalf("seed %d: %v: %s of %s to %s: %s", seed, m.Mesh, from, partial, to, describe(best.steps))
		}
	}
	t.Log(kinds, cheaper, "cheaper", split, "with a split", refined, "over parts of mesh axes")
	for _, kind := range []string{"shard_slice", "reduce_scatter", "all_to_all", "permute", "all_reduce", "all_gather"} {
		if kinds[kind] < 10 {
			t.Errorf("%d times %s", kinds[kind], kind)
		}
	}
	if split < 3 || cheaper < 20 || refined < 10 {
		t.Errorf("%d splits, %d cheaper, %d over parts of mesh axes", split, cheaper, refined)
	}
}

// atLeast: from no sharding on the way on do the steps send less than the bound of
// the search says.
func atLeast(t *testing.T, p *problem, steps []step) {
	t.Helper()
	left, s := p.total(steps).Sent, p.from
	for i := 0; ; i++ {
		if least := p.least(s); least > left || p.leastAnywhere(s) > left {
			t.Errorf("at least %d bytes to send, and %d are: %s", least, left, describe(steps[i:]))
		}
		if i == len(steps) {
			return
		}
		left -= p.cost(s, steps[i]).Sent
		s = steps[i].then
	}
}

// TestSharedMesh: reshards of one module that want its mesh axes in different parts
// get them in one form, which is executed, and none sends more than it does over
// whole mesh axes.
func TestSharedMesh(t *testing.T) {
	refined, several := 0, 0
	for seed := range int64(150) {
		r := rand.New(rand.NewSource(seed))
		m := &ir.Module{}
		for i, n := range [][]int{{6, 2, 3}, {4, 2}, {4, 6}, {6, 4}, {12, 2}, {8, 2}}[r.Intn(6)] {
			m.Mesh = append(m.Mesh, ir.MeshAxis{Name: string(rune('x' + i)), Size: n})
		}
		var types []ir.Type
		for range 4 {
			types = append(types, typeOf(t, m, "24 24", sharded(r, m.Mesh, nil, 2), ""))
		}
		before, after := execute(t, m, 1, nil, types...)
		if t.Failed() {
			t.Fatalf("seed %d: %v", seed, types)
		}
		if len(after.Mesh) > len(before.Mesh) {
			refined++
		}
		several += max(0, len(after.Mesh)-len(before.Mesh)-1)
		for _, planned := range planReshards(&pass.Context{}, before, nil) {
			whole := planned.p.best(nil)
			if planned.plan.sent() > whole.sent() {
				t.Errorf("seed %d: %v sends %d, and %d over whole mesh axes", seed, types, planned.plan.sent(), whole.sent())
			}
		}
	}
	if t.Log(refined, "modules refined,", several, "further parts"); refined < 20 || several < 5 {
		t.Errorf("%d modules refined, %d further parts", refined, several)
	}
}

// TestConflict: of x = 6, one reshard wants the major 2 apart and another one the
// major 3. The one that saves more gets it; the other one stays over whole mesh axes.
func TestConflict(t *testing.T) {
	m := &ir.Module{Mesh: meshOf("x=6 y=4 z=3")}
	of := func(axes string) ir.Type { return typeOf(t, m, "24 24", axes, "") }
	before, after := execute(t, m, 1, nil, of("y|x"), of("x|y"), of("|z"), of("z|x"), of("x|z"))
	x := []ir.MeshAxis{{Name: "x_1", Size: 3}, {Name: "x_2", Size: 2}}
	if !slices.Equal(after.Mesh[:2], x) {
		t.Errorf("mesh %v, want %v first", after.Mesh, x)
	}
	planned, ops := planReshards(&pass.Context{}, before, nil), before.Funcs[0].Ops[1:]
	if by := planned[ops[0]].plan.by; by != nil {
		t.Errorf("%v for the reshard that saves less", by)
	}
	if by, want := planned[ops[3]].plan.by, (refinement{{3, 2}, {3}}); fmt.Sprint(by) != fmt.Sprint(want) {
		t.Errorf("%v for the reshard that saves more, want %v", by, want)
	}
}

// TestSingle: a mesh axis stays whole that an exchange of positions or a pipeline
// needs as one.
func TestSingle(t *testing.T) {
	for _, c := range []struct{ meta, take, mesh string }{
		{"", "reduce_sum %0 over=(k)", "[{x_1 2} {x_2 2} {y 2}]"},
		{"", "take %0 axis=a sources=[1, 2, 3, 0]", "[{x 4} {y 2}]"},
		{`meta layout(name="l", rules=[pipeline(blocks="b", over=(x))])` + "\n", "reduce_sum %0 over=(k)", "[{x 4} {y 2}]"},
	} {
		k := ""
		if strings.HasPrefix(c.take, "reduce") {
			k = ", k=3"
		}
		m := passtest.Parse(t, "ptir 1 sharded \"single\"\nmesh x=4, y=2\n"+c.meta+`
func @f class=entry
  arg %0 : f32[a=4@x, b=8@y`+k+`] data "x"
  %1 : f32[a=4@x, b=8@y] = `+c.take+`
  %2 : f32[a=4@y, b=8@x] = reshard %1
  result %2 grad "y"
end
`)
		before := m.Clone()
		if err := Run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(m.Mesh); got != c.mesh {
			t.Errorf("%s%s: mesh %s, want %s", c.meta, c.take, got, c.mesh)
		}
		passtest.Numbered(t, before, m)
		passtest.Same(t, before, m)
	}
}

// execute compares reshards of a value one after the other, before and after
// partition. The value is a sum over k positions that the mesh axes of partial share.
func execute(t *testing.T, m *ir.Module, k int, partial []string, types ...ir.Type) (before, after *ir.Module) {
	t.Helper()
	in := types[0].Clone()
	in.Partial = nil
	in.Axes = append(in.Axes, ir.Axis{Name: "k", Size: k, Mesh: partial})
	var mesh []string
	for _, a := range m.Mesh {
		mesh = append(mesh, fmt.Sprintf("%s=%d", a.Name, a.Size))
	}
	text := fmt.Sprintf("ptir 1 sharded \"random\"\nmesh %s\nfunc @f class=entry\n  arg %%0 : %s data \"x\"\n  %%1 : %s = reduce_sum %%0 over=(k)\n",
		strings.Join(mesh, ", "), in, types[0])
	for i, u := range types[1:] {
		text += fmt.Sprintf("  %%%d : %s = reshard %%%d\n", i+2, u, i+1)
	}
	after = passtest.Parse(t, text+fmt.Sprintf("  result %%%d grad \"y\"\nend\n", len(types)))
	before = after.Clone()
	if err := Run(&pass.Context{}, after); err != nil {
		t.Fatal(err)
	}
	passtest.Numbered(t, before, after)
	passtest.Same(t, before, after)
	return before, after
}
