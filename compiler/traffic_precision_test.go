package compiler_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// precision is what products compute in, and the bytes of an element of their results and of
// the inputs that are gathered for them.
type precision struct {
	name, rule     string
	size, gathered int64
}

var (
	precisions = []precision{
		{"f32", "", 4, 4},
		{"f16", "precision { compute = f16 }", 2, 2},
		{"bf16 parameters", "precision { compute = bf16  params = bf16  reduce = bf16 }", 2, 2},
		{"bf16", "precision { compute = bf16 }", 2, 2},
		{"f8", "precision { compute = bf16  products = f8 }", 2, 1},
	}
	lowPrecisions = precisions[len(precisions)-2:]
)

// inBlocks are the communications over tp of all blocks in a step, of one device of each
// stage, that move more than least.
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
// two of inputs, of which the shard alone is kept (Korthikanti et al., 2022, section 4.2.2):
// of experts, whose input is what was scattered, none. Eight bits are gathered as such.
func TestPrecisionTraffic(t *testing.T) {
	const layers, tp = 4, 2
	for _, schedule := range []struct {
		spec       string
		micro      int64
		boundaries int // between stages of two devices, behind which shards of an activation are gathered
		precisions []precision
	}{{"", 1, 0, precisions}, {"1f1b:2:4", 4, 1, lowPrecisions}, {"interleaved:2:4:2", 4, 3, lowPrecisions}, {"zb_h1:2:4", 4, 1, lowPrecisions}} {
		for _, c := range []struct {
			model, spec   string
			inputs, moved int // gathers of what products read, and of what is scattered first
		}{{"gpt", "tp2", 6, 0}, {"llama", "kvtp2", 6, 0}, {"moe", "tp2", 3, 2}} {
			for _, x := range schedule.precisions {
				for _, sp := range []string{"", " sp"} {
					act, n := activation/f32*x.size/schedule.micro, layers*int(schedule.micro)
					want := map[message]int{{"all_reduce", "tp", true, act}: 4 * n}
					if schedule.boundaries > 0 {
						want[message{"all_gather", "tp", true, act}] = 2 * schedule.boundaries * int(schedule.micro)
					}
					if sp != "" {
						want = map[message]int{{"reduce_scatter", "tp", true, act}: 4 * n, {"all_gather", "tp", true, act}: c.moved * n}
						want[message{"all_gather", "tp", true, act * x.gathered / x.size}] += c.inputs * n
					}
					spec := strings.TrimSpace(c.spec + sp + " " + schedule.spec)
					p := planFor(t, c.model, spec, fmt.Sprint("layers=", layers), x.rule)
					few := max(batch*seq*chosen*f32/schedule.micro, act/3) // a number for each choice, the largest of each row
					equal(t, fmt.Sprint(c.model, " ", spec, " ", x.name), inBlocks(t, p, tp, few), want)
				}
			}
		}
	}
}
