package compiler_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// Sizes of examples/moe in package matrix.
const (
	moeLayers, experts, chosen = 2, 4, 2
	capacity                   = 1.25
)

// held is the bytes that the slots of all experts take for the batch of one
// device of n: of the T tokens of a group C = ceil(k·T/E · capacity) for each of
// the E experts. Lepikhin et al., "GShard" (2020), section 2.2.
func held(n int64) int64 {
	return batch / n * experts * int64(math.Ceil(chosen*seq*capacity/experts)) * embed * f32
}

// exchanges are the all_to_alls among count.
func exchanges(all map[message]int) map[message]int {
	out := map[message]int{}
	for m, n := range all {
		if m.kind == "all_to_all" {
			out[m] = n
		}
	}
	return out
}

// dense are the bytes of the parameters that are of no expert, own of those that
// are.
func dense(t *testing.T, d *program.Device) (bytes, own int64) {
	all, _ := parameters(t, d)
	for _, x := range d.Tensors {
		if x.Train && strings.Contains(x.Path, ".moe.") && !strings.HasSuffix(x.Path, ".router") {
			own += whole(&d.Buffers[x.Buffer])
		}
	}
	return all - own, own
}

// over is the bytes of communications of a kind over these mesh axes that move
// more than one number.
func over(t *testing.T, d *program.Device, kind, axes string) (bytes int64) {
	for _, in := range step(t, d) {
		if in.Comm.Kind == kind && strings.Join(in.Comm.Over, ",") == axes && in.Comm.Bytes > f32 {
			bytes += in.Comm.Bytes
		}
	}
	return bytes
}

// TestNodesOfExperts: experts over (node, ep) have two all-to-alls forward and two
// backward for each layer, each within nodes of E and then across N of them: of
// the S bytes that a device holds (E−1)/E and (N−1)/N leave it. Rajbhandari et
// al., "DeepSpeed-MoE" (2022), section 5.3: between nodes N−1 messages for each
// device rather than (N−1)·E. In one level, (N·E−1)/(N·E) leave it.
func TestNodesOfExperts(t *testing.T) {
	const nodes, local = 2, 2
	s := held(nodes * local)
	d := &planFor(t, "moe", "node2 ep2", "", "").Devices[0]
	equal(t, "node2 ep2", exchanges(count(t, d)), map[message]int{
		{"all_to_all", "ep", true, s - s/local}:   4 * moeLayers,
		{"all_to_all", "node", true, s - s/nodes}: 4 * moeLayers,
	})
	d = &planFor(t, "moe", "node2 ep2", "", "two_level = 1 TiB").Devices[0]
	equal(t, "node2 ep2 in one level", exchanges(count(t, d)), map[message]int{
		{"all_to_all", "node,ep", true, s - s/(nodes*local)}: 4 * moeLayers,
	})
	want, _ := dense(t, d)
	if got := over(t, d, "all_reduce", "node,ep"); got != want {
		t.Errorf("all-reduces of %d bytes, want the %d of what is not an expert", got, want)
	}
}

// TestReplicasOfExperts: where the batch is over more devices than the experts,
// tokens travel among the devices of the experts alone, and gradients of experts
// are added up over those that have the same ones. Lepikhin et al., section 3.2;
// Fedus, Zoph, Shazeer, "Switch transformers" (2022), section 5.3.
func TestReplicasOfExperts(t *testing.T) {
	for _, c := range []struct{ spec, extra, within, among, all string }{
		{"dp2 ep2", "", "ep", "dp", "dp,ep"},
		{"ep2 dp2", "", "ep", "dp", "ep,dp"},
		{"dp2 node2", "shard experts over dp", "dp", "node", "dp,node"},
	} {
		d := &planFor(t, "moe", c.spec, "", c.extra).Devices[0]
		s := held(4)
		equal(t, c.spec, exchanges(count(t, d)), map[message]int{{"all_to_all", c.within, true, s - s/2}: 4 * moeLayers})
		all, own := dense(t, d)
		if got := over(t, d, "all_reduce", c.all); got != all {
			t.Errorf("%s: all-reduces over %s of %d bytes, want the %d of what is not an expert", c.spec, c.all, got, all)
		}
		if got := over(t, d, "all_reduce", c.among); got != own/2 {
			t.Errorf("%s: all-reduces over %s of %d bytes, want the %d of a device's experts", c.spec, c.among, got, own/2)
		}
		for _, kind := range []string{"all_gather", "reduce_scatter", "permute"} {
			if got, n := totals(t, d, kind); n > 0 {
				t.Errorf("%s: %d times %s of %d bytes", c.spec, n, kind, got)
			}
		}
	}
}

