package train

import (
	"fmt"
	"time"

	"ptc/internal/units"
)

// probeBytes is how much is written to see how fast a folder is.
const probeBytes = 64 << 20

// grace warns, once, if a run may take longer to end than its scheduler waits.
type grace struct {
	*job
	step   time.Duration // the longest
	warned bool
}

// probe says before the first step whether checkpoints are likely to take too long, by writing some of as many
// bytes as this host writes. A run with a limit saves checkpoints.
func (g *grace) probe(k *keeper) error {
	if g.o.Grace <= 0 || !g.procs.root() {
		return nil
	}
	n := min(k.onHost, probeBytes)
	took, err := k.store.Probe(n)
	if err != nil {
		return saveError(err)
	}
	if n > 0 {
		took = time.Duration(float64(took) * float64(k.onHost) / float64(n))
	}
	g.saved("by what its folder takes for "+units.Bytes(n), took)
	return nil
}

// ran notes how long a step took.
func (g *grace) ran(step time.Duration) { g.step = max(g.step, step) }

// saved compares a save, known as how says, and the longest step with what a scheduler waits. Its signal may come
// while one checkpoint is being written, and just after a step has begun.
func (g *grace) saved(how string, save time.Duration) {
	need := g.step + save
	if g.o.Every > 0 && !g.o.CheckpointSync {
		need += save
	}
	if g.o.Grace <= 0 || need <= g.o.Grace || g.warned {
		return
	}
	g.warned = true
	step := ""
	if g.step > 0 {
		step = fmt.Sprintf(", and a step up to %s", round(g.step))
	}
	g.log.warn(fmt.Sprintf("--grace is %s, and to end a run may take %s: a checkpoint takes %s, %s%s; ask the scheduler for more time",
		g.o.Grace, round(need), round(save), how, step))
}
