package explain

import (
	"fmt"
	"sort"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/units"
	"ptc/runtime/program"
)

// Collective is the communications of a step that are alike.
type Collective struct {
	Kind  string `json:"kind"`
	Axis  string `json:"axis"`  // mesh axes as the layout names them, joined by commas
	Scope string `json:"scope"` // path of the module; of several, folded: blocks.0..31.attn
	Count int    `json:"count"` // in a step
	// Bytes is the payload of one on one device: of an all_reduce the tensor, of
	// an all_gather the gathered result, of a reduce_scatter its input, of the
	// others what leaves the device.
	Bytes int64  `json:"bytes"`
	Why   string `json:"why"` // the rule, and where in the source the value is
	// Tensors is how many it exchanges at once; more than 1 for a bucket.
	Tensors int `json:"tensors"`
	// Started says that it runs concurrently with other work until its result is read.
	Started bool `json:"started"`

	at place // the scope as the plan has it
}

// Sends is what the device with the most bytes of communication has of it in a step.
type Sends struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

// sends reports whether an instruction is a communication that sends anything.
func sends(c *program.Comm) bool {
	return c != nil && c.Kind != collective.ShardSlice && c.Kind != collective.Done && !c.Moves()
}

// collectives lists what the devices communicate in a step, in the order in
// which it first happens. Where devices differ, the count is that of the one
// with the most. What sends nothing is not listed.
func collectives(p *program.Plan) []Collective {
	out := []Collective{}
	index := map[Collective]int{} // without the count
	for i := range p.Devices {
		own := map[int]int{}
		for _, in := range stepOf(&p.Devices[i]) {
			if !sends(in.Comm) {
				continue
			}
			at := place{in.Scope, in.instances}
			c := Collective{Kind: in.Comm.Kind, Axis: strings.Join(p.DeclaredOver(in.Comm.Over), ","), Scope: fold([]place{at}), at: at,
				Bytes: in.Comm.Bytes, Why: in.Comm.Why, Tensors: 1 + len(in.Comm.Rest), Started: in.Comm.Start}
			n, ok := index[c]
			if !ok {
				n = len(out)
				index[c] = n
				out = append(out, c)
			}
			own[n] += in.times
			out[n].Count = max(out[n].Count, own[n])
		}
	}
	return out
}

// busiest is how many communications, and bytes of them, the device with the most
// bytes has in a step.
func busiest(p *program.Plan) (count int, bytes int64) {
	for i := range p.Devices {
		n, sum := 0, int64(0)
		for _, in := range stepOf(&p.Devices[i]) {
			if sends(in.Comm) {
				n += in.times
				sum = plus(sum, times(in.Comm.Bytes, int64(in.times)))
			}
		}
		if n > 0 && sum >= bytes {
			count, bytes = n, sum
		}
	}
	return count, bytes
}

// all is the bytes of all of them in a step.
func (c *Collective) all() int64 { return times(c.Bytes, int64(c.Count)) }

// kind is the kind, with a star for what runs concurrently with other work.
func (c *Collective) kind() string {
	if c.Started {
		return c.Kind + " *"
	}
	return c.Kind
}

// alike folds collectives that differ in the number of a block alone, and adds
// their counts; the largest first.
func alike(list []Collective) []Collective {
	var groups folded[Collective, Collective]
	for _, c := range list {
		k := c
		k.Count, k.Scope, k.Why, k.at = 0, template(c.at.path), template(c.Why), place{}
		groups.add(k, c)
	}
	out := make([]Collective, 0, len(groups.keys))
	for _, k := range groups.keys {
		var scopes, whys []place
		for _, c := range groups.items[k] {
			k.Count += c.Count
			scopes, whys = append(scopes, c.at), append(whys, place{c.Why, c.at.count})
		}
		k.Scope, k.Why = fold(scopes), fold(whys)
		out = append(out, k)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].all() > out[j].all() })
	return out
}

func communicationHead(b *strings.Builder, d *Description, p *program.Plan) {
	count, bytes := busiest(p)
	fmt.Fprintf(b, "\nCommunication in a step; a device has at most %s, of %s\n", units.Plural(count, "operation"), units.Bytes(bytes))
	levelTable(b, d)
	b.WriteString("  Of all devices\n")
}

func total(list []Collective) (all, overlapped int64) {
	for i := range list {
		all = plus(all, list[i].all())
		if list[i].Started {
			overlapped = plus(overlapped, list[i].all())
		}
	}
	return all, overlapped
}

// communicationFoot says what of the bytes is hidden, and where devices differ, that rows
// are of all of them.
func communicationFoot(b *strings.Builder, p *program.Plan, list []Collective) {
	if n := len(p.Devices); n > 1 {
		fmt.Fprintf(b, "  devices run %d programs: a row counts what any of them has, so rows add up to more than one device's\n", n)
	}
	if all, overlapped := total(list); overlapped > 0 {
		fmt.Fprintf(b, "  * overlaps with other work until its result is read: %s of the bytes\n", percent(overlapped, all))
	}
}

// communicationTable lists the communications by their share of the bytes.
func communicationTable(b *strings.Builder, d *Description, p *program.Plan) {
	if len(d.Collectives) == 0 {
		return
	}
	communicationHead(b, d, p)
	all, _ := total(d.Collectives)
	fmt.Fprintf(b, "  %6s  %11s  %6s  %-16s %-8s %s\n", "count", "each", "share", "kind", "over", "where, and why")
	for _, c := range alike(d.Collectives) {
		where := c.Scope
		if c.Tensors > 1 {
			where = strings.TrimSpace(fmt.Sprintf("%s (%d tensors)", where, c.Tensors))
		}
		fmt.Fprintf(b, "  %6d  %11s  %6s  %-16s %-8s %s: %s\n", c.Count, units.Bytes(c.Bytes), percent(c.all(), all), c.kind(), c.Axis, where, c.Why)
	}
	communicationFoot(b, p, d.Collectives)
}

// communicationTotals adds up the communications of each kind over each mesh
// axis, and names the place that has the most bytes of it.
func communicationTotals(b *strings.Builder, d *Description, p *program.Plan) {
	if len(d.Collectives) == 0 {
		return
	}
	communicationHead(b, d, p)
	type key struct{ kind, axis string }
	var groups folded[key, Collective]
	list := alike(d.Collectives)
	for _, c := range list {
		groups.add(key{c.kind(), c.Axis}, c)
	}
	all, _ := total(list)
	fmt.Fprintf(b, "  %6s  %11s  %6s  %-16s %-8s %s\n", "count", "bytes", "share", "kind", "over", "most of it")
	for i, k := range groups.keys {
		if i == rowsOfSummary {
			fmt.Fprintf(b, "  … %d more: --section communication\n", len(groups.keys)-i)
			break
		}
		count, bytes := 0, int64(0)
		for _, c := range groups.items[k] {
			count, bytes = count+c.Count, plus(bytes, c.all())
		}
		first := groups.items[k][0]
		fmt.Fprintf(b, "  %6d  %11s  %6s  %-16s %-8s %s: %s\n", count, units.Bytes(bytes), percent(bytes, all), k.kind, k.axis, first.Scope, first.Why)
	}
	communicationFoot(b, p, list)
}
