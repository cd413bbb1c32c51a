package machine

import (
	"maps"
	"slices"
	"strings"

	"ptc/lang/syntax"
)

// agree checks what entries say together. Each of them is valid by itself.
func (r *reader) agree(device *block, d *syntax.Machine) {
	m := r.m
	for _, t := range slices.Sorted(maps.Keys(m.Device.Peak)) {
		if _, ok := m.Device.Share[t]; !ok {
			r.wants("E0807", device.given["peak "+t], "`share "+t+" = …`", "the part of it that the best product reaches", "`peak %s` without `share %s`", t, t)
		}
	}
	for _, t := range slices.Sorted(maps.Keys(m.Device.Share)) {
		if _, ok := m.Device.Peak[t]; !ok {
			r.wants("E0807", device.given["share "+t], "`peak "+t+" = …`", "", "`share %s` without `peak %s`", t, t)
		}
	}
	if _, ok := m.Device.Vector["f32"]; !ok {
		r.wants("E0807", device.given["vector"], "`vector f32 = …`", "other dtypes take its rate if they have none", "`device` has no `vector f32`")
	}
	if f := device.given["reserve"]; m.Device.Reserve.Value >= m.Device.Memory.Value {
		r.wants("E0809", f.Value, "less than `memory`", "", "`reserve` leaves no memory")
	}
	if f := device.given["occupies"]; f != nil && m.Device.Occupies.Value > float64(m.Device.Processors) {
		r.wants("E0809", f.Value, "at most `processors`", "", "`occupies` is more than all processors")
	}
	r.levels(device, d)
}

// levels checks that levels fit one another: sizes that multiply, and the device's protocols.
func (r *reader) levels(device *block, d *syntax.Machine) {
	if len(r.m.Levels) == 0 {
		return
	}
	protocols := r.m.Protocols()
	if len(protocols) == 0 {
		r.wants("E0807", device.node, "`start simple = …`", "levels have links, so collectives have a protocol, such as `simple`", "`device` has no `start`")
		return
	}
	nodes := slices.DeleteFunc(slices.Clone(d.Items), func(x syntax.MachineItem) bool {
		s, is := x.(*syntax.Section)
		return !is || s.Kind != "level"
	})
	ranks := 1
	for i, l := range r.m.Levels {
		r.protocols(nodes[i], l.Name, "share", l.Share, protocols)
		r.protocols(nodes[i], l.Name, "latency", l.Latency, protocols)
		if l.Ranks > 0 && l.Most > 0 {
			r.wants("E0808", nodes[i], "`ranks` or `most`", "delete `ranks` if the command says the size, or else `most`", "level `%s` has a fixed size and a largest one", l.Name)
			continue
		}
		if ranks *= max(l.Ranks, 1); ranks > maxRanks {
			r.wants("E0808", nodes[i], amount(maxRanks, "")+" devices at most", "check `ranks` of this level and of those before it", "levels up to `%s` multiply to too many devices", l.Name)
			return
		}
	}
}

// protocols checks that an entry of a level has the protocols of the device.
func (r *reader) protocols(n syntax.Node, level, key string, given map[string]Sourced, want []string) {
	if got := slices.Sorted(maps.Keys(given)); !slices.Equal(got, want) {
		r.wants("E0809", n, "`"+key+"` for "+strings.Join(want, ", "), "every level has the protocols of `start` in `device`",
			"level `%s` has `%s` for %s", level, key, strings.Join(got, ", "))
	}
}
