package nccl_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/comm/nccl"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// trial is an operation that a test runs by both transports.
type trial struct {
	op     comm.Op
	views  []comm.Tensor // all tensors, without buffers
	src    [][]byte
	at     [][2]int // of Src and Dst in the memory of the GPU
	dst    []int    // bytes
	from   []int    // where what is sent waits in the memory of the GPU
	got    comm.Call
	start  int // when it is started and waited for
	finish int
}

// sizes are the bytes of Src and Dst of a tensor.
func sizes(op *comm.Op, t comm.Tensor) (src, dst int) {
	n := max(t.Outer, 1) * t.Inner * op.DType.Size()
	src, dst = n, n
	switch op.Kind {
	case collective.ReduceScatter:
		src *= op.Group.Size()
	case collective.AllGather:
		dst *= op.Group.Size()
	case collective.AllToAll:
		src, dst = n*op.Group.Size(), n*op.Group.Size()
	}
	return src, dst
}

// newTrial draws an operation, alike on all devices, and what a device sends by own. Numbers are
// small and whole where exact, so that no order of a sum rounds.
func newTrial(d comm.Device, rng, own *rand.Rand, axes []string, exact bool, at *int) (*trial, error) {
	rng.Shuffle(len(axes), func(i, j int) { axes[i], axes[j] = axes[j], axes[i] })
	g, err := d.Mesh().Group(axes[:rng.IntN(len(axes)+1)]...)
	if err != nil {
		return nil, err
	}
	kinds := []collective.Kind{collective.AllReduce, collective.ReduceScatter, collective.AllGather, collective.AllToAll, collective.Permute}
	types := []dtype.DType{dtype.F32, dtype.F64, dtype.F16, dtype.BF16, dtype.I32, dtype.I64}
	t := &trial{op: comm.Op{Kind: kinds[rng.IntN(len(kinds))], Label: "test", Group: g, DType: types[rng.IntN(len(types))],
		Outer: 1 + rng.IntN(3), Inner: rng.IntN(40)}}
	if !exact {
		t.op.DType = types[rng.IntN(4)]
	}
	if t.op.DType.IsInt() && rng.IntN(2) == 0 {
		t.op.Reduce = collective.Max
	}
	t.views = []comm.Tensor{{Outer: t.op.Outer, Inner: t.op.Inner}}
	switch t.op.Kind {
	case collective.AllReduce, collective.ReduceScatter, collective.AllGather:
		for range rng.IntN(3) {
			t.views = append(t.views, comm.Tensor{Outer: 1 + rng.IntN(3), Inner: rng.IntN(20)})
		}
	case collective.AllToAll:
		if rng.IntN(2) == 0 {
			t.op.DstOuter, t.op.DstInner = t.op.Outer*t.op.Inner, 1
		}
	case collective.Permute:
		t.op.From = rng.Perm(g.Size())
		for i := range t.op.From {
			if rng.IntN(4) == 0 {
				t.op.From[i] = -1
			}
		}
	}
	inPlace := rng.IntN(3) == 0
	for _, v := range t.views {
		src, dst := sizes(&t.op, v)
		bytes := make([]byte, src)
		values := make([]float64, src/t.op.DType.Size())
		for i := range values {
			if values[i] = float64(own.IntN(15) - 7); !exact {
				values[i] = own.NormFloat64()
			}
		}
		t.op.DType.Encode(bytes, values)
		t.src, t.dst = append(t.src, bytes), append(t.dst, dst)
		a := *at
		*at += (src + 63) &^ 63
		b := *at
		*at += (dst + 63) &^ 63
		if mine := g.Coord(d.Rank()); inPlace { // as package comm allows it
			switch {
			case t.op.Kind == collective.AllReduce:
				b = a
			case t.op.Kind == collective.ReduceScatter && v.Outer == 1:
				b = a + mine*dst
			case t.op.Kind == collective.AllGather && v.Outer == 1:
				a = b + mine*src
			}
		}
		t.at, t.from = append(t.at, [2]int{a, b}), append(t.from, *at)
		*at += (src + 63) &^ 63
	}
	return t, nil
}

// with is the operation on buffers.
func (t *trial) with(buffers func(i int) (src, dst device.Range)) comm.Op {
	op := t.op
	op.Src, op.Dst = buffers(0)
	for i, v := range t.views[1:] {
		v.Src, v.Dst = buffers(i + 1)
		op.Rest = append(op.Rest, v)
	}
	return op
}

// expected runs the operation on the host.
func (t *trial) expected(d comm.Device) ([][]byte, error) {
	out := make([][]byte, len(t.views))
	op := t.with(func(i int) (device.Range, device.Range) {
		out[i] = make([]byte, t.dst[i])
		return device.Bytes(t.src[i]), device.Bytes(out[i])
	})
	c, err := d.Prepare(op)
	if err == nil {
		err = c.Run()
	}
	return out, err
}

// compute makes the sources in the stream of programs, as kernels do.
func (t *trial) compute(r *rank) error {
	for i, b := range t.src {
		n := int64(len(b))
		err := r.Copy(r.stream, device.Rows{Dst: r.mem.at + uint64(t.at[i][0]), Src: r.mem.at + uint64(t.from[i]), DstEvery: n, SrcEvery: n, Width: n, Height: 1})
		if err != nil {
			return err
		}
	}
	return nil
}

