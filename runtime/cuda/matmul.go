package cuda

import (
	"slices"
	"unsafe"

	"ptc/runtime/cuda/blaslt"
)

// matmul is a product that the library computes in the place of a kernel, or of a section of one.
type matmul struct {
	product *blaslt.Product
	at      blaslt.Addresses
	algo    blaslt.Algorithm
}

// enqueue gives the stream products, one behind the other: they share the workspace.
func (b *blas) enqueue(list []matmul) error {
	for i := range list {
		m := &list[i]
		if err := b.handle.Enqueue(m.product, m.at, &m.algo, b.workspace, b.e.stream); err != nil {
			return err
		}
	}
	return nil
}

// capture makes a graph of what the library does for products: its kernels and their arguments, which it
// does not tell otherwise.
func (b *blas) capture(list []matmul) (graph uintptr, err error) {
	return b.e.drv.capture(b.e.stream, func() error { return b.enqueue(list) })
}

// works says whether products use the workspace.
func works(list []matmul) bool {
	return slices.ContainsFunc(list, func(m matmul) bool { return m.algo.Workspace > 0 })
}

// products adds what the library does as a node. Those that use the workspace, of which there is one, are
// behind one another, whether they need wait or not.
func (b *builder) products(list []matmul) error {
	child, err := b.e.blas.capture(list)
	if err != nil {
		return err
	}
	defer func() { _ = b.e.drv.freeGraph(child) }()
	return b.add(func(after []uintptr) (uintptr, error) {
		if !works(list) {
			return b.e.drv.addChild(b.graph, after, child)
		}
		if b.worked != 0 && !slices.Contains(after, b.worked) {
			after = append(slices.Clone(after), b.worked)
		}
		n, err := b.e.drv.addChild(b.graph, after, child)
		b.worked = n
		return n, err
	})
}

// capture makes a graph of what f gives a stream.
func (d *driver) capture(stream uintptr, f func() error) (graph uintptr, err error) {
	if err := d.beginCapture(stream); err != nil {
		return 0, err
	}
	err = f()
	graph, end := d.endCapture(stream)
	if err == nil {
		err = end
	}
	if err != nil && graph != 0 {
		_ = d.freeGraph(graph)
		graph = 0
	}
	return graph, err
}

// nodes is how many nodes a graph has.
func (d *driver) nodes(g uintptr) (n int, err error) {
	var count uintptr
	err = d.call("cuGraphGetNodes", d.graphGetNodes, g, 0, uintptr(unsafe.Pointer(&count)))
	return int(count), err
}

func (d *driver) beginCapture(stream uintptr) error {
	return d.call("cuStreamBeginCapture", d.streamBeginCapture, stream, captureThread)
}

func (d *driver) endCapture(stream uintptr) (g uintptr, err error) {
	err = d.call("cuStreamEndCapture", d.streamEndCapture, stream, uintptr(unsafe.Pointer(&g)))
	return g, err
}

// addChild adds a copy of a graph as a node.
func (d *driver) addChild(g uintptr, after []uintptr, child uintptr) (node uintptr, err error) {
	err = d.call("cuGraphAddChildGraphNode", d.graphAddChild, uintptr(unsafe.Pointer(&node)), g,
		uintptr(unsafe.Pointer(unsafe.SliceData(after))), uintptr(len(after)), child)
	return node, err
}

func (d *driver) launchGraph(exec, stream uintptr) error {
	return d.call("cuGraphLaunch", d.graphLaunch, exec, stream)
}
