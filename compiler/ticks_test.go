package compiler

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ptc/ir"
)

// What is done for each microbatch is written once: a program grows with
// the number of microbatches by the table of ticks alone.
func TestMicrobatchesAreWrittenOnce(t *testing.T) {
	for _, schedule := range []string{"1f1b", "gpipe", "zb_h1", "interleaved  chunks = 2", "zb_v  chunks = 2"} {
		ops := map[int]int{}
		for _, m := range []int{4, 8} {
			layout := fmt.Sprintf("layout l { mesh dp = 2, pp = 2\n shard batch over dp\n pipeline blocks over pp { schedule = %s  microbatches = %d } }\n", schedule, m)
			source := strings.Replace(model(noisy, "blocks : B[layers]", "for b in blocks { x = b(x) }"), "batch = 4", "batch = 16", 1) + layout
			fused := func(_ int, name string, text func() string, _ time.Duration) error {
				if name != "fuse" {
					return nil
				}
				mod, errs := ir.Parse("fuse.ptir", []byte(text()))
				if len(errs) > 0 {
					return errs[0]
				}
				for _, f := range mod.Funcs {
					if f.Class == ir.Entry && len(f.Tasks) > 0 {
						ops[m] += len(f.Ops)
					}
				}
				return nil
			}
			if _, _, err := Compile(Options{File: "t.ptl", Source: []byte(source), Read: os.ReadFile, Target: "ref", Layout: "l", Hooks: []Hook{fused}}); err != nil {
				t.Fatal(schedule, err)
			}
		}
		if ops[4] == 0 || ops[4] != ops[8] {
			t.Errorf("%s: %d operations for 4 microbatches, %d for 8", schedule, ops[4], ops[8])
		}
	}
}

// Blocks stay one stack where a layout works on parts of the batch, whatever the precision:
// how many operations there are does not depend on how many blocks there are.
func TestBlocksOfPartsAreWrittenOnce(t *testing.T) {
	for _, how := range []string{"accumulate = 2", "mesh dp = 2\n shard batch over dp\n zero 2 over dp\n accumulate = 2", "mesh pp = 2\n pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }"} {
		for _, precision := range []string{"compute = f32", "compute = bf16  params = bf16", "compute = f16", "compute = f16  params = f16", "compute = f16  loss_scale = 1024", "compute = bf16  products = f8"} {
			ops := map[int]int{}
			for _, layers := range []int{6, 12} {
				layout := fmt.Sprintf("layout l { %s\n precision { %s } }\n", how, precision)
				source := strings.NewReplacer("batch = 4", "batch = 8", "layers = 6", fmt.Sprintf("layers = %d", layers)).Replace(
					model(noisy, "blocks : B[layers]", "for b in blocks { x = b(x) }")) + layout
				staged := func(_ int, name string, text func() string, _ time.Duration) error {
					if name != "stage" {
						return nil
					}
					mod, errs := ir.Parse("stage.ptir", []byte(text()))
					if len(errs) > 0 {
						return errs[0]
					}
					ops[layers] = len(mod.Func("step").Ops)
					return nil
				}
				if _, _, err := Compile(Options{File: "t.ptl", Source: []byte(source), Read: os.ReadFile, Target: "ref", Layout: "l", Hooks: []Hook{staged}}); err != nil {
					t.Fatal(layout, err)
				}
			}
			if ops[6] == 0 || ops[6] != ops[12] {
				t.Errorf("%s, %s: %d operations for 6 blocks, %d for 12", how, precision, ops[6], ops[12])
			}
		}
	}
}
