package validate_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/passes"
	"ptc/passes/check"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

func rule(head string, kv ...any) ir.Term { return ir.Term{Head: head, Args: ir.A(kv...)} }

func shard(over string, axes ...string) ir.Term {
	return rule("shard", "axes", ir.Names(axes), "over", ir.Names{over}, "at", ir.Str("test.ptl:1:1"))
}

func zero(level int, over string) ir.Term {
	return rule("zero", "level", ir.Int(level), "over", ir.Names{over})
}

func pipelined(schedule string, chunks, microbatches int) ir.Term {
	return rule("pipeline", "blocks", ir.Str("blocks"), "chunks", ir.Int(chunks), "microbatches", ir.Int(microbatches),
		"over", ir.Names{"pp"}, "schedule", ir.Str(schedule))
}

func mesh(kv ...any) []ir.MeshAxis {
	var m []ir.MeshAxis
	for i := 0; i < len(kv); i += 2 {
		m = append(m, ir.MeshAxis{Name: kv[i].(string), Size: kv[i+1].(int)})
	}
	return m
}

var (
	tensor   = shard("tp", "heads", "ffn", "vocab")
	sequence = rule("shard", "axes", ir.Names{"seq"}, "over", ir.Names{"tp"}, "between", ir.Names{"Block"})
	offload  = ir.Terms{
		rule("offload", "what", ir.Names{"optimizer"}, "to", ir.Name("host"), "piece", ir.Int(256)),
		rule("offload", "what", ir.Names{"activations"}, "to", ir.Name("disk")),
	}
	recompute = rule("recompute", "of", ir.Str("blocks.*"))
)

// plans are the layouts whose plans are mutated: each kind of parallelism, each
// schedule, and some together.
var plans = []struct {
	name   string
	mesh   []ir.MeshAxis
	layers int
	rules  ir.Terms
}{
	{"dp", mesh("dp", 2), 1, ir.Terms{shard("dp", "batch")}},
	{"zero 1", mesh("dp", 2), 1, ir.Terms{shard("dp", "batch"), zero(1, "dp")}},
	{"zero 2", mesh("dp", 4), 1, ir.Terms{shard("dp", "batch"), zero(2, "dp")}},
	{"zero 3", mesh("dp", 2), 1, ir.Terms{shard("dp", "batch"), zero(3, "dp")}},
	{"tp", mesh("tp", 2), 1, ir.Terms{tensor}},
	{"tp sp", mesh("tp", 2), 1, ir.Terms{tensor, sequence}},
	{"cp", mesh("cp", 2), 1, ir.Terms{shard("cp", "seq")}},
	{"fsdp", mesh("dp", 2, "fsdp", 2), 1, ir.Terms{rule("shard", "axes", ir.Names{"batch"}, "over", ir.Names{"dp", "fsdp"}), zero(3, "fsdp")}},
	{"dp tp sp zero 2", mesh("dp", 2, "tp", 2), 1, ir.Terms{shard("dp", "batch"), tensor, sequence, zero(2, "dp")}},
	{"dp cp tp zero 3", mesh("dp", 2, "cp", 2, "tp", 2), 1, ir.Terms{shard("dp", "batch"), shard("cp", "seq"), tensor, zero(3, "dp")}},
	{"offload", mesh("dp", 2), 1, append(ir.Terms{shard("dp", "batch")}, offload...)},
	{"offload zero 1", mesh("dp", 2), 1, append(ir.Terms{shard("dp", "batch"), zero(1, "dp")}, offload...)},
	{"offload 1f1b", mesh("pp", 2), 2, append(ir.Terms{pipelined("1f1b", 1, 2)}, offload...)},
	{"offload blocks", mesh("dp", 2), 4, append(ir.Terms{shard("dp", "batch")}, offload...)},
	{"offload blocks zero 3", mesh("dp", 2), 4, append(ir.Terms{shard("dp", "batch"), zero(3, "dp")}, offload...)},
	{"offload blocks 1f1b", mesh("pp", 2), 6, append(ir.Terms{pipelined("1f1b", 1, 4)}, offload...)},
	{"offload blocks zb_v", mesh("pp", 2), 12, append(ir.Terms{pipelined("zb_v", 2, 2)}, offload...)},
	{"recompute", mesh("dp", 2), 2, ir.Terms{shard("dp", "batch"), recompute}},
	{"gpipe", mesh("pp", 2), 2, ir.Terms{pipelined("gpipe", 1, 2)}},
	{"1f1b", mesh("pp", 2), 2, ir.Terms{pipelined("1f1b", 1, 4)}},
	{"1f1b of 3", mesh("pp", 3), 3, ir.Terms{pipelined("1f1b", 1, 2)}},
	{"interleaved", mesh("pp", 2), 4, ir.Terms{pipelined("interleaved", 2, 2)}},
	{"zb_h1", mesh("pp", 2), 2, ir.Terms{pipelined("zb_h1", 1, 2)}},
	{"zb_v", mesh("pp", 2), 4, ir.Terms{pipelined("zb_v", 2, 2)}},
	{"dualpipe_v", mesh("pp", 2), 4, ir.Terms{pipelined("dualpipe_v", 2, 4)}},
	{"1f1b recompute", mesh("pp", 2), 2, ir.Terms{pipelined("1f1b", 1, 2), recompute}},
	{"3d", mesh("dp", 2, "pp", 2, "tp", 2), 2, ir.Terms{shard("dp", "batch"), tensor, sequence, pipelined("1f1b", 1, 2), zero(1, "dp")}},
	{"dp cp pp zero 3", mesh("dp", 2, "cp", 2, "pp", 2), 2, ir.Terms{shard("dp", "batch"), shard("cp", "seq"), pipelined("1f1b", 1, 2), zero(3, "dp")}},
}

