package emu

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ptc/backend/gpu/ptx"
)

// ways are those in which time passes for kernels that copy and multiply by themselves.
var ways = []Options{
	{Check: true, Steps: 1 << 20}, {Check: true, Late: true, Steps: 1 << 20},
	{Check: true, Seed: 1, Steps: 1 << 20}, {Check: true, Seed: 2, Steps: 1 << 20}, {Check: true, Seed: 3, Late: true, Steps: 1 << 20},
}

// source is a file of testdata. Each of them an assembler takes: ptxas -arch=sm_90a.
func source(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".ptx")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// launch runs the entry of a text.
func launch(d *Device, text string, l Launch) error {
	m, err := ptx.Parse(text)
	if err != nil {
		return err
	}
	p, err := Load(m.Entries[0])
	if err != nil {
		return err
	}
	return d.Run(p, l)
}

// mutant is a change of a program that a run must find, as an error or a wrong result, in some way; all
// says that it must in each. Several lines are the same: nth is which one is meant, from 1 on.
type mutant struct {
	old, new string
	nth      int
	all      bool
}

func (m mutant) apply(t *testing.T, text string) string {
	t.Helper()
	at := -1
	for range max(1, m.nth) {
		i := strings.Index(text[at+1:], m.old)
		if i < 0 {
			t.Fatalf("there is no `%s`", m.old)
		}
		at += 1 + i
	}
	return text[:at] + m.new + text[at+len(m.old):]
}

