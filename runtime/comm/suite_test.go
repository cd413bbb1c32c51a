package comm_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math/rand/v2"
	"slices"
	"sync"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// meshOf is the mesh that the suite uses for a number of devices: of as many axes
// as that allows.
func meshOf(devices int) *comm.Mesh {
	sizes := map[int][]int{1: nil, 2: {2}, 3: {3}, 4: {2, 2}, 6: {3, 2}, 8: {2, 2, 2}}[devices]
	var axes []program.MeshAxis
	for i, s := range sizes {
		axes = append(axes, program.MeshAxis{Name: string(rune('a' + i)), Size: s})
	}
	m, err := comm.NewMesh(axes)
	if err != nil || m.Size() != devices {
		panic(fmt.Sprintf("no mesh of %d devices (%v)", devices, err))
	}
	return m
}

// suite is the conformance suite of transports, as one device of a mesh runs it: it
// runs operations among all devices, compares each result with one computed here
// from the inputs of all members, and gives a digest of all bits, which must be the
// same under every transport.
//
// It is the state of one device. All devices draw from rng alike.
type suite struct {
	d      comm.Device
	rng    *rand.Rand
	groups []*comm.Group
	digest hash.Hash
	ops    int
}

// runSuite runs the suite on one device, with that many random operations in each
// part, and gives the digest of the device's results.
func runSuite(d comm.Device, seed uint64, operations int) (digest string, err error) {
	s := &suite{d: d, rng: rand.New(rand.NewPCG(seed, 0)), digest: sha256.New()}
	if s.groups, err = groups(d.Mesh()); err != nil {
		return "", err
	}
	for _, part := range []struct {
		name string
		run  func(int) error
	}{
		{"one at a time", s.single}, {"overlapped", s.overlapped},
		{"pipeline", s.pipeline}, {"stress", s.stress}, {"waited for late", s.late}, {"two goroutines", s.concurrent},
	} {
		if err := part.run(operations); err != nil {
			return "", fmt.Errorf("device %d, %s: %w", d.Rank(), part.name, err)
		}
	}
	return fmt.Sprintf("%x", s.digest.Sum(nil)), nil
}

// groups are all sets of axes, in both orders.
func groups(m *comm.Mesh) ([]*comm.Group, error) {
	var out []*comm.Group
	axes := m.Axes()
	for set := range 1 << len(axes) {
		var up, down []string
		for i, a := range axes {
			if set>>i&1 == 1 {
				up = append(up, a.Name)
				down = append([]string{a.Name}, down...)
			}
		}
		for _, names := range [][]string{up, down} {
			g, err := m.Group(names...)
			if err != nil {
				return nil, err
			}
			out = append(out, g)
		}
	}
	return append(out, m.World()), nil
}

// each runs f for each device in a goroutine of its own. A device that returns an
// error or panics ends the communication of all; one that returns nil is closed.
// The error is of devices which failed by themselves, not of those that these ended.
func each(devs []comm.Device, f func(comm.Device) error) error {
	errs := make([]error, len(devs))
	var wait sync.WaitGroup
	for i, d := range devs {
		wait.Add(1)
		go func() {
			defer wait.Done()
			if errs[i] = guarded(d, f); errs[i] != nil {
				d.Abort(errs[i])
			} else {
				errs[i] = d.Close()
			}
		}()
	}
	wait.Wait()
	all := errors.Join(errs...)
	return cmp.Or(errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		var e *comm.Error
		return errors.As(err, &e) && e.Reason == comm.ReasonAborted
	})...), all)
}

// guarded turns a panic of f into an error.
func guarded(d comm.Device, f func(comm.Device) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("device %d panicked: %v", d.Rank(), p)
		}
	}()
	return f(d)
}

// trial is one random operation with what it must give, and the trials of its
// further tensors.
type trial struct {
	op       comm.Op
	src, dst []byte
	call     comm.Call
	want     []byte
	rest     []*trial
}

// next draws an operation. largest bounds the elements of a slice.
func (s *suite) next(largest int) (*trial, error) {
	s.ops++
	rng := s.rng
	g := s.groups[rng.IntN(len(s.groups))]
	n := g.Size()
	dtypes := dtype.Tensors()
	kinds := collective.Kinds(func(s *collective.Spec) bool { return s.Group && s.Kind != collective.ShardSlice })
	op := comm.Op{Kind: collective.Kind(kinds[rng.IntN(len(kinds))]), Group: g, Label: fmt.Sprintf("trial %d", s.ops),
		DType: dtypes[rng.IntN(len(dtypes))], Reduce: []collective.Reduction{collective.Sum, collective.Max}[rng.IntN(2)],
		Outer: 1 + rng.IntN(4), Inner: rng.IntN(1 + rng.IntN(largest)), Root: rng.IntN(n)}
	if op.DType == dtype.Bool {
		op.Reduce = collective.Max
	}
	inPlace := rng.IntN(2) == 0
	if inPlace && rng.IntN(2) == 0 {
		op.Outer = 1
	}
	if op.Kind == collective.AllToAll && rng.IntN(2) == 0 { // the transposed view has the same product
		op.DstOuter, op.DstInner = op.Inner, op.Outer
	}
	op.From = rng.Perm(n)
	if rng.IntN(2) == 0 {
		op.From[rng.IntN(n)] = -1
	}
	t := s.trial(op, inPlace, rng.Uint64())
	if op.Kind <= collective.AllGather && rng.IntN(3) == 0 {
		for range 1 + rng.IntN(4) {
			one := op
			one.Outer, one.Inner = 1+rng.IntN(4), rng.IntN(1+rng.IntN(largest))
			t.add(s.trial(one, rng.IntN(2) == 0, rng.Uint64()))
		}
	}
	var err error
	t.call, err = s.d.Prepare(t.op)
	return t, err
}

