package fake

import (
	"fmt"
	"slices"
	"unsafe"

	"ptc/internal/order"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// flight is a communication or transfer that a program starts, or runs.
type flight struct {
	instr    int
	src, dst []place

	call    device.Call // nil: a transfer
	staged  []stage     // of the buffers of a communication
	ins     []int       // of staged: the sources
	outs    []int       // of staged: the destinations
	running bool        // a communication that was issued, a transfer that was done
}

// stage is a buffer and the host's bytes in its place.
type stage struct {
	place
	bytes []byte
}

// uses says whether a range that is written, or else read, is one that the flight
// must have for itself.
func (f *flight) uses(p place, write bool) bool {
	meets := func(q place) bool { return p.meets(q) }
	return slices.ContainsFunc(f.dst, meets) || write && slices.ContainsFunc(f.src, meets)
}

func newFlight(e *engine, prog, i int) (*flight, error) {
	in := &e.r.Device.Progs[prog].Instrs[i]
	f := &flight{instr: i}
	src, dst := in.Ends()
	for _, b := range src {
		f.src = append(f.src, e.at(b))
	}
	for _, b := range dst {
		f.dst = append(f.dst, e.at(b))
	}
	if in.Comm.Moves() {
		return f, nil
	}
	x := e.r.Exchanges
	if x == nil || !x.Serves(device.NewHost(nil, nil)) {
		return nil, fmt.Errorf("instruction %d: the transport serves neither the fake memory nor the host's", i)
	}
	at := f.stage(in)
	for _, b := range src {
		f.ins = append(f.ins, slices.Index(in.Bufs, b))
	}
	for k := range dst {
		f.outs = append(f.outs, len(src)+k)
	}
	call, err := x.Prepare(prog, i, at)
	f.call = call
	return f, err
}

// stage gives each buffer of an instruction bytes of the host, which overlap as the
// buffers do.
func (f *flight) stage(in *program.Instr) func(buffer int) device.Range {
	all := slices.Concat(f.src, f.dst)
	left := order.By(len(all), func(a, b int) int { return int(all[a].at - all[b].at) })
	f.staged = make([]stage, len(all))
	memories := make([]device.Range, len(all))
	for len(left) > 0 {
		n, lo, hi := 1, all[left[0]].at, all[left[0]].at+all[left[0]].n
		for n < len(left) && all[left[n]].at < hi {
			hi = max(hi, all[left[n]].at+all[left[n]].n)
			n++
		}
		words := make([]uint64, (hi-lo+7)/8)
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), hi-lo)
		m := device.NewHost(bytes, nil)
		for _, k := range left[:n] {
			at := all[k].at - lo
			f.staged[k] = stage{all[k], bytes[at : at+all[k].n]}
			memories[k] = device.Range{Memory: m, Offset: at, Bytes: all[k].n}
		}
		left = left[n:]
	}
	return func(buffer int) device.Range { return memories[slices.Index(in.Bufs, buffer)] }
}

// take reads the sources of a communication, behind which nobody needs them.
func (f *flight) take() error {
	for _, k := range f.ins {
		s := &f.staged[k]
		if err := s.m.inner.CopyOut(s.bytes, s.at); err != nil {
			return err
		}
	}
	return nil
}

// give writes the destinations of a communication.
func (f *flight) give() error {
	for _, k := range f.outs {
		s := &f.staged[k]
		if err := s.m.inner.CopyIn(s.at, s.bytes); err != nil {
			return err
		}
	}
	return nil
}

// spoil makes the destinations undefined: those that the flight has not to read.
func (f *flight) spoil(read bool) {
	for _, d := range f.dst {
		if read || !slices.ContainsFunc(f.src, d.meets) {
			d.m.spoil(d.at, d.at+d.n)
		}
	}
}

// move does a transfer.
func (f *flight) move() error {
	for i, d := range f.dst {
		if err := d.copy(f.src[i]); err != nil {
			return err
		}
	}
	return nil
}

// issue starts a communication.
func (f *flight) issue() error {
	f.running = true
	if err := f.take(); err != nil {
		return err
	}
	f.spoil(true)
	return f.call.Start()
}

// end waits for a communication.
func (f *flight) end() error {
	if err := f.call.Wait(); err != nil {
		return err
	}
	return f.give()
}
