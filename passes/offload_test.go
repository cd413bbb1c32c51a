package passes

import (
	"fmt"
	"testing"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/op"
	"ptc/ir/verify"
	"ptc/passes/check"
	"ptc/passes/pass"
)

func offloaded(to string, piece int, what ...string) ir.Term {
	t := rule("offload", "what", ir.Names(what), "to", ir.Name(to))
	if piece > 0 {
		t.Args = t.Args.With("piece", ir.Int(piece))
	}
	return t
}

func offloadedOf(of, to string) ir.Term {
	t := offloaded(to, 0, "activations")
	t.Args = t.Args.With("of", ir.Str(of))
	return t
}

// lowered is a training step under a layout, to the end of the passes; executed
// after each, where k is given.
func lowered(t *testing.T, s irtest.Sizes, mesh []ir.MeshAxis, rules ir.Terms, o Options, k *check.Checker) *ir.Module {
	t.Helper()
	m := irtest.Transformer(s)
	m.Mesh = mesh
	m.SetMeta(rule("layout", "name", ir.Str("test"), "rules", rules))
	if errs := verify.Module(m); len(errs) > 0 {
		t.Fatal(errs)
	}
	if o.VerifyEach = true; k != nil {
		o.Hooks = []Hook{k.Hook}
	}
	if err := Run(&pass.Context{}, m, &o); err != nil {
		t.Fatal(err)
	}
	if k != nil {
		for _, r := range k.Report.Rows {
			if !r.OK {
				t.Errorf("%s changed the result (%s): %s by %.3g, tolerance %.3g", r.Pass, r.Kind, r.Worst, r.Diff, r.Tol)
			}
		}
	}
	return m
}

var small = irtest.Sizes{Layers: 2, Batch: 4, Seq: 8, Heads: 4, Head: 4, FFN: 32, Vocab: 32, Dropout: true}

// plain are the layouts that are also run without the passes that only optimize:
// transfers that nothing starts early.
var plain = map[string]bool{"single": true, "dp2": true, "pp2 1f1b": true, "recompute": true}

// TestOffload executes the program of all devices after each pass, with states of
// the optimizer and activations in other memories, under every layout.
func TestOffload(t *testing.T) {
	for i, l := range append(layouts, struct {
		name  string
		mesh  []ir.MeshAxis
		rules ir.Terms
	}{name: "single"}) {
		if left(i, 0) && !plain[l.name] {
			continue
		}
		for _, optimize := range []bool{true, false} {
			if !optimize && !plain[l.name] {
				continue
			}
			t.Run(fmt.Sprintf("%s %v", l.name, optimize), func(t *testing.T) {
				rules := append(ir.Terms{offloaded("host", 1024, "optimizer"), offloadedOf("blocks.*", "disk")}, l.rules...)
				m := lowered(t, small, l.mesh, rules, Options{NoOptimize: !optimize}, check.New(1))
				n, started := 0, 0
				for _, f := range m.Funcs {
					for _, o := range f.Ops {
						if op.Has(o, op.Copies) {
							n++
							if o.Start {
								started++
							}
						}
					}
				}
				if n == 0 || optimize != (started > 0) {
					t.Errorf("%d transfers, %d started", n, started)
				}
			})
		}
	}
}

// sizesOf are the bytes of each memory that a planned module needs.
func sizesOf(m *ir.Module) (device, host, disk int64) {
	a := m.MetaTerm("arena").Args
	return a.Int("bytes", 0), a.Int(ir.Host.String(), 0), a.Int(ir.Disk.String(), 0)
}

// stateBytes are those of the states with axes, each as a place holds it.
func stateBytes(m *ir.Module) (n int64) {
	for _, a := range m.Func("step").Args {
		if a.Role == ir.RoleState && len(a.Value.Type.Axes) > 0 {
			n += int64(a.Value.Type.Bytes()+63) / 64 * 64 * int64(a.Value.Count())
		}
	}
	return n
}