// add makes another trial's tensor one of this operation.
func (t *trial) add(x *trial) {
	t.rest = append(t.rest, x)
	t.op.Rest = append(t.op.Rest, comm.Tensor{Outer: x.op.Outer, Inner: x.op.Inner, Src: x.op.Src, Dst: x.op.Dst})
}

// trial makes the buffers of an operation and the expected result.
func (s *suite) trial(op comm.Op, inPlace bool, seed uint64) *trial {
	elems := op.Elems()
	from := elems
	if op.Kind == collective.ReduceScatter || op.Kind == collective.AllToAll {
		from *= op.Group.Size()
	}
	var srcs [][]byte
	for _, m := range op.Group.Members(s.d.Rank()) {
		srcs = append(srcs, fill(op.DType, from, rand.New(rand.NewPCG(seed, uint64(m)))))
	}
	me := op.Group.Coord(s.d.Rank())
	t := &trial{op: op, want: expect(&op, srcs, me)}
	t.src = bytes.Clone(srcs[me])
	t.dst = bytes.Repeat([]byte{0xa5}, len(t.want))
	slice := elems * op.DType.Size()
	switch {
	case op.Kind == collective.Barrier:
		t.src, t.dst = nil, nil
	case !inPlace:
	case op.Kind == collective.AllReduce || op.Kind == collective.Broadcast:
		t.dst = t.src
	case op.Kind == collective.ReduceScatter && op.Outer == 1:
		t.dst = t.src[me*slice : (me+1)*slice]
	case op.Kind == collective.AllGather && op.Outer == 1:
		own := t.dst[me*slice : (me+1)*slice]
		copy(own, t.src)
		t.src = own
	}
	t.op.Src, t.op.Dst = device.Bytes(t.src), device.Bytes(t.dst)
	return t
}

func (t *trial) check(s *suite) error {
	if !bytes.Equal(t.dst, t.want) {
		i := 0
		for t.dst[i] == t.want[i] {
			i++
		}
		e := i / t.op.DType.Size()
		return fmt.Errorf("%s over %v: element %d of %d is %g instead of %g", t.op.Signature(), t.op.Group.Members(s.d.Rank()),
			e, len(t.want)/t.op.DType.Size(), get(t.op.DType, t.dst, e), get(t.op.DType, t.want, e))
	}
	s.digest.Write(t.dst)
	for i, x := range t.rest {
		if err := x.check(s); err != nil {
			return fmt.Errorf("tensor %d: %w", i+1, err)
		}
	}
	return nil
}

// sources are what the operation sends, of all tensors.
func (t *trial) sources() [][]byte {
	out := [][]byte{t.src}
	for _, x := range t.rest {
		out = append(out, x.src)
	}
	return out
}

// single runs operations one at a time, each twice, a few of them large.
func (s *suite) single(operations int) error {
	for i := range operations {
		largest := 300
		if i%16 == 0 {
			largest = 40000
		}
		t, err := s.next(largest)
		if err != nil {
			return err
		}
		var before [][]byte
		for _, b := range t.sources() {
			before = append(before, bytes.Clone(b))
		}
		for range 2 {
			for i, b := range t.sources() {
				copy(b, before[i])
			}
			if err := t.call.Run(); err != nil {
				return err
			}
			if err := t.check(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// overlapped starts operations of several groups and waits for them in an order
// that differs from device to device.
func (s *suite) overlapped(operations int) error {
	own := rand.New(rand.NewPCG(uint64(s.d.Rank()), 1))
	for done := 0; done < operations; {
		trials := make([]*trial, 1+s.rng.IntN(24))
		for i := range trials {
			var err error
			if trials[i], err = s.next(500); err != nil {
				return err
			}
			if err := trials[i].call.Start(); err != nil {
				return err
			}
		}
		for _, i := range own.Perm(len(trials)) {
			if err := trials[i].call.Wait(); err != nil {
				return err
			}
		}
		for _, t := range trials {
			if err := t.check(s); err != nil {
				return err
			}
		}
		done += len(trials)
	}
	return nil
}
