package main

import (
	"fmt"
	"sort"
	"strings"

	"ptc/runtime/program"
)

// collective is the communications of a step that are alike.
type collective struct {
	Kind  string `json:"kind"`
	Axis  string `json:"axis"`  // mesh axes as the layout names them, joined by commas
	Scope string `json:"scope"` // path of the module
	Count int    `json:"count"` // in a step
	// Bytes is the payload of one on one device: of an all_reduce the tensor, of
	// an all_gather the gathered result, of a reduce_scatter its input, of the
	// others what leaves the device.
	Bytes int64  `json:"bytes"`
	Why   string `json:"why"` // the rule, and where in the source the value is
	// Tensors is how many it exchanges at once; more than 1 for a bucket.
	Tensors int `json:"tensors"`
	// Started says that it runs beside other work until its result is read.
	Started bool `json:"started"`
}

// sends reports whether an instruction is a communication that sends anything.
func sends(c *program.Comm) bool {
	return c != nil && c.Kind != program.ShardSlice && c.Kind != program.Done && !c.Moves()
}

// collectives lists what the devices communicate in a step, in the order in
// which it first happens. Where devices differ, the count is that of the one
// with the most. What sends nothing is not listed.
func collectives(p *program.Plan) []collective {
	out := []collective{}
	index := map[collective]int{} // without the count
	for i := range p.Devices {
		own := map[int]int{}
		for _, in := range stepOf(&p.Devices[i]) {
			if !sends(in.Comm) {
				continue
			}
			c := collective{Kind: in.Comm.Kind, Axis: strings.Join(p.DeclaredOver(in.Comm.Over), ","), Scope: in.Scope,
				Bytes: in.Comm.Bytes, Why: in.Comm.Why, Tensors: 1 + len(in.Comm.Rest), Started: in.Comm.Start}
			n, ok := index[c]
			if !ok {
				n = len(out)
				index[c] = n
				out = append(out, c)
			}
			own[n]++
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
				n++
				sum += in.Comm.Bytes
			}
		}
		if n > 0 && sum >= bytes {
			count, bytes = n, sum
		}
	}
	return count, bytes
}

// collectiveTable lists the communications by their share of the bytes.
func collectiveTable(b *strings.Builder, d *description, p *program.Plan) {
	if len(d.Collectives) == 0 {
		return
	}
	order := append([]collective(nil), d.Collectives...)
	all := func(c collective) int64 { return c.Bytes * int64(c.Count) }
	sort.SliceStable(order, func(i, j int) bool { return all(order[i]) > all(order[j]) })
	total := int64(0)
	for _, c := range order {
		total += all(c)
	}
	count, bytes := busiest(p)
	fmt.Fprintf(b, "\nCommunication in a step; a device has at most %s, of %s\n", plural(count, "operation"), bytesText(bytes))
	fmt.Fprintf(b, "  %6s  %11s  %6s  %-16s %-8s %s\n", "count", "each", "share", "kind", "over", "where, and why")
	beside := int64(0)
	for _, c := range order {
		kind := c.Kind
		if c.Started {
			kind += " *"
			beside += all(c)
		}
		where := c.Scope
		if c.Tensors > 1 {
			where = strings.TrimSpace(fmt.Sprintf("%s (%d tensors)", where, c.Tensors))
		}
		fmt.Fprintf(b, "  %6d  %11s  %5.1f%%  %-16s %-8s %s: %s\n", c.Count, bytesText(c.Bytes),
			100*float64(all(c))/float64(max(total, 1)), kind, c.Axis, where, c.Why)
	}
	if beside > 0 {
		fmt.Fprintf(b, "  * runs beside other work until its result is read: %.1f%% of the bytes\n", 100*float64(beside)/float64(max(total, 1)))
	}
}
