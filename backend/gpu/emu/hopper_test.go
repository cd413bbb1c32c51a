package emu

import (
	"strings"
	"testing"

	"ptc/backend/gpu/ptx"
)

// first is the beginning of programs whose first thread makes a barrier of 1 arrival at 0.
const first = `
	.shared .align 1024 .b8 s[4096];
	mov.u32 %r0, 0;
	mov.u32 %r1, %tid.x;
	ld.param.u64 %d0, [x];
	mul.wide.u32 %d1, %r1, 4;
	add.u64 %d1, %d1, %d0;
	setp.ne.u32 %p0, %r1, 0;
	@%p0 bra A;
	mbarrier.init.shared::cta.b64 [%r0], 1;
	fence.mbarrier_init.release.cluster;
A:
	bar.sync 0;
`

// TestStates: waits by state, bytes that are expected by themselves, barriers that are no more.
func TestStates(t *testing.T) {
	p := program(t, 128, "x", first+`
	@%p0 bra B;
	mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r0], 64;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0+128], [%d0], 64, [%r0];
	mbarrier.arrive.release.cta.shared::cta.b64 %d2, [%r0];
W:
	mbarrier.test_wait.shared::cta.b64 %p1, [%r0], %d2;
	@!%p1 bra W;
	mbarrier.inval.shared::cta.b64 [%r0];
	st.shared.b32 [%r0], %r1;
	ld.shared.b32 %r2, [%r0+132];
	st.global.b32 [%d0], %r2;
B:
	ret;`)
	for i, o := range ways {
		d := &Device{Options: o}
		x, mem := floats(d, 128, func(i int) float32 { return float32(i + 1) })
		if err := d.Run(p, Launch{Grid: 1, Args: []Arg{Word(x)}}); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if got := f32(load(mem[:4])); got != 2 {
			t.Errorf("%d: got %v", i, got)
		}
	}
}

// TestHopperErrors: mistakes that are found whatever the order is.
func TestHopperErrors(t *testing.T) {
	const operands = "setp.eq.u32 %p2, %r1, %r1;\nmov.u64 %d4, 32;\nmov.u64 %d5, 32;\n"
	const product = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r10, %r11, %r12, %r13}, %d4, %d5, %p2, 1, 1, 0, 0;\n"
	for body, want := range map[string]string{
		// Barriers in memory.
		"@%p0 bra E;\nmbarrier.expect_tx.shared::cta.b64 [%r0], 64;\nmbarrier.arrive.shared::cta.b64 _, [%r0];\nmbarrier.arrive.shared::cta.b64 _, [%r0];": "in whose phase",
		"@%p0 bra E;\nmbarrier.arrive.shared::cta.b64 _, [%r0+8];":                                      "no barrier was initialized at 8",
		"@%p0 bra E;\nmbarrier.init.shared::cta.b64 [%r0], 1;":                                          "initialized twice",
		"@%p0 bra E;\nmbarrier.init.shared::cta.b64 [%r0+8], 0;":                                        "a barrier of 0 arrivals",
		"@%p0 bra E;\nmbarrier.inval.shared::cta.b64 [%r0];\nmbarrier.arrive.shared::cta.b64 _, [%r0];": "no barrier was initialized",
		"@%p0 bra E;\nmbarrier.expect_tx.shared::cta.b64 [%r0], 1048576;":                               "expects 1048576 bytes",
		"@%p0 bra E;\nld.shared.b32 %r2, [%r0+4];":                                                      "as if it were ordinary memory",
		"@%p0 bra E;\nst.shared.v4.b32 [%r0], {%r1, %r1, %r1, %r1};":                                    "as if it were ordinary memory",
		"W:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0], 0;\n@!%p1 bra W;":                     "for phase 0 of the barrier at 0, of which 1 arrivals",
		"W:\nmbarrier.test_wait.parity.shared::cta.b64 %p1, [%r0], 0;\n@!%p1 bra W;":                    "for phase 0 of the barrier at 0, of which 1 arrivals",
		"mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0], 2;":                                       "parity 2",
		// Copies.
		"@%p0 bra E;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%d0], 64, [%r0];":                                                                                   "as if it were ordinary memory",
		"@%p0 bra E;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0+4080], [%d0], 64, [%r0];":                                                                              "bytes of shared memory at 4080",
		"@%p0 bra E;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0+64], [%d0], 64, [%r0];\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r0], 64;":                       "the block ends while",
		"@%p0 bra E;\ncp.async.bulk.global.shared::cta.bulk_group [%d0], [%r0+64], 2048;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;":                                                 "in no allocation",
		"@%p0 bra E;\ncp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%d0, {%r0}], [%r0+128];":                                                                                               "found no tensor map",
		"st.shared.b32 [%r0+64], %r1;\nfence.proxy.async;\n@%p0 bra E;\ncp.async.bulk.global.shared::cta.bulk_group [%d0], [%r0+64], 64;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;": "a race",
		// Global memory.
		"st.global.b32 [%d0], %r1;":                               "written with nothing to order",
		"ld.global.b32 %r2, [%d0];\nst.global.b32 [%d1], %r1;":    "it was read with nothing to order",
		"st.global.b32 [%d1], %r1;\nld.global.nc.b32 %r2, [%d1];": "as if no one wrote it",
		"mov.u32 %r3, %ctaid.x;\nsetp.ne.u32 %p1, %r3, 1;\n@%p1 bra E;\nld.global.b32 %r2, [%d1+4];\nbra F;\nE:\nst.global.b32 [%d1], %r1;\nF:":                                                          "another block",
		"@%p0 bra E;\nst.global.b32 [%d0], %r1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r0], 64;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0+64], [%d0], 64, [%r0];": "no fence.proxy.async",
		// Warpgroups.
		operands + product: "no wgmma.fence",
		operands + "mov.u64 %d4, 16383;\nwgmma.fence.sync.aligned;\n" + product:                                                                                                         "bytes of shared memory",
		operands + "mov.u64 %d4, -1;\nwgmma.fence.sync.aligned;\n" + product:                                                                                                            "mean nothing",
		operands + "mov.u64 %d4, 562949953421312;\nwgmma.fence.sync.aligned;\n" + product:                                                                                               "base offset 1",
		operands + "mov.u64 %d4, 4611686018427387912;\nwgmma.fence.sync.aligned;\n" + product:                                                                                           "within a pattern",
		operands + "wgmma.fence.sync.aligned;\n" + product:                                                                                                                              "ends with 1 products",
		operands + "wgmma.fence.sync.aligned;\n" + product + "wgmma.commit_group.sync.aligned;":                                                                                         "ends with 1 products",
		operands + "mov.u64 %d4, 0;\nwgmma.fence.sync.aligned;\n" + product:                                                                                                             "the barrier at 0 is reached",
		operands + "wgmma.fence.sync.aligned;\nadd.u32 %r10, %r0, 1;\n" + product:                                                                                                       "used after the last wgmma.fence",
		operands + "setp.lt.u32 %p2, %r1, 5;\nwgmma.fence.sync.aligned;\n" + product:                                                                                                    "where all have the same",
		operands + "setp.lt.u32 %p2, %r1, 32;\nwgmma.fence.sync.aligned;\n" + product:                                                                                                   "has other operands",
		operands + "wgmma.fence.sync.aligned;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 bra E;\n" + product + product + "E:\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;": "of the 4 warps",
		"setp.lt.u32 %p1, %r1, 32;\n@%p1 setmaxnreg.dec.sync.aligned.u32 24;":                                                                                                           "setmaxnreg is not executed",
		"setmaxnreg.inc.sync.aligned.u32 256;\nsetmaxnreg.dec.sync.aligned.u32 24;\nsetmaxnreg.inc.sync.aligned.u32 248;\nsetmaxnreg.inc.sync.aligned.u32 240;":                         "where the thread has 248",
		"setmaxnreg.dec.sync.aligned.u32 40;\nsetmaxnreg.dec.sync.aligned.u32 48;":                                                                                                      "where the thread has 40",
		"mov.u32 %r4, %laneid;\nbar.sync %r4, 128;":                                                                                                                                     "where all have the same",
		"barrier.cluster.wait.aligned;":                                    "has not arrived",
		"barrier.cluster.arrive.aligned;\nbarrier.cluster.arrive.aligned;": "twice",
	} {
		text := first + body
		if !strings.Contains(body, "E:") {
			text += "\nE:"
		}
		p := program(t, 128, "x", text+"\nret;")
		for i, o := range ways {
			d := &Device{Options: o}
			x, _ := d.Alloc(1024)
			err := d.Run(p, Launch{Grid: 2, Args: []Arg{Word(x)}})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d: found %v; expected `%s` of\n%s", i, err, want, body)
			}
		}
	}
}

