package program

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"

	"ptc/internal/collective"
)

// Random plans of pipelines and groups, correct by construction: their programs
// are what each device sees of one list of events, in which every wait ends. And
// an oracle, which shares no code with the package: it tracks bytes one by one,
// and lets ranks go on in random orders.

// slots is the number of buffers of a random plan that do not meet others; each
// is of Align bytes. Two more are of two slots each.
const slots = 10

// builder makes one random plan.
type builder struct {
	r       *rand.Rand
	p       *Plan
	open    [][]flying // by device: started and not done
	streams []*wire
}

// wire is a stream of messages: how many were sent, are or were being received, and were
// taken.
type wire struct{ from, to, tag, sent, begun, taken int }

// flying is a started communication of a device: its instruction and the
// buffers that it uses; of a receive, its stream.
type flying struct {
	at     int
	bufs   []int
	stream *wire
}

func randomPlan(seed int64) *Plan {
	b := &builder{r: rand.New(rand.NewSource(seed))}
	stages := 1 + b.r.Intn(3)
	p := &Plan{Name: "M", Layout: "l", Compiler: "0", Target: "ref",
		Mesh:    []MeshAxis{{"dp", 2}, {"pp", stages}, {"tp", 1 + b.r.Intn(2)}},
		Code:    []Code{{"ir", []byte("x")}},
		Kernels: []Kernel{{Name: "k", Class: "map", Symbol: "k", Tasks: 1, Args: []Arg{{Bytes: 64}, {Bytes: 64, Write: true}}}}}
	b.p = p
	for s := range stages {
		d := Device{Arena: slots * Align}
		p.By, d.At = []string{"pp"}, []int{s}
		for i := range slots {
			d.Buffers = append(d.Buffers, Buffer{Space: Scratch, Offset: int64(i) * Align, Bytes: 64, DType: "f32", Axes: []Axis{{Name: "a", Size: 16, Global: 16}}})
		}
		for i := range 2 {
			d.Buffers = append(d.Buffers, Buffer{Space: Scratch, Offset: int64(i) * 2 * Align, Bytes: 128, DType: "f32", Axes: []Axis{{Name: "a", Size: 32, Global: 32}}})
		}
		d.Progs = []Program{{Name: "step"}}
		p.Devices = append(p.Devices, d)
	}
	b.open = make([][]flying, stages)
	for range 4 + b.r.Intn(20) {
		b.event()
	}
	for s := range stages {
		for len(b.open[s]) > 0 {
			b.done(s)
		}
	}
	for _, w := range b.streams {
		for w.taken < w.sent {
			b.arrive(w)
		}
	}
	return p
}

func (b *builder) instrs(s int) *[]Instr { return &b.p.Devices[s].Progs[0].Instrs }

func (b *builder) emit(s int, in Instr) { *b.instrs(s) = append(*b.instrs(s), in) }

// free is a buffer of one slot that nothing under way uses.
func (b *builder) free(s int) int {
	for {
		n := b.r.Intn(slots)
		used := false
		for _, f := range b.open[s] {
			used = used || slices.Contains(f.bufs, n)
		}
		if !used {
			return n
		}
	}
}

func (b *builder) event() {
	s := b.r.Intn(len(b.p.Devices))
	switch k := b.r.Intn(10); {
	case k < 3:
		b.emit(s, Instr{Bufs: []int{b.free(s), b.free(s)}})
		last := &(*b.instrs(s))[len(*b.instrs(s))-1]
		last.NoWait = true
		alone := &Plan{Kernels: b.p.Kernels, Devices: b.p.Devices[s : s+1]}
		last.NoWait = !strings.Contains(oracleBytes(alone), "race")
	case k < 6:
		b.collective(s)
	case k < 7 && len(b.open[s]) > 0:
		b.done(s)
	case k < 9 && len(b.p.Devices) > 1:
		if w := b.stream(s); w.sent-w.taken < InFlight {
			b.send(w)
		}
	case len(b.streams) > 0:
		w := b.streams[b.r.Intn(len(b.streams))]
		if start := b.r.Intn(2) == 0; start && len(b.open[w.to]) < 5 {
			b.post(w)
		} else if w.begun == w.taken && w.begun < w.sent {
			b.arrive(w)
		}
	}
}

func (b *builder) collective(s int) {
	over := [][]string{{"dp"}, {"tp"}, {"dp", "tp"}}[b.r.Intn(3)]
	c := &Comm{Kind: collective.AllReduce, Over: over, Reduce: "sum", DType: "f32", Outer: 1, Inner: 16}
	in := Instr{Comm: c}
	src, dst := b.free(s), b.free(s)
	switch k := b.r.Intn(4); {
	case k == 0 && src != dst && len(over) == 1 && over[0] == "dp":
		c.Kind, c.Reduce, c.From = collective.Permute, "", []int{1, 0}
	case k == 1:
		other := b.free(s)
		for other == src {
			other = b.free(s)
		}
		c.Rest, dst = []View{{1, 16}}, src
		in.Bufs = []int{src, other, dst, other}
	default:
		c.Outer, c.Inner = 4, 4
	}
	if in.Bufs == nil {
		in.Bufs = []int{src, dst}
	}
	if len(b.open[s]) < 3 && b.r.Intn(2) == 0 {
		c.Start = true
		b.open[s] = append(b.open[s], flying{at: len(*b.instrs(s)), bufs: in.Bufs})
	}
	b.emit(s, in)
}

