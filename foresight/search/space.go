package search

import (
	"math"
	"slices"

	"ptc/foresight/certificate"
	"ptc/foresight/facts"
	"ptc/foresight/machine"
	"ptc/ir/auto"
	"ptc/ir/pipeline"
)

// Space is what is searched.
type Space struct {
	Facts   *facts.Facts
	Cluster *machine.Cluster
	Auto    *auto.Layout
	// Known is the certificate of an earlier search of the same space, whose numbers are taken for true; nil if there is none.
	Known *certificate.Certificate

	memory int64 // that a layout may take on a device
	flows  map[string]*flow
}

// prepare fills in what follows from the fields.
func (s *Space) prepare() {
	s.flows = map[string]*flow{}
	s.memory = Room(s.Cluster, s.Auto)
}

// Room is the bytes that a layout may take on a device: the layout's limit, or what the device has if that is less.
func Room(c *machine.Cluster, l *auto.Layout) int64 {
	room := int64(c.Device.Memory.Value) - int64(c.Device.Reserve.Value)
	if l.Memory > 0 {
		room = min(room, l.Memory)
	}
	return room
}

// keeps reports whether a directive of that word, which names the axis if it is not empty, is kept.
func (s *Space) keeps(word, axis string) bool {
	return slices.ContainsFunc(s.Auto.Keep, func(k auto.Kept) bool {
		return k.Word == word && (axis == "" || slices.Contains(k.Axes, axis))
	})
}

// keptOver reports whether a kept directive names a mesh axis.
func (s *Space) keptOver(mesh string) bool {
	return slices.ContainsFunc(s.Auto.Keep, func(k auto.Kept) bool { return slices.Contains(k.Mesh, mesh) })
}

// fixed reports whether the source says how the batch is divided into microbatches: bounds then know nothing of them.
func (s *Space) fixed() bool { return s.keeps("pipeline", "") || s.keeps("accumulate", "") }

// reduced is the bytes of an element of a gradient as devices exchange it.
func (s *Space) reduced() int64 {
	for _, k := range s.Auto.Kept("precision") {
		if k.Precision != nil {
			return int64(k.Precision.Reduce.Size())
		}
	}
	return 4
}

// number reports whether a number is allowed; if nothing is said of the dimension, whether it is among the usual ones.
func (s *Space) number(word string, n int, usual bool) bool {
	if a := s.Auto.Allowed(word); a != nil {
		return a.Number(n)
	}
	return usual
}

// words are the values of a dimension that has words, or the usual ones.
func (s *Space) words(word string, usual ...string) []string {
	if a := s.Auto.Allowed(word); a != nil {
		return a.Values
	}
	return usual
}

// Dimensions are the names of the tree's levels, from its root.
var Dimensions = []string{"devices", "mesh", "tensor", "sequence", "rows", "recompute", "zero", "offload", "schedule", "stages", "placement"}

// tabled is the depth at which a choice says all that the time of a block depends on.
const tabled = 8

// branches are the values of a choice's next dimension, in order: its own copy with one more decided.
func (s *Space) branches(c *Choice) []*Choice {
	var out []*Choice
	add := func(set func(*Choice)) {
		x := *c
		x.Depth++
		set(&x)
		out = append(out, &x)
	}
	switch Dimensions[c.Depth] {
	case "devices":
		for _, n := range s.deviceCounts() {
			add(func(x *Choice) { x.Devices = n })
		}
	case "mesh":
		s.meshes(c.Devices, func(dp, pp, cp, ep, tp int) {
			add(func(x *Choice) { x.DP, x.PP, x.CP, x.EP, x.TP = dp, pp, cp, ep, tp })
		})
	case "tensor":
		for _, set := range s.tensor(c) {
			add(func(x *Choice) { x.Tensor = set })
		}
	case "sequence":
		for _, on := range s.sequence(c) {
			add(func(x *Choice) { x.Sequence = on })
		}
	case "rows":
		for _, n := range s.rows(c) {
			add(func(x *Choice) { x.Rows = n })
		}
	case "recompute":
		for _, w := range s.recompute() {
			add(func(x *Choice) { x.Recompute = w })
		}
	case "zero":
		for _, z := range s.zero(c) {
			add(func(x *Choice) { x.Zero = z })
		}
	case "offload":
		for _, w := range s.offload() {
			add(func(x *Choice) { x.Offload = w })
		}
	case "schedule":
		s.schedules(c, func(name string, chunks int) { add(func(x *Choice) { x.Schedule, x.Chunks = name, chunks }) })
	case "stages":
		add(func(*Choice) {}) // the blocks of a table say which
	case "placement":
		for _, o := range s.orders(c) {
			add(func(x *Choice) { x.Order = o })
		}
	}
	return out
}

// deviceCounts are how many devices a layout may use: all of the machine's, unless some are allowed.
func (s *Space) deviceCounts() (out []int) {
	all := s.Cluster.Devices()
	for _, n := range divisors(all) {
		if s.number("devices", n, n == all) {
			out = append(out, n)
		}
	}
	slices.Reverse(out)
	return out
}

// inner is the number of devices of the innermost level with several: those that share what a block does.
func (s *Space) inner() int {
	for _, n := range s.Cluster.Sizes {
		if n > 1 {
			return n
		}
	}
	return 1
}

// leastRing is how many positions of a sequence a device has at least, unless the layout allows more devices of a ring.
const leastRing = 4096

