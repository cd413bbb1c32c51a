package kernel

import "fmt"

// Part is a kernel within a joined one, and which of the joined kernel's arguments its
// own are.
type Part struct {
	*Kernel
	Args []int
}

// Join makes one kernel of several whose tasks have nothing to do with each other: its
// tasks are those of the first part, then those of the second, and so on. Arguments
// that parts share must be alike in all of them, and none may write one.
//
// Scratch is that of the part that takes the most: a task is of one part.
func Join(name string, args int, parts []Part) (*Kernel, error) {
	var tasks int64
	for _, p := range parts {
		tasks += p.Tasks
	}
	b := New(name, tasks)
	j := &joiner{b: b, args: make([]*Buffer, args), first: make([]int64, len(parts)), parts: parts}
	bufs := make([]map[*Buffer]*Buffer, len(parts))
	first := int64(0)
	for i, p := range parts {
		var err error
		if bufs[i], err = j.buffers(p); err != nil {
			return nil, fmt.Errorf("kernel %s, part %d: %w", name, i, err)
		}
		j.first[i] = first
		first += p.Tasks
	}
	for i, buf := range j.args {
		if buf == nil {
			return nil, fmt.Errorf("kernel %s: no part has argument %d", name, i)
		}
	}
	b.k.Buffers = append(j.args[:args:args], j.scratch...)
	j.bufs = bufs
	j.choose(0, len(parts))
	return b.Finish()
}

type joiner struct {
	b       *Builder
	parts   []Part
	first   []int64 // the number of each part's first task
	args    []*Buffer
	scratch []*Buffer
	bufs    []map[*Buffer]*Buffer // by part: what its buffers are in the whole
}

// buffers declares those of a part.
func (j *joiner) buffers(p Part) (map[*Buffer]*Buffer, error) {
	to := map[*Buffer]*Buffer{}
	for i, a := range p.Kernel.Args() {
		c := *a
		c.Arg = p.Args[i]
		switch old := j.args[c.Arg]; {
		case old == nil:
			j.args[c.Arg] = &c
		case old.Use != Read || c.Use != Read || old.Elem != c.Elem || old.Len != c.Len:
			return nil, fmt.Errorf("argument %d is %s %s[%d], and %s %s[%d] in another part", c.Arg, c.Use, c.Elem, c.Len, old.Use, old.Elem, old.Len)
		default:
			old.Distinct = old.Distinct && c.Distinct
		}
		to[a] = j.args[c.Arg]
	}
	for _, s := range p.Buffers {
		if s.Space != Global {
			c := *s
			j.scratch = append(j.scratch, &c)
			to[s] = &c
		}
	}
	return to, nil
}

// choose runs the part that the task is of, one of parts lo to hi-1.
func (j *joiner) choose(lo, hi int) {
	b := j.b
	task := b.Value(b.Task())
	if hi-lo == 1 {
		p := j.parts[lo]
		own := b.Sub(task, b.ConstInt(task.Type, j.first[lo]))
		c := &copier{b: b, to: map[*Value]*Value{p.Task: own}, bufs: j.bufs[lo]}
		c.block(p.Body)
		return
	}
	mid := (lo + hi) / 2
	arm := func(lo, hi int) func() []*Value {
		return func() []*Value { j.choose(lo, hi); return nil }
	}
	b.If(b.Lt(task, b.ConstInt(task.Type, j.first[mid])), arm(lo, mid), arm(mid, hi))
}