// TestOffloadedMemory holds the memory that is saved to what is predicted. Where
// most is live in the backward phase, the arena is smaller by the bytes of the
// states, which are those of the other one.
func TestOffloadedMemory(t *testing.T) {
	wide := irtest.Sizes{Layers: 2, Batch: 16, Seq: 16, Heads: 2, Head: 4, FFN: 32, Vocab: 16}
	for _, l := range []struct {
		mesh  []ir.MeshAxis
		rules ir.Terms
	}{{nil, nil}, {mesh("dp", 2), ir.Terms{shard("dp", "batch"), zero(1, "dp")}}} {
		here := lowered(t, wide, l.mesh, l.rules, Options{}, nil)
		all, _, _ := sizesOf(here)
		for _, to := range []string{"host", "disk"} {
			m := lowered(t, wide, l.mesh, append(ir.Terms{offloaded(to, 512, "optimizer")}, l.rules...), Options{}, nil)
			device, host, disk := sizesOf(m)
			n := stateBytes(here)
			if elsewhere := host + disk; elsewhere != n || device != all-n || (host > 0) != (to == "host") {
				t.Errorf("offloaded to %s: %d bytes here and %d, %d elsewhere; %d without, of which %d are states", to, device, host, disk, all, n)
			}
		}
	}
}

// TestPiecesInFlight: the states of a parameter that is all there is take the
// room of three pieces in device memory, however large they are.
func TestPiecesInFlight(t *testing.T) {
	for _, c := range []struct{ rows, piece, want int }{{64, 2048, 3 * 2048}, {1024, 2048, 3 * 2048}, {1024, 8192, 3 * 8192}, {1024, 1 << 20, 1024 * 64 * 2}} {
		m := parse(t, fmt.Sprintf(adam, c.rows))
		m.SetMeta(rule("layout", "name", ir.Str("test"), "rules", ir.Terms{offloaded("host", c.piece, "optimizer")}))
		k := check.New(1)
		if err := Run(&pass.Context{}, m, &Options{VerifyEach: true, Hooks: []Hook{k.Hook}}); err != nil {
			t.Fatal(err)
		}
		for _, r := range k.Report.Rows {
			if !r.OK {
				t.Errorf("%s: %s by %.3g", r.Pass, r.Worst, r.Diff)
			}
		}
		arena, host, _ := sizesOf(m)
		param := int64(c.rows * 64)
		if got := arena - 2*param; got != int64(c.want) || host != 2*param {
			t.Errorf("%d rows in pieces of %d bytes: %d bytes besides parameter and gradient, want %d; %d on the host", c.rows, c.piece, got, c.want, host)
		}
	}
}

// adam is the update of one matrix whose gradient is data.
const adam = `ptir 1 global "m"

func @step class=entry
  arg %%0 : f32[row=%[1]d, col=16] param "w" init=zeros()
  arg %%1 : f32[row=%[1]d, col=16] state "w/m" init=zeros()
  arg %%2 : f32[row=%[1]d, col=16] state "w/v" init=zeros()
  arg %%3 : f32[row=%[1]d, col=16] data "g"
  %%4 : f32[] = const dtype=f32 value=0.5
  %%5 : f32[row=%[1]d, col=16] = mul %%1, %%4
  %%6 : f32[row=%[1]d, col=16] = add %%5, %%3
  %%7 : f32[row=%[1]d, col=16] = mul %%3, %%3
  %%8 : f32[row=%[1]d, col=16] = mul %%2, %%4
  %%9 : f32[row=%[1]d, col=16] = add %%8, %%7
  %%10 : f32[row=%[1]d, col=16] = exp %%9
  %%11 : f32[row=%[1]d, col=16] = mul %%6, %%10
  %%12 : f32[row=%[1]d, col=16] = sub %%0, %%11
  result %%12 param "w"
  result %%6 state "w/m"
  result %%9 state "w/v"
end
`

