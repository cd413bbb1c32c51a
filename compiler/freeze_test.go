package compiler_test

import (
	"slices"
	"strings"
	"testing"

	"ptc/bench/matrix"
	"ptc/runtime/program"
)

// frozenLayouts are gpt's, one of each kind, with what they say of precision.
var frozenLayouts = []struct{ spec, set, extra string }{
	{"single", "", ""},
	{"dp2 z1", "", ""},
	{"dp2 z3", "", "recompute Block"},
	{"dp2 tp2 sp", "", "zero 2 over dp"},
	{"zb_h1:2:4", "layers=3", ""},
	{"dp2 z1 1f1b:2:2", "layers=3", "offload optimizer to host { piece = 1 KiB }\noffload activations of Block to disk"},
	{"dp2 z3", "", "precision { compute = bf16 params = bf16 reduce = bf16 }"},
	{"1f1b:2:2", "layers=3", "precision { compute = f16 }"},
}

// freezing is gpt with a part frozen: the first block, and of every block the
// matrices of the MLP.
func freezing(t *testing.T) matrix.Model {
	m := mustFind(t, "gpt")
	m.Drop = append(slices.Clone(m.Drop), [2]string{"train GPT {", "train GPT {\n  freeze = [\"blocks.0.*.*\", \"**.mlp.w?\"]"})
	return m
}

func isFrozen(path string) bool {
	return strings.HasPrefix(path, "blocks.0.") || strings.Contains(path, ".mlp.w")
}

// TestFreeze: under every kind of layout a frozen parameter has no gradient, no
// state and no master, and steps leave it as it is, to the bit, while they change
// each that is not frozen; and what devices compute is what one does.
func TestFreeze(t *testing.T) {
	m := freezing(t)
	alone := map[string]*matrix.Run{}
	for _, l := range frozenLayouts {
		p, err := matrix.Compile("..", m, matrix.Layout{Spec: l.spec, Set: l.set, Extra: l.extra}, "ref:f64")
		if err != nil {
			t.Errorf("%s %s: %v", l.spec, l.extra, err)
			continue
		}
		noState(t, l.spec, p)
		before, err := matrix.TrainOn(p, 1, 44)
		if err != nil {
			t.Fatalf("%s %s: %v", l.spec, l.extra, err)
		}
		after, err := matrix.Train(p)
		if err != nil {
			t.Fatalf("%s %s: %v", l.spec, l.extra, err)
		}
		for path, x := range before.Params {
			if !strings.Contains(path, "/") && slices.Equal(x, after.Params[path]) != isFrozen(path) {
				t.Errorf("%s %s: %s: frozen %t, the same after %d steps %t", l.spec, l.extra, path, isFrozen(path), matrix.Steps, !isFrozen(path))
			}
		}
		for path := range after.Grads {
			if isFrozen(path) {
				t.Errorf("%s %s: a gradient of %s", l.spec, l.extra, path)
			}
		}
		if strings.Contains(l.extra, "precision") {
			continue // of other numbers than those of one device in f64
		}
		if alone[l.set] == nil {
			p, err := matrix.Compile("..", m, matrix.Layout{Spec: "single", Set: l.set}, "ref:f64")
			if err != nil {
				t.Fatal(err)
			}
			if alone[l.set], err = matrix.Train(p); err != nil {
				t.Fatal(err)
			}
		}
		if r := matrix.Compare(alone[l.set], after, matrix.Target{Tolerance: 1e-10}); !r.OK() {
			t.Errorf("%s %s: %v", l.spec, l.extra, r)
		}
	}
}

// noState checks the tensors of a plan, and that it knows what is frozen.
func noState(t *testing.T, layout string, p *program.Plan) {
	t.Helper()
	frozen := 0
	for _, d := range expanded(t, p).Devices {
		for _, x := range d.Tensors {
			path, state, _ := strings.Cut(x.Path, "/")
			switch {
			case state != "" && isFrozen(path):
				t.Errorf("%s: state %s of a frozen parameter", layout, x.Path)
			case state == "" && x.Train == isFrozen(path):
				t.Errorf("%s: %s: frozen %t, trained %t", layout, path, isFrozen(path), x.Train)
			case state == "" && isFrozen(path):
				frozen++
			}
		}
	}
	if frozen == 0 {
		t.Errorf("%s: nothing is frozen", layout)
	}
}

// TestFreezeSendsLess: gradients of what is frozen are not exchanged, and
// operations that only they need are not there.
func TestFreezeSendsLess(t *testing.T) {
	all := gptUnder(t, "dp2 z1", "", "", "ref")
	less, err := matrix.Compile("..", freezing(t), matrix.Layout{Spec: "dp2 z1"}, "ref")
	if err != nil {
		t.Fatal(err)
	}
	of := func(p *program.Plan) int64 {
		return traffic(t, &p.Devices[0], "reduce_scatter", "all_reduce", "all_gather")
	}
	if a, b := of(all), of(expanded(t, less)); b*4 > a*3 {
		t.Errorf("%d bytes are exchanged with most parameters frozen, %d with none", b, a)
	}
	if a, b := all.Stats.FlopsPerStep, less.Stats.FlopsPerStep; b >= a {
		t.Errorf("%g FLOP with most parameters frozen, %g with none", b, a)
	}
}
