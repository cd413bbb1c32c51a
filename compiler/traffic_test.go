package compiler_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ptc/bench/matrix"
	"ptc/internal/collective"
	"ptc/runtime/program"
)

// Sizes of package matrix, and bytes of an element.
const (
	batch, seq, embed = 8, 12, 20
	f32               = 4
	activation        = batch * seq * embed * f32
)

// message is the communications of one device in a step that are alike, as
// `ptc explain --json` counts them.
type message struct {
	kind, over string
	block      bool // between activations of a block
	bytes      int64
}

func (m message) String() string {
	where := "elsewhere"
	if m.block {
		where = "in blocks"
	}
	return fmt.Sprintf("%s over %s of %d bytes %s", m.kind, m.over, m.bytes, where)
}

// plansFor are the plans of planFor that were made, by its arguments.
var plansFor = map[[4]string]*program.Plan{}

// planFor is a plan in which each communication is by itself: buckets change how
// many there are, and never what is in them. Tests share it and do not change it.
func planFor(t *testing.T, model, spec, set, extra string) *program.Plan {
	t.Helper()
	key := [4]string{model, spec, set, extra}
	if p := plansFor[key]; p != nil {
		return p
	}
	l := matrix.Layout{Spec: spec, Set: set, Extra: extra + "\nbucket = 0\noverlap none"}
	p, err := matrix.Compile("..", mustFind(t, model), l, "ref")
	if err != nil {
		t.Fatalf("%s %s: %v", model, spec, err)
	}
	p = expanded(t, p)
	plansFor[key] = p
	return p
}

