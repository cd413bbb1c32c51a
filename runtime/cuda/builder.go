package cuda

import (
	"slices"

	"ptc/internal/collective"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// builder makes the nodes of a graph.
//
//	before   what all nodes of the group depend on
//	group    an instruction that waits, and those behind it that need not
//
// A copy that is only started is in no group: nothing but its done depends on it. Nor is an exchange that is,
// or a message that is sent, once it was copied to where it travels from.
type builder struct {
	*card
	blas          *blas
	graph         uintptr
	before, group []uintptr
	started       map[int][]uintptr // by instruction
	worked        uintptr           // what uses the library's workspace last; 0: nothing
	mixed         *mixed            // exchanges; nil: there are none
	nodes         int
}

// wait begins a group.
func (b *builder) wait() {
	if len(b.group) > 0 {
		b.before, b.group = b.group, nil
	}
}

func (b *builder) instr(i int, in *program.Instr, a *act) error {
	if !in.NoWait && !in.With {
		b.wait()
	}
	switch c := in.Comm; {
	case a.products != nil:
		return b.products(a.products)
	case a.kernel != nil:
		return b.add(func(after []uintptr) (uintptr, error) { return b.drv.addKernel(b.graph, after, a.kernel) })
	case c == nil:
		return nil
	case a.enqueued != nil:
		return b.exchange(i, c.Start)
	case c.Kind == collective.Done:
		if nodes := b.started[c.Of]; len(nodes) > 0 {
			b.before = append(append([]uintptr(nil), b.before...), nodes...)
		}
		return nil
	case c.Start:
		err := b.copies(a.copies, false)
		b.started[i], b.group = b.group, nil
		return err
	}
	return b.copies(a.copies, false)
}

// copies adds copies to the group, which chained depend on one another.
func (b *builder) copies(list []transfer, chained bool) error {
	for i := range list {
		if chained {
			b.wait()
		}
		err := b.add(func(after []uintptr) (uintptr, error) { return b.drv.addCopy(b.graph, after, &list[i], b.context) })
		if err != nil {
			return err
		}
	}
	return nil
}

// many is how many nodes a group depends on at most, where it has several of its own: a node of
// nothing between them makes sums of what were products.
const many = 4

// add adds a node to the group.
func (b *builder) add(node func(after []uintptr) (uintptr, error)) error {
	if len(b.group) > 0 && len(b.before) > many {
		n, err := b.drv.addEmpty(b.graph, b.before)
		if err != nil {
			return err
		}
		b.before = []uintptr{n}
	}
	n, err := node(b.before)
	if err != nil {
		return err
	}
	b.group = append(b.group, n)
	b.nodes++
	return nil
}

// products adds what the library does as a node. Those that use the workspace, of which there is one, are
// behind one another, whether they need wait or not.
func (b *builder) products(list []matmul) error {
	child, err := b.blas.capture(list)
	if err != nil {
		return err
	}
	defer func() { _ = b.drv.freeGraph(child) }()
	return b.add(func(after []uintptr) (uintptr, error) {
		if !works(list) {
			return b.drv.addChild(b.graph, after, child)
		}
		if b.worked != 0 && !slices.Contains(after, b.worked) {
			after = append(slices.Clone(after), b.worked)
		}
		n, err := b.drv.addChild(b.graph, after, child)
		b.worked = n
		return n, err
	})
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
		n, err := b.drv.addCopy(b.graph, after, &list[i], b.context)
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
	drv, m := b.drv, b.mixed
	begun, ended := &m.copies[0], &m.copies[1]
	m.copies = m.copies[2:]
	if _, err := drv.addCopy(b.graph, after, begun, b.context); err != nil {
		return 0, err
	}
	n, err := drv.addChild(b.graph, after, c.Graph)
	if err != nil {
		return 0, err
	}
	b.nodes += 3
	_, err = drv.addCopy(b.graph, []uintptr{n}, ended, b.context)
	return n, err
}