// check compares what is on the GPU: sums to rounding, all else to the bit.
func (t *trial) check(r *rank, want [][]byte, exact bool) error {
	for i := range t.views {
		got, err := r.mem.get(t.at[i][1], t.dst[i])
		if err != nil {
			return err
		}
		if bytes.Equal(got, want[i]) {
			continue
		}
		n := len(got) / t.op.DType.Size()
		x, y := make([]float64, n), make([]float64, n)
		t.op.DType.Decode(x, got)
		t.op.DType.Decode(y, want[i])
		eps := map[dtype.DType]float64{dtype.F64: 0x1p-52, dtype.F32: 0x1p-23, dtype.F16: 0x1p-10, dtype.BF16: 0x1p-7}[t.op.DType]
		sums := t.op.Kind == collective.AllReduce || t.op.Kind == collective.ReduceScatter
		for j := range x {
			// A sum of k numbers, each of at most 6 in size, rounds k-1 times.
			most := float64(t.op.Group.Size()) * eps * 6 * float64(t.op.Group.Size())
			if exact || !sums || !(math.Abs(x[j]-y[j]) <= most) {
				return fmt.Errorf("%s over %v, tensor %d: element %d is %g instead of %g", t.op.Signature(), t.op.Group.Members(r.Rank()), i, j, x[j], y[j])
			}
		}
	}
	return nil
}

// grid is a mesh with axes a, b, … of these sizes.
func grid(sizes ...int) (axes []program.MeshAxis, names []string) {
	for i, n := range sizes {
		axes = append(axes, program.MeshAxis{Name: string(rune('a' + i)), Size: n})
		names = append(names, axes[i].Name)
	}
	return axes, names
}

// TestKinds runs random operations over all groups of meshes, some of them started and waited for
// later, by the GPUs and by the host.
func TestKinds(t *testing.T) {
	for seed, sizes := range [][]int{{2}, {3}, {2, 2}, {2, 3}, {2, 1, 2}, {4}} {
		for _, exact := range []bool{true, false} {
			t.Run(fmt.Sprint(sizes, exact), func(t *testing.T) {
				axes, names := grid(sizes...)
				n := 1
				for _, s := range sizes {
					n *= s
				}
				f := onFakes(t, n, uint64(seed))
				err := f.run(axes, 4<<20, nccl.Options{}, func(r *rank) error {
					return randomTrials(r, uint64(seed), slices.Clone(names), exact)
				})
				if err != nil {
					t.Error(err)
				}
				f.clean(t)
				for _, name := range []string{"ncclAllReduce", "ncclReduceScatter", "ncclAllGather", "ncclSend", "ncclRecv"} {
					if f.lib.Called(name) == 0 {
						t.Errorf("%s was not called", name)
					}
				}
			})
		}
	}
}

func randomTrials(r *rank, seed uint64, names []string, exact bool) error {
	rng, own := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 100+uint64(r.Rank())))
	var trials []*trial
	var want [][][]byte
	at := 0
	for i := range 60 {
		t, err := newTrial(r.Device, rng, own, names, exact, &at)
		if err != nil {
			return err
		}
		t.start, t.finish = i, i+rng.IntN(6)
		w, err := t.expected(r.Device)
		if err != nil {
			return err
		}
		t.got, err = r.Prepare(t.with(func(i int) (device.Range, device.Range) {
			return r.mem.rng(t.at[i][0], len(t.src[i])), r.mem.rng(t.at[i][1], t.dst[i])
		}))
		if err != nil {
			return err
		}
		trials, want = append(trials, t), append(want, w)
	}
	if err := r.On(r.enqueuer().Begin); err != nil {
		return err
	}
	var exec uintptr
	for round := range 5 {
		for _, t := range trials {
			for i, b := range t.src {
				if err := r.mem.put(t.at[i][1], bytes.Repeat([]byte{0xee}, t.dst[i])); err != nil {
					return err
				}
				if err := r.mem.put(t.from[i], b); err != nil {
					return err
				}
			}
		}
		err := r.On(func() error {
			if round == 2 || round == 3 { // between rounds that are not captured
				return r.inGraph(trials, &exec)
			}
			for now := range len(trials) + 6 {
				for _, t := range trials {
					if q := t.got.(device.Enqueued); t.start == now {
						if err := t.compute(r); err != nil {
							return err
						}
						if err := q.StartOn(r.stream); err != nil {
							return err
						}
					}
				}
				for _, t := range trials {
					if q := t.got.(device.Enqueued); t.finish == now {
						if err := q.WaitOn(r.stream); err != nil {
							return err
						}
					}
				}
			}
			return r.awaitStream(r.enqueuer().Watch)
		})
		if err != nil {
			return err
		}
		for i, t := range trials {
			if err := t.check(r, want[i], exact); err != nil {
				return fmt.Errorf("round %d, operation %d: %w", round, i, err)
			}
		}
	}
	return r.On(func() error { return r.cu("cuGraphExecDestroy", exec) })
}

// inGraph launches a graph of all trials, in which lanes go on concurrently, and makes it first.
func (r *rank) inGraph(trials []*trial, exec *uintptr) error {
	var calls []device.Enqueued
	for _, t := range trials {
		if err := t.compute(r); err != nil {
			return err
		}
		calls = append(calls, t.got.(device.Enqueued))
	}
	if *exec == 0 {
		list, err := r.capturer().Capture(calls)
		if err != nil {
			return err
		}
		var order []int
		for i := range list {
			order = append(order, i)
		}
		if *exec, err = r.chain(list, order, func(k int) int { return list[k].Behind }); err != nil {
			return err
		}
	}
	marks := make([]uint32, 2*len(calls))
	if err := r.capturer().Replay(r.stream, calls, marks); err != nil {
		return err
	}
	err := errors.Join(r.cu("cuGraphLaunch", *exec, r.stream), r.awaitStream(r.enqueuer().Watch))
	for i := range marks {
		marks[i] = 1
	}
	return err
}
