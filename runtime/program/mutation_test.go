package program

import (
	"math/rand"
	"slices"
	"testing"

	"ptc/internal/collective"
)

// mutation changes one thing of a plan; false where there is nothing of its
// kind.
type mutation struct {
	name  string
	apply func(r *rand.Rand, p *Plan) bool
}

// pick chooses an instruction of a plan for which is holds.
func pick(r *rand.Rand, p *Plan, is func(in *Instr) bool) (instrs *[]Instr, i int, ok bool) {
	d := r.Intn(len(p.Devices))
	instrs = &p.Devices[d].Progs[0].Instrs
	var all []int
	for i := range *instrs {
		if is(&(*instrs)[i]) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return instrs, 0, false
	}
	return instrs, all[r.Intn(len(all))], true
}

func each(*Instr) bool      { return true }
func isComm(in *Instr) bool { return in.Comm != nil && in.Comm.Kind != collective.Done }
func isMessage(in *Instr) bool {
	return in.Comm != nil && (in.Comm.Kind == collective.Send || in.Comm.Kind == collective.Recv)
}
func isCollective(in *Instr) bool { return isComm(in) && !isMessage(in) }
func isDone(in *Instr) bool       { return in.Comm != nil && in.Comm.Kind == collective.Done }

// renumber has dones name the instructions that they named before instructions
// were moved: from is the old number of each.
func renumber(instrs []Instr, from []int) {
	for i := range instrs {
		if isDone(&instrs[i]) {
			c := *instrs[i].Comm
			if j := slices.Index(from, c.Of); j >= 0 {
				c.Of = j
			}
			instrs[i].Comm = &c
		}
	}
}

// rearrange applies f to the instructions by their numbers.
func rearrange(instrs *[]Instr, f func(order []int) []int) {
	order := make([]int, len(*instrs))
	for i := range order {
		order[i] = i
	}
	order = f(order)
	var out []Instr
	for _, i := range order {
		out = append(out, (*instrs)[i])
	}
	renumber(out, order)
	*instrs = out
}

// comm changes a copy of the communication of an instruction.
func comm(is func(in *Instr) bool, f func(r *rand.Rand, c *Comm, in *Instr) bool) func(*rand.Rand, *Plan) bool {
	return func(r *rand.Rand, p *Plan) bool {
		instrs, i, ok := pick(r, p, is)
		if !ok {
			return false
		}
		c := *(*instrs)[i].Comm
		ok = f(r, &c, &(*instrs)[i])
		(*instrs)[i].Comm = &c
		return ok
	}
}

var mutations = []mutation{
	{"drop", func(r *rand.Rand, p *Plan) bool {
		instrs, i, ok := pick(r, p, each)
		if ok {
			rearrange(instrs, func(o []int) []int { return slices.Delete(o, i, i+1) })
		}
		return ok
	}},
	{"duplicate", func(r *rand.Rand, p *Plan) bool {
		instrs, i, ok := pick(r, p, each)
		if ok {
			rearrange(instrs, func(o []int) []int { return slices.Insert(o, i, i) })
		}
		return ok
	}},
	{"exchange", func(r *rand.Rand, p *Plan) bool {
		instrs, i, ok := pick(r, p, each)
		_, j, _ := pick(r, p, each)
		if !ok || j >= len(*instrs) || i == j {
			return false
		}
		rearrange(instrs, func(o []int) []int { o[i], o[j] = o[j], o[i]; return o })
		return true
	}},
	{"move a communication", func(r *rand.Rand, p *Plan) bool {
		instrs, i, ok := pick(r, p, isComm)
		if !ok {
			return false
		}
		j := r.Intn(len(*instrs))
		rearrange(instrs, func(o []int) []int { return slices.Insert(slices.Delete(o, i, i+1), j, i) })
		return i != j
	}},
	{"move a done", func(r *rand.Rand, p *Plan) bool {
		instrs, i, ok := pick(r, p, isDone)
		if !ok {
			return false
		}
		j := r.Intn(len(*instrs))
		rearrange(instrs, func(o []int) []int { return slices.Insert(slices.Delete(o, i, i+1), j, i) })
		return i != j
	}},
	{"another program", func(r *rand.Rand, p *Plan) bool {
		if len(p.Devices) < 2 {
			return false
		}
		p.Devices[0].Progs, p.Devices[1].Progs = p.Devices[1].Progs, p.Devices[0].Progs
		return true
	}},
	{"another group", comm(isCollective, func(r *rand.Rand, c *Comm, _ *Instr) bool {
		c.Over = [][]string{{"dp"}, {"tp"}, {"dp", "tp"}, {"pp"}, {"dp", "pp"}}[r.Intn(5)]
		return true
	})},
	{"another reduction", comm(isCollective, func(_ *rand.Rand, c *Comm, _ *Instr) bool {
		c.Reduce = "max"
		return true
	})},
	{"another view", comm(isComm, func(r *rand.Rand, c *Comm, _ *Instr) bool {
		c.Outer, c.Inner = 2, int64(8<<r.Intn(2))
		return true
	})},
	{"another tag", comm(isMessage, func(r *rand.Rand, c *Comm, _ *Instr) bool {
		c.Tag = (c.Tag + 1) % (2 + r.Intn(2))
		return true
	})},
	{"another peer", comm(isMessage, func(r *rand.Rand, c *Comm, _ *Instr) bool {
		c.Peer = r.Intn(4)
		return true
	})},
	{"send for receive", comm(isMessage, func(_ *rand.Rand, c *Comm, _ *Instr) bool {
		c.Kind = map[string]string{collective.Send: collective.Recv, collective.Recv: collective.Send}[c.Kind]
		return true
	})},
	{"start a receive, or not", comm(isMessage, func(_ *rand.Rand, c *Comm, _ *Instr) bool {
		c.Start = !c.Start
		return true
	})},
	{"start, or not", comm(isCollective, func(_ *rand.Rand, c *Comm, _ *Instr) bool {
		c.Start = !c.Start
		return true
	})},
	{"done of another", comm(isDone, func(r *rand.Rand, c *Comm, _ *Instr) bool {
		c.Of = max(0, c.Of+1-2*r.Intn(2))
		return true
	})},
	{"do not wait", func(r *rand.Rand, p *Plan) bool {
		instrs, i, ok := pick(r, p, func(in *Instr) bool { return in.Comm == nil })
		if ok {
			(*instrs)[i].NoWait = !(*instrs)[i].NoWait
		}
		return ok
	}},
	{"another buffer", func(r *rand.Rand, p *Plan) bool {
		instrs, i, ok := pick(r, p, func(in *Instr) bool { return len(in.Bufs) > 0 })
		if ok {
			in := &(*instrs)[i]
			in.Bufs = slices.Clone(in.Bufs)
			in.Bufs[r.Intn(len(in.Bufs))] = r.Intn(slots + 2)
		}
		return ok
	}},
	{"shift a buffer", func(r *rand.Rand, p *Plan) bool {
		d := &p.Devices[r.Intn(len(p.Devices))]
		d.Buffers[r.Intn(len(d.Buffers))].Offset += Align * int64(1-2*r.Intn(2))
		return true
	}},
	{"a smaller arena", func(r *rand.Rand, p *Plan) bool {
		d := &p.Devices[r.Intn(len(p.Devices))]
		d.Arena -= Align * int64(1+r.Intn(3))
		return true
	}},
	{"larger arguments", func(_ *rand.Rand, p *Plan) bool {
		p.Kernels[0].Args = []Arg{{Bytes: 128}, {Bytes: 64, Write: true}}
		return true
	}},
}

