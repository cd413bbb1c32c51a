package passes

import (
	"flag"
	"testing"

	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/verify"
	"ptc/passes/check"
	"ptc/passes/pass"
)

func rule(head string, kv ...any) ir.Term { return ir.Term{Head: head, Args: ir.A(kv...)} }

func shard(over string, axes ...string) ir.Term {
	return rule("shard", "axes", ir.Names(axes), "over", ir.Names{over}, "at", ir.Str("test.ptl:1:1"))
}

func zigzag(over string, axes ...string) ir.Term {
	t := shard(over, axes...)
	t.Args = t.Args.With("order", ir.Name("zigzag"))
	return t
}

func zero(level int, over ...string) ir.Term {
	return rule("zero", "level", ir.Int(level), "over", ir.Names(over))
}

func pipelined(schedule string, m int) ir.Term {
	return rule("pipeline", "blocks", ir.Str("blocks"), "chunks", ir.Int(1), "microbatches", ir.Int(m), "over", ir.Names{"pp"}, "schedule", ir.Str(schedule))
}

func budget(bytes int64) ir.Term {
	return rule("recompute", "of", ir.Str("auto"), "budget", ir.Int(bytes))
}

var betweenBlocks = rule("shard", "axes", ir.Names{"seq"}, "over", ir.Names{"tp"}, "between", ir.Names{"Block"})

// layouts that need no pipeline.
var layouts = []struct {
	name  string
	mesh  []ir.MeshAxis
	rules ir.Terms
}{
	{"dp2", mesh("dp", 2), ir.Terms{shard("dp", "batch")}},
	{"dp4", mesh("dp", 4), ir.Terms{shard("dp", "batch")}},
	{"zero1", mesh("dp", 4), ir.Terms{shard("dp", "batch"), zero(1, "dp")}},
	{"zero2", mesh("dp", 4), ir.Terms{shard("dp", "batch"), zero(2, "dp")}},
	{"zero3", mesh("dp", 4), ir.Terms{shard("dp", "batch"), zero(3, "dp")}},
	{"tp2", mesh("tp", 2), ir.Terms{shard("tp", "heads", "ffn", "vocab")}},
	{"tp4", mesh("tp", 4), ir.Terms{shard("tp", "heads", "ffn", "vocab")}},
	{"tp4 sp", mesh("tp", 4), ir.Terms{shard("tp", "heads", "ffn", "vocab"), betweenBlocks}},
	{"cp2", mesh("cp", 2), ir.Terms{shard("cp", "seq")}},
	{"cp4", mesh("cp", 4), ir.Terms{shard("cp", "seq")}},
	{"cp4 zigzag", mesh("cp", 4), ir.Terms{zigzag("cp", "seq")}},
	{"cp2 gather", mesh("cp", 2), ir.Terms{rule("shard", "axes", ir.Names{"seq"}, "over", ir.Names{"cp"}, "attention", ir.Name("gather"))}},
	{"dp2 cp2 tp2 zigzag zero3", mesh("dp", 2, "cp", 2, "tp", 2), ir.Terms{shard("dp", "batch"), zigzag("cp", "seq"), shard("tp", "heads", "ffn", "vocab"), zero(3, "dp", "cp")}},
	{"pp2 cp2 zigzag recompute", mesh("cp", 2, "pp", 2), ir.Terms{zigzag("cp", "seq"), pipelined("1f1b", 2), rule("recompute", "of", ir.Str("blocks.*"))}},
	{"dp2 tp2", mesh("dp", 2, "tp", 2), ir.Terms{shard("dp", "batch"), shard("tp", "heads", "ffn", "vocab")}},
	{"dp2 cp2 tp2 zero3", mesh("dp", 2, "cp", 2, "tp", 2), ir.Terms{shard("dp", "batch"), shard("cp", "seq"), shard("tp", "heads", "ffn", "vocab"), zero(3, "dp")}},
	{"pp2 gpipe", mesh("pp", 2), ir.Terms{pipelined("gpipe", 2)}},
	{"pp2 1f1b", mesh("pp", 2), ir.Terms{pipelined("1f1b", 4)}},
	{"pp2 zb", mesh("pp", 2), ir.Terms{pipelined("zb_h1", 4)}},
	{"dp2 pp2 tp2 sp zero1", mesh("dp", 2, "pp", 2, "tp", 2), ir.Terms{shard("dp", "batch"), shard("tp", "heads", "ffn", "vocab"), betweenBlocks, pipelined("1f1b", 2), zero(1, "dp")}},
	{"pp2 cp2 zero3", mesh("dp", 2, "cp", 2, "pp", 2), ir.Terms{shard("dp", "batch"), shard("cp", "seq"), pipelined("1f1b", 2), zero(3, "dp")}},
	{"recompute", mesh("dp", 2), ir.Terms{shard("dp", "batch"), rule("recompute", "of", ir.Str("blocks.*"))}},
	{"pp2 recompute", mesh("pp", 2), ir.Terms{pipelined("1f1b", 2), rule("recompute", "of", ir.Str("blocks.*"))}},
	{"auto", mesh("dp", 2), ir.Terms{shard("dp", "batch"), budget(22 << 10)}},
	{"auto zero3 tp2 sp", mesh("dp", 2, "tp", 2), ir.Terms{shard("dp", "batch"), shard("tp", "heads", "ffn", "vocab"), betweenBlocks, zero(3, "dp"), budget(12 << 10)}},
	{"auto pp2 1f1b", mesh("pp", 2), ir.Terms{pipelined("1f1b", 4), budget(11 << 10)}},
	{"auto pp2 zb tp2", mesh("pp", 2, "tp", 2), ir.Terms{shard("tp", "heads", "ffn", "vocab"), pipelined("zb_h1", 2), budget(26 << 10)}},
	{"auto and named", mesh("dp", 2), ir.Terms{shard("dp", "batch"), rule("recompute", "of", ir.Str("blocks.0")), budget(22 << 10)}},
	{"batch over two", mesh("dp", 2, "fsdp", 2), ir.Terms{rule("shard", "axes", ir.Names{"batch"}, "over", ir.Names{"dp", "fsdp"}), zero(3, "fsdp")}},
}

