package report

import (
	"cmp"
	"fmt"

	"ptc/internal/order"
	"ptc/internal/units"
	"ptc/runtime/lives"
	"ptc/runtime/program"
)

// Map is the values that a step has in the memory of the device with the largest arena.
type Map struct {
	Class        int     `json:"device_class"`
	Arena        int64   `json:"arena_bytes"`
	Instructions int     `json:"instructions"` // of a step, which are its time
	Values       int     `json:"values"`
	Edge         int64   `json:"edge_bytes"` // the furthest end of a value
	Groups       []Group `json:"groups"`
	Sites        []Site  `json:"sites"`
	Peak         Peak    `json:"peak"`
	// Live is how many bytes are live at most in each of so many equal parts of the
	// step, in time.
	Live []int64 `json:"live_bytes"`
	// Small counts the values that are left out, of which the largest has LeftOut bytes.
	Small   int   `json:"left_out,omitempty"`
	LeftOut int64 `json:"left_out_bytes,omitempty"`
}

// Peak is the instruction at which most bytes are live, the first of several.
type Peak struct {
	Instruction int    `json:"instruction"`
	Bytes       int64  `json:"bytes"`
	Module      string `json:"module,omitempty"`
	Source      string `json:"source,omitempty"`
}

const (
	// maxMapped bounds the instructions of a step that is written out for its map.
	maxMapped = 1 << 19
	// maxGroups bounds what a page has to draw: of more, the smallest are left out.
	maxGroups = 12000
	// maxDrawn bounds the values of all groups.
	maxDrawn = 120000
	// columns is the length of Map.Live.
	columns = 400
)

// mapOf is the map, or says why there is none.
func mapOf(p *program.Plan) (m *Map, why string) {
	class := -1
	for i := range p.Devices {
		if class < 0 || p.Devices[i].Arena > p.Devices[class].Arena {
			class = i
		}
	}
	if class < 0 || p.Devices[class].Program("step") == nil {
		return nil, "the plan has no step"
	}
	if n := issued(&p.Devices[class], p.Devices[class].Program("step")); n == 0 || n > maxMapped {
		return nil, fmt.Sprintf("a step has %s, and a map is of 1 to %d", units.Plural(n, "instruction"), maxMapped)
	}
	one := *p
	one.Devices = p.Devices[class : class+1]
	whole, err := one.Expanded()
	if err != nil {
		return nil, err.Error()
	}
	d := &whole.Devices[0]
	prog := d.Program("step")
	values := lives.Of(whole, d, prog)
	m = &Map{Class: class, Arena: d.Arena, Instructions: len(prog.Instrs), Values: len(values)}
	peak, live := lives.Sweep(values, len(prog.Instrs), columns)
	in := &prog.Instrs[peak.Instruction]
	m.Peak, m.Live = Peak{peak.Instruction, peak.Bytes, in.Scope, in.Pos}, live
	for i := range values {
		m.Edge = max(m.Edge, values[i].Lo+values[i].Bytes)
	}
	m.Groups, m.Sites = grouped(values)
	m.shorten()
	return m, ""
}

// shorten leaves out the smallest values where there are too many, but never what reaches furthest.
func (m *Map) shorten() {
	bytes := make([]int64, 0, len(m.Groups))
	drawn := 0
	for i := range m.Groups {
		bytes = append(bytes, m.Groups[i].Bytes)
		drawn += m.Groups[i].Count
	}
	if len(bytes) <= maxGroups && drawn <= maxDrawn {
		return
	}
	keep, left := make([]bool, len(bytes)), maxDrawn
	for n, i := range order.By(len(bytes), func(a, b int) int { return cmp.Compare(bytes[b], bytes[a]) }) {
		g := &m.Groups[i]
		furthest := false
		g.each(func(_, _ int, at int64) { furthest = furthest || at+g.Bytes == m.Edge })
		if left -= g.Count; n < maxGroups && left >= 0 || furthest {
			keep[i] = true
			continue
		}
		m.Small += g.Count
		m.LeftOut = max(m.LeftOut, g.Bytes)
	}
	kept := m.Groups[:0]
	for i, g := range m.Groups {
		if keep[i] {
			kept = append(kept, g)
		}
	}
	m.Groups = kept
}
