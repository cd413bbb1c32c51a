package certify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ptc/foresight/facts"
	"ptc/foresight/machine"
	"ptc/ir/auto"
	"ptc/ir/pipeline"
)

// The levels of the tree, from its root. A part of the space with n words has chosen the levels below n.
const (
	devicesLevel = iota
	meshLevel
	tensorLevel
	sequenceLevel
	rowsLevel
	recomputeLevel
	zeroLevel
	offloadLevel
	scheduleLevel
	stagesLevel
	placementLevel
	levels
)

// The mesh axes, by which sizes are found.
const (
	dp = iota
	pp
	cp
	ep
	tp
)

// space is what a certificate is about.
type space struct {
	*facts.Facts
	cluster *machine.Cluster
	auto    *auto.Layout
	flows   map[flowKey]*flow
}

// part is a part of the space: all layouts that agree in the choices that are made. Fields of later choices mean nothing.
type part struct {
	words     []string // one for each level that has chosen
	devices   int
	size      [5]int // of the mesh axes
	tensor    []string
	sequence  bool
	rows      int // of the batch, in one microbatch on one device
	recompute string
	zero      int
	offload   string
	schedule  string // empty without a pipeline
	chunks    int
	order     []int // mesh axes with several devices, the outermost first
}

// path is the words of a part, as leaves have them.
func (p *part) path() string { return strings.Join(p.words, "/") }

// chose reports whether a level has chosen.
func (p *part) chose(level int) bool { return len(p.words) > level }

// level is a level of the tree. Its choices are in the order of the tree; each has a word and what it sets.
type level struct {
	name    string
	choices func(s *space, p *part, add adder)
}

type adder func(word string, set func(p *part))

var tree = [levels]level{
	{"devices", (*space).devices},
	{"mesh", (*space).meshes},
	{"tensor", (*space).tensors},
	{"sequence", (*space).sequences},
	{"rows", (*space).allRows},
	{"recompute", (*space).recomputes},
	{"zero", (*space).zeros},
	{"offload", (*space).offloads},
	{"schedule", (*space).schedules},
	{"stages", func(_ *space, _ *part, add adder) { add("cut", func(*part) {}) }},
	{"placement", (*space).placements},
}

// below are the parts that a part is divided into.
func (s *space) below(p *part) (out []*part) {
	tree[len(p.words)].choices(s, p, func(word string, set func(*part)) {
		x := *p
		x.words = append(slices.Clip(p.words), word)
		set(&x)
		out = append(out, &x)
	})
	return out
}

// sized reports whether `allow` allows a number; where it says nothing, usual does.
func (s *space) sized(word string, n int, usual bool) bool {
	if a := s.auto.Allowed(word); a != nil {
		return a.Number(n)
	}
	return usual
}

// said are the words that `allow` lists, or the usual ones.
func (s *space) said(word string, usual ...string) []string {
	if a := s.auto.Allowed(word); a != nil {
		return a.Values
	}
	return usual
}

// kept reports whether a directive is in every layout; with an axis, one that names it.
func (s *space) kept(word, axis string) bool {
	for _, k := range s.auto.Keep {
		if k.Word == word && (axis == "" || slices.Contains(k.Axes, axis)) {
			return true
		}
	}
	return false
}

// divided reports whether a kept directive says how the batch is divided into microbatches.
func (s *space) divided() bool { return s.kept("pipeline", "") || s.kept("accumulate", "") }

// devices are the divisors of the machine's devices that `allow` allows, the largest first; without it, all devices.
func (s *space) devices(_ *part, add adder) {
	all := s.cluster.Devices()
	for n := all; n > 0; n-- {
		if all%n == 0 && s.sized("devices", n, n == all) {
			add(strconv.Itoa(n), func(p *part) { p.devices = n })
		}
	}
}

// meshes are sizes whose product is the number of devices: tp ascending, within it pp, then cp, then ep; dp is the rest.
//
//	tp  divides an axis of tensor parallelism; usually within the innermost level of the machine that has several units
//	pp  at most the number of blocks, or 1
//	cp  divides the positions of the sequence; usually a power of two that leaves 4,096 of them or more
//	ep  divides the experts; usually a power of two
//	dp  dp · ep divides the rows of the batch
func (s *space) meshes(p *part, add adder) {
	n := p.devices
	factors(n, func(t int) {
		if !s.tensorSize(t) {
			return
		}
		factors(n/t, func(q int) {
			if q > max(s.Instances, 1) || !s.sized("pp", q, true) {
				return
			}
			factors(n/t/q, func(c int) {
				if !s.contextSize(c) {
					return
				}
				factors(n/t/q/c, func(e int) {
					d := n / t / q / c / e
					if s.expertSize(e) && s.sized("dp", d, true) && s.Rows%(d*e) == 0 {
						add(fmt.Sprintf("dp%d pp%d cp%d ep%d tp%d", d, q, c, e, t), func(p *part) { p.size = [5]int{dp: d, pp: q, cp: c, ep: e, tp: t} })
					}
				})
			})
		})
	})
}

func (s *space) tensorSize(n int) bool {
	inner := 1
	for _, units := range s.cluster.Sizes { // innermost first
		if inner = units; units > 1 {
			break
		}
	}
	divides := n == 1
	for _, a := range s.Tensor {
		divides = divides || s.Sizes[a]%n == 0
	}
	return divides && s.sized("tp", n, n <= inner)
}

func (s *space) contextSize(n int) bool {
	if n == 1 {
		return s.sized("cp", 1, true)
	}
	return s.Sequence != "" && s.Positions%n == 0 && s.sized("cp", n, power(n) && s.Positions/n >= 4096)
}

