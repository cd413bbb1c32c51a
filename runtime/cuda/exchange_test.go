package cuda

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// together is what an exchange of tests gives.
func together(src, dst []uint32) {
	for i := range dst {
		dst[i] = 11*src[i] + 2
	}
}

// exchanges are communication with a device that is not there: as late as it may be, or at once.
type exchanges struct {
	toy    *toy
	late   bool
	refuse bool
	fail   error
	atOnce bool
}

func (x *exchanges) Serves(m device.Memory) bool {
	_, ok := m.HostBytes()
	return ok && !x.refuse
}

func (x *exchanges) Prepare(prog, instr int, at func(int) device.Range) (device.Exchange, error) {
	in := &x.toy.d.Progs[prog].Instrs[instr]
	src, dst := in.Ends()
	c := &call{x: x}
	c.dst, _ = at(dst[0]).HostBytes()
	if len(src) > 0 {
		c.src, _ = at(src[0]).HostBytes()
	} else {
		c.src = make([]byte, len(c.dst)) // what a receive gets is of zeros
	}
	return device.Exchange{Call: c, AtOnce: x.atOnce}, nil
}

// call exchanges the elements of one buffer.
type call struct {
	x        *exchanges
	src, dst []byte
	begun    bool
}

func (c *call) do() error {
	if c.x.fail != nil {
		return c.x.fail
	}
	src, dst := words(c.src), make([]uint32, len(c.dst)/4)
	together(src, dst)
	for i, v := range dst {
		binary.LittleEndian.PutUint32(c.dst[4*i:], v)
	}
	return nil
}

func words(b []byte) (out []uint32) {
	for i := 0; i < len(b); i += 4 {
		out = append(out, binary.LittleEndian.Uint32(b[i:]))
	}
	return out
}

func (c *call) Start() error {
	if c.begun {
		return errors.New("started twice")
	}
	c.begun = true
	if !c.x.late {
		return c.do()
	}
	return nil
}

func (c *call) Wait() error {
	if !c.begun {
		return errors.New("not started")
	}
	c.begun = false
	if c.x.late {
		return c.do()
	}
	return nil
}

func (c *call) Run() error { return errors.Join(c.Start(), c.Wait()) }

// TestExchanges: staging lies as buffers do, and what fails is told and leaves nothing.
func TestExchanges(t *testing.T) {
	make := func() *toy {
		toy := newToy()
		toy.Mesh = []program.MeshAxis{{Name: "dp", Size: 2}}
		a, b, c := toy.buffer("", "i32", elems), toy.buffer("", "i32", elems), toy.buffer("", "i32", elems)
		reduce := func(src, dst int, start bool) program.Instr {
			return program.Instr{Bufs: []int{src, dst}, Comm: &program.Comm{Kind: collective.AllReduce, Over: []string{"dp"}, Reduce: "sum", DType: "i32", Outer: 1, Inner: elems, Start: start}}
		}
		toy.instr(reduce(a, a, false))
		toy.kernel(next, a, b)
		toy.instr(reduce(b, c, true))
		toy.kernel(stir, b, a)
		toy.instr(program.Instr{Comm: &program.Comm{Kind: collective.Done, Of: 2}})
		toy.kernel(stir, c, a)
		if err := toy.Validate(); err != nil {
			t.Fatal(err)
		}
		return toy
	}
	for _, c := range []struct {
		name string
		x    exchanges
		want string
	}{
		{"late", exchanges{late: true}, ""}, {"at once", exchanges{atOnce: true}, ""},
		{"fails", exchanges{fail: errors.New("rank 1 is gone")}, "rank 1 is gone"},
		{"refuses", exchanges{refuse: true}, "serves neither"},
	} {
		toy := make()
		c.x.toy = toy
		drv := onFake(t, fakecuda.Options{Seed: 3})
		e, p, err := toy.opened(device.Request{Exchanges: &c.x})
		s := toy.fresh(rand.New(rand.NewPCG(1, 2)))
		if err == nil {
			if err := toy.write(e, s); err != nil {
				t.Fatal(err)
			}
			toy.run(s, together)
			p.Launch()
			if err = p.Wait(); err == nil {
				err = toy.compare(e, s)
			}
			e.Close()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: found %v; expected %q", c.name, err, c.want)
		}
		clean(t, drv)
	}
	onFake(t, fakecuda.Options{})
	if _, _, err := make().opened(device.Request{}); err == nil || !strings.Contains(err.Error(), "there are none") {
		t.Errorf("no other devices: %v", err)
	}
}

// TestStop: a run that is left ends what it has started, and the next one can begin.
func TestStop(t *testing.T) {
	toy := newToy()
	toy.Mesh = []program.MeshAxis{{Name: "dp", Size: 2}}
	a, b := toy.buffer("", "i32", elems), toy.buffer("", "i32", elems)
	toy.instr(program.Instr{Bufs: []int{a, a}, Comm: &program.Comm{Kind: collective.AllReduce, Over: []string{"dp"}, Reduce: "sum", DType: "i32", Outer: 1, Inner: elems, Start: true}})
	toy.kernel(next, b, b)
	toy.instr(program.Instr{Comm: &program.Comm{Kind: collective.Done, Of: 0}})
	drv := onFake(t, fakecuda.Options{})
	x := &exchanges{toy: toy, late: true}
	e, p, err := toy.opened(device.Request{Exchanges: x})
	if err != nil {
		t.Fatal(err)
	}
	s := toy.fresh(rand.New(rand.NewPCG(1, 2)))
	if err := toy.write(e, s); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if err := errors.Join(p.Step(0, 2), p.Stop(2)); err != nil {
			t.Fatal(err)
		}
		toy.run(s, together)
	}
	if err := toy.compare(e, s); err != nil {
		t.Error(err)
	}
	e.Close()
	clean(t, drv)
}

// TestPlaces: buffers that share bytes share their staging, others do not.
func TestPlaces(t *testing.T) {
	toy := newToy()
	for i, at := range []int64{1024, 0, 256, 512, 1280} { // of 512 bytes each
		toy.buffer("", "i32", elems)
		toy.d.Buffers[i].Offset = at
	}
	toy.buffer(program.Host, "i32", elems)
	got, end := places(toy.d.Buffers, &program.Instr{Bufs: []int{0, 1, 5, 2, 3, 4, 0}}, 64)
	want := []stage{{1, 64}, {2, 64 + 256}, {3, 64 + 512}, {0, 64 + 1024}, {4, 64 + 1024 + 256}}
	if !slices.Equal(got, want) || end != 64+1024+768 {
		t.Errorf("%v up to %d; expected %v", got, end, want)
	}
}
