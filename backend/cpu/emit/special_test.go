package emit

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
)

// specials are kernels for what random ones do not reach. Inputs are those of
// the random kernels; "index" holds numbers below its length.
var specials = map[string]func(b *kernel.Builder){
	"philox": func(b *kernel.Builder) {
		in := b.Arg("in", kernel.I32, 6*8, kernel.Read)
		out := b.Arg("out", kernel.I32, 4*8, kernel.Write)
		var c [6]*kernel.Value
		for i := range c {
			c[i] = b.Load(in.At(kernel.Int(int64(8*i))), 8)
		}
		for i, w := range b.Philox([4]*kernel.Value(c[:4]), [2]*kernel.Value(c[4:])) {
			b.Store(out.At(kernel.Int(int64(8*i))), w)
		}
	},
	// Colliding lanes of a scatter store in order.
	"scatter": func(b *kernel.Builder) {
		in := b.Arg("in", kernel.BF16, 64, kernel.Read)
		index := b.Arg("index", kernel.I32, 16, kernel.Read)
		out := b.Arg("out", kernel.BF16, 64, kernel.ReadWrite)
		b.For(kernel.Span(64).By(16), func(i kernel.Index) {
			at := b.Load(index.At(kernel.Int(0)), 16)
			b.Store(out.At(kernel.Int(1)).Gathered(at).Strided(2).Masked(b.TailMask(kernel.Int(60).Sub(i), 16)), b.Load(in.At(i), 16))
		})
	},
	// Bounds, tails and branches known only at run time, in place.
	"runtime": func(b *kernel.Builder) {
		index := b.Arg("index", kernel.I32, 40, kernel.Read)
		io := b.ArgAliased("io", kernel.F32, 40, kernel.ReadWrite)
		n := kernel.Of(b.Convert(b.Load(index.At(b.Task()), 1), kernel.I64))
		sum := forVector(b, n, 8, []*kernel.Value{b.F32(0, 8)},
			func(i kernel.Index, mask *kernel.Value, c []*kernel.Value) []*kernel.Value {
				v := b.Load(io.At(i).Masked(mask), 8)
				b.Store(io.At(i).Masked(mask), b.Add(v, b.F32(1, 8)))
				return []*kernel.Value{b.Add(c[0], v)}
			})
		odd := b.Ne(b.And(b.Value(n), b.ConstInt(kernel.Scalar(kernel.I64), 1)), b.ConstInt(kernel.Scalar(kernel.I64), 0))
		r := b.If(odd, func() []*kernel.Value { return []*kernel.Value{b.ReduceAdd(sum[0])} },
			func() []*kernel.Value { return []*kernel.Value{b.ReduceMax(sum[0])} })
		b.If(odd, func() []*kernel.Value { b.Store(io.At(n.Mul(0)), r[0]); return nil }, nil)
		b.Store(io.At(kernel.Int(1)).Masked(odd), b.Load(io.At(n.Plus(-1)).Masked(odd), 1))
	},
	// Every kind of number with every other, under each op that NaN, zeros and
	// infinities matter to.
	"floats": func(b *kernel.Builder) {
		for _, e := range []kernel.Elem{kernel.F32, kernel.F64} {
			x := b.Arg("x"+e.String(), e, 512, kernel.Read)
			y := b.Arg("y"+e.String(), e, 512, kernel.Read)
			out := b.Arg("out"+e.String(), e, 9*512, kernel.Write)
			back := b.Arg("mix"+e.String(), kernel.I64, 9*512, kernel.Write)
			b.For(kernel.Span(512).By(4), func(i kernel.Index) {
				vx, vy := b.Load(x.At(i), 4), b.Load(y.At(i), 4)
				one := b.Like(vx, 1)
				for n, v := range []*kernel.Value{b.Min(vx, vy), b.Max(vx, vy), b.Min(vx, one), b.Max(one, vx), b.Div(vx, vy),
					b.Abs(vx), b.Neg(vx), b.Floor(vx), b.Sqrt(vx)} {
					b.Store(out.At(i.Plus(int64(512*n))), v)
				}
				for n, v := range []*kernel.Value{b.Eq(vx, vy), b.Ne(vx, vy), b.Lt(vx, vy), b.Le(vx, vy), b.Gt(vx, vy), b.Ge(vx, vx),
					b.Convert(vx, kernel.I32), b.Convert(vx, kernel.I64)} {
					b.Store(back.At(i.Plus(int64(512*n))), b.Convert(v, kernel.I64))
				}
			})
		}
	},
	// Sums just below a tie, by less than a float64 holds.
	"fma": func(b *kernel.Builder) {
		x, y := b.Arg("tie_x", kernel.F32, 64, kernel.Read), b.Arg("tie_y", kernel.F32, 64, kernel.Read)
		z, out := b.Arg("tie_z", kernel.F32, 64, kernel.Read), b.Arg("out", kernel.F32, 64, kernel.Write)
		b.For(kernel.Span(64).By(8), func(i kernel.Index) {
			b.Store(out.At(i), b.FMA(b.Load(x.At(i), 8), b.Load(y.At(i), 8), b.Load(z.At(i), 8)))
		})
	},
	"integers": func(b *kernel.Builder) {
		out := b.Arg("out", kernel.I64, 128, kernel.Write)
		at := int64(0)
		for _, e := range []kernel.Elem{kernel.I32, kernel.I64} {
			least := int64(-1) << (8*e.Bytes() - 1)
			for _, x := range []int64{least, -7, 7} {
				for _, y := range []int64{0, -1, 2, -2} {
					c := func(n int64) *kernel.Value { return b.ConstInt(kernel.Scalar(e), n) }
					vx := b.Add(c(x), b.Convert(b.Value(b.Task()), e)) // not a constant
					b.Store(out.At(kernel.Int(at)), b.Convert(b.Div(vx, c(y)), kernel.I64))
					b.Store(out.At(kernel.Int(at+1)), b.Convert(b.Rem(c(x), b.Sub(c(y), b.Convert(b.Value(b.Task()), e))), kernel.I64))
					at += 2
				}
			}
		}
	},
}