// expanded is a plan in which all that devices do in a step stands once for each time.
func expanded(t *testing.T, p *program.Plan) *program.Plan {
	t.Helper()
	p, err := p.Expanded()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// step is the instructions of a device that communicate in a training step.
func step(t *testing.T, d *program.Device) (out []program.Instr) {
	t.Helper()
	for _, p := range d.Progs {
		if p.Name != "step" {
			continue
		}
		for _, in := range p.Instrs {
			if in.Comm != nil && in.Comm.Kind != collective.ShardSlice {
				out = append(out, in)
			}
		}
	}
	if len(out) == 0 {
		t.Fatal("the devices do not communicate")
	}
	return out
}

func count(t *testing.T, d *program.Device) map[message]int {
	t.Helper()
	n := map[message]int{}
	for _, in := range step(t, d) {
		n[message{in.Comm.Kind, strings.Join(in.Comm.Over, ","), strings.HasPrefix(in.Scope, "blocks."), in.Comm.Bytes}]++
	}
	return n
}

// blocks keeps what a block communicates.
func blocks(all map[message]int) map[message]int {
	out := map[message]int{}
	for m, n := range all {
		if m.block {
			out[m] = n
		}
	}
	return out
}

func equal(t *testing.T, what string, got, want map[message]int) {
	t.Helper()
	for m, n := range want {
		if got[m] != n {
			t.Errorf("%s: %d times %s, want %d", what, got[m], m, n)
		}
	}
	for m, n := range got {
		if _, ok := want[m]; !ok {
			t.Errorf("%s: %d times %s, want none", what, n, m)
		}
	}
}

// TestTensorTraffic: of activations, a block has two all-reduces forward and two
// backward, of batch·seq·embed elements, and nothing else. Shoeybi et al.,
// "Megatron-LM" (2019), section 3, figure 4. The embedding of a vocabulary in
// parts has one more forward, the logits one more backward.
func TestTensorTraffic(t *testing.T) {
	const layers = 3
	for _, spec := range []string{"tp2", "tp4"} {
		p := planFor(t, "gpt", spec, "layers=3", "")
		equal(t, "gpt "+spec, blocks(count(t, &p.Devices[0])), map[message]int{
			{"all_reduce", "tp", true, activation}: 4 * layers,
		})
	}
	p := planFor(t, "llama", "kvtp2", "layers=3", "")
	equal(t, "llama kvtp2", blocks(count(t, &p.Devices[0])), map[message]int{
		{"all_reduce", "tp", true, activation}: 4 * layers,
	})
	for _, c := range []struct{ model, spec string }{{"gpt", "tp2"}, {"llama", "kvtp2"}} {
		p := planFor(t, c.model, c.spec, "layers=3", "")
		n := 0
		for m, k := range count(t, &p.Devices[0]) {
			if m.bytes >= activation {
				n += k
			}
		}
		if want := 4*layers + 2; n != want {
			t.Errorf("%s %s: %d communications of activations, want %d", c.model, c.spec, n, want)
		}
	}
}

// TestGroupedTraffic: with fewer keys than devices, a block has the same
// all-reduces of activations over all devices as with as many. Partial sums of
// the devices of a key are reduced where that is less: of keys and values, whose
// gradients they are, or of the gradients of what makes those. Nothing else.
func TestGroupedTraffic(t *testing.T) {
	const layers, kv, head = 3, 2, 6
	p := planFor(t, "llama", "tp4", "layers=3", "")
	reduced, cheapest := int64(0), int64(2*embed*head*f32)
	for m, n := range count(t, &p.Devices[0]) {
		switch {
		case m == message{"all_reduce", "tp_kv,tp_group", true, activation}:
			if n != 4*layers {
				t.Errorf("%d times %s, want %d", n, m, 4*layers)
			}
		case m.kind == "all_reduce" && m.over == "tp_group":
			reduced += int64(n) * m.bytes
		case m.block:
			t.Errorf("%d times %s, want none", n, m)
		case m.kind == "all_gather" && (m.over != "tp_kv" || m.bytes != embed*kv*head*f32):
			t.Errorf("%d times %s, want none but of what has axis kv", n, m)
		}
	}
	most := int64(layers * 2 * batch * seq * head * f32)
	if reduced < layers*cheapest || reduced >= most {
		t.Errorf("the devices of a key add up %d bytes, want at least %d and less than the %d of keys and values", reduced, layers*cheapest, most)
	}
}

// TestVocabularyTraffic: logits of a vocabulary in parts are never gathered: for
// the softmax devices tell each other numbers for each token, the largest logit and
// the sum of exponentials. Shoeybi et al., section 3, the paragraph on the parallel
// cross-entropy. The target's logits are in the loss as they are, so that their mean
// is reduced, one number.
func TestVocabularyTraffic(t *testing.T) {
	p := planFor(t, "gpt", "tp2", "", "")
	tokens := 0
	for m, n := range count(t, &p.Devices[0]) {
		switch {
		case m.block:
		case m.kind != "all_reduce":
			t.Errorf("%d times %s", n, m)
		case m.bytes == batch*seq*f32:
			tokens += n
		case m.bytes > activation:
			t.Errorf("%d times %s: more than an activation", n, m)
		}
	}
	if tokens != 2 {
		t.Errorf("%d all-reduces of a number for each token, want 2", tokens)
	}
}

// TestSequenceTraffic: sequence parallelism takes the bytes of tensor
// parallelism: each all-reduce is a reduce-scatter and an all-gather of the same
// tensor; and the two inputs of a block that are gathered are gathered once more in
// the backward phase, as their shards are kept alone. Korthikanti et al., "Reducing
// activation recomputation in large transformer models" (2022), section 4.2.2.
func TestSequenceTraffic(t *testing.T) {
	const layers = 3
	for _, spec := range []string{"tp2 sp", "tp4 sp"} {
		p := planFor(t, "gpt", spec, "layers=3", "")
		equal(t, spec, blocks(count(t, &p.Devices[0])), map[message]int{
			{"reduce_scatter", "tp", true, activation}: 4 * layers,
			{"all_gather", "tp", true, activation}:     6 * layers,
		})
	}
}

// parameters are the bytes of the model's parameters, and how many there are.
func parameters(t *testing.T, d *program.Device) (bytes int64, n int) {
	t.Helper()
	for _, x := range d.Tensors {
		if !x.Train {
			continue
		}
		bytes += whole(&d.Buffers[x.Buffer])
		n++
	}
	if n == 0 {
		t.Fatal("no parameters")
	}
	return bytes, n
}

// whole are the bytes of the whole tensor of which a device has the buffer.
func whole(b *program.Buffer) int64 {
	size := int64(f32)
	for _, a := range b.Axes {
		size *= int64(a.Global)
	}
	return size
}

// totals are the bytes and the number of communications of a kind that move more
// than one number.
func totals(t *testing.T, d *program.Device, kind string) (bytes int64, n int) {
	for _, in := range step(t, d) {
		if in.Comm.Kind == kind && in.Comm.Bytes > f32 {
			bytes += in.Comm.Bytes
			n++
		}
	}
	return bytes, n
}

// TestDataTraffic: gradients are added up once: all-reduces have the bytes of
// the parameters together, of which a ring sends 2(N−1)/N. Patarasuk, Yuan,
// "Bandwidth optimal all-reduce algorithms for clusters of workstations" (2009),
// theorem 1. Blocks themselves communicate nothing.
func TestDataTraffic(t *testing.T) {
	for _, spec := range []string{"dp2", "dp4"} {
		p := planFor(t, "gpt", spec, "", "")
		d := &p.Devices[0]
		if got := blocks(count(t, d)); len(got) > 0 {
			t.Errorf("%s: blocks communicate %v", spec, got)
		}
		want, _ := parameters(t, d)
		if got, n := totals(t, d, "all_reduce"); got != want {
			t.Errorf("%s: %d all-reduces of %d bytes, want the %d of the parameters", spec, n, got, want)
		}
		for _, kind := range []string{"all_gather", "reduce_scatter", "all_to_all", "permute", "send"} {
			if got, n := totals(t, d, kind); n > 0 {
				t.Errorf("%s: %d times %s of %d bytes", spec, n, kind, got)
			}
		}
	}
}

// TestZeROTraffic: levels 1 and 2 reduce-scatter the gradients and gather the
// parameters that were updated, the bytes of data parallelism. Level 3 gathers a
// parameter for the forward pass and again for the backward pass, and
// reduce-scatters its gradient. Rajbhandari et al., "ZeRO" (2020), sections 7.1
// and 7.2. What the backward pass does not read (biases, and embeddings that are
// added) is gathered once: that is less than the published 3Ψ.
func TestZeROTraffic(t *testing.T) {
	for _, spec := range []string{"dp2 z1", "dp2 z2"} {
		p := planFor(t, "gpt", spec, "", "")
		d := &p.Devices[0]
		want, params := parameters(t, d)
		for _, kind := range []string{"reduce_scatter", "all_gather"} {
			if got, n := totals(t, d, kind); got != want || n > params {
				t.Errorf("%s: %d times %s of %d bytes, want the %d of %d parameters", spec, n, kind, got, want, params)
			}
		}
		if got, n := totals(t, d, "all_reduce"); n > 0 {
			t.Errorf("%s: %d all-reduces of %d bytes", spec, n, got)
		}
	}
	for _, spec := range []string{"dp2 z3", "fsdp2", "fsdp4"} {
		p := planFor(t, "gpt", spec, "", "")
		d := &p.Devices[0]
		want, _ := parameters(t, d)
		if got, n := totals(t, d, "reduce_scatter"); got != want {
			t.Errorf("%s: %d reduce-scatters of %d bytes, want %d", spec, n, got, want)
		}
		// Twice all parameters, less one gather of each without a backward use.
		gathered := 2*want - onlyAdded(d)
		if got, n := totals(t, d, "all_gather"); got != gathered {
			t.Errorf("%s: %d all-gathers of %d bytes, want %d of %d", spec, n, got, gathered, want)
		}
		if got, n := totals(t, d, "all_reduce"); n > 0 {
			t.Errorf("%s: %d all-reduces of %d bytes", spec, n, got)
		}
	}
}

// onlyAdded are the bytes of the parameters that examples/gpt only adds: their
// gradient is that of the sum.
func onlyAdded(d *program.Device) (bytes int64) {
	for _, x := range d.Tensors {
		switch name := x.Path[strings.LastIndex(x.Path, ".")+1:]; name {
		case "shift", "b1", "b2", "wpe":
			if x.Train {
				bytes += whole(&d.Buffers[x.Buffer])
			}
		}
	}
	return bytes
}

// TestRingTraffic: in the forward phase a device sends its part of the keys and of the
// values n−1 times on to the next one. In the backward phase it sends them round again,
// since it keeps the parts of two steps and not of all, and their gradients with them:
// 6·(n−1) parts of batch·seq/n·heads·head elements for each block. Liu, Zaharia,
// Abbeel, "Ring attention with blockwise transformers for near-infinite context"
// (2023), section 3. What is computed again rotates once more, 2·(n−1) times; grouped
// queries have as many times smaller parts as heads share a key (Ainslie et al.,
// "GQA", 2023, section 2.2). In the zig-zag order a part is two chunks,
// sent at once.
func TestRingTraffic(t *testing.T) {
	const layers, heads, head = 3, 4, 6
	for _, c := range []struct {
		model, spec, set, extra string
		n, seq, kv, times       int
	}{
		{"gpt", "cp2", "", "", 2, 12, heads, 6},
		{"gpt", "cp4", "", "", 4, 12, heads, 6},
		{"gpt", "zz2", "", "", 2, 12, heads, 6},
		{"gpt", "zz4", "seq=24", "", 4, 24, heads, 6},
		{"gpt", "cp8", "seq=16", "", 8, 16, heads, 6},
		{"gpt", "cp4", "", "recompute Block", 4, 12, heads, 8},
		{"gpt", "zz2", "", "recompute Block", 2, 12, heads, 6}, // the two steps that rematerialization has are kept,
		{"llama", "cp4", "", "", 4, 12, 2, 6},
		{"llama", "zz3", "", "", 3, 12, 2, 6},
	} {
		p := planFor(t, c.model, c.spec, strings.TrimSpace("layers=3 "+c.set), c.extra)
		part := int64(batch * c.seq / c.n * c.kv * head * f32)
		want := map[message]int{{"permute", "cp", true, part}: c.times * (c.n - 1) * layers}
		if strings.HasPrefix(c.spec, "zz") {
			// What dropout keeps is a function of logical positions: a byte for each
			// element, in two chunks, of which with two devices one stays.
			masks := 2 * layers * min(2, c.n-1)
			if c.extra != "" {
				masks *= 2 // and once more in the backward pass
			}
			want[message{"permute", "cp", true, int64(batch * c.seq / (2 * c.n) * embed)}] = masks
		}
		equal(t, fmt.Sprintf("%s %s %s", c.model, c.spec, c.extra), blocks(count(t, &p.Devices[0])), want)
	}
}

// TestGatherTraffic: with attention = gather, a block gathers its keys and its
// values, and scatters the sums of their gradients: the bytes of the ring in
// four collectives. Dubey et al., "The Llama 3 herd of models" (2024),
// section 3.3.2.
func TestGatherTraffic(t *testing.T) {
	const layers = 3
	for _, spec := range []string{"gather2", "gather4"} {
		p := planFor(t, "gpt", spec, "layers=3", "")
		const keys = batch * seq * 4 * 6 * f32
		equal(t, spec, blocks(count(t, &p.Devices[0])), map[message]int{
			{"all_gather", "cp", true, keys}:     2 * layers,
			{"reduce_scatter", "cp", true, keys}: 2 * layers,
		})
	}
}

// TestPipelineTraffic: for each boundary between stages and each microbatch, an
// activation forward and its gradient backward. Narayanan et al., "Efficient
// large-scale language model training on GPU clusters using Megatron-LM" (2021),
// section 4.1; with v chunks of each of p devices there are p·v − 1 boundaries
// (section 2.2), of which those where a fold turns, between stages of one device,
// are none. A tied embedding is sent to the last stage, and its gradient
// back, once in a step.
func TestPipelineTraffic(t *testing.T) {
	for _, c := range []struct {
		spec                  string
		stages, chunks, micro int
		folded                bool
	}{
		{"gpipe:2:2", 2, 1, 2, false}, {"gpipe:4:4", 4, 1, 4, false}, {"1f1b:2:4", 2, 1, 4, false}, {"1f1b:4:8", 4, 1, 8, false},
		{"zb_h1:2:4", 2, 1, 4, false}, {"interleaved:2:4:2", 2, 2, 4, false}, {"breadth_first:2:4:2", 2, 2, 4, false},
		{"zb_v:2:4:2", 2, 2, 4, true}, {"dualpipe_v:2:4:2", 2, 2, 4, true},
	} {
		p := planFor(t, "gpt", c.spec, "layers=5", "")
		sends, recvs := map[int64]int{}, 0
		for i := range p.Devices {
			d := &p.Devices[i]
			for _, in := range step(t, d) {
				switch in.Comm.Kind {
				case "send":
					sends[in.Comm.Bytes] += p.Copies()
					recvs -= p.Copies()
				case "recv":
					recvs += p.Copies()
				default:
					t.Errorf("%s: %s in %s", c.spec, in.Comm.Kind, in.Scope)
				}
			}
		}
		const embedding = 44 * embed * f32
		micro := int64(activation / c.micro)
		delete(sends, f32) // the loss, the norm of the gradients and the like
		want := map[int64]int{micro: 2 * (c.stages*c.chunks - 1) * c.micro, embedding: 2}
		if c.folded { // the first stage and the last are on one device
			want = map[int64]int{micro: 2 * (c.stages*c.chunks - c.chunks) * c.micro}
		}
		if fmt.Sprint(sends) != fmt.Sprint(want) || recvs != 0 {
			t.Errorf("%s: sends by bytes %v, want %v; %d receives more than sends", c.spec, sends, want, recvs)
		}
	}
}

// TestPipelineOfReplicas: the gradients of the microbatches are added up before
// the replicas add theirs, so that there is one all-reduce for each parameter.
func TestPipelineOfReplicas(t *testing.T) {
	p := planFor(t, "gpt", "dp2 1f1b:2:4", "layers=3", "")
	var got, want int64
	n := 0
	for i := range p.Devices {
		b, k := totals(t, &p.Devices[i], "all_reduce")
		got, n = got+b, n+k
	}
	all, params := parameters(t, &planFor(t, "gpt", "dp2", "layers=3", "").Devices[0])
	if want = all; got != want || n > params {
		t.Errorf("%d all-reduces of %d bytes, want the %d of %d parameters", n, got, want, params)
	}
}

// TestExpertTraffic: a layer of experts has two all-to-alls forward and two
// backward, of the slots of all experts: of the T tokens of a group, C =
// ceil(k·T/E · capacity) for each of E experts, of which a device keeps one part
// in N. Lepikhin et al., "GShard" (2020), section 3.2 and algorithm 1. No
// gradient of an expert is added up, for each is on one device.
func TestExpertTraffic(t *testing.T) {
	const layers, experts, chosen, capacity = 2, 4, 2, 1.25
	slots := int64(math.Ceil(chosen * seq * capacity / experts))
	for _, n := range []int64{2, 4} {
		p := planFor(t, "moe", fmt.Sprint("ep", n), "", "")
		d := &p.Devices[0]
		held := batch / n * experts * slots * embed * f32
		want := map[message]int{{"all_to_all", "ep", true, held - held/n}: 4 * layers}
		got := blocks(count(t, d))
		for m, k := range got {
			if m.kind == "all_reduce" && m.bytes == f32 && k <= layers {
				delete(got, m) // the router's loss
			}
		}
		equal(t, fmt.Sprint("ep", n), got, want)
		all, _ := parameters(t, d)
		own := int64(0)
		for _, x := range d.Tensors {
			if x.Train && strings.Contains(x.Path, ".moe.") && !strings.HasSuffix(x.Path, ".router") {
				own += whole(&d.Buffers[x.Buffer])
			}
		}
		if got, k := totals(t, d, "all_reduce"); got != all-own {
			t.Errorf("ep%d: %d all-reduces of %d bytes, want the %d of what is not an expert", n, k, got, all-own)
		}
	}
}