// TestExpertsOfAll: experts over the devices of data and of sequence parallelism. The
// tokens of a part of the batch are gathered over tp, forward, and their gradients,
// backward, as bytes of an activation; each device scatters them into its T-th of the S
// bytes of all slots, which it exchanges over dp, (D−1)/D · S/T there and as much back, in
// place of an exchange of S and sums of them. Lepikhin et al., "GShard" (2020), section
// 3.2: an all-to-all of what a device holds once.
func TestExpertsOfAll(t *testing.T) {
	const dp = 2
	for _, c := range []struct {
		tp  int64
		set string
	}{{2, ""}, {4, "experts=8"}} {
		rules := fmt.Sprintf("mesh dp = %d, tp = %d\nshard vocab over tp\nshard seq over tp between Block\nshard batch over dp\nshard experts over (dp, tp)", dp, c.tp)
		d := &planFor(t, "moe", "single", c.set, rules).Devices[0]
		s := held(dp)
		n := count(t, d)
		for m, want := range map[message]int{
			{"all_gather", "tp", true, activation / dp}:          2 * moeLayers,
			{"reduce_scatter", "tp", true, s}:                    0,
			{"all_to_all", "dp", true, s / c.tp * (dp - 1) / dp}: 4 * moeLayers,
			{"all_reduce", "tp", true, s}:                        0,
			{"all_gather", "dp,tp", true, 2 * s}:                 0,
		} {
			if n[m] != want {
				t.Errorf("tp = %d: %d times %s, want %d of %v", c.tp, n[m], m, want, n)
			}
		}
	}
}

// TestExpertsOfReplicas: batch and experts over one axis of data parallelism are
// as over one of their own.
func TestExpertsOfReplicas(t *testing.T) {
	d := &planFor(t, "moe", "dp2", "", "shard experts over dp").Devices[0]
	s := held(2)
	equal(t, "dp2", exchanges(count(t, d)), map[message]int{{"all_to_all", "dp", true, s - s/2}: 4 * moeLayers})
	want, _ := dense(t, d)
	if got, n := totals(t, d, "all_reduce"); got != want {
		t.Errorf("%d all-reduces of %d bytes, want the %d of what is not an expert", n, got, want)
	}
}

// TestTwoLevelTraffic: a gradient of S bytes over (dp, ep) is scattered and gathered
// within ep, of E devices, and added up over dp as S/E bytes. Jia et al., "Highly
// scalable deep learning training system with mixed-precision" (2018), section
// 3.3.2. That of an expert is over dp alone, as before.
func TestTwoLevelTraffic(t *testing.T) {
	const local = 2
	d := &planFor(t, "moe", "dp2 ep2", "", "two_level = 0").Devices[0]
	all, own := dense(t, d)
	for _, c := range []struct {
		kind, axes string
		want       int64
	}{
		{"reduce_scatter", "ep", all}, {"all_gather", "ep", all},
		{"all_reduce", "dp", all/local + own/local}, {"all_reduce", "dp,ep", 0},
	} {
		if got := over(t, d, c.kind, c.axes); got != c.want {
			t.Errorf("%s over %s of %d bytes, want %d", c.kind, c.axes, got, c.want)
		}
	}
}
