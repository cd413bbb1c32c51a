package fakecuda

import (
	"slices"
	"unsafe"

	"ptc/backend/gpu/emu"
	"ptc/runtime/cuda/fakelib"
)

// graph is nodes that are made, exec one that can be launched.
type graph struct {
	g     *gpu
	nodes []*node
}

type exec struct {
	g     *gpu
	nodes []*node
}

// node is a node of a graph.
type node struct {
	of     *graph
	after  []*node
	launch *launch    // a kernel
	copy   *copied    // or a copy
	work   func() int // or what a library does
	start  begin      // or what it does with other GPUs
	hold   *int       // how many graphs have it, for that library
	child  []*node    // or a graph
	handle uintptr    // of the graph's, for errors
}

// countGraphs counts the graphs that have nodes, by more or fewer.
func countGraphs(nodes []*node, by int) {
	for _, n := range nodes {
		if n.hold != nil {
			*n.hold += by
		}
		countGraphs(n.child, by)
	}
}

// launch is a kernel with its arguments.
type launch struct {
	k      *kernel
	blocks int
	shared int
	args   []emu.Arg
}

// newLaunch reads a launch as a driver does: as many arguments as the kernel takes.
func (d *Driver) newLaunch(function uintptr, grid, block [3]uint32, shared uint32, params, extra uintptr) (*launch, int) {
	k, ok := d.function(function)
	if !ok {
		return nil, InvalidHandle
	}
	e := k.program.Entry()
	bad := func(what string) (*launch, int) {
		d.Problem("kernel %s is launched with %s", e.Name, what)
		return nil, InvalidValue
	}
	switch {
	case grid[0] == 0 || grid[1] != 1 || grid[2] != 1:
		return bad("a grid that is none")
	case int(block[0]) != e.Threads || block[1] != 1 || block[2] != 1:
		return bad("blocks of other threads than it has")
	case int(shared) > k.shared:
		return bad("more shared memory than it was allowed")
	case extra != 0:
		return bad("extra options")
	}
	l := &launch{k: k, blocks: int(grid[0]), shared: int(shared)}
	for i, p := range e.Params {
		if params == 0 {
			return bad("no arguments")
		}
		at := *fakelib.Pointer[uintptr](params + 8*uintptr(i))
		if at == 0 {
			return bad("fewer arguments than it takes")
		}
		if p.Bytes > 0 {
			l.args = append(l.args, emu.Arg{Bytes: slices.Clone(unsafe.Slice(fakelib.Pointer[byte](at), p.Bytes))})
			continue
		}
		l.args = append(l.args, emu.Word(*fakelib.Pointer[uint64](at)))
	}
	return l, Success
}

// maxSteps bounds what a warp of a kernel of a test does.
const maxSteps = 1 << 24

func (d *Driver) run(g *gpu, l *launch) int {
	if l.k.m.unloaded {
		d.Problem("kernel %s is launched after its module was unloaded", l.k.program.Entry().Name)
		return InvalidHandle
	}
	g.Options = emu.Options{Check: true, Late: d.clock.rng == nil, Steps: maxSteps}
	if d.clock.rng != nil {
		g.Seed = d.clock.rng.Uint64()
	}
	d.notes.add(&d.order, l.k.program.Entry().Name)
	if err := g.Run(l.k.program, emu.Launch{Grid: l.blocks, Shared: l.shared, Args: l.args}); err != nil {
		return d.fault(g, err)
	}
	return Success
}

func launchKernel(d *Driver, g *gpu, s *stream, a []uintptr) int {
	grid, block := [3]uint32{uint32(a[1]), uint32(a[2]), uint32(a[3])}, [3]uint32{uint32(a[4]), uint32(a[5]), uint32(a[6])}
	l, r := d.newLaunch(a[0], grid, block, uint32(a[7]), a[9], a[10])
	if r != Success {
		return r
	}
	return d.enqueue(s, func() int { return d.run(g, l) })
}