func (s *space) expertSize(n int) bool {
	if n == 1 {
		return s.sized("ep", 1, true)
	}
	return s.Experts != "" && s.Sizes[s.Experts]%n == 0 && s.sized("ep", n, power(n))
}

// tensors are sets of axes that are sharded over tp: those that `allow` lists, or all axes of tensor parallelism that it divides.
func (s *space) tensors(p *part, add adder) {
	one := func(set []string) { add(strings.Join(set, " "), func(p *part) { p.tensor = set }) }
	a := s.auto.Allowed("tensor")
	switch {
	case p.size[tp] == 1:
		one(nil)
	case a != nil:
		for _, set := range a.Sets {
			one(set)
		}
	default:
		var all []string
		for _, x := range s.Tensor {
			if s.Sizes[x]%p.size[tp] == 0 {
				all = append(all, x)
			}
		}
		one(all)
	}
}

// sequences say whether values between blocks are sharded over tp along the sequence, where tp · cp divides it: on, then off.
func (s *space) sequences(p *part, add adder) {
	one := func(word string) { add(word, func(p *part) { p.sequence = word == "on" }) }
	if p.size[tp] == 1 || s.Sequence == "" || s.Module == "" || s.Positions%(p.size[tp]*p.size[cp]) != 0 {
		one("off")
		return
	}
	for _, word := range s.said("sequence", "on", "off") {
		one(word)
	}
}

// usualRows is how many rows of the batch a microbatch usually has at most on a device.
const usualRows = 16

// allRows are the divisors of a device's rows of the batch, ascending; usually powers of two up to usualRows. Where a kept directive
// divides the batch there is one choice, all rows.
func (s *space) allRows(p *part, add adder) {
	one := func(n int) { add(strconv.Itoa(n), func(p *part) { p.rows = n }) }
	all := s.Rows / (p.size[dp] * p.size[ep])
	if s.divided() {
		one(all)
		return
	}
	factors(all, func(n int) {
		if s.sized("rows", n, n <= usualRows && power(n)) {
			one(n)
		}
	})
}

// recomputes: nothing, or every block.
func (s *space) recomputes(_ *part, add adder) {
	words := []string{"none"}
	if s.Module != "" && !s.kept("recompute", "") {
		words = s.said("recompute", "none", "full")
	}
	for _, w := range words {
		add(w, func(p *part) { p.recompute = w })
	}
}

// zeros: level 1 where dp, ep or cp has several devices, and without a pipeline also level 3; else none.
func (s *space) zeros(p *part, add adder) {
	words := []string{"0"}
	if !s.kept("zero", "") && p.size[dp]*p.size[ep]*p.size[cp] > 1 {
		words = s.said("zero", []string{"1", "3"}[:1+one(p.size[pp] == 1)]...)
	}
	for _, w := range words {
		add(w, func(p *part) { p.zero = int(w[0] - '0') })
	}
}

// offloads: nothing.
func (s *space) offloads(_ *part, add adder) {
	words := []string{"none"}
	if !s.kept("offload", "") {
		words = s.said("offload", "none")
	}
	for _, w := range words {
		add(w, func(p *part) { p.offload = w })
	}
}

// schedules are those of the pipeline, 1f1b and interleaved, with the numbers of chunks that a schedule may have and the blocks are
// enough for: usually its least, and those up to 8 that divide the blocks evenly. interleaved with one chunk is 1f1b.
func (s *space) schedules(p *part, add adder) {
	s.eachSchedule(p, func(name string, chunks int) {
		add(fmt.Sprintf("%s %d", name, chunks), func(p *part) { p.schedule, p.chunks = name, chunks })
	})
}

func (s *space) eachSchedule(p *part, do func(name string, chunks int)) {
	if p.size[pp] == 1 || s.divided() {
		do("", 1)
		return
	}
	for _, name := range s.said("schedule", "1f1b", "interleaved") {
		row, err := pipeline.Lookup(name)
		if err != nil {
			continue
		}
		for n := row.Least; n <= row.Most && n*p.size[pp] <= s.Instances; n++ {
			usual := n == row.Least || n <= 8 && s.Instances%(n*p.size[pp]) == 0
			if s.sized("chunks", n, usual) && !(n == 1 && name == "interleaved") {
				do(name, n)
			}
		}
	}
}

// placements are orders of the mesh axes with several devices: those that `allow` lists if they have all of these, each once;
// else pp, dp, ep, cp, tp, and with several of both pp and dp also dp first.
func (s *space) placements(p *part, add adder) {
	lists := [][]string{{"pp", "dp", "ep", "cp", "tp"}, {"dp", "pp", "ep", "cp", "tp"}}
	if a := s.auto.Allowed("placement"); a != nil {
		lists = a.Sets
	}
	several := 0
	for _, n := range p.size {
		several += one(n > 1)
	}
	seen := map[string]bool{}
	for _, list := range lists {
		var axes []int
		var names []string
		for _, name := range list {
			if a := slices.Index(auto.Mesh, name); a >= 0 && p.size[a] > 1 {
				axes, names = append(axes, a), append(names, name)
			}
		}
		if word := strings.Join(names, " "); len(axes) == several && !seen[word] {
			seen[word] = true
			add(word, func(p *part) { p.order = axes })
		}
	}
}

// factors yields the divisors of a number, ascending.
func factors(n int, do func(int)) {
	for d := 1; d <= n; d++ {
		if n%d == 0 {
			do(d)
		}
	}
}

// power reports whether a number is a power of two.
func power(n int) bool { return n&(n-1) == 0 }

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
