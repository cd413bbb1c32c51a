package compiler_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/backend/tile/schedule"
	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/runtime/program"
)

// halves cuts every sum that has an even axis in two, and others in three, where they can be.
func halves(k *fusion.Kernel) int64 {
	for _, n := range []int{2, 3} {
		for _, a := range k.Reduce {
			if a.Size%n == 0 {
				return int64(n)
			}
		}
	}
	return 1
}

// example is an example's source, as options.
func example(t *testing.T, name string, set ...string) compiler.Options {
	t.Helper()
	file := filepath.Join("..", "examples", name, name+".ptl")
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return compiler.Options{File: name + ".ptl", Source: src, Set: set}
}

// sums are the instructions of p's step that add parts up, by their numbers, for the first
// device.
func sums(p *program.Plan) (out []int) {
	for i, in := range p.Devices[0].Progs[0].Instrs {
		if in.Comm == nil && strings.Contains(p.Kernels[in.Kernel].IR, "over=(part)") {
			out = append(out, i)
		}
	}
	return out
}

// TestParts: sums in parts are those in one, in pipelines of microbatches, whose first tick
// has nothing to add to, and on several devices. Every pass's module is verified, and
// fusing proved.
func TestParts(t *testing.T) {
	small := []string{"layers=2", "embed=16", "heads=2", "head=8", "seq=8", "batch=8", "vocab=32"}
	cases := map[string]compiler.Options{
		"gpt": example(t, "gpt", small...),
		"mlp": example(t, "mlp", "batch=8", "embed=4", "hidden=12", "vocab=16", "seq=4"),
	}
	for _, layout := range []string{"gpipe", "f1b", "zb_h1", "interleaved"} {
		cases[layout] = compiler.Options{File: "m.ptl", Source: []byte(pipelined["weights of the batch"]), Layout: layout}
	}
	for _, layout := range []string{"data", "three_d"} {
		o := cases["gpt"]
		o.Layout = layout
		cases["gpt "+layout] = o
	}
	first := 0
	for name, o := range cases {
		t.Run(name, func(t *testing.T) {
			o.Target, o.VerifyEach = "ref:f64", true
			runs := map[bool]*matrix.Run{}
			for _, parts := range []bool{false, true} {
				if o.Parts = nil; parts {
					o.Parts = halves
				}
				p, _, err := compiler.Compile(o)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(sums(p)); (n > 0) != parts {
					t.Fatalf("found %d sums of parts", n)
				}
				for _, i := range sums(p) {
					if p.Devices[0].Progs[0].Instrs[i].First != nil {
						first++
					}
				}
				if runs[parts], err = matrix.TrainOn(p, 3, 2); err != nil {
					t.Fatal(err)
				}
			}
			if r := matrix.Compare(runs[false], runs[true], matrix.Target{Tolerance: 1e-9}); !r.OK() {
				t.Error(r)
			}
		})
	}
	if first == 0 {
		t.Error("no sum of parts has another kernel in the first tick")
	}
}

// TestPartsWait: a plan in which the sum of parts does not wait for them is refused, and
// so is one in which partial sums overlap memory that a concurrent kernel reads or writes.
func TestPartsWait(t *testing.T) {
	o := example(t, "gpt", "layers=2", "embed=16", "heads=2", "head=8", "seq=8", "batch=8")
	o.Target, o.Parts = "ref", halves
	p, _, err := compiler.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	all := sums(p)
	if len(all) < 5 {
		t.Fatalf("found %d sums of parts; expected 5 or more", len(all))
	}
	shared := 0
	for _, i := range all {
		mutant, _ := stored(t, p)
		instrs := mutant.Devices[0].Progs[0].Instrs
		if instrs[i].NoWait {
			t.Errorf("instruction %d adds parts up and does not wait for them", i)
		}
		instrs[i].NoWait = true
		if data, err := program.Encode(mutant); err == nil {
			if _, err = program.Decode(data); err == nil {
				t.Errorf("instruction %d: the plan is taken though it adds parts up before they are there", i)
			}
		}
		mutant, _ = stored(t, p)
		if overlay(mutant, i-1) {
			shared++
			data, err := program.Encode(mutant)
			if err == nil {
				_, err = program.Decode(data)
			}
			if err == nil {
				t.Errorf("instruction %d: the plan is accepted although its partial sums overlap memory of a concurrent kernel", i-1)
			}
		}
	}
	if shared == 0 {
		t.Error("no kernel runs concurrently with one that makes parts")
	}
}

// overlay moves the partial sums that instruction i makes over a buffer of the instruction
// before or behind that runs concurrently with it. It reports whether there is one.
func overlay(p *program.Plan, i int) bool {
	d := &p.Devices[0]
	instrs := d.Progs[0].Instrs
	part := -1
	for n, b := range instrs[i].Bufs {
		if k := p.Kernels[instrs[i].Kernel]; strings.Contains(k.IR, "out=(part") && k.Args[n].Write {
			part = b
			break
		}
	}
	if part < 0 || i == 0 || !instrs[i].NoWait || instrs[i-1].Comm != nil {
		return false
	}
	before := instrs[i-1]
	for n, b := range before.Bufs {
		if p.Kernels[before.Kernel].Args[n].Write {
			d.Buffers[part].Offset = d.Buffers[b].Offset
			return true
		}
	}
	return false
}

// TestPartsOfTeams: a step with sums in parts, as native code, gives the same bytes with
// one, two and three threads.
func TestPartsOfTeams(t *testing.T) {
	o := example(t, "gpt", "layers=1", "embed=32", "heads=2", "head=16", "seq=16", "batch=16")
	o.Target, o.Parts = best(t), halves
	p, _, err := compiler.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(sums(p)) == 0 {
		t.Fatal("no sums of parts")
	}
	want, err := resultOf(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	for threads := 2; threads <= 3; threads++ {
		got, err := resultOf(p, threads)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d threads: other bytes than one thread's, or %v", threads, err)
		}
	}
}

// TestGivenParts: a schedule that cuts a sum in parts makes other kernels of the product; the
// plan has the schedule, though its kernel is no more, and is rebuilt from itself.
func TestGivenParts(t *testing.T) {
	o := example(t, "mlp", "batch=8", "embed=4", "hidden=12", "vocab=16", "seq=4")
	if o.Target = best(t); o.Target == "ref" {
		t.Skip("not applicable: the reference cuts nothing")
	}
	whole, _, err := compiler.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(sums(whole)); n > 0 {
		t.Fatalf("found %d sums of parts of a small model", n)
	}
	o.Schedules = schedule.NewTable(whole.Target)
	for _, k := range whole.Kernels {
		if k.Class != "gemm" {
			continue
		}
		m, errs := ir.Parse("kernel.ptir", []byte("ptir 1 fused \"k\"\n\n"+k.IR))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		o.Schedules.Set(fusion.Key(m.Funcs[0]), schedule.Schedule{Split: 2}, "")
	}
	p, _, err := compiler.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(sums(p)) == 0 || len(p.Schedules) != len(o.Schedules.Keys()) {
		t.Fatalf("found %d sums of parts and %d schedules; expected some, and %d", len(sums(p)), len(p.Schedules), len(o.Schedules.Keys()))
	}
	again, _, err := compiler.Rebuild(p, "")
	if err != nil {
		t.Fatal(err)
	}
	p, want := stored(t, p)
	again, got := stored(t, again)
	if !bytes.Equal(got, want) {
		t.Errorf("other bytes; the plans differ in %v", compiler.Differences(p, again))
	}
}