func mesh(kv ...any) []ir.MeshAxis {
	var m []ir.MeshAxis
	for i := 0; i < len(kv); i += 2 {
		m = append(m, ir.MeshAxis{Name: kv[i].(string), Size: kv[i+1].(int)})
	}
	return m
}

var slow = flag.Bool("slow", false, "all layouts for every test, not every second one for some; make matrix does it")

// left reports whether layout i is left out of a test that takes those which are even,
// or odd.
func left(i, parity int) bool { return !*slow && i%2 != parity }

// TestLayouts runs every pass under every layout, and executes the program of
// all devices after each pass.
func TestLayouts(t *testing.T) {
	sizes := irtest.Sizes{Layers: 2, Batch: 4, Seq: 8, Heads: 4, Head: 4, FFN: 32, Vocab: 24, Dropout: true}
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			m := irtest.Transformer(sizes)
			m.Mesh = l.mesh
			m.Meta = append(m.Meta, rule("layout", "name", ir.Str(l.name), "rules", l.rules))
			if errs := verify.Module(m); len(errs) > 0 {
				t.Fatal(errs)
			}
			k := check.New(1)
			c := &pass.Context{}
			err := Run(c, m, &Options{VerifyEach: true, Hooks: []Hook{k.Hook}})
			for _, r := range k.Report.Rows {
				if !r.OK {
					t.Errorf("%s changed the result (%s): %s by %.3g, tolerance %.3g", r.Pass, r.Kind, r.Worst, r.Diff, r.Tol)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range c.Remarks {
				if r.Pass == "remat" {
					t.Log(r)
				}
			}
			if testing.Verbose() && m.Func("step") != nil {
				n := map[string]int{}
				for _, o := range m.Func("step").Ops {
					if o.Name != "call" {
						n[o.Name]++
						t.Logf("%s %s %v %s %s", o.Name, o.Scope, o.Results[0].Type, o.Attrs.Names("over"), o.Attrs.Text("why"))
					}
				}
				t.Log(n)
			}
		})
	}
}
