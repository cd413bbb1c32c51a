package cuda

import (
	"fmt"
	"slices"

	"ptc/internal/collective"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// exchange is a communication with other devices, by memory of the host that lies as the buffers
// do: where these overlap, so does their staging.
type exchange struct {
	p         *captured
	instr     int
	call      device.Exchange
	ins, outs queued // from the arena to the staging, and back
	reads     bool   // it has sources, which have to be complete
}

// stage is where a buffer has its staging.
type stage struct{ buffer, at int64 }

// isExchange says whether an instruction exchanges something with other devices.
func isExchange(in *program.Instr) bool {
	c := in.Comm
	return c != nil && !c.Moves() && c.Kind != collective.ShardSlice && c.Kind != collective.Done
}

// communicate prepares the exchanges of the program: those that the GPU does by itself, and the
// others by way of the host.
func (p *captured) communicate() error {
	x := p.e.r.Exchanges
	var list []int
	var total int64
	places := map[int][]stage{}
	for i := range p.instrs {
		if !isExchange(&p.instrs[i]) {
			continue
		}
		if x == nil {
			return p.unable(i, fmt.Errorf("it exchanges data with other devices, and there are none"))
		}
		if done, err := p.enqueued(i); err != nil {
			return p.unable(i, err)
		} else if done {
			continue
		}
		if !x.Serves(device.NewHost(nil, nil)) {
			return p.unable(i, fmt.Errorf("the transport serves neither memory of GPUs nor of the host"))
		}
		list = append(list, i)
		places[i], total = p.places(&p.instrs[i], total)
	}
	if err := p.stage(list, places, total); err != nil {
		return err
	}
	for i := range p.instrs { // the ends of those that were started
		if c := p.instrs[i].Comm; c != nil && c.Kind == collective.Done && p.ends[c.Of] != nil {
			p.acts[i].op = p.ends[c.Of]
		}
	}
	p.captures()
	return nil
}

// stage readies exchanges by way of the host, with so many bytes of it.
func (p *captured) stage(list []int, places map[int][]stage, total int64) error {
	if len(list) == 0 {
		return nil
	}
	p.hosted = true
	staging, err := p.e.pin(max(total, 1))
	if err != nil {
		return err
	}
	memory := device.NewHost(staging, nil)
	for _, i := range list {
		if err := p.prepare(i, places[i], memory, staging); err != nil {
			return p.unable(i, err)
		}
	}
	return nil
}

// places gives each buffer of an instruction its bytes of the staging, from a byte on, and says
// where the next instruction's begin.
func (p *captured) places(in *program.Instr, from int64) (out []stage, end int64) {
	all := p.e.r.Device.Buffers
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
func (p *captured) prepare(i int, places []stage, memory device.Memory, staging []byte) error {
	e, in := p.e, &p.instrs[i]
	x := &exchange{p: p, instr: i}
	at := func(buffer int) device.Range {
		b := &e.r.Device.Buffers[buffer]
		if b.Memory == program.Host {
			return device.Range{Memory: e.host, Offset: b.Offset, Bytes: b.Size()}
		}
		k := slices.IndexFunc(places, func(s stage) bool { return s.buffer == int64(buffer) })
		return device.Range{Memory: memory, Offset: places[k].at, Bytes: b.Size()}
	}
	src, dst := in.Ends()
	var ins, outs []transfer
	for _, b := range src {
		if r := at(b); r.Memory == memory {
			ins = append(ins, lines(hostEnd(staging[r.Offset:]), e.end(b), r.Bytes)...)
		}
	}
	for _, b := range dst {
		if r := at(b); r.Memory == memory {
			outs = append(outs, lines(e.end(b), hostEnd(staging[r.Offset:]), r.Bytes)...)
		}
	}
	p.exchanges[i] = x
	x.ins, x.outs, x.reads = e.queue(ins), e.queue(outs), len(src) > 0
	var err error
	if x.call, err = e.r.Exchanges.Prepare(p.index, i, at); err != nil {
		return err
	}
	switch {
	case !in.Comm.Start:
		p.acts[i].op = x.run
	case x.call.AtOnce:
		p.acts[i].op, p.ends[i] = x.run, func() error { return nil }
	default:
		p.acts[i].op, p.ends[i] = x.start, x.end
	}
	return nil
}

// take waits for what is before the exchange and has its sources in the staging.
func (x *exchange) take() error {
	if !x.reads {
		return nil
	}
	if err := x.p.e.enqueue(&x.ins); err != nil {
		return x.p.failedAt(x.instr, err)
	}
	return x.p.failed(x.p.e.awaitStream())
}

// give begins to copy the destinations to where they belong.
func (x *exchange) give() error { return x.p.failedAt(x.instr, x.p.e.enqueue(&x.outs)) }

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

// worker is the engine's goroutine for programs in which the host takes part.
type worker struct {
	jobs  chan func() error
	ended chan error
	done  chan struct{}
}

func newWorker() *worker {
	w := &worker{jobs: make(chan func() error, 1), ended: make(chan error, 1), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for job := range w.jobs {
			w.ended <- job()
		}
	}()
	return w
}

func (w *worker) begin(job func() error) { w.jobs <- job }
func (w *worker) wait() error            { return <-w.ended }

// close ends the goroutine, after what it has to do.
func (w *worker) close() {
	if w != nil {
		close(w.jobs)
		<-w.done
	}
}
