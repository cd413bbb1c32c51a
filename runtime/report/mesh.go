package report

import (
	"ptc/runtime/program"
)

// Axis is an axis of the mesh as the layout declares it, major first; ranks are
// row-major numbers in the mesh. What shards over a part of an axis names the part.
type Axis struct {
	Name  string `json:"name"`
	Size  int    `json:"size"`
	Parts []Part `json:"parts,omitempty"` // of which it is the product, major first; none: itself
}

// Part is an axis of the mesh that devices really differ by.
type Part struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

// Class is what a device has, of those that run one program.
type Class struct {
	At    map[string]int `json:"at"` // coordinates on axes or parts of them; on others they have any
	Arena int64          `json:"arena_bytes"`
	Host  int64          `json:"host_bytes"`
	Disk  int64          `json:"disk_bytes"`
	Codes int            `json:"instructions"` // of a step, with those of all instances and microbatches
}

// Sharding is how the devices of the mesh share a tensor.
type Sharding struct {
	Path    string        `json:"path"` // blocks.{i}.attn.wq stands for all instances
	Count   int           `json:"count"`
	DType   string        `json:"dtype"`
	Space   program.Space `json:"space"`
	Memory  string        `json:"memory,omitempty"` // host, disk; else the device's own
	Bytes   int64         `json:"bytes"`            // of one, on one device
	Axes    []Sharded     `json:"axes"`
	Classes []int         `json:"device_classes"` // that have it
}

// Sharded is an axis of a tensor.
type Sharded struct {
	Name   string   `json:"name"`
	Global int      `json:"global"`
	Size   int      `json:"size"` // on a device
	Over   []string `json:"over"` // axes of the mesh, or parts of them, major first; none: each device has all of it
}

// meshOf is the mesh as the layout has it, with the parts that the compiler made of axes.
func meshOf(p *program.Plan) []Axis {
	out, at := []Axis{}, 0
	for _, a := range p.Declared() {
		x := Axis{Name: a.Name, Size: a.Size}
		for n := 1; at < len(p.Mesh) && (n < a.Size || p.Mesh[at].Size == 1 && len(x.Parts) == 0); at++ {
			n *= p.Mesh[at].Size
			x.Parts = append(x.Parts, Part{p.Mesh[at].Name, p.Mesh[at].Size})
		}
		if len(x.Parts) == 1 && x.Parts[0].Name == x.Name {
			x.Parts = nil
		}
		out = append(out, x)
	}
	return out
}

func classesOf(p *program.Plan) []Class {
	out := []Class{}
	for i := range p.Devices {
		d := &p.Devices[i]
		c := Class{At: map[string]int{}, Arena: d.Arena, Host: d.Host, Disk: d.Disk, Codes: issued(d, d.Program("step"))}
		for j, axis := range p.By {
			c.At[axis] = d.At[j]
		}
		out = append(out, c)
	}
	return out
}

// shardings are those of every tensor, in the order of the devices and their lists; a
// tensor that several devices have is there once.
func shardings(p *program.Plan) []Sharding {
	out, seen := []Sharding{}, map[string]int{}
	for i := range p.Devices {
		d := &p.Devices[i]
		for _, t := range d.Tensors {
			if n, ok := seen[t.Path]; ok {
				out[n].Classes = append(out[n].Classes, i)
				continue
			}
			seen[t.Path] = len(out)
			b := &d.Buffers[t.Buffer]
			x := Sharding{Path: t.Path, Count: d.Count(b.Stack), DType: b.DType, Space: b.Space, Memory: b.Memory, Bytes: b.Bytes, Axes: []Sharded{}, Classes: []int{i}}
			for _, a := range b.Axes {
				x.Axes = append(x.Axes, Sharded{a.Name, max(a.Global, a.Size), a.Size, append([]string{}, a.Mesh...)})
			}
			out = append(out, x)
		}
	}
	return out
}

// issued is how many instructions a program has when it is written out.
func issued(d *program.Device, p *program.Program) int {
	if p == nil {
		return 0
	}
	return d.Order(p).Issued()
}
