package explain

import (
	"fmt"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/units"
	"ptc/runtime/program"
)

// Transfer is the transfers of a step, of the device with the most of them, that
// are of one kind, with one memory and for one rule.
type Transfer struct {
	Kind    string `json:"kind"`   // host_to_device, device_to_host
	Memory  string `json:"memory"` // host, disk
	Why     string `json:"why"`
	Count   int    `json:"count"`
	Bytes   int64  `json:"bytes"`   // of all
	Largest int64  `json:"largest"` // bytes of one
	Started int64  `json:"started"` // bytes of those that run concurrently with other work
}

// transfers lists what a step moves between the memories of a device, in the
// order in which it first happens.
func transfers(p *program.Plan) []Transfer {
	out := []Transfer{}
	type key struct{ kind, memory, why string }
	for i := range p.Devices {
		d := &p.Devices[i]
		own := map[key]*Transfer{}
		var order []key
		for _, in := range stepOf(d) {
			c := in.Comm
			if c == nil || !c.Moves() {
				continue
			}
			other := in.Bufs[0]
			if c.Kind == collective.DeviceToHost {
				other = in.Bufs[len(in.Bufs)/2]
			}
			why, _, _ := strings.Cut(c.Why, " (")
			k := key{c.Kind, d.Buffers[other].Memory, why}
			if own[k] == nil {
				own[k] = &Transfer{Kind: k.kind, Memory: k.memory, Why: k.why}
				order = append(order, k)
			}
			m := own[k]
			bytes := times(c.Bytes, int64(in.times))
			m.Count += in.times
			m.Bytes = plus(m.Bytes, bytes)
			m.Largest = max(m.Largest, c.Bytes)
			if c.Start {
				m.Started = plus(m.Started, bytes)
			}
		}
		for _, k := range order {
			out = larger(out, *own[k])
		}
	}
	return out
}

// larger adds m, or puts it in the place of what is alike and moves less.
func larger(all []Transfer, m Transfer) []Transfer {
	for i, x := range all {
		if x.Kind == m.Kind && x.Memory == m.Memory && x.Why == m.Why {
			if m.Bytes > x.Bytes {
				all[i] = m
			}
			return all
		}
	}
	return append(all, m)
}

// transferTable lists what moves between memories.
func transferTable(b *strings.Builder, d *Description) {
	if len(d.Transfers) == 0 {
		return
	}
	b.WriteString("\nTransfers between memories of a device in a step\n")
	fmt.Fprintf(b, "  %6s  %11s  %11s  %7s  %-19s %s\n", "count", "largest", "all", "overlap", "kind", "why")
	for _, t := range d.Transfers {
		kind := t.Kind + " " + t.Memory
		fmt.Fprintf(b, "  %6d  %11s  %11s  %7s  %-19s %s\n", t.Count, units.Bytes(t.Largest), units.Bytes(t.Bytes),
			percent(t.Started, t.Bytes), kind, t.Why)
	}
}
