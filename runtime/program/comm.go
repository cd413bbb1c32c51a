package program

import "slices"

// Kinds of communication.
const (
	AllReduce     = "all_reduce"
	ReduceScatter = "reduce_scatter"
	AllGather     = "all_gather"
	AllToAll      = "all_to_all"
	Permute       = "permute"
	Send          = "send"
	Recv          = "recv"
	ShardSlice    = "shard_slice"
	Done          = "done"
	Fetch         = "fetch"
	Store         = "store"
)

// MaxOpen is how many collectives of one set of mesh axes, and how many receives of
// one stream, may be started and not done.
const MaxOpen = 32

// Moves says whether c copies between memories of the device, with no other
// device.
func (c *Comm) Moves() bool { return c.Kind == Fetch || c.Kind == Store }

// Ends are the buffers that a communication reads, and those that it writes.
func (in *Instr) Ends() (sources, destinations []int) {
	first := len(in.Bufs) / 2
	if in.Comm.Kind == Send {
		first = 1
	}
	return in.Bufs[:first], in.Bufs[first:]
}

// Touches are the buffers that an instruction reads, and those that it writes.
func (p *Plan) Touches(in *Instr) (reads, writes []int) {
	if in.Comm != nil {
		return in.Ends()
	}
	for i, a := range p.Kernels[in.Kernel].Args {
		if a.Write {
			writes = append(writes, in.Bufs[i])
		} else {
			reads = append(reads, in.Bufs[i])
		}
	}
	return reads, writes
}

// Views are those of all tensors that c exchanges.
func (c *Comm) Views() []View {
	return append([]View{{c.Outer, c.Inner}}, c.Rest...)
}

// Declared is the mesh as the layout has it: axes that are parts of one are that.
func (p *Plan) Declared() []MeshAxis {
	var out []MeshAxis
	last := ""
	for _, a := range p.Mesh {
		of := p.partOf(a.Name)
		if n := len(out) - 1; of != "" && of == last {
			out[n].Size *= a.Size
			continue
		}
		last = of
		if of != "" {
			a.Name = of
		}
		out = append(out, a)
	}
	return out
}

// DeclaredOver names mesh axes as the layout does, where all parts of one of its
// axes follow one another; others keep their own names.
func (p *Plan) DeclaredOver(over []string) []string {
	var out []string
	for i := 0; i < len(over); {
		of, n := p.partOf(over[i]), 0
		var parts []string
		for _, a := range p.Mesh {
			if of != "" && p.partOf(a.Name) == of {
				parts = append(parts, a.Name)
			}
		}
		if n = len(parts); n > 0 && len(over)-i >= n && slices.Equal(over[i:i+n], parts) {
			out = append(out, of)
			i += n
			continue
		}
		out = append(out, over[i])
		i++
	}
	return out
}

// partOf is the axis of the layout that a mesh axis is a part of, if it is.
func (p *Plan) partOf(axis string) string {
	for _, r := range p.Refined {
		if r.Key == axis {
			return r.Value
		}
	}
	return ""
}

// Parts is the number of devices in each group over these mesh axes.
func (p *Plan) Parts(over []string) int {
	n := 1
	for _, a := range p.Mesh {
		if slices.Contains(over, a.Name) {
			n *= a.Size
		}
	}
	return n
}

// Member is the rank of the device that has coordinate at, counted over these
// mesh axes (major to minor), in rank's group.
func (p *Plan) Member(rank int, over []string, at int) int {
	place := p.Coordinates(rank)
	for i := len(over) - 1; i >= 0; i-- {
		j := p.meshIndex(over[i])
		place[j] = at % p.Mesh[j].Size
		at /= p.Mesh[j].Size
	}
	member := 0
	for i, a := range p.Mesh {
		member = member*a.Size + place[i]
	}
	return member
}

// CoordinateOver is a rank's coordinate in its group over these mesh axes.
func (p *Plan) CoordinateOver(rank int, over []string) int {
	place, at := p.Coordinates(rank), 0
	for _, name := range over {
		j := p.meshIndex(name)
		at = at*p.Mesh[j].Size + place[j]
	}
	return at
}

// PeerOf is the rank that a send or receive of rank is with.
func (p *Plan) PeerOf(rank int, c *Comm) int {
	if len(c.Over) == 0 {
		return c.Peer
	}
	return p.Member(rank, c.Over, c.Peer)
}

func (p *Plan) meshIndex(name string) int {
	return slices.IndexFunc(p.Mesh, func(a MeshAxis) bool { return a.Name == name })
}
