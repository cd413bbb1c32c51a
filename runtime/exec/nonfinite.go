package exec

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/internal/ranges"
	"ptc/runtime/program"
)

// NonFinite is a tensor with elements that are NaN or infinite.
type NonFinite struct {
	Rank  int
	Instr int    // that computed it; -1: the program began with it
	Comm  bool   // Instr is a communication: another device may be where it comes from
	What  string // the tensor, and what computed it where

	NaN, Inf, Of int // elements
}

func (n *NonFinite) String() string {
	var has []string
	for _, x := range []struct {
		n    int
		what string
	}{{n.NaN, "NaN"}, {n.Inf, "infinite"}} {
		if x.n > 0 {
			has = append(has, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return fmt.Sprintf("%s: %s of %d elements", n.What, strings.Join(has, " and "), n.Of)
}

// FindNonFinite runs the program, which was fed again after ErrNotFinite, up to
// where it stopped, and looks at what each instruction writes. It gives the first
// tensor in program order that is not finite and from which the loss, or whatever
// else StopBeforeUpdate looks at, got its value that is not; nil if there is none.
// A tensor that is infinite on purpose, such as masked scores, is none of these
// unless its readers are not finite because of it.
//
// With devices in several processes each calls it, and gets what its own devices
// found.
func (p *Program) FindNonFinite() (*NonFinite, error) {
	if p.crew.closed {
		return nil, errClosed
	}
	found := make([]*NonFinite, len(p.crew.ranks))
	err := p.crew.each(func(d *logical) (err error) {
		found[d.rank], err = findNonFinite(d, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(n *NonFinite) bool { return n == nil })
	if len(found) == 0 {
		return nil, nil
	}
	return slices.MinFunc(found, (*NonFinite).Compare), nil
}

// Compare orders what devices found by which is the cause: what a kernel or the
// data gave is before what another device sent.
func (n *NonFinite) Compare(o *NonFinite) int {
	switch {
	case n.Comm != o.Comm && o.Comm:
		return -1
	case n.Comm != o.Comm:
		return 1
	}
	return cmp.Or(cmp.Compare(n.Instr, o.Instr), cmp.Compare(n.Rank, o.Rank))
}

// search follows the values that are not finite through a program.
type search struct {
	d     *logical
	p     *Program
	last  map[string]*ranges.Map[int] // by memory: 1 + the node that wrote a byte last, 0 for what is finite
	nodes []NonFinite
	from  [][]int // by node: those that it read
	err   error   // of reading the device's memory
}

func newSearch(d *logical, p *Program) *search {
	return &search{d: d, p: p, last: map[string]*ranges.Map[int]{}}
}

func findNonFinite(d *logical, p *Program) (*NonFinite, error) {
	s := newSearch(d, p)
	s.inputs()
	prog, g := &d.prog.Progs[p.index], &p.guards[d.rank]
	for i := range g.at {
		reads := s.reads(i) // before it writes over them
		if err := d.step(p.index, i, i+1); err != nil {
			return nil, err
		}
		switch c := prog.Instrs[i].Comm; {
		case c != nil && c.Start && endOf(prog, i) != i:
			s.forget(i) // not there yet
		case c != nil && c.Kind == collective.Done:
			s.look(c.Of, s.reads(c.Of))
		default:
			s.look(i, reads)
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	if err := d.endAt(p.index, g.at); err != ErrNotFinite {
		return nil, err
	}
	return s.first(), nil
}

// inputs looks at what the program begins with.
func (s *search) inputs() {
	begun := func(what string) NonFinite { return NonFinite{Rank: s.d.rank, Instr: -1, What: what} }
	for _, t := range s.d.prog.Tensors {
		kind := "the parameter"
		if strings.Contains(t.Path, "/") {
			kind = "the state"
		}
		s.note(t.Buffer, s.read(t.Buffer), begun(fmt.Sprintf("%s %s that the step began with", kind, t.Path)), nil)
	}
	for i := range s.d.prog.Ports {
		if port := &s.d.prog.Ports[i]; port.Program == s.p.name && port.Role == program.RoleData {
			s.note(port.Buffer, s.d.progs[s.p.index].Port(i), begun(fmt.Sprintf("the field %s of the data", port.Path)), nil)
		}
	}
}

// read is what a buffer of the device holds, until the next call.
func (s *search) read(buffer int) []byte {
	mem, err := s.d.read(s.d.buffer(buffer))
	if s.err == nil {
		s.err = err
	}
	return mem
}

// reads are the nodes that instruction i reads.
func (s *search) reads(i int) (nodes []int) {
	reads, _ := s.p.crew.plan.Touches(&s.d.prog.Progs[s.p.index].Instrs[i])
	for _, b := range reads {
		nodes = s.wrote(b, s.d.prog.Buffers[b].Size(), nodes)
	}
	return nodes
}

// bytes is what is known of a memory.
func (s *search) bytes(memory string) *ranges.Map[int] {
	if s.last[memory] == nil {
		s.last[memory] = &ranges.Map[int]{}
	}
	return s.last[memory]
}

// wrote adds the nodes that wrote the beginning of a buffer last.
func (s *search) wrote(buffer int, size int64, nodes []int) []int {
	b := &s.d.prog.Buffers[buffer]
	s.bytes(b.Memory).Each(b.Offset, b.Offset+size, func(_, _ int64, n int) bool {
		if !slices.Contains(nodes, n-1) {
			nodes = append(nodes, n-1)
		}
		return true
	})
	return nodes
}

// forget drops what was in the buffers that instruction i is going to write.
func (s *search) forget(i int) {
	_, writes := s.p.crew.plan.Touches(&s.d.prog.Progs[s.p.index].Instrs[i])
	for _, b := range writes {
		s.put(b, s.d.prog.Buffers[b].Size(), -1)
	}
}

// look looks at what instruction i wrote.
func (s *search) look(i int, reads []int) {
	in := &s.d.prog.Progs[s.p.index].Instrs[i]
	arg := 0
	_, writes := s.p.crew.plan.Touches(in)
	for _, b := range writes {
		n := NonFinite{Rank: s.d.rank, Instr: i, Comm: in.Comm != nil && !in.Comm.Moves() && in.Comm.Kind != collective.ShardSlice}
		size := s.d.prog.Buffers[b].Size()
		by := ""
		if c := in.Comm; c != nil {
			by = strings.TrimSpace(c.Kind + " " + strings.Join(c.Over, ","))
		} else {
			k := &s.p.crew.plan.Kernels[in.Kernel]
			for ; in.Bufs[arg] != b || !k.Args[arg].Write; arg++ {
			}
			size = min(size, k.Args[arg].Bytes) // of the rest it may have been anything
			arg++
			by = "kernel " + k.Name
		}
		n.What = describe(&s.d.prog.Buffers[b]) + " of " + by
		if in.Scope != "" {
			n.What += " in " + in.Scope
		}
		if in.Pos != "" { // of one of its operations
			n.What += ", around " + in.Pos
		}
		s.note(b, s.read(b)[:size], n, reads)
	}
}

// describe is a buffer's type, f32[batch=4, embed=64].
func describe(b *program.Buffer) string {
	var axes []string
	for _, a := range b.Axes {
		axes = append(axes, fmt.Sprintf("%s=%d", a.Name, a.Size))
	}
	return b.DType + "[" + strings.Join(axes, ", ") + "]"
}

// note looks at the beginning of a buffer and makes a node of it if it is not
// finite.
func (s *search) note(buffer int, mem []byte, n NonFinite, reads []int) {
	size := int64(len(mem))
	b := &s.d.prog.Buffers[buffer]
	for row := range rows(b, mem) {
		nan, inf := countNonFinite(b.DType, row)
		n.NaN, n.Inf, n.Of = n.NaN+nan, n.Inf+inf, n.Of+len(row)/program.DTypeSize(b.DType)
	}
	if n.NaN+n.Inf == 0 {
		s.put(buffer, size, -1)
		return
	}
	s.put(buffer, size, len(s.nodes))
	s.nodes, s.from = append(s.nodes, n), append(s.from, reads)
}

// rows are the parts of the beginning of a buffer between which there is padding, in which anything may be.
func rows(b *program.Buffer, mem []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		row, pad := len(mem), 0
		if b.Pad > 0 {
			size := program.DTypeSize(b.DType)
			row, pad = b.Axes[len(b.Axes)-1].Size*size, b.Pad*size
		}
		for at := 0; at < len(mem); at += row + pad {
			if !yield(mem[at:min(at+row, len(mem))]) {
				return
			}
		}
	}
}

// put says who wrote the beginning of a buffer last; -1: it is finite.
func (s *search) put(buffer int, size int64, node int) {
	b := &s.d.prog.Buffers[buffer]
	s.bytes(b.Memory).Set(b.Offset, b.Offset+size, node+1)
}

// first is the first node from which a chain leads to what the device looks at,
// or to what it gave to others where it looks at nothing that is not finite.
func (s *search) first() *NonFinite {
	var ends []int
	for i := range s.d.prog.Ports {
		if port := &s.d.prog.Ports[i]; port.Program == s.p.name && (port.Role == program.RoleLoss || port.Role == program.RoleStat) {
			ends = s.wrote(port.Buffer, s.d.prog.Buffers[port.Buffer].Bytes, ends)
		}
	}
	for i := range s.nodes {
		if s.nodes[i].Comm {
			ends = append(ends, i)
		}
	}
	// What it read comes before a node, so one walk back visits all.
	seen := make([]bool, len(s.nodes))
	for _, e := range ends {
		seen[e] = true
	}
	first := -1
	for i := len(s.nodes) - 1; i >= 0; i-- {
		if !seen[i] {
			continue
		}
		first = i
		for _, r := range s.from[i] {
			seen[r] = true
		}
	}
	if first < 0 {
		return nil
	}
	return &s.nodes[first]
}

// countNonFinite counts the elements that are NaN, and those that are infinite.
func countNonFinite(name string, mem []byte) (nan, inf int) {
	d, _ := dtype.Parse(name)
	if !d.IsFloat() {
		return 0, 0
	}
	size := d.Size()
	exponent, fraction := d.Masks()
	for at := 0; at < len(mem); at += size {
		var bits uint64
		switch size {
		case 8:
			bits = binary.LittleEndian.Uint64(mem[at:])
		case 4:
			bits = uint64(binary.LittleEndian.Uint32(mem[at:]))
		case 2:
			bits = uint64(binary.LittleEndian.Uint16(mem[at:]))
		case 1:
			bits = uint64(mem[at])
		}
		switch {
		case bits&exponent != exponent:
		case bits&fraction != 0:
			nan++
		default:
			inf++
		}
	}
	return nan, inf
}

// Finite says of the tensors of this process's devices which are trained and not
// finite: the path of the first, in the order of the plan, or "".
func (v *values) Finite() (path string, err error) {
	for _, d := range v.crew.devices {
		for _, t := range d.prog.Tensors {
			if !t.Train {
				continue
			}
			p, bad := partOf(v.crew.plan, d, t.Buffer), 0
			err := p.get(func(_ int, mem []byte) error {
				nan, inf := countNonFinite(d.prog.Buffers[t.Buffer].DType, mem)
				bad += nan + inf
				return nil
			})
			if err != nil || bad > 0 {
				return t.Path, err
			}
		}
	}
	return "", nil
}