// TestOffloadShape: what cannot be done in pieces is loaded whole, and what is
// no tensor stays.
func TestOffloadShape(t *testing.T) {
	const head = "ptir 1 global \"m\"\n\nfunc @step class=entry\n  arg %0 : f32[a=64, b=16] param \"w\" init=zeros()\n  arg %1 : f32[a=64, b=16] state \"w/m\" init=zeros()\n"
	for _, c := range []struct {
		name, body    string
		pieces, moved int // loads, states that leave
	}{
		{"in pieces", "  %2 : f32[a=64, b=16] = add %0, %1\n  result %2 param \"w\"\n  result %2 state \"w/m\"\n", 4, 1},
		{"a norm of the state", "  %2 : f32[a=64, b=16] = add %0, %1\n  %3 : f32[] = reduce_sum %2 over=(a, b)\n  %4 : f32[a=64, b=16] = mul %2, %3\n  result %4 state \"w/m\"\n", 1, 1},
		{"a norm of the old state", "  %2 : f32[a=64, b=16] = add %0, %1\n  %3 : f32[] = reduce_sum %1 over=(a, b)\n  result %2 state \"w/m\"\n  result %3 stat \"n\"\n", 1, 1},
		{"a norm of the new state", "  %2 : f32[a=64, b=16] = add %0, %1\n  %3 : f32[] = reduce_sum %2 over=(a, b)\n  result %2 state \"w/m\"\n  result %3 stat \"n\"\n", 4, 1},
		{"never read", "  result %0 state \"w/m\"\n", 0, 1},
		{"never changed", "  %2 : f32[a=64, b=16] = add %0, %1\n  result %2 param \"w\"\n  result %1 state \"w/m\"\n", 1, 1},
		{"each the other's", "  arg %9 : f32[a=64, b=16] state \"w/v\" init=ones()\n  %2 : f32[a=64, b=16] = add %0, %1\n  result %2 param \"w\"\n  result %9 state \"w/m\"\n  result %1 state \"w/v\"\n", 1, 2},
		{"the mean over rows", "  arg %9 : f32[b=16] state \"w/r\" init=ones()\n  %2 : f32[b=16] = reduce_sum %0 over=(a)\n  %3 : f32[b=16] = add %2, %9\n  %4 : f32[a=64, b=16] = mul %1, %3\n  result %4 state \"w/m\"\n  result %3 state \"w/r\"\n", 1, 2},
		{"with a row", "  arg %9 : f32[b=16] data \"r\"\n  %4 : f32[a=64, b=16] = mul %1, %9\n  result %4 state \"w/m\"\n", 4, 1},
		{"a number", "  arg %9 : f32[] state \"n\" init=ones()\n  %2 : f32[a=64, b=16] = mul %1, %9\n  %3 : f32[] = add %9, %9\n  result %2 state \"w/m\"\n  result %3 state \"n\"\n", 4, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := parse(t, head+c.body+"end\n")
			m.SetMeta(rule("layout", "name", ir.Str("test"), "rules", ir.Terms{offloaded("host", 1024, "optimizer")}))
			k := check.New(1)
			if err := Run(&pass.Context{}, m, &Options{VerifyEach: true, Hooks: []Hook{k.Hook}}); err != nil {
				t.Fatal(err)
			}
			for _, r := range k.Report.Rows {
				if !r.OK {
					t.Errorf("%s: %s by %.3g", r.Pass, r.Worst, r.Diff)
				}
			}
			loads, moved := 0, 0
			for _, o := range m.Func("step").Ops {
				if o.Name == collective.HostToDevice {
					loads++
				}
			}
			for _, a := range m.Func("step").Args {
				if a.Memory != ir.Device {
					moved++
				}
			}
			if loads != c.pieces || moved != c.moved {
				t.Errorf("%d loads, %d states elsewhere; want %d and %d\n%s", loads, moved, c.pieces, c.moved, ir.Print(m))
			}
		})
	}
}

// TestOffloadedActivations: activations of all layers are not in device memory at
// once, so that its peak does not grow with depth but for parameters and what is
// too small to be moved.
func TestOffloadedActivations(t *testing.T) {
	peak := func(layers int, rules ir.Terms) (device, host, params int64) {
		s := irtest.Sizes{Layers: layers, Batch: 16, Seq: 16, Heads: 2, Head: 8, FFN: 64, Vocab: 16}
		m := lowered(t, s, nil, rules, Options{}, nil)
		for _, a := range m.Func("step").Args {
			if a.Role == ir.RoleParam || a.Role == ir.RoleState {
				params += int64(a.Value.Type.Bytes()+63) / 64 * 64 * int64(a.Value.Count())
			}
		}
		device, host, _ = sizesOf(m)
		return device, host, params
	}
	rules := ir.Terms{offloadedOf("blocks.*", "host")}
	var grows [2]int64
	for i, r := range []ir.Terms{nil, rules} {
		few, _, p := peak(3, r)
		many, _, q := peak(6, r)
		grows[i] = many - few - (q - p)
	}
	_, few, _ := peak(3, rules)
	_, many, _ := peak(6, rules)
	t.Logf("three layers more take %d bytes; offloaded %d, and %d on the host", grows[0], grows[1], many-few)
	if grows[1] > grows[0]/8 || many-few < grows[0]*7/8 {
		t.Errorf("three layers more take %d bytes in addition to their parameters; offloaded %d, and %d on the host", grows[0], grows[1], many-few)
	}
}
