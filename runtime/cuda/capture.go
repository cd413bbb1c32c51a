package cuda

import "unsafe"

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