// TestNotKnown: what is not emulated is refused before it runs.
func TestNotKnown(t *testing.T) {
	for _, text := range []string{
		"mbarrier.arrive.b64 _, [%r0];", "mbarrier.arrive.noComplete.shared::cta.b64 %d0, [%r0], 1;", "mbarrier.arrive_drop.shared::cta.b64 %d0, [%r0];",
		"mbarrier.try_wait.relaxed.shared::cta.b64 %p0, [%r0], %d0;", "mbarrier.arrive.shared::cluster.b64 %d0, [%r0];", "mbarrier.init.shared::cta.b64 [%r0];",
		"fence.acq_rel.gpu;", "fence.proxy.tensormap::generic.release.gpu;", "elect.sync %p0, -1;", "elect.sync _|%p0, 1;", "setmaxnreg.inc.sync.aligned.u32 20;",
		"setmaxnreg.inc.sync.aligned.u32 30;", "bar.arrive 1;", "bar.sync 16, 64;", "bar.sync 1, 33;", "barrier.cluster.arrive;", "mapa.u64 %d0, %d1, %r0;",
		"cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r0], [%d0, {%r1, %r2}], [%r3];",
		"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%d0, {%r1}], [%r3];", "cp.async.bulk.tensor.6d.global.shared::cta.bulk_group [%d0, {%r1}], [%r3];",
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%d0], [%r0], 64;", "cp.async.bulk.wait_group;", "stmatrix.sync.aligned.m8n8.x3.shared.b16 [%r0], {%r1, %r2, %r3};",
		"wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r10, %r11}, %d4, %d5, %p0, 1, 1, 0, 0;",
		"wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%r10, %r11, %r12, %r13, %r14, %r15}, %d4, %d5, %p0, 1, 1, 0, 0;",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r13}, %d4, %d5, %p0, 1, 1;",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r12}, %d4, %d5, %p0, 1, 1, 0, 0;",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r10, %r11, %r12, %r13}, %d4, %d5, %p0, 2, 1, 0, 0;",
		"wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%r10, %r11, %r12, %r13}, %d4, %d5, %p0, 1, 1, 0, 1;",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.bf16 {%r10, %r11, %r12, %r13}, %d4, %d5, %p0, 1, 1, 0, 0;",
		"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%r10, %r11, %r12, %r13}, %d4, %d5, %r0, 0, %p0, 1, 1, 0, 0;", "wgmma.wait_group.sync.aligned 8;", "wgmma.fence.sync.aligned 1;",
	} {
		m, err := ptx.Parse(".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry k()\n.reqntid 128, 1, 1\n{\n" + text + "\n}\n")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(m.Entries[0]); err == nil {
			t.Errorf("`%s` is accepted", text)
		}
	}
}
