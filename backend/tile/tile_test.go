package tile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/op"
)

// programs are the texts in testdata, by name.
func programs(t testing.TB) map[string]string {
	t.Helper()
	names, err := filepath.Glob("testdata/*.tile")
	if err != nil || len(names) < 3 {
		t.Fatalf("found %v, %v", names, err)
	}
	out := map[string]string{}
	for _, n := range names {
		text, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(n), ".tile")] = string(text)
	}
	return out
}

// Text that is printed from what was parsed from it is the same, and verifies.
func TestText(t *testing.T) {
	for name, text := range programs(t) {
		p, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := Verify(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := p.String(); got != text {
			t.Errorf("%s is printed as\n%s", name, got)
		}
	}
}

// What is built is what its text says, and names that meet are kept apart.
func TestBuilder(t *testing.T) {
	b := New("k")
	in := b.Buffer("in0", ir.BF16, 64, Read)
	out := b.Buffer("out0", ir.F32, 8, Write)
	square := op.Strided{Axes: []op.StridedAxis{{Name: "a", Size: 8, Stride: 8}, {Name: "b", Size: 8, Stride: 1}}}
	x := b.View("x", in, square)
	y := b.View("x", out, op.Strided{Axes: []op.StridedAxis{{Name: "a", Size: 8, Stride: 1}}})
	i := &Range{Name: "a", Axis: "a", Extent: 8, Size: 3}
	b.Phase([]*Range{i}, func() {
		j := &Range{Name: "a", Axis: "b", Extent: 8, Size: 4}
		zero := b.Const(ir.F32, 0, i)
		sum := b.Loop(j, Loop{}, []*Value{zero}, func(c []*Value) []*Value {
			v := b.Cast(b.Load(x, At(i), At(j)), ir.F32)
			var two *Value
			b.Hoist(b.Around(i), func() { two = b.Const(ir.F32, 2) })
			return []*Value{b.Compute(op.Add, c[0], b.Reduce(op.ReduceSum, b.Compute(op.Mul, v, two), j))}
		})
		b.Store(y, sum[0], At(i))
	})
	p, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	const want = `tile @k
  arg in0 : bf16[64] read
  arg out0 : f32[8] write
  view x : in0 [a=8:8, b=8:1]
  view x_ : out0 [a=8:1]
  phase a in a=8 by 3
    %0 : f32[a] = const 0
    %1 : f32[] = const 2
    %2 : f32[a] = loop a_ in b=8 by 4 carry %3 : f32[a] = %0
      %4 : bf16[a, a_] = load x[a, a_]
      %5 : f32[a, a_] = cast %4
      %6 : f32[a, a_] = mul %5, %1
      %7 : f32[a] = reduce_sum %6 over a_
      %8 : f32[a] = add %3, %7
      yield %8
    end
    store x_[a], %2
  end
end
`
	if got := p.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A mistyped call is reported by Finish, and building goes on without a panic.
func TestBuilderReports(t *testing.T) {
	b := New("k")
	b.Phase(nil, func() {
		x := b.Const(ir.F32, 1)
		b.Compute(op.Add, b.Compute(op.Add, x, b.Const(ir.I32, 1)), x)
	})
	if _, err := b.Finish(); err == nil || !strings.Contains(err.Error(), "add: ") {
		t.Errorf("%v", err)
	}
}

const head = "tile @k\n  arg x : f32[24] read\n  arg y : f32[24] readwrite\n  arg n : i32[4] read\n  work w : f32[24]\n" +
	"  view vx : x [a=4:6, b=6:1]\n  view vy : y [a=4:6, b=6:1]\n  view vn : n [a=4:1]\n  view vw : w [a=4:6, b=6:1]\n"

// body is a program of one phase over a in a=4 by 2, b in b=6 by 6.
func body(lines ...string) string {
	return head + "  phase a in a=4 by 2, b in b=6 by 6\n    " + strings.Join(lines, "\n    ") + "\n  end\nend\n"
}

// TestRefused: each check of the verifier finds its fault, and says what it expected.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{body("%0 : f32[a, b] = load vx[a]"), "found 1 indices; expected one for each of its 2 axes"},
		{body("%0 : f32[b] = load vx[a, b]"), "found a result f32[b]; expected f32[a, b]"},
		{body("%0 : f32[b, a] = load vx[a, b]"), "dimensions in the order of the ranges"},
		{body("%0 : i32[a, b] = load vx[a, b]"), "found a result i32[a, b]; expected f32[a, b]"},
		{body("%0 : f32[a, b] = load vx[a + 1, b]"), "found positions 1 to 4 along a of vx; expected them within 0 to 3"},
		{body("%0 : f32[a, b] = load vx[a, b - 1]"), "found positions -1 to 4 along b of vx"},
		{body("%0 : f32[a, b] = load vx[a, 99999999999999*b]"), "positions are beyond all memory"},
		{body("%0 : f32[] = const 1", "%1 : f32[a, b] = load vx[a + %0, b]"), "found an index of f32; expected i32"},
		{body("%0 : f32[a, b] = load vw[a, b]"), "found a load of work w, which nothing stores before"},
		{body("%0 : f32[] = const 1", "store vx[a, b], %0"), "found a view of x, which is declared read; expected one that may be written"},
		{body("%0 : f32[] = const 1", "store vy[1, b], %0"), "found a place in vy that is the same for all 2 tasks along a"},
		{body("%0 : f32[] = const 1", "store vy[0*a, b], %0"), "found a place in vy that is the same"},
		{body("%0 : i32[] = const 1", "store vy[a, b], %0"), "found i32; expected f32"},
		{body("%0 : f32[a, b] = const 1", "store vy[a, 1], %0"), "found a tile over b, of which no index says where its elements go"},
		{body("%0 : f32[] = const 1", "%1 : i32[] = const 1", "%2 : f32[] = add %0, %1"), "add: "},
		{body("%0 : i32[] = const 1.5"), "found 1.5; expected a value of i32"},
		{body("%0 : f32[a] = const 1", "%1 : f32[] = reduce_sum %0 over b"), "expected one over b, which is reduced"},
		{body("%0 : f32[a] = const 1", "%1 : f32[] = reduce_sum %0"), "found no ranges"},
		{body("%0 : f32[a] = const 1", "%1 : f32[] = reduce_sum %0 over a, a"), "found a twice"},
		{body("%0 : f32[a] = const 1", "%1 : f32[b] = const 1", "%2 : f32[b] = dot %0, %1 over a"), "expected one over a, which is summed"},
		{body("%0 : f32[a] = const 1", "%1 : f32[] = dot %0, %0 over a init %0"), "found an initial sum f32[a]; expected f32[]"},
		{body("%0 : f32[a] = const 1", "%1 : f32[a] = broadcast %0 over a"), "found a tile over a already"},
		{body("%0 : f32[a] = const 1", "wait %0"), "expected the result of a copy"},
		{body("%0 : shared f32[a, b] = copy vx[a, b]", "%1 : f32[a, b] = neg %0"), "found a copy shared f32[a, b] read while it is under way"},
		{body("%0 : f32[a, b] = copy vx[a, b]"), "found a copy into registers"},
		{body("%0 : shared f32[a, b] = copy vx[a, b]", "%1 : bool[] = const 1", "if %1", "  wait %0", "end", "%2 : f32[a, b] = neg %0"), "read while it is under way"},
		{body("%0 : f32[a, b] panels(a by 6) = load vx[a, b]"), "expected a layout along one of two dimensions of a shared tile"},
		{body("%0 : shared f32[a] panels(a by 6) = const 1"), "expected a layout along one of two dimensions of a shared tile"},
		{body("%0 : f32[a] = const 1", "if %0", "end"), "found a condition f32[a]; expected a bool scalar"},
		{body("%0 : bool[] = const 1", "%1 : f32[] = if %0", "  %2 : f32[] = const 1", "  yield %2", "end"), "found 0 tiles yielded; expected 1"},
		{body("%0 : f32[] = const 1", "%1 : f32[] = loop j in b=6 by 2 carry %2 : f32[] = %0", "  %3 : f32[a] = const 1", "  yield %3", "end"), "found f32[a] yielded; expected f32[]"},
		{body("%0 : f32[] = const 1", "%1 : f32[a] = loop j in b=6 by 2 carry %2 : f32[] = %0", "  yield %2", "end"), "expected one type"},
		{body("%0 : f32[] = const 1", "loop j in b=6 by 2 to %0", "end"), "found a bound f32[]; expected an i32 scalar"},
		{body("loop j in b=6 by 7", "end"), "range j: found 6 by 7"},
		{body("loop j in b=6 by 0", "end"), "range j: found 6 by 0"},
		{body("loop j in b=6 by 2 stages 99", "end"), "found 99 stages; expected 1 to 16"},
		{body("loop j in b=6 by 2", "  yield %0", "end"), "expected a tile defined before"},
		{body("%0 : f32[] = const 1", "yield %0"), "found a yield; expected none in a phase"},
		{body("%0 : f32[] = const 1", "%1 : f32[] = random %0, %0, %0 uniform at 3"), "expected seed, step and site, each an i32 scalar"},
		{body("%0 : f32[] = const 1", "scatter vx[a, b], %0"), "scatter: vx: found a view of x, which is declared read"},
		{body("%0 : f32[b] = const 1", "%0 : f32[b] = const 1"), "found a second %0"},
		{body("%0 : f32[j] = const 1"), `found "j"; expected a range`},
		{body("%0 : f32[] = sink 1"), `found "sink"; expected an operation`},
		{body("%0 : f32[] = const 1 2"), `found "2"; expected the end of the line`},
		{body("%0 : f32[] = const one"), `found "one"; expected a number`},
		{body("loop a in b=6 by 2", "end"), "found a second range a"},
		{body("else"), `found "else"; expected an operation`},
		{body("%0 : f32[] = const 1 !"), "found the character '!'"},
		{head + "  phase\n", "expected end"},
		{head + "end\nend\n", "expected nothing after the program's end"},
		{head + "  view vy : y [a=4:1]\nend\n", "found a second view vy"},
		{head + "  view z : y [a=5:6]\nend\n", "found its last element at 24 of y; expected one of 24 elements"},
		{head + "  view z : y [a=2:6, a=2:1]\nend\n", `found axis "a"; expected a name of its own`},
		{head + "  arg z : f32[4] read\nend\n", "found an argument after work memory"},
		{"tile @k\n  arg z : f32[4] write\nend\n", "found no store to z; expected one"},
		{"tile @k\n  arg a : f32[4] read\n  arg z : f32[5] readwrite over a\nend\n", "expected a result over an argument before it"},
		{"tile @k\n  arg z : f32[0] read\nend\n", "found f32[0]; expected a dtype and 1 to"},
		{"tile @k\n  schedule rows=x\nend\n", "rows is \"x\""},
		{"tile @k\n  phase a in a=1099511627776 by 1, b in b=2 by 1\n  end\nend\n", "found more than 1099511627776 tasks"},
		{"tile @k\n  phase a in a=1099511627776 by 1099511627776\n    %0 : f32[a] = const 1\n  end\nend\n", "expected at most 549755813888 elements"},
	} {
		p, err := Parse(c.text)
		if err == nil {
			err = Verify(p)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("found %v; want %q of\n%s", err, c.want, strings.TrimPrefix(c.text, head))
		}
	}
}

// Of parsed text the verifier never panics, and what it accepts is printed as it is
// parsed again.
func FuzzText(f *testing.F) {
	for _, text := range programs(f) {
		f.Add(text)
	}
	f.Add(body("%0 : f32[] = const 1", "%1 : f32[] = loop j in b=6 by 2 carry %2 : f32[] = %0", "  yield %2", "end"))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		if Verify(p) != nil {
			return
		}
		once := p.String()
		q, err := Parse(once)
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if err := Verify(q); err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if again := q.String(); again != once {
			t.Fatalf("%s\nis printed as\n%s", once, again)
		}
	})
}