// forVector appends a loop over [0, n) in vectors of lanes elements, whole ones
// first and then the rest once under a mask, which is nil for whole ones.
func forVector(b *kernel.Builder, n kernel.Index, lanes int, init []*kernel.Value,
	body func(i kernel.Index, mask *kernel.Value, c []*kernel.Value) []*kernel.Value) []*kernel.Value {
	full := kernel.Of(b.And(b.Value(n), b.ConstInt(kernel.Scalar(kernel.I64), -int64(lanes))))
	out := b.ForCarry(kernel.Between(kernel.Int(0), full).By(int64(lanes)), init,
		func(i kernel.Index, c []*kernel.Value) []*kernel.Value { return body(i, nil, c) })
	rest := n.Sub(full)
	return b.If(b.TailMask(rest, 1),
		func() []*kernel.Value { return body(full, b.TailMask(rest, lanes), out) },
		func() []*kernel.Value { return out })
}

func TestSpecialKernels(t *testing.T) {
	all, runnable := targets(t)
	var ks []*kernel.Kernel
	for _, name := range slices.Sorted(maps.Keys(specials)) {
		b := kernel.New("special_"+name, 1)
		specials[name](b)
		ks = append(ks, build(t, b))
	}
	for _, tgt := range all {
		obj := compile(t, tgt, ks...)
		if !contains(runnable, tgt.Name) {
			continue
		}
		img := image(t, obj)
		for _, k := range ks {
			for seed := range 10 {
				t.Run(fmt.Sprintf("%s/%s/%d", tgt.Name, k.Name, seed), func(t *testing.T) {
					compareWithInterpreter(t, tgt, k, func() [][]byte { return run(t, img, k, numbers(k, seed), 0, k.Tasks) }, seed)
				})
			}
		}
	}
}

// TestTasks: only the tasks asked for run, and twice the same gives the same.
func TestTasks(t *testing.T) {
	_, runnable := targets(t)
	b := kernel.New("tasks", 9)
	out := b.Arg("out", kernel.I64, 9, kernel.Write)
	b.Store(out.At(b.Task()), b.Value(b.Task().Mul(3).Plus(1)))
	k := build(t, b)
	for _, tgt := range runnable {
		img := image(t, compile(t, tgt, k))
		for _, r := range [][2]int64{{0, 9}, {2, 5}, {4, 4}} {
			want := [][]byte{make([]byte, 72)}
			if err := kerneltest.Interpret(k, want, r[0], r[1]); err != nil {
				t.Fatal(err)
			}
			got := run(t, img, k, [][]byte{make([]byte, 72)}, r[0], r[1])
			if d := differ(kernel.I64, got[0], want[0]); d != "" {
				t.Errorf("%s: tasks %v: %s", tgt.Name, r, d)
			}
		}
	}
}
