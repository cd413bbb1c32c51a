package validate_test

import (
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/verify"
	"ptc/passes/validate"
)

func parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, errs := ir.Parse("test.ptir", []byte(text))
	if len(errs) == 0 {
		errs = verify.Module(m)
	}
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, text)
	}
	return m
}

const global = `ptir 1 global "m"
mesh tp=2
func @step class=entry
  arg %0 : f32[a=4, k=6] data "x"
  arg %1 : f32[b=3, k=6] param "w"
  %2 : f32[a=4, b=3] = dot %0, %1 over=(k)
  %3 : f32[a=4, b=3] = exp %2
  %4 : f32[b=3] = reduce_sum %3 over=(a)
  %5 : f32[] = reduce_sum %3 over=(a, b)
  %6 : f32[a=4, k=6] = broadcast %5 axes={a=4, k=6}
  result %5 loss
  result %4 grad "b"
  result %6 grad "x"
end
`

// same are modules that compute what global does, each in its own way.
var same = map[string]string{
	"sharded": `ptir 1 sharded "m"
mesh tp=2
func @step class=entry
  arg %0 : f32[a=4, k=6@tp] data "x"
  arg %1 : f32[b=3, k=6@tp] param "w"
  %2 : f32[a=4, b=3] partial(tp) = dot %0, %1 over=(k)
  %7 : f32[a=4, b=3] = reshard %2
  %3 : f32[a=4, b=3] = exp %7
  %4 : f32[b=3] = reduce_sum %3 over=(a)
  %5 : f32[] = reduce_sum %3 over=(a, b)
  %6 : f32[a=4, k=6@tp] = broadcast %5 axes={a=4, k=6}
  result %5 loss
  result %4 grad "b"
  result %6 grad "x"
end
`,
	"a product in parts": `ptir 1 local "m"
mesh tp=2
func @step class=entry
  arg %0 : f32[a=4, k=6] data "x"
  arg %1 : f32[b=3, k=6] param "w"
  %7 : f32[a=4, part=2, k=3] = split %0 axis=k into={part=2, k=3}
  %8 : f32[b=3, part=2, k=3] = split %1 axis=k into={part=2, k=3}
  %9 : f32[part=2, a=4, b=3] = dot %7, %8 out=(part, a, b) over=(k)
  %2 : f32[a=4, b=3] = reduce_sum %9 over=(part)
  %3 : f32[a=4, b=3] = exp %2
  %4 : f32[b=3] = reduce_sum %3 over=(a)
  %5 : f32[] = reduce_sum %3 over=(a, b)
  %6 : f32[a=4, k=6] = broadcast %5 axes={a=4, k=6}
  result %5 loss
  result %4 grad "b"
  result %6 grad "x"
end
`,
	"local, in another order, twice, sums in two rounds, copies": `ptir 1 local "m"
mesh tp=2
func @step class=entry
  arg %1 : f32[b=3, k=3@tp] param "w"
  arg %0 : f32[a=4, k=3@tp] data "x"
  %2 : f32[a=4, b=3] partial(tp) = dot %0, %1 over=(k)
  %7 : f32[a=4, b=3] = all_reduce %2 over=(tp) reduce=sum
  %8 : f32[a=2@tp, b=3] = reduce_scatter %2 axis=a over=(tp) parts=2 reduce=sum
  %3 : f32[a=2@tp, b=3] = exp %8
  %9 : f32[a=4, b=3] = exp %7
  %10 : f32[b=3] = reduce_sum %9 over=(a)
  %12 : f32[b=3] = cast %10 to=f32
  %11 : f32[] = reduce_sum %12 over=(b)
  %4 : f32[b=3] partial(tp) = reduce_sum %3 over=(a)
  %5 : f32[b=3] = all_reduce %4 over=(tp) reduce=sum
  %6 : f32[a=4, k=3@tp] = broadcast %11 axes={a=4, k=3}
  result %5 grad "b"
  result %11 loss
  result %6 grad "x"
end
`,
	"programs of a pipeline": `ptir 1 local "m"
mesh pp=2
func @step.0 class=entry of=step stage=0
  arg %0 : f32[a=4, k=6] data "x"
  arg %1 : f32[b=3, k=6] param "w"
  %2 : f32[a=4, b=3] = dot %0, %1 over=(k)
  _ = send %2 over=(pp) peer=1 tag=7
  %5 : f32[] = recv axes={} dtype=f32 over=(pp) peer=1 tag=8
  %6 : f32[a=4, k=6] = broadcast %5 axes={a=4, k=6}
  result %6 grad "x"
end
func @step.1 class=entry of=step stage=1
  %2 : f32[a=4, b=3] = recv axes={a=4, b=3} dtype=f32 over=(pp) peer=0 tag=7
  %3 : f32[a=4, b=3] = exp %2
  %4 : f32[b=3] = reduce_sum %3 over=(a)
  %5 : f32[] = reduce_sum %3 over=(a, b)
  _ = send %5 over=(pp) peer=0 tag=8
  result %5 loss
  result %4 grad "b"
end
`,
	"kernels": `ptir 1 fused "m"
func @step class=entry
  arg %0 : f32[a=4, k=6] data "x"
  arg %1 : f32[b=3, k=6] param "w"
  %3 : f32[a=4, b=3] = call %0, %1 fn=@gemm
  %4 : f32[b=3] = call %3 fn=@sum
  %5 : f32[] = call %4 fn=@rest
  %6 : f32[a=4, k=6] = call %5 fn=@wide
  result %5 loss
  result %4 grad "b"
  result %6 grad "x"
end
func @gemm class=kernel
  arg %0 : f32[a=4, k=6] in
  arg %1 : f32[b=3, k=6] in
  %2 : f32[a=4, b=3] = dot %0, %1 over=(k)
  %3 : f32[a=4, b=3] = exp %2
  result %3 out
end
func @sum class=kernel
  arg %0 : f32[a=4, b=3] in
  %1 : f32[b=3] = reduce_sum %0 over=(a)
  result %1 out
end
func @rest class=kernel
  arg %0 : f32[b=3] in
  %1 : f32[] = reduce_sum %0 over=(b)
  result %1 out
end
func @wide class=kernel
  arg %0 : f32[] in
  %1 : f32[a=4, k=6] = broadcast %0 axes={a=4, k=6}
  result %1 out
end
`,
}

