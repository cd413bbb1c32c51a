package compiler_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// precisions are what products compute in, and the bytes of an element of their results.
var precisions = []struct {
	name, rule string
	size       int64
}{
	{"f32", "", 4},
	{"bf16", "precision { compute = bf16 }", 2},
	{"bf16 parameters", "precision { compute = bf16  params = bf16  reduce = bf16 }", 2},
	{"f16", "precision { compute = f16 }", 2},
	{"f8", "precision { compute = bf16  products = f8 }", 2},
}

// inBlocks are the communications over tp of all blocks in a step, of one device of each
// stage, that move more than a number for each choice of a token.
func inBlocks(t *testing.T, p *program.Plan, tp int, least int64) map[message]int {
	t.Helper()
	out := map[message]int{}
	for i := range p.Devices {
		for m, n := range blocks(count(t, &p.Devices[i])) {
			if m.over == "tp" && m.bytes > least {
				out[m] += n * p.Copies() / tp
			}
		}
	}
	return out
}

// TestPrecisionTraffic: in every precision, under every schedule and in every kind of block,
// tensor parallelism has two all-reduces forward and two backward for each layer and
// microbatch, each of one activation in the dtype in which products leave their result:
// what several products add to one gradient is added before it is reduced, whatever is cast
// between (Shoeybi et al., "Megatron-LM", 2019, section 3: f and g). With sequence
// parallelism these are reduce-scatters, with two all-gathers forward, two of gradients and
// two of inputs, of which the shard alone is kept (Korthikanti et al., 2022, section 4.2.2).
func TestPrecisionTraffic(t *testing.T) {
	const layers, tp = 4, 2
	for _, schedule := range []struct {
		spec  string
		micro int64
	}{{"", 1}, {"1f1b:2:4", 4}, {"interleaved:2:4:2", 4}, {"zb_h1:2:4", 4}} {
		for _, model := range []struct{ name, spec string }{{"gpt", "tp2"}, {"llama", "kvtp2"}, {"moe", "tp2"}} {
			for _, sp := range []bool{false, true} {
				for _, x := range precisions {
					act := activation / f32 * x.size / schedule.micro
					spec, want := model.spec, map[message]int{{"all_reduce", "tp", true, act}: 4 * layers * int(schedule.micro)}
					if sp {
						spec += " sp"
						want = map[message]int{
							{"reduce_scatter", "tp", true, act}: 4 * layers * int(schedule.micro),
							{"all_gather", "tp", true, act}:     6 * layers * int(schedule.micro),
						}
					}
					spec = strings.TrimSpace(spec + " " + schedule.spec)
					p := planFor(t, model.name, spec, fmt.Sprint("layers=", layers), x.rule)
					choices := batch * seq * chosen * f32 / schedule.micro
					equal(t, fmt.Sprint(model.name, " ", spec, " ", x.name), inBlocks(t, p, tp, choices), want)
				}
			}
		}
	}
}
