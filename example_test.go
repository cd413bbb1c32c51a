package ptc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"
	"testing/fstest"

	"ptc"
)

// small makes the example a matter of a moment; its text is this package.
var small = []string{"batch=8", "seq=4", "embed=8", "hidden=16", "corpus=*.go"}

func ExampleCompile() {
	plan, report, err := ptc.Compile(context.Background(), os.DirFS("examples/mlp"), "mlp.ptl",
		ptc.CompileOptions{Layout: "tensor", Target: "ref", Set: small})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := ptc.Explain(plan)
	fmt.Println(d.Model, d.Layout, d.Target, d.Devices, "devices")
	fmt.Println(d.Parameters.Tensors, "tensors,", d.Parameters.Elements, "parameters,", len(report.Warnings), "warnings")
	// Output:
	// MLP tensor ref:f32 2 devices
	// 5 tensors, 6928 parameters, 0 warnings
}

// A mistake in a source has a code, a place, and often a suggestion.
func ExampleCompile_mistake() {
	source, err := os.ReadFile("examples/mlp/mlp.ptl")
	if err != nil {
		fmt.Println(err)
		return
	}
	source = bytes.Replace(source, []byte("(seq, embed))"), []byte("(seq, embedd))"), 1)
	files := fstest.MapFS{"model.ptl": {Data: source}}
	_, _, err = ptc.Compile(context.Background(), files, "model.ptl", ptc.CompileOptions{Target: "ref"})
	for _, e := range ptc.Diagnostics(err) {
		fmt.Println(e.Code, e.Pos, e.Msg)
		fmt.Println("expected", e.Want)
		fmt.Println(e.Hint)
	}
	// Output:
	// E0203 model.ptl:30:38 unknown axis `embedd`: neither operand has it
	// expected `batch`, `seq`, `embed` or `hidden`
	// did you mean `embed`?
}

func ExampleRun() {
	ctx := context.Background()
	plan, _, err := ptc.CompileFile(ctx, "examples/mlp/mlp.ptl", ptc.CompileOptions{Target: "ref", Set: small})
	if err != nil {
		fmt.Println(err)
		return
	}
	summary, err := ptc.Run(ctx, plan, ptc.RunOptions{
		Steps: 3,
		OnStep: func(s ptc.Step) {
			fmt.Printf("step %d, close to the loss of a guess: %t\n", s.Step, math.Abs(s.Loss-math.Log(256)) < 1)
		},
	})
	fmt.Println(summary.Steps, "steps,", err)
	// Output:
	// step 1, close to the loss of a guess: true
	// step 2, close to the loss of a guess: true
	// step 3, close to the loss of a guess: true
	// 3 steps, <nil>
}

// A run that is cancelled finishes its step and says so.
func ExampleRun_cancel() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	plan, _, err := ptc.CompileFile(ctx, "examples/mlp/mlp.ptl", ptc.CompileOptions{Target: "ref", Set: small})
	if err != nil {
		fmt.Println(err)
		return
	}
	summary, err := ptc.Run(ctx, plan, ptc.RunOptions{OnStep: func(s ptc.Step) {
		if s.Step == 2 {
			cancel()
		}
	}})
	fmt.Println(summary.Interrupted, summary.Steps < 600, err)
	// Output: true true <nil>
}

// The plan of someone else is compiled anew, so that none of its code is run.
func ExampleRebuild() {
	ctx := context.Background()
	plan, _, err := ptc.CompileFile(ctx, "examples/mlp/mlp.ptl", ptc.CompileOptions{Target: "ref", Set: small})
	if err != nil {
		fmt.Println(err)
		return
	}
	again, _, err := ptc.Rebuild(ctx, plan, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	a, _ := plan.Encode()
	b, _ := again.Encode()
	fmt.Println(string(a) == string(b))
	// Output: true
}

func TestCancelledCompilation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := ptc.CompileFile(ctx, "examples/mlp/mlp.ptl", ptc.CompileOptions{Target: "ref"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	late := &doneAfter{Context: context.Background(), looks: 5} // within the passes
	_, _, err := ptc.CompileFile(late, "examples/mlp/mlp.ptl", ptc.CompileOptions{Target: "ref"})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// doneAfter is a context that is over after some looks at it.
type doneAfter struct {
	context.Context
	looks int
}

func (c *doneAfter) Err() error {
	if c.looks--; c.looks > 0 {
		return nil
	}
	return context.DeadlineExceeded
}

func TestImportsOfAFileSystem(t *testing.T) {
	files := fstest.MapFS{
		"a/main.ptl":   {Data: []byte("import \"../b/other.ptl\"\n")},
		"a/out.ptl":    {Data: []byte("import \"../../etc/passwd\"\n")},
		"b/other.ptl":  {Data: []byte("fn f(x) { return x }\n")},
		"b/unused.ptl": {Data: []byte("root:\n")},
	}
	for name, code := range map[string]string{"a/main.ptl": "E0501", "a/out.ptl": "E0230"} {
		_, _, err := ptc.Compile(context.Background(), files, name, ptc.CompileOptions{Target: "ref"})
		if list := ptc.Diagnostics(err); len(list) == 0 || list[0].Code != code {
			t.Errorf("%s: %v, want %s", name, err, code)
		}
	}
}

func TestPlanFile(t *testing.T) {
	ctx := context.Background()
	plan, _, err := ptc.CompileFile(ctx, "examples/layouts/ddp.ptl", ptc.CompileOptions{Target: "ref", ImportsBelow: "examples"})
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/plan.bin"
	if err := plan.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	again, err := ptc.ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := ptc.Explain(plan), ptc.Explain(again); a.Devices != b.Devices || a.FlopsPerStep != b.FlopsPerStep {
		t.Errorf("%+v and %+v", a, b)
	}
	if _, err := ptc.DecodePlan([]byte("no plan")); err == nil {
		t.Error("decoded")
	}
}
