package emu

import (
	"fmt"
	"math/rand/v2"

	"ptc/backend/gpu/ptx"
	"ptc/internal/order"
)

// Options say in which of the orders that a GPU may take things happen.
type Options struct {
	// Seed is of the turns of warps, of when copies and products are done, and of which lane is
	// elected; 0 lets warps run from wait to wait, and does copies and products at once.
	Seed uint64
	// Late does copies and products when something waits for them, and not before; who looks
	// whether they are done does so in vain every second time.
	Late bool
	// Check finds races in shared and in global memory.
	Check bool
	// Steps is how many instructions a warp may take; 0 stands for 1<<32.
	Steps int64
}

// Device is a GPU: memory, and how it takes its time.
type Device struct {
	Memory
	Options
	Counts Counts // of all launches so far
	trace  *trace // of global memory, in the launch at hand; nil if races are not looked for
}

// Counts is what launches did.
type Counts struct {
	Instructions  int64 // of warps
	Doubles       int64 // those of them that compute in f64
	Requests      int64 // loads and stores of warps in global memory
	Lines         int64 // of 128 bytes that requests touched: the cache serves one a clock at most
	GlobalSectors int64 // of 32 bytes that global accesses touched, for each instruction of a warp
	GlobalBytes   int64 // that they asked for
	Conflicts     int64 // turns beyond the first that accesses to the banks of shared memory took
}

// Launch is how a kernel is started.
type Launch struct {
	Grid   int // blocks
	Only   int // clusters that run, the first ones; 0 stands for all
	Shared int // bytes of dynamic shared memory
	Args   []Arg
}

// Arg is an argument: a number, or bytes.
type Arg struct {
	Word  uint64
	Bytes []byte
}

// Word is a number as an argument.
func Word(x uint64) Arg { return Arg{Word: x} }

// maxShared is how many bytes of shared memory a block has at most, of any GPU so far.
const maxShared = 227 << 10

// Run launches p, and returns when all of its blocks have ended.
func (d *Device) Run(p *Program, l Launch) error {
	if l.Grid < 1 {
		return fmt.Errorf("emu: %s: a grid of %d blocks", p.entry.Name, l.Grid)
	}
	if l.Shared > 0 && !p.entry.Dynamic {
		return fmt.Errorf("emu: %s: %d bytes of dynamic shared memory, of which it has none", p.entry.Name, l.Shared)
	}
	if n := p.static + l.Shared; l.Shared < 0 || n > maxShared {
		return fmt.Errorf("emu: %s: %d bytes of shared memory; a block has %d at most", p.entry.Name, n, maxShared)
	}
	if n := p.entry.Cluster; n > maxCluster || n > 1 && l.Grid%n != 0 {
		return fmt.Errorf("emu: %s: a grid of %d blocks in clusters of %d", p.entry.Name, l.Grid, n)
	}
	params, err := p.pack(l.Args)
	if err != nil {
		return fmt.Errorf("emu: %s: %w", p.entry.Name, err)
	}
	var random *rand.Rand
	if d.Seed != 0 {
		random = rand.New(rand.NewPCG(d.Seed, 1))
	}
	d.trace = nil
	if d.Check {
		d.trace = &trace{pages: map[uint64]*page{}}
	}
	c := newCluster(d, p, l, params, random)
	clusters := order.Of(l.Grid / len(c.blocks))
	if l.Only > 0 {
		clusters = clusters[:min(l.Only, len(clusters))]
	}
	if random != nil {
		random.Shuffle(len(clusters), func(i, j int) { clusters[i], clusters[j] = clusters[j], clusters[i] })
	}
	for _, i := range clusters {
		if d.trace != nil {
			d.trace.block = int32(i + 1)
		}
		if err := c.run(i); err != nil {
			return fmt.Errorf("emu: %s: %w", p.entry.Name, err)
		}
	}
	return nil
}

// pack puts arguments where `ld.param` finds them.
func (p *Program) pack(args []Arg) ([]byte, error) {
	if len(args) != len(p.entry.Params) {
		return nil, fmt.Errorf("%d arguments for %d parameters", len(args), len(p.entry.Params))
	}
	out := make([]byte, p.paramBytes)
	for i, x := range p.entry.Params {
		at := out[p.symbols[x.Name]:]
		if x.Bytes == 0 {
			store(at[:8], args[i].Word)
			continue
		}
		if len(args[i].Bytes) != x.Bytes {
			return nil, fmt.Errorf("argument %s has %d bytes; expected %d", x.Name, len(args[i].Bytes), x.Bytes)
		}
		copy(at, args[i].Bytes)
	}
	return out, nil
}

// Program is an entry, ready to be executed.
type Program struct {
	entry      *ptx.Entry
	code       []inst
	slots      int   // of the register file of a warp
	first      []row // what the register file of a warp has before it begins, but for special registers
	special0   int   // slots of special registers, in the order of specials
	symbols    map[string]int64
	paramBytes int
	static     int  // bytes of shared memory before what is dynamic
	products   bool // whether it has products of warpgroups
	alone      bool // whether it has instructions of the async proxy, or barriers in memory
}

// Entry is what p was made of.
func (p *Program) Entry() *ptx.Entry { return p.entry }

// specials are the special registers that there are.
var specials = []string{"%tid.x", "%ntid.x", "%ctaid.x", "%nctaid.x", "%laneid", "%warpid",
	"%cluster_ctarank", "%cluster_nctarank", "%clusterid.x", "%nclusterid.x"}

// lanes is how many threads a warp has.
const lanes = 32

// row is a register of all lanes of a warp.
type row [lanes]uint64

// inst is a decoded instruction.
type inst struct {
	run     func(w *warp, in *inst) error
	guard   int // slot of a predicate, or -1
	not     bool
	to      []int   // slots of results
	from    []int   // slots of operands
	offsets []int64 // of operands, where they are addresses
	target  int     // of a branch
	bytes   int     // of one element of an access
	n       int     // what else is static: elements, groups
	all     bool    // all lanes of the warp have to be here
	double  bool    // it computes in f64
	product bool    // it is of the products of warpgroups, whose registers have rules of their own
	at      int     // statement
}
