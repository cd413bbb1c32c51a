package report

import (
	"strconv"
	"strings"

	"ptc/runtime/lives"
	"ptc/runtime/program"
)

// Group is values that are alike: the first, and how many there are, each so many
// instructions and so many bytes further on than the one before.
type Group struct {
	Site  int           `json:"site"` // number of what made it, in Map.Sites
	Space program.Space `json:"space"`
	Bytes int64         `json:"bytes"` // of one
	Count int           `json:"count"`
	From  int           `json:"from"`  // the instruction that begins the first
	Until int           `json:"until"` // the one before which it is no longer needed
	At    int64         `json:"at"`    // its first byte in the arena
	// Of the next value, in comparison with the one before.
	StepFrom  int   `json:"step_from,omitempty"`
	StepUntil int   `json:"step_until,omitempty"`
	StepAt    int64 `json:"step_at,omitempty"`
}

// Site is what made values.
type Site struct {
	Module string `json:"module,omitempty"` // blocks.*.attn stands for all instances
	Source string `json:"source,omitempty"` // file:line:column
	Name   string `json:"name"`             // of the kernel, the communication or the tensor
	Type   string `json:"type"`
}

// each calls do for every value of the group.
func (g *Group) each(do func(from, until int, at int64)) {
	for k := range g.Count {
		do(g.From+k*g.StepFrom, g.Until+k*g.StepUntil, g.At+int64(k)*g.StepAt)
	}
}

// takes adds a value as the next one of the group, if it is where that has to be.
func (g *Group) takes(v *lives.Value) bool {
	if g.Count == 1 {
		g.StepFrom, g.StepUntil, g.StepAt = v.From-g.From, v.Until-g.Until, v.Lo-g.At
		g.Count = 2
		return true
	}
	k := g.Count
	if v.From != g.From+k*g.StepFrom || v.Until != g.Until+k*g.StepUntil || v.Lo != g.At+int64(k)*g.StepAt {
		return false
	}
	g.Count++
	return true
}

// grouped are values as groups, in the order of the first of each. Of what one instruction makes for one instance
// after the other, values are in one group as long as they go on evenly.
func grouped(values []lives.Value) (groups []Group, sites []Site) {
	type key struct {
		of    lives.Origin // with instances as stars
		space program.Space
		bytes int64
		nth   int // among those of one instance
	}
	type one struct {
		of    lives.Origin
		bytes int64
	}
	nth := map[one]int{}
	open := map[key]int{}
	number := map[lives.Origin]int{}
	for i := range values {
		v := &values[i]
		of := v.Of
		of.Module, of.Name = star(of.Module), star(of.Name)
		// What has no number of an instance is one after the other as it comes.
		k := key{of: of, space: v.Space, bytes: v.Bytes}
		if of != v.Of {
			x := one{of: v.Of, bytes: v.Bytes}
			k.nth = nth[x]
			nth[x]++
		}
		if n, ok := open[k]; ok && groups[n].takes(v) {
			continue
		}
		site, ok := number[of]
		if !ok {
			site = len(sites)
			number[of] = site
			sites = append(sites, Site{Module: of.Module, Source: of.Source, Name: of.Name, Type: of.Type})
		}
		open[k] = len(groups)
		groups = append(groups, Group{Site: site, Space: v.Space, Bytes: v.Bytes, Count: 1, From: v.From, Until: v.Until, At: v.Lo})
	}
	return groups, sites
}

// star is a path with a star for each number in it: blocks.*.attn.
func star(path string) string {
	if !strings.Contains(path, ".") {
		return path
	}
	parts := strings.Split(path, ".")
	for i, p := range parts {
		if _, err := strconv.ParseUint(p, 10, 31); err == nil {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}
