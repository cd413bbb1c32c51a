package nest

import (
	"fmt"
	"slices"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// memory is the buffers of a program, and the views of values in them.
type memory struct {
	k             *fusion.Kernel
	b             *tile.Builder
	args, results []*tile.Buffer
	stored        []int           // which results the program has; the others are nil
	coords        *tile.View      // the device's coordinates, or nil
	looked        map[string]bool // axes along which positions are looked up
	loops         []fusion.Loop   // whose axes are one in views
	views         map[*ir.Value]*tile.View
	outs          []*tile.View // of the results
}

func newMemory(b *tile.Builder, k *fusion.Kernel, stored []int) *memory {
	m := &memory{k: k, b: b, stored: stored, results: make([]*tile.Buffer, len(k.F.Results)), looked: map[string]bool{}, views: map[*ir.Value]*tile.View{}}
	for _, o := range k.F.Ops {
		if op.Of(o).Class == op.Indexed {
			m.looked[o.Attrs.Text("axis")] = true
		}
	}
	for i, a := range k.F.Args {
		t := a.Value.Type
		buf := b.Buffer(fmt.Sprintf("in%d", i), t.DType, int64(t.Room()), tile.Read)
		m.args = append(m.args, buf)
		if a.Path == fusion.Coordinates {
			m.coords = b.View("coord", buf, op.Dense(t))
		}
	}
	for _, i := range stored {
		var over []*tile.Buffer
		for a := range k.F.Args {
			if k.InPlace(a, i) {
				over = append(over, m.args[a])
			}
		}
		t, use := k.F.Results[i].Value.Type, tile.Write
		if k.Class == fusion.Scatter {
			use = tile.ReadWrite
		}
		m.results[i] = b.Buffer(fmt.Sprintf("out%d", i), t.DType, int64(t.Room()), use, over...)
	}
	return m
}

// declare makes the views of the results. In all views the axes of each of loops are one.
func (m *memory) declare(loops []fusion.Loop) {
	m.loops = loops
	m.outs = make([]*tile.View, len(m.results))
	for _, i := range m.stored {
		m.outs[i] = m.b.View(m.results[i].Name, m.results[i], m.joined(op.Dense(m.k.F.Results[i].Value.Type)))
	}
}

// view is how v sees its argument.
func (m *memory) view(v *ir.Value) *tile.View {
	if m.views[v] == nil {
		w := m.k.Views[v]
		m.views[v] = m.b.View(m.args[w.Arg].Name, m.args[w.Arg], m.joined(w.Strided))
	}
	return m.views[v]
}

// joined is s with the axes of size 1 left out, unless positions are looked up along them, and those that became one merged.
func (m *memory) joined(s op.Strided) op.Strided {
	out := op.Strided{Offset: s.Offset}
	done := map[string]bool{}
	for _, a := range s.Axes {
		if a.Size == 1 && !m.looked[a.Name] || done[a.Name] {
			continue
		}
		x := a
		for _, d := range m.loops {
			if len(d.Axes) < 2 || !slices.Contains(d.Axes, a.Name) { // of one axis it is as it was, with its padding
				continue
			}
			inner, _ := s.Axis(d.Last())
			x = op.StridedAxis{Name: d.Name(), Size: int(d.Size), Stride: inner.Stride}
			for _, n := range d.Axes {
				done[n] = true
			}
		}
		out.Axes = append(out.Axes, x)
	}
	return out
}