// meshes yields the sizes of mesh axes whose product is n. Tensor parallelism stays within the innermost level, a ring
// leaves each device 4,096 positions, experts are spread over powers of two, and a pipeline has at least a block for each
// stage, unless `allow` says otherwise.
func (s *Space) meshes(n int, yield func(dp, pp, cp, ep, tp int)) {
	f := s.Facts
	for _, tp := range divisors(n) {
		if !s.number("tp", tp, tp <= s.inner()) || tp > 1 && !slices.ContainsFunc(f.Tensor, func(a string) bool { return f.Sizes[a]%tp == 0 }) {
			continue
		}
		for _, pp := range divisors(n / tp) {
			if !s.number("pp", pp, true) || pp > max(f.Instances, 1) {
				continue
			}
			for _, cp := range divisors(n / tp / pp) {
				if !s.number("cp", cp, cp&(cp-1) == 0 && f.Positions/cp >= leastRing) && cp > 1 || f.Sequence == "" && cp > 1 || f.Positions%max(cp, 1) != 0 && cp > 1 {
					continue
				}
				for _, ep := range divisors(n / tp / pp / cp) {
					if ep > 1 && (f.Experts == "" || f.Sizes[f.Experts]%ep != 0 || !s.number("ep", ep, ep&(ep-1) == 0)) {
						continue
					}
					dp := n / tp / pp / cp / ep
					if s.number("dp", dp, true) && f.Rows%(dp*ep) == 0 && s.fits(cp, ep) {
						yield(dp, pp, cp, ep, tp)
					}
				}
			}
		}
	}
}

// fits reports whether sizes of one are allowed too.
func (s *Space) fits(cp, ep int) bool {
	for _, x := range []struct {
		word string
		size int
	}{{"cp", cp}, {"ep", ep}} {
		if x.size == 1 && !s.number(x.word, 1, true) {
			return false
		}
	}
	return true
}

// tensor are the sets of axes that are sharded over tp: all that it divides, and those without axes outside the blocks.
func (s *Space) tensor(c *Choice) [][]string {
	if c.TP == 1 {
		return [][]string{nil}
	}
	if a := s.Auto.Allowed("tensor"); a != nil {
		return a.Sets
	}
	var all []string
	for _, a := range s.Facts.Tensor {
		if s.Facts.Sizes[a]%c.TP == 0 {
			all = append(all, a)
		}
	}
	return [][]string{all}
}

func (s *Space) sequence(c *Choice) (out []bool) {
	f := s.Facts
	if c.TP == 1 || f.Sequence == "" || f.Module == "" || f.Positions%(c.TP*c.CP) != 0 {
		return []bool{false}
	}
	for _, w := range s.words("sequence", "on", "off") {
		out = append(out, w == "on")
	}
	return out
}

// mostRows is the largest number of rows in a microbatch, unless the layout allows more.
const mostRows = 16

func (s *Space) rows(c *Choice) (out []int) {
	all := s.Facts.Rows / (c.DP * c.EP)
	if s.fixed() {
		return []int{all}
	}
	for _, n := range divisors(all) {
		if s.number("rows", n, n <= mostRows && n&(n-1) == 0) {
			out = append(out, n)
		}
	}
	return out
}

func (s *Space) recompute() []string {
	if s.keeps("recompute", "") || s.Facts.Module == "" {
		return []string{"none"}
	}
	return s.words("recompute", "none", "full")
}

// zero are the levels at which training state is sharded: the optimizer's states, and without a pipeline, whose every microbatch
// would gather them, also the parameters.
func (s *Space) zero(c *Choice) (out []int) {
	if s.keeps("zero", "") || c.DP*c.EP*c.CP == 1 {
		return []int{0}
	}
	usual := []string{"1"}
	if c.PP == 1 {
		usual = append(usual, "3")
	}
	for _, w := range s.words("zero", usual...) {
		out = append(out, int(w[0]-'0'))
	}
	return out
}

func (s *Space) offload() []string {
	if s.keeps("offload", "") {
		return []string{"none"}
	}
	return s.words("offload", "none")
}

// schedules yields those of the pipeline, with the numbers of chunks that divide the blocks evenly.
func (s *Space) schedules(c *Choice, yield func(name string, chunks int)) {
	if c.PP == 1 || s.fixed() {
		yield("", 1)
		return
	}
	for _, name := range s.words("schedule", "1f1b", "interleaved") {
		row, err := pipeline.Lookup(name)
		if err != nil {
			continue
		}
		for chunks := row.Least; chunks <= min(row.Most, s.Facts.Instances/c.PP); chunks++ {
			if even := s.Facts.Instances%(c.PP*chunks) == 0; s.number("chunks", chunks, chunks == row.Least || even && chunks <= mostChunks) && (chunks > 1 || name != "interleaved") {
				yield(name, chunks)
			}
		}
	}
}

// mostChunks is how many chunks of the model a device of a pipeline has at most, unless the layout allows more.
const mostChunks = 8

// orders are the placements of the mesh: tensor parallelism innermost, then rings, then experts, with data parallelism and the
// pipeline outside of them in either order.
func (s *Space) orders(c *Choice) [][]string {
	if a := s.Auto.Allowed("placement"); a != nil {
		var out [][]string
		for _, o := range a.Sets {
			all := c.axes(o...)
			same := func(x []string) bool { return slices.Equal(x, all) }
			if len(all) == len(c.axes("dp", "pp", "cp", "ep", "tp")) && !slices.ContainsFunc(out, same) {
				out = append(out, all)
			}
		}
		return out
	}
	out := [][]string{c.axes("pp", "dp", "ep", "cp", "tp")}
	if c.PP > 1 && c.DP > 1 {
		out = append(out, c.axes("dp", "pp", "ep", "cp", "tp"))
	}
	return out
}

// divisors of a number, ascending.
func divisors(n int) (out []int) {
	for d := 1; d <= int(math.Sqrt(float64(n))); d++ {
		if n%d == 0 {
			out = append(out, d)
			if d*d != n {
				out = append(out, n/d)
			}
		}
	}
	slices.Sort(out)
	return out
}