// done waits for what was started: of receives of a stream, for the first.
func (b *builder) done(s int) {
	i := b.r.Intn(len(b.open[s]))
	if w := b.open[s][i].stream; w != nil {
		i = slices.IndexFunc(b.open[s], func(f flying) bool { return f.stream == w })
		if w.sent == w.taken {
			b.send(w)
		}
		w.taken++
	}
	b.emit(s, Instr{Comm: &Comm{Kind: collective.Done, Of: b.open[s][i].at}})
	b.open[s] = slices.Delete(b.open[s], i, i+1)
}

// stream is one from stage s to another, with one of two tags.
func (b *builder) stream(s int) *wire {
	to, tag := b.r.Intn(len(b.p.Devices)-1), b.r.Intn(2)
	if to >= s {
		to++
	}
	for _, w := range b.streams {
		if w.from == s && w.to == to && w.tag == tag {
			return w
		}
	}
	w := &wire{from: s, to: to, tag: tag}
	b.streams = append(b.streams, w)
	return w
}

func (w *wire) message(kind string, peer, buf int) Instr {
	return Instr{Bufs: []int{buf}, Comm: &Comm{Kind: kind, Over: []string{"pp"}, DType: "f32", Outer: 1, Inner: 16, Peer: peer, Tag: w.tag}}
}

func (b *builder) send(w *wire) {
	b.emit(w.from, w.message(collective.Send, w.to, b.free(w.from)))
	w.sent++
}

// arrive receives the message that has been longest on its way.
func (b *builder) arrive(w *wire) {
	b.emit(w.to, w.message(collective.Recv, w.from, b.free(w.to)))
	w.begun, w.taken = w.begun+1, w.taken+1
}

// post begins to receive a message, which may not yet be sent.
func (b *builder) post(w *wire) {
	in := w.message(collective.Recv, w.from, b.free(w.to))
	in.Comm.Start = true
	b.open[w.to] = append(b.open[w.to], flying{at: len(*b.instrs(w.to)), bufs: in.Bufs, stream: w})
	b.emit(w.to, in)
	w.begun++
}

// uses are the bytes that an instruction reads and writes, one by one.
func uses(d *Device, in *Instr, k []Kernel) (reads, writes []int64) {
	add := func(to *[]int64, buf int, n int64) {
		for i := range n {
			*to = append(*to, d.Buffers[buf].Offset+i)
		}
	}
	if in.Comm == nil {
		for j, n := range in.Bufs {
			a := k[in.Kernel].Args[j]
			if a.Write {
				add(&writes, n, a.Bytes)
			} else {
				add(&reads, n, a.Bytes)
			}
		}
		return reads, writes
	}
	for j, n := range in.Bufs {
		to := &writes
		if in.Comm.Kind == collective.Send || in.Comm.Kind != collective.Recv && j < len(in.Bufs)/2 {
			to = &reads
		}
		add(to, n, d.Buffers[n].Bytes)
	}
	return reads, writes
}

// oracleBytes says which instruction of a device touches memory that another
// one, which it does not wait for, uses; or has a place outside of the arena.
func oracleBytes(p *Plan) string {
	for di := range p.Devices {
		d := &p.Devices[di]
		reads, writes := map[int64]bool{}, map[int64]bool{}
		type under struct{ reads, writes []int64 }
		flights := map[int]under{}
		for i := range d.Progs[0].Instrs {
			in := &d.Progs[0].Instrs[i]
			for _, n := range in.Bufs {
				if b := d.Buffers[n]; b.Offset < 0 || b.Offset+b.Bytes > d.Arena {
					return fmt.Sprintf("outside: device %d, instruction %d", di, i)
				}
			}
			if !in.NoWait {
				clear(reads)
				clear(writes)
			}
			r, w := uses(d, in, p.Kernels)
			if in.Comm != nil && in.Comm.Kind == collective.Done {
				if _, ok := flights[in.Comm.Of]; !ok {
					return fmt.Sprintf("done of nothing: device %d, instruction %d", di, i)
				}
				delete(flights, in.Comm.Of)
			}
			touches := func(mine []int64, others map[int64]bool) bool {
				return slices.ContainsFunc(mine, func(at int64) bool { return others[at] })
			}
			if touches(r, writes) || touches(w, writes) || touches(w, reads) {
				return fmt.Sprintf("race: device %d, instruction %d", di, i)
			}
			for _, f := range flights {
				into, sent := map[int64]bool{}, map[int64]bool{}
				for _, at := range f.writes {
					into[at] = true
				}
				for _, at := range f.reads {
					sent[at] = true
				}
				if touches(r, into) || touches(w, into) || touches(w, sent) {
					return fmt.Sprintf("touched under way: device %d, instruction %d", di, i)
				}
			}
			for _, at := range r {
				reads[at] = true
			}
			for _, at := range w {
				writes[at] = true
			}
			if in.Comm != nil && in.Comm.Start {
				flights[i] = under{r, w}
			}
		}
		if len(flights) > 0 {
			return fmt.Sprintf("never done: device %d", di)
		}
	}
	return ""
}

