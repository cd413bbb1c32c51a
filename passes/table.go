package passes

import (
	"fmt"

	"ptc/ir"
	"ptc/passes/autodiff"
	"ptc/passes/chunk"
	"ptc/passes/collectives"
	"ptc/passes/fuse"
	"ptc/passes/memory"
	"ptc/passes/offload"
	"ptc/passes/order"
	"ptc/passes/overlap"
	"ptc/passes/partition"
	"ptc/passes/pass"
	"ptc/passes/precision"
	"ptc/passes/propagate"
	"ptc/passes/remat"
	"ptc/passes/ringattention"
	"ptc/passes/roll"
	"ptc/passes/scale"
	"ptc/passes/schedule"
	"ptc/passes/simplify"
	"ptc/passes/stage"
)

// Pass is one row of [Table].
type Pass struct {
	Name string
	Doc  string // one line: what it does
	Run  pass.Func
	// In is the level of the modules it takes, Out of those it leaves.
	In, Out ir.Level
	// Required: without it a module does not reach the end of the table. The
	// others only make the plan better.
	Required bool
	// Keeps says that the pass gives values other shardings, places and
	// orders and computes them as before, so that every result keeps its number
	// (package validate), which the driver proves.
	Keeps bool
	// Enabled says whether the driver runs it under these options; nil means
	// always. A pass asked for by name runs in any case.
	Enabled func(o *Options) bool
}

func optional(o *Options) bool { return !o.NoOptimize }

// Table lists every pass in the order of a compilation.
var Table = []Pass{
	{Name: "roll", Doc: "writes repeated blocks once",
		Run: roll.Run, In: ir.Global, Out: ir.Global, Enabled: optional},
	{Name: "simplify", Doc: "removes common subexpressions and dead code, folds constants, applies algebra",
		Run: simplify.Run, In: ir.Global, Out: ir.Global, Enabled: optional},
	{Name: "context", Doc: "rewrites attention to the form of kernels, or to a ring over a sharded sequence",
		Run: ringattention.Run, In: ir.Global, Out: ir.Global},
	{Name: "scale", Doc: "multiplies an f16 loss by a scale, divides its gradients, skips steps that overflow",
		Run: scale.Run, In: ir.Global, Out: ir.Global, Required: true},
	{Name: "autodiff", Doc: "replaces symbolic gradients by the operations of reverse mode",
		Run: autodiff.Run, In: ir.Global, Out: ir.Global, Required: true},
	{Name: "cleanup", Doc: "simplifies again, now with the backward phase",
		Run: simplify.Run, In: ir.Global, Out: ir.Global, Enabled: optional},
	{Name: "precision", Doc: "casts contractions to the compute dtype or f8, keeps masters and statistics in f32",
		Run: precision.Run, In: ir.Global, Out: ir.Global, Required: true},
	{Name: "regroup", Doc: "reorders sums to add partial terms first, if devices then reduce fewer",
		Run: propagate.Regroup, In: ir.Global, Out: ir.Global, Enabled: optional},
	{Name: "stage", Doc: "assigns blocks to pipeline stages, splits the batch into microbatches",
		Run: stage.Run, In: ir.Global, Out: ir.Global, Required: true},
	{Name: "split-stacks", Doc: "splits stacks if a budget rematerializes some instances more than others",
		Run: remat.Split, In: ir.Global, Out: ir.Global},
	{Name: "remat", Doc: "rematerializes activations in the backward phase: of named modules, or within a budget",
		Run: remat.Run, In: ir.Global, Out: ir.Global, Keeps: true},
	{Name: "propagate", Doc: "gives every value a sharding, inserts reshards where shardings differ",
		Run: propagate.Run, In: ir.Global, Out: ir.Sharded, Required: true, Keeps: true},
	{Name: "partition", Doc: "replaces global sizes by those of one device, reshards by collectives",
		Run: partition.Run, In: ir.Sharded, Out: ir.Local, Required: true, Keeps: true},
	{Name: "collectives", Doc: "merges and moves collectives, splits those across nodes into two levels",
		Run: collectives.Run, In: ir.Local, Out: ir.Local, Keeps: true},
	{Name: "schedule", Doc: "gives each device of a pipeline its program, in the order of the schedule",
		Run: schedule.Run, In: ir.Local, Out: ir.Local, Required: true, Keeps: true},
	{Name: "offload-optimizer", Doc: "keeps optimizer states in host memory or on disk, updates them in pieces",
		Run: offload.Optimizer, In: ir.Local, Out: ir.Local, Keeps: true},
	{Name: "chunk", Doc: "computes large products and their readers, such as logits and loss, some rows at a time",
		Run: chunk.Run, In: ir.Local, Out: ir.Local, Enabled: optional},
	{Name: "fuse", Doc: "groups operations into kernels",
		Run: fuse.Run, In: ir.Local, Out: ir.Fused, Required: true, Keeps: true},
	{Name: "offload-activations", Doc: "keeps activations in host memory or on disk between forward and backward phase",
		Run: offload.Activations, In: ir.Fused, Out: ir.Fused, Keeps: true},
	{Name: "overlap", Doc: "puts collectives into buckets, starts them and transfers early, waits late",
		Run: overlap.Run, In: ir.Fused, Out: ir.Fused, Enabled: optional, Keeps: true},
	{Name: "memory", Doc: "pads rows if the target asks for it, gives every buffer an offset in its memory's arena",
		Run: memory.Run, In: ir.Fused, Out: ir.Planned, Required: true, Keeps: true},
	{Name: "order", Doc: "fixes the order of instructions, and where they wait",
		Run: order.Run, In: ir.Planned, Out: ir.Planned, Required: true, Keeps: true},
}