func compare(t *testing.T, before, after string) error {
	t.Helper()
	table := validate.New()
	a, err := table.Module(parse(t, before))
	if err != nil {
		t.Fatal(err)
	}
	b, err := table.Module(parse(t, after))
	if err != nil {
		return err
	}
	return table.Same(a, b)
}

func TestSame(t *testing.T) {
	for name, text := range same {
		if err := compare(t, global, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each edit keeps the module sound, as far as the verifier sees, and changes
// what it computes.
func TestDifferent(t *testing.T) {
	for _, c := range []struct{ of, old, new, want string }{
		{"sharded", "exp %7", "tanh %7", "@step loss is computed otherwise: from tanh"},
		{"sharded", "result %4 grad \"b\"\n", "", "@step grad b is gone"},
		{"sharded", "result %4 grad \"b\"", "result %4 grad \"c\"", "@step grad b is gone"},
		{"sharded", "result %5 loss", "result %5 loss\n  result %5 stat \"new\"", "@step stat new is new"},
		{"sharded", "param \"w\"", "param \"v\"", "argument param \"v\""},
		{"kernels", "%2 : f32[a=4, b=3] = dot %0, %1 over=(k)\n  %3 : f32[a=4, b=3] = exp %2", "%3 : f32[a=4, b=3] = dot %0, %1 over=(k)", "from dot"},
		{"kernels", "reduce_sum %0 over=(b)", "reduce_max %0 over=(b)", "reduce_max"},
		{"a product in parts", "%8 : f32[b=3, part=2, k=3] = split %1 axis=k into={part=2, k=3}", "%8 : f32[b=3, k=3, part=2] = split %1 axis=k into={k=3, part=2}", "is computed otherwise"},
		{"a product in parts", "reduce_sum %9 over=(part)", "reduce_max %9 over=(part)", "is computed otherwise"},
		{"programs of a pipeline", "send %5", "send %9", "is computed otherwise"},
		{"programs of a pipeline", "result %4 grad \"b\"", "result %4 grad \"b\"\n  result %9 grad \"x\"", "is a result of two programs"},
	} {
		text := same[c.of]
		if c.of == "programs of a pipeline" {
			text = strings.Replace(text, "  _ = send %5", "  %8 : f32[] = exp %5\n  %9 : f32[] = neg %8\n  _ = send %5", 1)
		}
		if !strings.Contains(text, c.old) {
			t.Fatalf("%q is not in %s", c.old, c.of)
		}
		if err := compare(t, global, strings.Replace(text, c.old, c.new, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s instead of %s: %v, want %q", c.new, c.old, err, c.want)
		}
	}
}

// A partial sum to which one device alone contributes is that value.
func TestPartialOfFirst(t *testing.T) {
	whole := `ptir 1 global "m"
func @step class=entry
  arg %0 : f32[] data "x"
  result %0 loss
end
`
	partial := `ptir 1 local "m"
mesh tp=2
func @step class=entry
  arg %0 : f32[] data "x"
  %1 : i32[] = coordinate over=(tp)
  %2 : i32[] = const dtype=i32 value=0.0
  %3 : bool[] = eq %1, %2
  %4 : f32[] = const dtype=f32 value=0.0
  %5 : f32[] partial(tp) = select %3, %0, %4
  %6 : f32[] = all_reduce %5 over=(tp) reduce=sum
  result %6 loss
end
`
	if err := compare(t, whole, partial); err != nil {
		t.Error(err)
	}
}

// TestInverse: a merge undoes the split that made its operand, through
// collectives too, and no other one.
func TestInverse(t *testing.T) {
	text := func(body string) string {
		return "ptir 1 local \"m\"\nmesh n=2, e=2\nfunc @step class=entry\n  arg %0 : f32[a=3@n@e, b=4] data \"x\"\n" + body + "end\n"
	}
	one := text("  %1 : f32[a=12, b=4] = all_gather %0 axis=a over=(n, e) parts=4\n  result %1 grad \"x\"\n")
	two := text(`  %1 : f32[c=1@n, a=3@e, b=4] = split %0 axis=a into={c=1, a=3}
  %2 : f32[c=2, a=3@e, b=4] = all_gather %1 axis=c over=(n) parts=2
  %3 : f32[c=2, a=6, b=4] = all_gather %2 axis=a over=(e) parts=2
  %4 : f32[a=12, b=4] = merge %3 axes=(c, a) into=a
  result %4 grad "x"
`)
	other := text(`  %1 : f32[a=12, b=4] = all_gather %0 axis=a over=(n, e) parts=4
  %2 : f32[c=2, a=6, b=4] = split %1 axis=a into={c=2, a=6}
  %3 : f32[a=6, c=2, b=4] = transpose %2 order=(a, c, b)
  %4 : f32[a=12, b=4] = merge %3 axes=(a, c) into=a
  result %4 grad "x"
`)
	for module, want := range map[string]bool{two: true, other: false} {
		table := validate.New()
		a, err := table.Module(parse(t, one))
		if err != nil {
			t.Fatal(err)
		}
		b, err := table.Module(parse(t, module))
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Same(a, b); (err == nil) != want {
			t.Errorf("%v\n%s", err, module)
		}
	}
}

// What is done to all pieces of a value is done to the value; to others it is
// not.
func TestPieces(t *testing.T) {
	const head = `ptir 1 local "m"
mesh dp=2
func @step class=entry
  arg %0 : f32[a=4@dp, b=3] param "w"
  arg %1 : f32[a=4@dp, b=3] state "w/m" memory=host
  arg %2 : f32[b=3] data "x"
`
	whole := strings.Replace(head, " memory=host", "", 1) + `  %3 : f32[a=4@dp, b=3] = mul %1, %2
  %4 : f32[a=4@dp, b=3] = exp %3
  %5 : f32[a=4@dp, b=3] = sub %0, %4
  result %5 param "w"
  result %3 state "w/m"
end
`
	cut := head + `  %10 : f32[a=1@dp, b=3] = host_to_device %1 axis=a from=0 limit=1
  %11 : f32[a=1@dp, b=3] = subview %0 axis=a from=0 limit=1
  %12 : f32[a=1@dp, b=3] = mul %10, %2
  %13 : f32[a=1@dp, b=3] = exp %12
  %14 : f32[a=1@dp, b=3] = sub %11, %13
  %15 : f32[a=1@dp, b=3] = device_to_host %12 memory=host
  %20 : f32[a=3@dp, b=3] = host_to_device %1 axis=a from=1 limit=4
  %21 : f32[a=3@dp, b=3] = subview %0 axis=a from=1 limit=4
  %22 : f32[a=3@dp, b=3] = mul %20, %2
  %23 : f32[a=3@dp, b=3] = exp %22
  %24 : f32[a=3@dp, b=3] = sub %21, %23
  %25 : f32[a=3@dp, b=3] = device_to_host %22 memory=host
  %30 : f32[a=4@dp, b=3] = concat_in_place %14, %24 axis=a
  %31 : f32[a=4@dp, b=3] = concat_in_place %15, %25 axis=a
  result %30 param "w"
  result %31 state "w/m"
end
`
	if err := compare(t, whole, cut); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ old, new string }{
		{"concat_in_place %14, %24", "concat_in_place %24, %14"},
		{"concat_in_place %14, %24", "concat_in_place %11, %24"},
		{"%22 : f32[a=3@dp, b=3] = mul %20, %2", "%22 : f32[a=3@dp, b=3] = add %20, %2"},
		{"sub %21, %23", "sub %23, %21"},
		{"sub %21, %23", "sub %20, %23"},
		{"sub %11, %13", "sub %11, %10"},
		{"device_to_host %22", "device_to_host %23"},
		{"subview %0 axis=a from=1 limit=4", "subview %0 axis=a from=0 limit=3"},
		{"host_to_device %1 axis=a from=0 limit=1", "host_to_device %1 axis=a from=1 limit=2"},
	} {
		if !strings.Contains(cut, c.old) {
			t.Fatalf("%q is not there", c.old)
		}
		if err := compare(t, whole, strings.Replace(cut, c.old, c.new, 1)); err == nil {
			t.Errorf("%s instead of %s is taken for the same", c.new, c.old)
		}
	}
}