// oracleHang says how a run with ranks in an order of r's choice ends: empty if
// all reach their end, no message is left, and members of each group issue the
// same.
func oracleHang(p *Plan, r *rand.Rand) string {
	n := p.Mesh.Ranks()
	progs, at := make([][]Instr, n), make([]int, n)
	for i := range p.Devices {
		for _, rank := range p.RanksOf(&p.Devices[i]) {
			progs[rank] = p.Devices[i].Progs[0].Instrs
		}
	}
	coord := func(rank int) map[string]int {
		c := map[string]int{}
		for i := len(p.Mesh) - 1; i >= 0; i-- {
			c[p.Mesh[i].Name] = rank % p.Mesh[i].Size
			rank /= p.Mesh[i].Size
		}
		return c
	}
	// members are the ranks that agree with this one on all other axes.
	members := func(rank int, over []string) []int {
		var out []int
		for q := range n {
			same := true
			for _, a := range p.Mesh {
				same = same && (slices.Contains(over, a.Name) || coord(q)[a.Name] == coord(rank)[a.Name])
			}
			if same {
				out = append(out, q)
			}
		}
		return out
	}
	mail := map[string][]string{}   // all that were sent
	taken := map[string]int{}       // how many of them were waited for
	begun := map[string]int{}       // how many receives
	issued := map[string][]string{} // by rank and group: what it issued
	nth := make([]map[int]int, n)   // by rank and instruction: which of its group's it is
	for i := range nth {
		nth[i] = map[int]int{}
	}
	bad := ""
	key := func(rank int, group []int) string { return fmt.Sprint(rank, group) }
	complete := func(rank, i int) bool {
		c := progs[rank][i].Comm
		group := members(rank, c.Over)
		for _, q := range group {
			if len(issued[key(q, group)]) <= nth[rank][i] {
				return false
			}
		}
		return true
	}
	step := func(rank int) bool {
		i := at[rank]
		c := progs[rank][i].Comm
		if c == nil || c.Kind == collective.ShardSlice {
			return true
		}
		peer := func() int {
			for _, q := range members(rank, c.Over) {
				if coord(q)[c.Over[0]] == c.Peer {
					return q
				}
			}
			panic("no peer")
		}
		what := fmt.Sprint(c.Outer*c.Inner, c.DType)
		switch c.Kind {
		case collective.Send:
			k := fmt.Sprint(rank, peer(), c.Tag)
			if len(mail[k])-taken[k] == InFlight {
				return false
			}
			mail[k] = append(mail[k], what)
		case collective.Recv, collective.Done:
			begin := i
			if c.Kind == collective.Done {
				begin = c.Of
				if c = progs[rank][begin].Comm; c.Kind != collective.Recv {
					return complete(rank, begin)
				}
				what = fmt.Sprint(c.Outer*c.Inner, c.DType)
			}
			k := fmt.Sprint(peer(), rank, c.Tag)
			if _, known := nth[rank][begin]; !known {
				nth[rank][begin] = begun[k]
				begun[k]++
			}
			switch n := nth[rank][begin]; {
			case begin == i && c.Start:
				return true
			case n >= len(mail[k]):
				return false
			case mail[k][n] != what:
				bad = "another message"
			}
			taken[k]++
		default:
			group := members(rank, c.Over)
			if _, done := nth[rank][i]; !done {
				k := key(rank, group)
				nth[rank][i] = len(issued[k])
				issued[k] = append(issued[k], fmt.Sprint(c.Kind, c.Reduce, c.DType, c.Outer, c.Inner, c.Rest, c.From, c.DstOuter, c.DstInner))
				for _, q := range group {
					if other := issued[key(q, group)]; len(other) > nth[rank][i] && other[nth[rank][i]] != issued[k][nth[rank][i]] {
						bad = "members issue different collectives"
					}
				}
			}
			return c.Start || complete(rank, i)
		}
		return true
	}
	for moved := true; moved && bad == ""; {
		moved = false
		for _, rank := range r.Perm(n) {
			for at[rank] < len(progs[rank]) && step(rank) {
				at[rank]++
				moved = true
				if r.Intn(3) == 0 {
					break
				}
			}
		}
	}
	for rank := range n {
		if at[rank] < len(progs[rank]) && bad == "" {
			bad = fmt.Sprintf("rank %d waits at %d for ever", rank, at[rank])
		}
	}
	for k, m := range mail {
		if len(m) > taken[k] && bad == "" {
			bad = "nobody receives " + k
		}
	}
	return bad
}