// Constraint is one ordering constraint of the table.
type Constraint struct{ Before, After, Reason string }

// Constraints hold for [Table]; they are checked at start-up.
var Constraints = []Constraint{
	{"roll", "simplify", "what is repeated is simplified once"},
	{"simplify", "context", "an attention is recognized in one form"},
	{"context", "autodiff", "the backward ring is the gradient of the forward one"},
	{"simplify", "autodiff", "each forward operation removed saves its backward operations"},
	{"scale", "autodiff", "the gradient is that of the scaled loss"},
	{"autodiff", "cleanup", "row gradients compute operands' gradients that nobody reads"},
	{"autodiff", "precision", "gradients are those of the exact mathematics; casts have no say in them"},
	{"autodiff", "stage", "each backward operation joins the stage of its forward operation"},
	{"autodiff", "propagate", "gradients must not depend on any layout"},
	{"cleanup", "precision", "casts hide algebra, and dead gradients must not count as readers"},
	{"precision", "stage", "costs depend on dtypes"},
	{"precision", "propagate", "collectives move the dtype that precision chose"},
	{"precision", "regroup", "sums are of what was rounded to the compute dtype, and so is what is sent of them"},
	{"regroup", "stage", "a sum is regrouped once for all stages"},
	{"stage", "split-stacks", "what must be kept depends on the microbatches in flight in a stage"},
	{"split-stacks", "remat", "of a stack, all instances rematerialize the same"},
	{"stage", "remat", "what must be kept depends on the microbatches in flight in a stage"},
	{"remat", "propagate", "a rematerialized operation is sharded like any other"},
	{"propagate", "partition", "partition reads the shardings"},
	{"partition", "collectives", "collectives exist after partition only"},
	{"collectives", "schedule", "slots are timed with their communication"},
	{"schedule", "offload-activations", "an activation is kept from one task of its microbatch to another"},
	{"schedule", "offload-optimizer", "pieces are of one device's shard, and each device of a pipeline has its own states"},
	{"schedule", "chunk", "a sweep is in one task of a device's program"},
	{"offload-optimizer", "chunk", "both phases of what stays elsewhere are proved in one stretch of passes that keep all values"},
	{"chunk", "fuse", "the kernels of all chunks are the same"},
	{"offload-optimizer", "fuse", "the update of a piece is a kernel"},
	{"remat", "offload-activations", "what is rematerialized need not be kept anywhere"},
	{"fuse", "offload-activations", "only what kernels leave in memory is offloaded"},
	{"offload-activations", "overlap", "transfers run concurrently with kernels"},
	{"schedule", "fuse", "a kernel must not span two slots"},
	{"fuse", "overlap", "kernels are what a collective runs concurrently with"},
	{"overlap", "memory", "what is under way keeps its memory"},
	{"fuse", "memory", "only kernel boundaries are buffers"},
	{"memory", "order", "waits protect the reuse of memory"},
}

func init() {
	if err := checkTable(Table, Constraints); err != nil {
		panic(err)
	}
}

// checkTable reports the first violated constraint, repeated name, or level
// that does not follow from the row before.
func checkTable(table []Pass, constraints []Constraint) error {
	at := map[string]int{}
	for i, p := range table {
		if _, twice := at[p.Name]; twice {
			return fmt.Errorf("passes: %s is in the table twice", p.Name)
		}
		at[p.Name] = i
		if i > 0 && p.In != table[i-1].Out {
			return fmt.Errorf("passes: %s takes level %s, but %s leaves %s",
				p.Name, p.In, table[i-1].Name, table[i-1].Out)
		}
		if p.Out != p.In && !p.Required {
			return fmt.Errorf("passes: %s changes the level, so it is required", p.Name)
		}
		if p.Required && p.Enabled != nil {
			return fmt.Errorf("passes: %s is required and can be disabled", p.Name)
		}
	}
	for _, c := range constraints {
		before, ok := at[c.Before]
		after, ok2 := at[c.After]
		switch {
		case !ok || !ok2:
			return fmt.Errorf("passes: a constraint names %s before %s; one is not in the table", c.Before, c.After)
		case before >= after:
			return fmt.Errorf("passes: %s must come before %s: %s", c.Before, c.After, c.Reason)
		}
	}
	return nil
}

// Names lists the passes in the order of the table.
func Names() []string {
	n := make([]string, len(Table))
	for i, p := range Table {
		n[i] = p.Name
	}
	return n
}

// Index is the place of the named pass in the table, from 1 (0 is the lowered
// source), or -1.
func Index(name string) int {
	for i, p := range Table {
		if p.Name == name {
			return i + 1
		}
	}
	return -1
}
