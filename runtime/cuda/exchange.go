package cuda

import (
	"errors"
	"fmt"
	"slices"

	"ptc/internal/collective"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// exchange is a communication with other devices, by memory of the host that lies as the buffers
// do: where these overlap, so does their staging.
type exchange struct {
	p         *resolved
	instr     int
	call      device.Exchange
	ins, outs queued // from the arena to the staging, and back
	reads     bool   // it has sources, which have to be complete
}

// stage is where a buffer has its staging.
type stage struct{ buffer, at int64 }

// linking prepares the exchanges of a program: those that the GPU does by itself, and the
// others by way of the host.
type linking struct {
	*resolved
	memories *memories
	prog     int
	ends     map[int]func() error // by what they end
}

// communicate prepares the exchanges of a program.
func communicate(p *resolved, m *memories, prog int) error {
	l := &linking{resolved: p, memories: m, prog: prog, ends: map[int]func() error{}}
	x := m.r.Exchanges
	var list []int
	var total int64
	staged := map[int][]stage{}
	for i := range p.instrs {
		if !isExchange(&p.instrs[i]) {
			continue
		}
		if x == nil {
			return p.unable(i, fmt.Errorf("it exchanges data with other devices, and there are none"))
		}
		if done, err := l.enqueued(i); err != nil {
			return p.unable(i, err)
		} else if done {
			continue
		}
		if !x.Serves(device.NewHost(nil, nil)) {
			return p.unable(i, fmt.Errorf("the transport serves neither memory of GPUs nor of the host"))
		}
		list = append(list, i)
		staged[i], total = places(m.r.Device.Buffers, &p.instrs[i], total)
	}
	if err := l.stage(list, staged, total); err != nil {
		return err
	}
	for i := range p.instrs { // the ends of those that were started
		if c := p.instrs[i].Comm; c != nil && c.Kind == collective.Done && l.ends[c.Of] != nil {
			p.acts[i].op = l.ends[c.Of]
		}
	}
	return nil
}

// stage readies exchanges by way of the host, with so many bytes of it.
func (l *linking) stage(list []int, places map[int][]stage, total int64) error {
	if len(list) == 0 {
		return nil
	}
	staging, err := l.pin(max(total, 1))
	if err != nil {
		return err
	}
	memory := device.NewHost(staging, nil)
	for _, i := range list {
		if err := l.prepare(i, places[i], memory, staging); err != nil {
			return l.unable(i, err)
		}
	}
	return nil
}

// places gives each buffer of an instruction its bytes of the staging, from a byte on, and says
// where the next instruction's begin.
func places(all []program.Buffer, in *program.Instr, from int64) (out []stage, end int64) {
	bufs := slices.Clone(in.Bufs)
	slices.Sort(bufs)
	bufs = slices.DeleteFunc(slices.Compact(bufs), func(b int) bool { return all[b].Memory != "" })
	slices.SortStableFunc(bufs, func(a, b int) int { return int(all[a].Offset - all[b].Offset) })
	end = from
	var lo, hi int64 // what the last ones have of the arena, from lo on at from
	for k, b := range bufs {
		if at := all[b].Offset; k == 0 || at >= hi {
			from, lo, hi = end, at, at
		}
		out = append(out, stage{int64(b), from + all[b].Offset - lo})
		hi = max(hi, all[b].Offset+all[b].Size())
		end = from + aligned(hi-lo)
	}
	return out, end
}

// prepare readies one exchange.
func (l *linking) prepare(i int, places []stage, memory device.Memory, staging []byte) error {
	m, in := l.memories, &l.instrs[i]
	x := &exchange{p: l.resolved, instr: i}
	at := func(buffer int) device.Range {
		b := &m.r.Device.Buffers[buffer]
		if b.Memory == program.Host {
			return device.Range{Memory: m.host, Offset: b.Offset, Bytes: b.Size()}
		}
		k := slices.IndexFunc(places, func(s stage) bool { return s.buffer == int64(buffer) })
		return device.Range{Memory: memory, Offset: places[k].at, Bytes: b.Size()}
	}
	src, dst := in.Ends()
	var ins, outs []transfer
	for _, b := range src {
		if r := at(b); r.Memory == memory {
			ins = append(ins, lines(hostEnd(staging[r.Offset:]), m.end(b), r.Bytes)...)
		}
	}
	for _, b := range dst {
		if r := at(b); r.Memory == memory {
			outs = append(outs, lines(m.end(b), hostEnd(staging[r.Offset:]), r.Bytes)...)
		}
	}
	l.acts[i].staged = []*queued{&x.ins, &x.outs}
	x.ins, x.outs, x.reads = m.queue(ins), m.queue(outs), len(src) > 0
	var err error
	if x.call, err = m.r.Exchanges.Prepare(l.prog, i, at); err != nil {
		return err
	}
	switch {
	case !in.Comm.Start:
		l.acts[i].op = x.run
	case x.call.AtOnce:
		l.acts[i].op, l.ends[i] = x.run, func() error { return nil }
	default:
		l.acts[i].op, l.ends[i] = x.start, x.end
	}
	return nil
}

// enqueued readies an exchange that the GPU does by itself, or says that the host has to.
func (l *linking) enqueued(i int) (bool, error) {
	m, in := l.memories, &l.instrs[i]
	watch, ok := m.r.Exchanges.(device.Enqueuer)
	if !ok || m.arena == nil || !m.r.Exchanges.Serves(m.arena) {
		return false, nil
	}
	for _, b := range in.Bufs {
		if m.r.Device.Buffers[b].Memory != "" {
			return false, nil
		}
	}
	x, err := m.r.Exchanges.Prepare(l.prog, i, func(buffer int) device.Range {
		b := &m.r.Device.Buffers[buffer]
		return device.Range{Memory: m.arena, Offset: b.Offset, Bytes: b.Size()}
	})
	switch {
	case errors.Is(err, device.ErrNotEnqueued):
		return false, nil
	case err != nil:
		return false, err
	case x.Enqueued == nil:
		return false, fmt.Errorf("the transport serves memory of GPUs, and does nothing there")
	}
	l.streams.enqueue = watch
	q, stream := x.Enqueued, l.stream
	l.acts[i].enqueued = q
	begin := func() error { return q.StartOn(stream) }
	end := func() error { return q.WaitOn(stream) }
	if in.Comm.Start {
		l.acts[i].op, l.ends[i] = begin, end
		return true, nil
	}
	l.acts[i].op = func() error {
		if err := begin(); err != nil {
			return err
		}
		return end()
	}
	return true, nil
}

// take waits for what is before the exchange and has its sources in the staging.
func (x *exchange) take() error {
	if !x.reads {
		return nil
	}
	if err := x.p.enqueue(&x.ins); err != nil {
		return x.p.failedAt(x.instr, err)
	}
	return x.p.failed(x.p.streams.awaitStream())
}

// give begins to copy the destinations to where they belong.
func (x *exchange) give() error { return x.p.failedAt(x.instr, x.p.enqueue(&x.outs)) }

func (x *exchange) run() error {
	if err := x.take(); err != nil {
		return err
	}
	if err := x.call.Run(); err != nil {
		return err
	}
	return x.give()
}

func (x *exchange) start() error {
	if err := x.take(); err != nil {
		return err
	}
	return x.call.Start()
}

func (x *exchange) end() error {
	if err := x.call.Wait(); err != nil {
		return err
	}
	return x.give()
}