// hunt runs text in all ways, which must succeed, and its mutants, of which each must be found.
func hunt(t *testing.T, text string, run func(text string, o Options) error, mutants []mutant) {
	t.Helper()
	for i, o := range ways {
		if err := run(text, o); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	for _, m := range mutants {
		found, last := 0, error(nil)
		changed := m.apply(t, text)
		for _, o := range ways {
			if err := run(changed, o); err != nil {
				if found, last = found+1, err; !m.all && !testing.Verbose() {
					break
				}
			}
		}
		if found == 0 || m.all && found < len(ways) {
			t.Errorf("`%s` %d as `%s` is found %d times", m.old, m.nth, m.new, found)
		}
		if testing.Verbose() {
			t.Logf("`%s` %d as `%s`: %d of %d: %v", m.old, m.nth, m.new, found, len(ways), last)
		}
	}
}

// differ is the error of floats that are not as they should be.
func differ(mem []byte, n int, want func(i int) float32) error {
	for i := range n {
		if got := f32(load(mem[4*i : 4*i+4])); got != want(i) {
			return fmt.Errorf("%d: got %v, want %v", i, got, want(i))
		}
	}
	return nil
}

func TestBarriersInMemory(t *testing.T) {
	run := func(text string, o Options) error {
		d := &Device{Options: o}
		x, _ := floats(d, 256, func(i int) float32 { return float32(i) })
		y, out := floats(d, 256, func(int) float32 { return -1 })
		if err := launch(d, text, Launch{Grid: 1, Shared: 512, Args: []Arg{Word(x), Word(y)}}); err != nil {
			return err
		}
		return differ(out, 256, func(i int) float32 { return 2 * float32(i^1) })
	}
	hunt(t, source(t, "ring"), run, []mutant{
		{old: "@!%p1 bra EMPTY;"}, {old: "@!%p1 bra FULL;"},
		{old: "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r7+16], %r6;", new: "setp.eq.u32 %p1, %r1, %r1;", all: true},
		{old: "mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r7], %r6;", new: "setp.eq.u32 %p1, %r1, %r1;", all: true},
		{old: "mbarrier.arrive.shared::cta.b64 _, [%r7];", all: true}, {old: "mbarrier.arrive.shared::cta.b64 %d3, [%r7+16];", all: true},
		{old: "xor.b32 %r6, %r6, 1;", all: true}, {old: "mbarrier.init.shared::cta.b64 [%r0+8], 32;", all: true},
		{old: "mbarrier.init.shared::cta.b64 [%r0], 32;", new: "mbarrier.init.shared::cta.b64 [%r0], 31;", all: true},
		{old: "mbarrier.init.shared::cta.b64 [%r0], 32;", new: "mbarrier.init.shared::cta.b64 [%r0], 33;", all: true},
		{old: "bar.sync 0;", all: true}, {old: "st.shared.b32 [%r8+128]", new: "st.shared.b32 [%r8]", all: true},
		{old: "mbarrier.arrive.shared::cta.b64 _, [%r7];", new: "mbarrier.arrive.shared::cta.b64 _, [%r7], 2;", all: true},
	})
}

func TestNamedBarriers(t *testing.T) {
	run := func(text string, o Options) error {
		d := &Device{Options: o}
		x, _ := floats(d, 96, func(i int) float32 { return float32(i) })
		y, out := floats(d, 32, func(int) float32 { return -1 })
		if err := launch(d, text, Launch{Grid: 1, Shared: 512, Args: []Arg{Word(x), Word(y)}}); err != nil {
			return err
		}
		return differ(out, 32, func(i int) float32 { return float32(32 + 2*i) })
	}
	hunt(t, source(t, "named"), run, []mutant{
		{old: "bar.arrive 3, 96;", all: true}, {old: "bar.sync %r5, 96;", all: true},
		{old: "bar.arrive 3, 96;", new: "bar.arrive 4, 96;", all: true}, {old: "bar.sync %r5, 96;", new: "bar.sync %r5, 64;", all: true},
		{old: "mov.u32 %r5, 3;", new: "mov.u32 %r5, 16;", all: true}, {old: "mov.u32 %r5, 3;", new: "mov.u32 %r5, %r1;", all: true},
	})
}

func TestBulkBytes(t *testing.T) {
	run := func(text string, o Options) error {
		d := &Device{Options: o}
		x, _ := floats(d, 256, func(i int) float32 { return float32(i) })
		y, out := floats(d, 256, func(int) float32 { return -1 })
		if err := launch(d, text, Launch{Grid: 1, Shared: 2048, Args: []Arg{Word(x), Word(y)}}); err != nil {
			return err
		}
		return differ(out, 256, func(i int) float32 { return 2 * float32(i) })
	}
	text := source(t, "bulk")
	hunt(t, text, run, []mutant{
		{old: "fence.mbarrier_init.release.cluster;", all: true}, {old: "fence.proxy.async.shared::cta;", all: true},
		{old: "_, [%r0], 1024", new: "_, [%r0], 1008", all: true}, {old: "_, [%r0], 1024", new: "_, [%r0], 1040", all: true},
		{old: "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0], 0;\n  @!%p1 bra WAIT;", all: true},
		{old: "@!%p1 bra WAIT;"}, {old: "%p1, [%r0], 0;", new: "%p1, [%r0], 1;", all: true},
		{old: "bar.sync 0;", all: true}, {old: "bar.sync 0;", nth: 2, all: true}, {old: "bar.sync 1, 64;", all: true},
		{old: "cp.async.bulk.commit_group;", all: true}, {old: "cp.async.bulk.wait_group.read 0;", all: true},
		{old: "wait_group.read 0", new: "wait_group.read 1", all: true}, {old: "[%r0+128], 1024;", new: "[%r0+128], 512;", all: true},
		{old: "[%d0], 1024", new: "[%d0], 1032", all: true},
		{old: "add.f32 %r3, %r3, %r3;", new: "add.f32 %r3, %r3, %r3;\nst.shared.b32 [%r0], %r3;", all: true},
	})
}

func TestStoreMatrix(t *testing.T) {
	for _, how := range []string{"x4.trans", "x4"} {
		for _, o := range ways {
			d := &Device{Options: o}
			x, in := d.Alloc(512)
			y, out := d.Alloc(512)
			for i := range 256 {
				store(in[2*i:2*i+2], uint64(i))
			}
			text := strings.Replace(source(t, "matrix"), "stmatrix.sync.aligned.m8n8.x4.trans", "stmatrix.sync.aligned.m8n8."+how, 1)
			if err := launch(d, text, Launch{Grid: 1, Shared: 512, Args: []Arg{Word(x), Word(y)}}); err != nil {
				t.Fatal(err)
			}
			for i := range 256 {
				want := i
				if how == "x4.trans" {
					want = i&^63 | i%8*8 | i/8%8
				}
				if got := int(load(out[2*i : 2*i+2])); got != want {
					t.Fatalf("%s: %d: got %d, want %d", how, i, got, want)
				}
			}
		}
	}
}