// hangs is what an independent run of the plan finds, in several orders.
func hangs(p *Plan) string {
	for seed := range int64(4) {
		if s := oracleHang(p, rand.New(rand.NewSource(seed))); s != "" {
			return s
		}
	}
	return ""
}

// TestRandomPlans: plans that are correct by construction are valid, and the
// oracle agrees.
func TestRandomPlans(t *testing.T) {
	for seed := range int64(500) {
		p := randomPlan(seed)
		if err := p.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if s := oracleBytes(p) + hangs(p); s != "" {
			t.Fatalf("seed %d: %s", seed, s)
		}
	}
}

// TestMutants: what Validate accepts ends in every order, with the same
// collectives on all members of a group, and no instruction touches memory that
// another, for which it does not wait, uses. (What a changed plan computes, the
// checksum excludes: see the package's comment.)
func TestMutants(t *testing.T) {
	total, harmful, accepted := 0, 0, 0
	for _, mu := range mutations {
		tried, refusedBad, refused, kept := 0, 0, 0, 0
		for seed := int64(0); tried < 200 && seed < 4000; seed++ {
			p := randomPlan(seed)
			if !mu.apply(rand.New(rand.NewSource(seed)), p) {
				continue
			}
			tried++
			// Only what is of sound shape can be run at all.
			if err := p.Validate(); err != nil {
				if bad := runnable(p) && oracleBytes(p)+hangs(p) != ""; bad {
					refusedBad++
				} else {
					refused++
				}
				continue
			}
			kept++
			if s := oracleBytes(p) + hangs(p); s != "" {
				t.Errorf("%s, seed %d: accepted, and %s", mu.name, seed, s)
			}
		}
		t.Logf("%-22s %3d tried: refused %3d that hang or touch wrong memory, %3d others; accepted %3d", mu.name, tried, refusedBad, refused, kept)
		if tried < 50 {
			t.Errorf("%s: %d tried", mu.name, tried)
		}
		total, harmful, accepted = total+tried, harmful+refusedBad, accepted+kept
	}
	t.Logf("%d mutants, %d that hang or touch wrong memory, %d accepted", total, harmful, accepted)
	if harmful < 500 || accepted < 500 {
		t.Errorf("%d mutants, %d harmful, %d accepted", total, harmful, accepted)
	}
}

// runnable says whether the oracle can make sense of a plan: indices and peers
// are there.
func runnable(p *Plan) bool {
	for i := range p.Devices {
		d := &p.Devices[i]
		for _, in := range d.Progs[0].Instrs {
			c := in.Comm
			if c == nil {
				continue
			}
			if isMessage(&in) && (c.Peer >= p.Mesh[1].Size || d.At[0] == c.Peer) {
				return false
			}
			if c.Kind == collective.Done && (c.Of >= len(d.Progs[0].Instrs) || !isComm(&d.Progs[0].Instrs[c.Of]) || !d.Progs[0].Instrs[c.Of].Comm.Start) {
				return false
			}
		}
	}
	return true
}
