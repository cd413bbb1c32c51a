package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/units"
	"ptc/runtime/program"
)

// Level is what one device of a class communicates in a step by one kind of collective over the same mesh axes.
type Level struct {
	Class int    `json:"device_class"`
	Axis  string `json:"axis"` // mesh axes as the layout names them, joined by commas
	// Within is the number of consecutive devices that a group lies in: 8 is one node, if nodes have 8 devices.
	Within  int    `json:"within_devices"`
	Kind    string `json:"kind"`
	Count   int    `json:"count"`
	Bytes   int64  `json:"bytes"`        // as [Collective] has it, of all of them
	Sent    int64  `json:"sent_bytes"`   // by the device, in a ring
	Started int64  `json:"beside_bytes"` // the part of Bytes that overlaps with other work
}

// levelsOf are those of each class, the nearest groups first.
func levelsOf(p *program.Plan) []Level {
	out := []Level{}
	for i := range p.Devices {
		type key struct{ axis, kind string }
		index := map[key]int{}
		first := len(out)
		for _, in := range stepOf(&p.Devices[i]) {
			c := in.Comm
			if !sends(c) {
				continue
			}
			k := key{strings.Join(p.DeclaredOver(c.Over), ","), c.Kind}
			n, ok := index[k]
			if !ok {
				n = len(out)
				index[k] = n
				out = append(out, Level{Class: i, Axis: k.axis, Kind: k.kind, Within: within(p, c.Over)})
			}
			all := times(c.Bytes, int64(in.times))
			out[n].Count += in.times
			out[n].Bytes = plus(out[n].Bytes, all)
			out[n].Sent = plus(out[n].Sent, times(collective.SentOf(c.Kind, c.Bytes, int64(p.Mesh.Parts(c.Over))), int64(in.times)))
			if c.Start {
				out[n].Started = plus(out[n].Started, all)
			}
		}
		slices.SortStableFunc(out[first:], func(a, b Level) int {
			return cmp.Or(cmp.Compare(a.Within, b.Within), cmp.Compare(a.Axis, b.Axis), cmp.Compare(b.Bytes, a.Bytes))
		})
	}
	return out
}

// within is the number of consecutive ranks in which devices lie that differ on some axes alone. Ranks are row-major in
// the mesh.
func within(p *program.Plan, over []string) int {
	near, most := 1, 1
	for _, a := range slices.Backward(p.Mesh) {
		if near *= a.Size; slices.Contains(over, a.Name) {
			most = near
		}
	}
	return most
}

// levelTable is the communication of the device that has most of it.
func levelTable(b *strings.Builder, d *Description) {
	total := map[int]int64{}
	for _, l := range d.Communication {
		total[l.Class] = plus(total[l.Class], l.Bytes)
	}
	class, most := -1, int64(0)
	for i := range d.Classes {
		if total[i] > most {
			class, most = i, total[i]
		}
	}
	if class < 0 {
		return
	}
	name := "One device"
	if len(d.Classes) > 1 {
		name += " (" + d.ClassText(class) + ")"
	}
	fmt.Fprintf(b, "  %s, by the level of the mesh\n", name)
	fmt.Fprintf(b, "  %6s  %11s  %11s  %7s  %-16s %-8s %s\n", "count", "bytes", "sent", "overlap", "kind", "over", "groups lie in")
	for _, l := range d.Communication {
		if l.Class == class {
			fmt.Fprintf(b, "  %6d  %11s  %11s  %7s  %-16s %-8s %s\n", l.Count, units.Bytes(l.Bytes), units.Bytes(l.Sent), percent(l.Started, l.Bytes), l.Kind, l.Axis,
				units.Plural(l.Within, "consecutive device"))
		}
	}
}