func graphCreate(d *Driver, g *gpu, a []uintptr) int {
	if a[1] != 0 {
		return InvalidValue
	}
	*fakelib.Pointer[uintptr](a[0]) = d.Handle(&graph{g: g})
	return Success
}

func graphDestroy(d *Driver, _ *gpu, x *graph, a []uintptr) int {
	for _, n := range x.nodes {
		d.Drop(n.handle)
	}
	countGraphs(x.nodes, -1)
	d.Drop(a[0])
	return Success
}

// add adds a node behind others of the graph.
func (d *Driver) add(a []uintptr, n *node) int {
	x, ok := get[*graph](d, "graph", a[1])
	if !ok {
		return InvalidHandle
	}
	if a[3] > 0 {
		for _, h := range unsafe.Slice(fakelib.Pointer[uintptr](a[2]), a[3]) {
			o, ok := get[*node](d, "node", h)
			if ok && (o.of != x || slices.Contains(n.after, o)) {
				d.Problem("a node of another graph, or twice the same")
			}
			if !ok || o.of != x || slices.Contains(n.after, o) {
				return InvalidValue
			}
			n.after = append(n.after, o)
		}
	}
	n.of = x
	x.nodes = append(x.nodes, n)
	n.handle = d.Handle(n)
	*fakelib.Pointer[uintptr](a[0]) = n.handle
	return Success
}

// addKernel reads CUDA_KERNEL_NODE_PARAMS_v2 (cuda.h of CUDA 12.4) by the offsets of its fields.
func addKernel(d *Driver, _ *gpu, a []uintptr) int {
	p := a[4]
	u32 := func(at uintptr) uint32 { return *fakelib.Pointer[uint32](p + at) }
	word := func(at uintptr) uintptr { return *fakelib.Pointer[uintptr](p + at) }
	if word(56) != 0 || word(64) != 0 {
		d.Problem("a node with a kernel or a context")
		return InvalidValue
	}
	l, r := d.newLaunch(word(0), [3]uint32{u32(8), u32(12), u32(16)}, [3]uint32{u32(20), u32(24), u32(28)}, u32(32), word(40), word(48))
	if r != Success {
		return r
	}
	return d.add(a, &node{launch: l})
}

func addCopy(d *Driver, g *gpu, a []uintptr) int {
	if a[5] != g.context {
		d.Problem("a copy in another context")
		return InvalidContext
	}
	c, r := d.readCopy(g, a[4])
	if r != Success {
		return r
	}
	return d.add(a, &node{copy: c})
}

func addEmpty(d *Driver, _ *gpu, a []uintptr) int { return d.add(a, &node{}) }

// graphNodes counts nodes, for who asks for none of them.
func graphNodes(d *Driver, _ *gpu, x *graph, a []uintptr) int {
	switch {
	case a[1] != 0:
		return InvalidValue
	}
	*fakelib.Pointer[uintptr](a[2]) = uintptr(len(x.nodes))
	return Success
}

func instantiate(d *Driver, _ *gpu, x *graph, a []uintptr) int {
	switch {
	case a[2] != 0:
		return InvalidValue
	}
	countGraphs(x.nodes, 1)
	*fakelib.Pointer[uintptr](a[0]) = d.Handle(&exec{g: x.g, nodes: slices.Clone(x.nodes)})
	return Success
}

func execDestroy(d *Driver, g *gpu, x *exec, a []uintptr) int {
	r := d.flushAll(g)
	countGraphs(x.nodes, -1)
	d.Drop(a[0])
	return r
}

func graphLaunch(d *Driver, g *gpu, a []uintptr) int {
	x, ok := get[*exec](d, "executable graph", a[0])
	s, ok2 := get[*stream](d, "stream", a[1])
	if !ok || !ok2 {
		return InvalidHandle
	}
	for _, n := range x.nodes {
		if n.launch != nil && n.launch.k.m.unloaded {
			d.Problem("a graph is launched after the module of kernel %s was unloaded", n.launch.k.program.Entry().Name)
			return InvalidHandle
		}
	}
	return d.replay(s, x)
}
