package cuda

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"ptc/runtime/device"
)

// captures decides whether exchanges are in the graphs of joint ranges. All devices of the plan decide
// alike: what one of them captures all that take part in it do, those capture all that they exchange, and so on. So
// one exchange by way of the host, on any device, leaves the program as it is.
func (p *captured) captures() {
	x, ok := p.e.r.Exchanges.(device.Capturer)
	if !ok || !p.enqueues() {
		return
	}
	err := x.Captures()
	if err == nil {
		err = p.viaHost(x)
	}
	if err == nil && p.hosted {
		err = fmt.Errorf("the host takes part")
	}
	if err != nil {
		p.e.warn(fmt.Sprintf("exchanges are between graphs, not in them: %v", err))
		return
	}
	p.capturer = x
}

// viaHost says what devices of the plan exchange by way of the host in the program, or nil.
func (p *captured) viaHost(x device.Capturer) error {
	plan := p.e.r.Plan
	for i := range plan.Devices {
		d := &plan.Devices[i]
		for j := range d.Progs[p.index].Instrs {
			in := &d.Progs[p.index].Instrs[j]
			if !isExchange(in) {
				continue
			}
			if c := in.Comm; !x.Enqueues(in) {
				return fmt.Errorf("%s goes by way of the host", strings.Join(strings.Fields(c.Kind+" "+c.Reduce+" of "+c.DType), " "))
			}
			if slices.ContainsFunc(in.Bufs, func(b int) bool { return d.Buffers[b].Memory != "" }) {
				return fmt.Errorf("%s of what is offloaded goes by way of the host", in.Comm.Kind)
			}
		}
	}
	return nil
}

// enqueues says whether the GPU exchanges anything by itself in the program.
func (p *captured) enqueues() bool {
	return slices.ContainsFunc(p.acts, func(a act) bool { return a.enqueued != nil })
}

// mixed is the exchanges of a graph.
//
//	before ─┬─ post ─┬─ group          of a message that is sent
//	        │        └─ exchange ── ended
//	        ├─ exchange ─┬─ group, or what is behind its done
//	        │            └─ ended
//	        └─ begun
//
// An exchange is behind the one of its connection before it. Marks, of which nothing in the graph
// waits, tell the host how far they are.
type mixed struct {
	capturer device.Capturer
	list     []device.Captured
	at       map[int]int // by instruction, where it is in the list
	nodes    []uintptr   // of the exchanges, as far as there are
	ops      []device.Enqueued
	marks    []uint32
	copies   []transfer // to the marks
}

// mix captures the exchanges of instructions [from, to); nil: none may be captured.
func (p *captured) mix(from, to int, capturer device.Capturer) (*mixed, error) {
	if capturer == nil {
		return nil, nil
	}
	m := &mixed{capturer: capturer, at: map[int]int{}}
	var ops []device.Enqueued
	for i := from; i < to; i++ {
		if q := p.acts[i].enqueued; q != nil {
			m.at[i] = len(ops)
			ops = append(ops, q)
		}
	}
	if len(ops) == 0 {
		return m, nil
	}
	var err error
	if m.list, err = capturer.Capture(ops); err == nil {
		err = p.e.newMarks(m, ops)
	}
	if err != nil {
		m.free(p.e.drv)
		return nil, err
	}
	m.nodes = make([]uintptr, len(ops))
	return m, nil
}

// newMarks makes the marks of exchanges that are something.
func (e *engine) newMarks(m *mixed, ops []device.Enqueued) error {
	for i, q := range ops {
		if m.list[i].Graph != 0 {
			m.ops = append(m.ops, q)
		}
	}
	const word = 4
	n := 2 * len(m.ops)
	if n == 0 {
		return nil
	}
	if err := e.needMark(); err != nil {
		return err
	}
	b, err := e.pin(int64(word * n))
	if err != nil {
		return err
	}
	m.marks = unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), n)
	for i := range n {
		m.copies = append(m.copies, lines(hostEnd(b[word*i:]), copyEnd{memory: typeDevice, device: e.mark}, word)...)
	}
	return nil
}

// needMark makes the memory with which marks are set.
func (e *engine) needMark() error {
	if e.mark != 0 {
		return nil
	}
	at, err := e.streams.Alloc(4)
	if err != nil {
		return err
	}
	e.mark = at
	return e.copied(func() error { return e.drv.toDevice(at, []byte{1, 0, 0, 0}, e.stream) })
}

// free lets go of the graphs of single exchanges, which the graph has copies of.
func (m *mixed) free(d *driver) {
	if m == nil {
		return
	}
	for i := range m.list {
		if g := m.list[i].Graph; g != 0 {
			_ = d.freeGraph(g)
		}
		m.list[i].Graph = 0
	}
}

// replay readies exchanges for a launch of the graph.
func (m *mixed) replay(stream uintptr) error {
	if m == nil {
		return nil
	}
	clear(m.marks)
	return m.capturer.Replay(stream, m.ops, m.marks)
}

// exchange adds an instruction's exchange.
func (b *builder) exchange(i int, start bool) error {
	m := b.mixed
	k := m.at[i]
	c := &m.list[k]
	after := b.before
	if c.Sends {
		posted, err := b.post(c)
		if err != nil {
			return err
		}
		b.group = append(b.group, posted...)
		if len(posted) > 0 {
			after = posted
		}
	}
	if c.Graph == 0 {
		return nil
	}
	n, err := b.marked(c, m.behind(after, c.Behind))
	if err != nil {
		return err
	}
	m.nodes[k] = n
	switch {
	case c.Sends:
	case start:
		b.started[i] = []uintptr{n}
	default:
		b.group = append(b.group, n)
	}
	return nil
}

// post adds the copies of a message to where it travels from.
func (b *builder) post(c *device.Captured) (nodes []uintptr, err error) {
	r := c.Post
	list := rows(copyEnd{memory: typeDevice, device: r.Dst}, copyEnd{memory: typeDevice, device: r.Src}, r)
	after := b.mixed.behind(b.before, c.Room)
	for i := range list {
		n, err := b.e.drv.addCopy(b.graph, after, &list[i], b.e.context)
		if err != nil {
			return nil, err
		}
		b.nodes++
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// marked adds an exchange with its marks.
func (b *builder) marked(c *device.Captured, after []uintptr) (uintptr, error) {
	drv, m := b.e.drv, b.mixed
	begun, ended := &m.copies[0], &m.copies[1]
	m.copies = m.copies[2:]
	if _, err := drv.addCopy(b.graph, after, begun, b.e.context); err != nil {
		return 0, err
	}
	n, err := drv.addChild(b.graph, after, c.Graph)
	if err != nil {
		return 0, err
	}
	b.nodes += 3
	_, err = drv.addCopy(b.graph, []uintptr{n}, ended, b.e.context)
	return n, err
}

// behind is what depends on some nodes and on that of an exchange, if there is one.
func (m *mixed) behind(nodes []uintptr, of int) []uintptr {
	if of < 0 || m.nodes[of] == 0 || slices.Contains(nodes, m.nodes[of]) {
		return nodes
	}
	return append(slices.Clone(nodes), m.nodes[of])
}
