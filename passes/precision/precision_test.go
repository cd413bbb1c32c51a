package precision

import (
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", Run, nil) }

const tiny = `ptir 1 global "t"
meta %

func @step class=entry
  arg %0 : f32[a=2] param "w"
  %1 : f32[] = dot %0, %0 over=(a)
  result %1 loss
end
`

func TestRules(t *testing.T) {
	for rule, want := range map[string]string{
		"":                                        "",
		"precision()":                             "",
		"precision(compute=f32)":                  "",
		"precision(compute=bf16)":                 "",
		"precision(params=f32)":                   "",
		"precision(compute=f16)":                  "",
		"precision(scale=dynamic)":                "",
		"precision(scale=1024)":                   "",
		"precision(scale=0.5)":                    "",
		"precision(scale=0)":                      "E0604 cannot be scaled by `0`",
		"precision(scale=-1)":                     "E0604 cannot be scaled by `-1`",
		"precision(scale=inf)":                    "E0604 cannot be scaled by `inf`",
		"precision(scale=static)":                 "E0604 cannot be scaled by `static`",
		"precision(compute=f64)":                  "E0605 `compute = f64` is not available",
		"precision(params=bf16)":                  "",
		"precision(params=f64)":                   "E0605 `params = f64` is not available",
		"precision(reduce=bf16)":                  "",
		"precision(reduce=f16)":                   "E0605 `reduce = f16` is not available",
		"precision(compute=i32)":                  "E0604 not a float dtype",
		"precision(compute=bf61)":                 "E0604 did you mean `bf16`?",
		"precision(comput=bf16)":                  "E0604 did you mean `compute`?",
		"precision(compute=1)":                    "E0604 not a float dtype",
		"precision(compute=f8e4m3)":               "E0605 `compute = f8e4m3` is not available",
		"precision(products=f8)":                  "",
		"precision(products=f16)":                 "E0321 `products` is f16",
		"precision(products=f8, on=\"blocks.*\")": "",
		"precision(products=f8, on=blocks)":       "E0321 `on` is blocks",
	} {
		text := strings.Replace(tiny, "meta %", "meta "+rule, 1)
		if rule == "" {
			text = strings.Replace(tiny, "meta %\n", "", 1)
		}
		m, errs := ir.Parse("t.ptir", []byte(text)) // not verified, which finds the mistakes too
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		err := Run(&pass.Context{}, m)
		code, part, _ := strings.Cut(want, " ")
		switch l, ok := diag.As(err); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", rule, err)
		case want != "" && (!ok || l[0].Code != code || !strings.Contains(err.Error(), part)):
			t.Errorf("%s: %v; want %s", rule, err, want)
		}
	}
}

// In what becomes of the example, by row class: no contraction reads float32,
// no reduction and no optimizer operation reads less.
func TestClasses(t *testing.T) {
	passtest.Golden(t, "testdata/bf16.txtar", func(c *pass.Context, m *ir.Module) error {
		if err := Run(c, m); err != nil {
			return err
		}
		f := m.Funcs[0]
		behind := map[*ir.Value]bool{}
		for _, r := range f.Results {
			behind[r.Value] = r.Role == ir.RoleGrad
		}
		for _, o := range f.Ops {
			for _, a := range o.Args {
				d := a.Type.DType
				if !d.IsFloat() {
					continue
				}
				class := op.Of(o).Class
				for _, v := range o.Results {
					behind[v] = behind[v] || behind[a]
				}
				if class == op.Contraction && d != ir.BF16 || class == op.Reduction && d != ir.F32 ||
					behind[a] && d != ir.F32 {
					t.Errorf("%s reads %s of type %s", o.Name, a.Def.Name, a.Type)
				}
			}
		}
		return nil
	}, nil)
}

// attending is an attention whose scores nothing else reads.
const attending = `ptir 1 global "t"
meta precision(compute=bf16)

func @step class=entry
  arg %0 : f32[h=2, s=4, d=8] param "q"
  arg %1 : f32[h=2, t=4, d=8] param "k"
  arg %2 : f32[h=2, t=4, d=8] param "v"
  %3 : f32[h=2, s=4, t=4] = dot %0, %1 over=(d)
  %4 : f32[h=2, s=4] = reduce_max %3 over=(t)
  %5 : f32[h=2, s=4, t=4] = sub %3, %4
  %6 : f32[h=2, s=4, t=4] = exp %5
  %7 : f32[h=2, s=4] = reduce_sum %6 over=(t)
  %8 : f32[h=2, s=4, t=4] = div %6, %7
  %9 : f32[h=2, s=4, d=8] = dot %8, %2 over=(t)
  %10 : f32[h=2, s=4, d=8] = tanh %9
  %11 : f32[] = reduce_sum %10 over=(h, s, d)
  result %11 loss
end
`

// TestScores: scores are f32 where a kernel of attention has them in tiles, and bf16
// where they are stored.
func TestScores(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		m, errs := ir.Parse("t.ptir", []byte(attending))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		c := &pass.Context{}
		c.Target.Attention = kernels
		if err := Run(c, m); err != nil {
			t.Fatal(err)
		}
		for _, o := range m.Funcs[0].Ops {
			if o.Name != op.Dot || !o.Result().Type.Has("t") {
				continue
			}
			if want := map[bool]ir.DType{true: ir.F32, false: ir.BF16}[kernels]; o.Result().Type.DType != want {
				t.Errorf("with kernels of attention (%v) scores are %s, want %s", kernels, o.Result().Type, want)
			}
		}
	}
}

// TestCastsOfParameters: a parameter that both phases read is cast in each, but once for
// all microbatches of a pipeline.
func TestCastsOfParameters(t *testing.T) {
	const step = `
func @step class=entry
  arg %0 : f32[b=3, e=4] param "x"
  arg %1 : f32[e=4, f=6] param "w"
  %2 : f32[b=3, f=6] = dot %0, %1 over=(e)
  %3 : f32[b=3, f=6] = tanh %2
  %4 : f32[] = reduce_sum %3 over=(b, f)
  %5 : f32[b=3, f=6] = mul %3, %3
  %6 : f32[b=3, e=4] = dot %5, %1 out=(b, e) over=(f)
  result %4 loss
  result %6 grad "x"
end
`
	pipeline := "mesh pp=2\n" + `meta layout(name="l", rules=[pipeline(at="m.ptl:9:3", blocks="blocks", chunks=1, microbatches=2, over=(pp), schedule=gpipe)])` + "\n"
	for head, want := range map[string]int{"": 2, pipeline: 1} {
		m, errs := ir.Parse("t.ptir", []byte("ptir 1 global \"t\"\n"+head+"meta precision(compute=bf16)\n"+step))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if err := Run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
		f, casts := m.Funcs[0], 0
		for _, o := range f.Ops {
			if o.Name == op.Cast && o.Args[0] == f.Args[1].Value {
				casts++
			}
		}
		if casts != want {
			t.Errorf("%q: %d casts, want %d", head, casts, want)
		}
	}
}
