package cuda

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"ptc/runtime/device"
	"ptc/runtime/program"
)

// capturerOf decides whether exchanges are in the graphs of joint ranges: nil says that they are not. All devices of
// the plan decide alike: what one of them captures all that take part in it do, those capture all that they exchange,
// and so on. So one exchange by way of the host, on any device, leaves the program as it is.
func capturerOf(r *device.Request, p *resolved, prog int, hosted bool) device.Capturer {
	x, ok := r.Exchanges.(device.Capturer)
	if !ok || !slices.ContainsFunc(p.acts, func(a act) bool { return a.enqueued != nil }) {
		return nil
	}
	err := x.Captures()
	if err == nil {
		err = viaHost(x, r.Plan, prog)
	}
	if err == nil && hosted {
		err = fmt.Errorf("the host takes part")
	}
	if err != nil {
		p.warn(fmt.Sprintf("exchanges are between graphs, not in them: %v", err))
		return nil
	}
	return x
}

// viaHost says what devices of the plan exchange by way of the host in a program, or nil.
func viaHost(x device.Capturer, plan *program.Plan, prog int) error {
	for i := range plan.Devices {
		d := &plan.Devices[i]
		for j := range d.Progs[prog].Instrs {
			in := &d.Progs[prog].Instrs[j]
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
func (p *resolved) mix(from, to int, capturer device.Capturer) (*mixed, error) {
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
		err = p.streams.newMarks(m, ops)
	}
	if err != nil {
		m.free(p.drv)
		return nil, err
	}
	m.nodes = make([]uintptr, len(ops))
	return m, nil
}

// newMarks makes the marks of exchanges that are something.
func (s *streams) newMarks(m *mixed, ops []device.Enqueued) error {
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
	if err := s.needOne(); err != nil {
		return err
	}
	b, err := s.pin(int64(word * n))
	if err != nil {
		return err
	}
	m.marks = unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(b))), n)
	for i := range n {
		m.copies = append(m.copies, lines(hostEnd(b[word*i:]), copyEnd{memory: typeDevice, device: s.one}, word)...)
	}
	return nil
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

// behind is what depends on some nodes and on that of an exchange, if there is one.
func (m *mixed) behind(nodes []uintptr, of int) []uintptr {
	if of < 0 || m.nodes[of] == 0 || slices.Contains(nodes, m.nodes[of]) {
		return nodes
	}
	return append(slices.Clone(nodes), m.nodes[of])
}
