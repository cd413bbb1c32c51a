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
// the number of microbatches by the table of turns alone.
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