var mutants = flag.Int("mutants", 1, "mutants of each kind for each plan of TestMutants; make random tries more")

// TestMutants: the proofs of a plan refuse every change of one that would
// change what it computes or hang it, before kernels are made and in the end.
func TestMutants(t *testing.T) {
	var p passtest.Prover
	n := *mutants
	t.Run("plans", func(t *testing.T) {
		for i, l := range plans {
			sizes := irtest.Sizes{Layers: l.layers, Batch: 4, Seq: 4, Heads: 4, Head: 2, FFN: 8, Vocab: 8, Dropout: true}
			if strings.HasPrefix(l.name, "offload") {
				sizes.Seq, sizes.FFN = 8, 32 // of which activations are worth a transfer
			}
			global := irtest.Transformer(sizes)
			global.Mesh = l.mesh
			global.Meta = append(global.Meta, rule("layout", "name", ir.Str(l.name), "rules", l.rules))
			for j, stop := range []string{"schedule", "order"} {
				if n == 1 && (i+j)%2 == 0 {
					continue // make random tries both of each
				}
				if stop == "schedule" && strings.HasPrefix(l.name, "offload") {
					stop = "offload-optimizer"
				}
				t.Run(l.name+" "+stop, func(t *testing.T) {
					t.Parallel()
					m, in := global.Clone(), check.RandomInputs(global, 1)
					if err := passes.Run(&pass.Context{}, m, &passes.Options{Stop: stop}); err != nil {
						t.Fatal(err)
					}
					kinds := passtest.Exchanges
					if m.Level == ir.Planned {
						kinds = append(slices.Clone(kinds), passtest.Places...)
					}
					if strings.HasPrefix(l.name, "offload") {
						kinds = append(slices.Clone(kinds), passtest.Transfers...)
					}
					p.Try(t, m, in, kinds, n)
				})
			}
		}
	})
	tried, harmful, accepted := p.Report(t)
	if all := min(n, 2); tried < 350*n*all || harmful < 225*n*all || accepted < 20*n*all {
		t.Errorf("%d mutants, %d harmful, %d accepted: too few to prove anything", tried, harmful, accepted)
	}
}
