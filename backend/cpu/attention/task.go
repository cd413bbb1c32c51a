package attention

import "ptc/backend/kernel"

// Generate makes the kernel of s for m. The cut into tasks and blocks depends on the
// sizes, on m, and on s.Blocks, where there are any, alone. The error is of a Spec that
// describes no attention, of blocks that it cannot have, or of a callback that builds no
// well-formed kernel.
func Generate(s Spec, m kernel.Machine) (*kernel.Kernel, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	p, err := newBlocking(&s, m)
	if err != nil {
		return nil, err
	}
	tasks := product(s.Outer)
	if p.split {
		tasks *= product(s.Groups) * p.chunks
	}
	b := s.Begin(tasks)
	newTask(b, &s, p).generate()
	return b.Finish()
}

// task is the outermost scope of a kernel: the problem, or the rows of it, that a task computes. The
// scopes within are a block of keys ([keyBlock]), a [group] of rows, a [block] of them, and a [row].
type task struct {
	code
	*Spec
	blocking
	mem        scratch
	at         At           // Outer, and Group where the task number says it
	row0, row1 kernel.Index // rows of the task, in every group
}

// scratch is the thread-private memory of a task.
type scratch struct {
	packed []*kernel.Buffer // packed rows of the block: [row][column]
	across []*kernel.Buffer // packed keys of the block: [panel of keys][column][key]
	along  []*kernel.Buffer // the same: [panel of columns][key][column]
	scores []*kernel.Buffer // scores of the block, then weights: [row][key]
	acc    []*kernel.Buffer // sums: [row][column] or [key][column]
	top    *kernel.Buffer   // largest score of a row so far
	sum    *kernel.Buffer   // sum of its exponentials, in lanes
	scale  *kernel.Buffer   // what the sums of the row are multiplied by at this block
}

// newTask decodes the task number.
func newTask(b *kernel.Builder, s *Spec, p blocking) *task {
	g := &task{code: code{b, int(p.lanes)}, Spec: s, blocking: p, mem: newScratch(b, s, &p)}
	sizes := append([]int64(nil), g.Outer...)
	if g.split {
		sizes = append(append(sizes, g.Groups...), g.chunks)
	}
	at := g.b.Position(g.b.Task(), sizes)
	g.at.Outer = at[:len(g.Outer)]
	g.row0, g.row1 = kernel.Int(0), kernel.Int(g.Rows)
	if g.split {
		g.at.Group = at[len(g.Outer) : len(sizes)-1]
		g.row0 = g.order(at[len(sizes)-1]).Mul(g.chunk)
		if g.chunks > 1 {
			g.row1 = g.row0.Plus(g.chunk)
			if g.Rows%g.chunk != 0 {
				g.row1 = g.b.MinIndex(g.row1, kernel.Int(g.Rows))
			}
		}
	}
	return g
}

// newScratch declares what the blocking p of s needs.
func newScratch(b *kernel.Builder, s *Spec, p *blocking) (mem scratch) {
	f32 := kernel.F32
	for i := range s.ByRow {
		n := p.rb
		if p.split {
			n = p.chunk
		}
		mem.packed = append(mem.packed, b.Scratch("rows", f32, n*p.rowStride(&s.ByRow[i])))
	}
	mem.across = make([]*kernel.Buffer, len(s.ByKey))
	mem.along = make([]*kernel.Buffer, len(s.ByKey))
	for i := range s.ByKey {
		o := &s.ByKey[i]
		if s.across(i) {
			mem.across[i] = b.Scratch("across", f32, p.kb*product(o.Subs)*o.Cols)
		}
		if s.along(i) {
			nr := p.panelVecs(o) * p.lanes
			mem.along[i] = b.Scratch("along", f32, p.kb*product(o.Subs)*ceil(p.padded(o), nr)*nr)
		}
	}
	for range max(s.weights(), len(s.Into), s.scoreAt()+1) {
		mem.scores = append(mem.scores, b.Scratch("scores", f32, p.rb*p.scoreStride()))
	}
	for _, o := range s.Outs {
		n := p.accRows(s)
		if o.Over != OverKeys {
			n = p.kb + p.mr
		} else if p.stored(o) {
			n = p.rb
		}
		mem.acc = append(mem.acc, b.Scratch("sums", f32, n*p.rowLen(s.operand(o))))
	}
	if s.Top {
		mem.top = b.Scratch("top", f32, p.accRows(s))
		mem.scale = b.Scratch("scale", f32, p.rb)
	}
	if s.Sum {
		mem.sum = b.Scratch("sum", f32, p.accRows(s)*p.lanes)
	}
	return mem
}

// order is the chunk that is number n of the tasks: where rows see different keys, the
// first and the last, the second and the last but one take turns, so that contiguous
// shares of the tasks have about the same work.
func (g *task) order(n kernel.Index) kernel.Index {
	if !g.limited || g.chunks < 3 {
		return n
	}
	half := g.b.Value(g.div(n, 2))
	even := g.b.Eq(g.b.Value(n), g.b.Value(kernel.Of(half).Mul(2)))
	return kernel.Of(g.b.Select(even, half, g.b.Value(kernel.Int(g.chunks-1).Sub(kernel.Of(half)))))
}

// generate makes the body: see the package comment.
func (g *task) generate() {
	g.clearRows()
	blocks := kernel.Between(kernel.Int(0), kernel.Int(g.blocks))
	body := g.eachGroup
	if g.split {
		rows := g.newGroup(&keyBlock{g, g.at, kernel.Int(0), kernel.Int(g.Keys)}, g.at, g.row0.Mul(-1))
		if g.limited {
			lo, hi := rows.sees(g.row0, g.row1.Plus(-1))
			blocks = kernel.Between(g.div(lo, g.kb), g.div(hi.Plus(g.kb-1), g.kb))
		}
		rows.packRows(g.row0, g.row1)
		body = func(k *keyBlock) {
			k.pack()
			x := *rows
			x.keyBlock = k
			x.rowBlocks()
		}
	}
	if g.blocks == 1 {
		body(g.newKeyBlock(kernel.Int(0)))
	} else {
		g.b.For(blocks, func(n kernel.Index) { body(g.newKeyBlock(n)) })
	}
	g.finishRows()
}

// eachGroup generates all groups of rows against a block of keys, and the sums over rows.
func (g *task) eachGroup(k *keyBlock) {
	k.clear(OverAll)
	g.loop(g.Inner, func(inner []kernel.Index, i kernel.Index) {
		x := *k
		x.at.Inner = inner
		x.pack()
		x.clear(OverRows)
		g.loop(g.Groups, func(group []kernel.Index, n kernel.Index) {
			at := x.at
			at.Group = group
			g.newGroup(&x, at, g.groupBase(i, n)).rowBlocks()
		})
		x.finish(OverRows)
	})
	k.finish(OverAll)
}

// groupBase is the number among acc's rows of the first row of a group, at positions of Inner and Groups.
func (g *task) groupBase(inner, group kernel.Index) kernel.Index {
	return inner.Mul(product(g.Groups)).Add(group).Mul(g.groupRows(g.Spec))
}
