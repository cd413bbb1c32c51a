package passes

import (
	"fmt"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/op"
	"ptc/passes/check"
	"ptc/passes/pass"
)

// repeatedly is a function of which every tensor is one of each of count blocks, and what
// is done to them a run.
func repeatedly(text string, count int) string {
	var out []string
	inside := false
	for _, line := range strings.Split(text, "\n") {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case strings.HasPrefix(line, "func"):
			line += fmt.Sprintf("\n  stack blocks count=%d", count)
		case word == "arg":
			for _, role := range []string{"param", "state", "data"} {
				line = strings.Replace(line, " "+role+" \"", " each blocks "+role+" \"blocks.{i}.", 1)
			}
		case word == "result":
			if inside {
				out, inside = append(out, "  end for"), false
			}
			line = strings.Replace(line, " \"", " \"blocks.{i}.", 1)
		case strings.HasPrefix(word, "%") && !inside:
			out, inside = append(out, "  for blocks"), true
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// offloadedRuns is a repeated update with states on the host, executed after each pass.
func offloadedRuns(t *testing.T, text string, piece int) *ir.Module {
	t.Helper()
	m := parse(t, text)
	m.SetMeta(rule("layout", "name", ir.Str("test"), "rules", ir.Terms{offloaded("host", piece, "optimizer")}))
	k := check.New(1)
	if err := Run(&pass.Context{}, m, &Options{VerifyEach: true, Hooks: []Hook{k.Hook}}); err != nil {
		t.Fatal(err)
	}
	for _, r := range k.Report.Rows {
		if !r.OK {
			t.Errorf("%s: %s by %.3g", r.Pass, r.Worst, r.Diff)
		}
	}
	return m
}

// Of blocks that are updated one after the other three pieces are in device memory, and
// two more of what is under way from block to block, whatever blocks and pieces there are.
func TestPiecesInFlightOfRuns(t *testing.T) {
	for _, c := range []struct{ count, rows, piece int }{{6, 64, 2048}, {6, 1024, 2048}, {40, 1024, 2048}, {6, 1024, 8192}, {2, 64, 2048}, {6, 48, 2048}, {6, 32, 2048}, {6, 16, 2048}} {
		m := offloadedRuns(t, repeatedly(fmt.Sprintf(adam, c.rows), c.count), c.piece)
		f := m.Func("step")
		if len(f.Stacks) != 1 {
			t.Fatal("blocks are written out")
		}
		arena, host, _ := sizesOf(m)
		param := int64(c.rows * 64 * c.count)
		if got := arena - 2*param; got > int64(5*c.piece) || host != 2*param {
			t.Errorf("%+v: %d bytes besides parameters and gradients, want at most %d; %d on the host", c, got, 5*c.piece, host)
		}
		loaded, stored, waits := 0, 0, 0
		for _, o := range f.Ops {
			switch {
			case op.Has(o, op.Copies) && !o.Start:
				waits++
			case op.Has(o, op.Loads) && o.Ahead == 1:
				loaded++
			case op.Has(o, op.Completes) && o.Ahead == -1:
				stored++
			}
		}
		few := 0
		if c.rows*128 <= 3*c.piece {
			few = 1
		}
		if loaded != 1 || stored != few || waits != 0 {
			t.Errorf("%+v: %d loads for the next block, %d stores of the one before, %d transfers with nothing to overlap with\n%s", c, loaded, stored, waits, ir.Print(m))
		}
	}
}

// What cannot be done in pieces is loaded whole in its run.
func TestOffloadShapeOfRuns(t *testing.T) {
	const head = "ptir 1 global \"m\"\n\nfunc @step class=entry\n  arg %0 : f32[a=64, b=16] param \"w\" init=zeros()\n  arg %1 : f32[a=64, b=16] state \"w/m\" init=zeros()\n"
	for _, c := range []struct {
		name, body    string
		pieces, moved int // loads of an instance, states that leave
	}{
		{"in pieces", "  %2 : f32[a=64, b=16] = add %0, %1\n  result %2 param \"w\"\n  result %2 state \"w/m\"\n", 4, 1},
		{"a norm of the state", "  %2 : f32[a=64, b=16] = add %0, %1\n  %3 : f32[] = reduce_sum %2 over=(a, b)\n  %4 : f32[a=64, b=16] = mul %2, %3\n  result %4 state \"w/m\"\n", 1, 1},
		{"a norm of the old state", "  %2 : f32[a=64, b=16] = add %0, %1\n  %3 : f32[] = reduce_sum %1 over=(a, b)\n  %4 : f32[a=64, b=16] = mul %0, %3\n  result %4 param \"w\"\n  result %2 state \"w/m\"\n", 1, 1},
		{"a norm of the new state", "  %2 : f32[a=64, b=16] = add %0, %1\n  %3 : f32[] = reduce_sum %2 over=(a, b)\n  %4 : f32[a=64, b=16] = mul %0, %3\n  result %4 param \"w\"\n  result %2 state \"w/m\"\n", 4, 1},
		{"a parameter", "  %2 : f32[a=64, b=16] = add %0, %0\n  result %2 param \"w\"\n  result %0 state \"w/m\"\n", 0, 1},
		{"never changed", "  %2 : f32[a=64, b=16] = add %0, %1\n  result %2 param \"w\"\n  result %1 state \"w/m\"\n", 1, 1},
		{"each the other's", "  arg %9 : f32[a=64, b=16] state \"w/v\" init=ones()\n  %2 : f32[a=64, b=16] = add %0, %1\n  result %2 param \"w\"\n  result %9 state \"w/m\"\n  result %1 state \"w/v\"\n", 1, 2},
		{"the mean over rows", "  arg %9 : f32[b=16] state \"w/r\" init=ones()\n  %2 : f32[b=16] = reduce_sum %0 over=(a)\n  %3 : f32[b=16] = add %2, %9\n  %4 : f32[a=64, b=16] = mul %1, %3\n  result %4 state \"w/m\"\n  result %3 state \"w/r\"\n", 1, 2},
		{"with a row", "  arg %9 : f32[b=16] data \"r\"\n  %4 : f32[a=64, b=16] = mul %1, %9\n  result %4 state \"w/m\"\n", 4, 1},
		{"in two runs", "  %2 : f32[a=64, b=16] = add %0, %1\n  end for\n  for blocks down\n  %3 : f32[a=64, b=16] = mul %2, %1\n  result %3 param \"w\"\n  result %2 state \"w/m\"\n", 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := offloadedRuns(t, repeatedly(head+c.body+"end\n", 6), 1024)
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

// A state of each block that is updated from one that is there once stays, and is told of.
func TestStatesThatStay(t *testing.T) {
	m := parse(t, `ptir 1 global "m"

func @step class=entry
  stack blocks count=6
  arg %0 : f32[a=64, b=16] each blocks state "blocks.{i}.w/m" init=zeros()
  arg %1 : f32[a=64, b=16] state "all/m" init=ones()
  for blocks
  %2 : f32[a=64, b=16] = add %0, %1
  end for
  result %2 state "blocks.{i}.w/m"
  result %1 state "all/m"
end
`)
	m.SetMeta(rule("layout", "name", ir.Str("test"), "rules", ir.Terms{offloaded("host", 1024, "optimizer")}))
	c, k := &pass.Context{}, check.New(1)
	if err := Run(c, m, &Options{VerifyEach: true, Hooks: []Hook{k.Hook}}); err != nil {
		t.Fatal(err)
	}
	told := false
	for _, r := range c.Remarks {
		told = told || strings.Contains(r.Text, "28672 bytes of optimizer state stay in device memory")
	}
	if device, host, _ := sizesOf(m); host != 0 || device < 7*4096 || !told {
		t.Errorf("%d bytes on the device, %d on the host, remarks %v", device, host, c.Remarks)
	}
}

// Activations of repeated blocks are stored once in the run of the forward phase and
// loaded once in that of the backward phase, whatever the number of blocks and
// microbatches; on the device they are then of a block or two. The program is executed
// after each pass.
func TestActivationsOfRuns(t *testing.T) {
	sizes := irtest.Sizes{Batch: 8, Seq: 8, Heads: 2, Head: 8, FFN: 32, Vocab: 16}
	for _, l := range []struct {
		name          string
		mesh          []ir.MeshAxis
		rules         ir.Terms
		layers, twice int
	}{
		{"single", nil, nil, 4, 8},
		{"zero 3", mesh("dp", 2), ir.Terms{shard("dp", "batch"), zero(3, "dp")}, 4, 8},
		{"recompute", nil, ir.Terms{rule("recompute", "of", ir.Str("blocks.*.mlp"))}, 4, 8},
		{"1f1b", mesh("pp", 2), ir.Terms{pipelined("1f1b", 4)}, 8, 16},
		{"zb_h1", mesh("pp", 2), ir.Terms{pipelined("zb_h1", 4)}, 8, 16},
	} {
		t.Run(l.name, func(t *testing.T) {
			type found struct{ device, host, params, stores, loads int64 }
			look := func(layers int, k *check.Checker) (x found) {
				sizes.Layers = layers
				m := lowered(t, sizes, l.mesh, append(ir.Terms{offloadedOf("blocks.*", "host")}, l.rules...), Options{}, k)
				x.device, x.host, _ = sizesOf(m)
				for _, f := range m.Funcs {
					if len(f.Tasks) > 0 && f.Stage.Or(0) > 0 {
						continue
					}
					for _, o := range f.Ops {
						switch {
						case op.Has(o, op.Stores) && o.Run != nil:
							x.stores++
						case op.Has(o, op.Loads) && o.Run != nil:
							x.loads++
						case op.Has(o, op.Copies) && len(f.Tasks) == 0:
							t.Errorf("a transfer outside of runs")
						}
					}
				}
				f := m.Funcs[0]
				for _, a := range f.Args {
					if a.Role == ir.RoleParam || a.Role == ir.RoleState || a.Role == ir.RoleGrad {
						x.params += int64(a.Value.Type.Bytes()+63) / 64 * 64 * int64(a.Value.Count())
					}
				}
				return x
			}
			few, many := look(l.layers, check.New(1)), look(l.twice, nil)
			if few.stores == 0 || few.stores != many.stores || few.loads != many.loads {
				t.Errorf("%+v, twice as many blocks %+v", few, many)
			}
			if l.name == "zb_h1" {
				return // what blocks leave for the gradients of their weights is no activation
			}
			if more, away := many.device-few.device, many.host-few.host; away < few.host*3/4 || more-(many.params-few.params) > away/2 {
				t.Errorf("%+v, twice as many blocks %+v", few, many)
			}
		})
	}
}
