package cuda

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/internal/foreign"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// elems is the number of elements of a buffer, which two blocks compute.
const (
	elems   = 128
	threads = 64
)

// entry is the text of a kernel that computes its last argument of the others: of each element,
// with %r1 to %r3 read and %r4 written. It takes so many buffers.
func entry(name string, args int, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".extern .shared .align 1024 .b8 %s_dynamic[];\n.visible .entry %s(", name, name)
	for i := range args {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n  .param .u64 p%d", i)
	}
	fmt.Fprintf(&b, ")\n.reqntid %d, 1, 1\n{\n.reg .pred %%p<2>;\n.reg .b32 %%r<9>;\n.reg .b64 %%d<9>;\n", threads)
	fmt.Fprintf(&b, "mov.u32 %%r5, %%ctaid.x;\nmov.u32 %%r6, %%tid.x;\nmad.lo.u32 %%r5, %%r5, %d, %%r6;\nmul.wide.u32 %%d4, %%r5, 4;\n", threads)
	for i := range args {
		fmt.Fprintf(&b, "ld.param.u64 %%d%d, [p%d];\nadd.u64 %%d%d, %%d%d, %%d4;\nld.global.b32 %%r%d, [%%d%d];\n", i, i, i, i, i+1, i)
	}
	fmt.Fprintf(&b, "%s\nst.global.b32 [%%d%d], %%r4;\nret;\n}\n", body, args-1)
	return b.String()
}

func text(entries ...string) []byte {
	return []byte(".version 8.3\n.target sm_90a\n.address_size 64\n" + strings.Join(entries, ""))
}

// The kernels that tests have: z = 3x + 5y, y = 7y + x, y = x + 1, and one that reads beyond its buffer.
const (
	mix = iota
	stir
	next
	wild
	nothing
)

func kernels() ([]program.Code, []program.Kernel) {
	read, write := program.Arg{Bytes: 4 * elems}, program.Arg{Bytes: 4 * elems, Write: true}
	k := func(name string, code int, args ...program.Arg) program.Kernel {
		return program.Kernel{Name: name + ".0", Symbol: name, Code: code, Args: args, Tasks: elems / threads, Threads: threads}
	}
	none := k("nothing", 1)
	none.Tasks = 0
	shared := k("stir", 1, read, write)
	shared.Shared = 64 << 10
	return []program.Code{
			{Kind: Kind, Data: text(
				entry("mix", 3, "mul.lo.u32 %r4, %r1, 3;\nmul.lo.u32 %r7, %r2, 5;\nadd.u32 %r4, %r4, %r7;"),
				entry("wild", 2, "mov.b32 %r4, %r1;\nadd.u64 %d0, %d0, 1048576;\nld.global.b32 %r4, [%d0];"))},
			{Kind: Kind, Data: text(
				entry("stir", 2, "mul.lo.u32 %r4, %r2, 7;\nadd.u32 %r4, %r4, %r1;"),
				entry("next", 2, "add.u32 %r4, %r1, 1;"),
				".visible .entry nothing()\n.reqntid 64, 1, 1\n{\nret;\n}\n")},
		}, []program.Kernel{mix: k("mix", 0, read, read, write), stir: shared,
			next: k("next", 1, read, write), wild: k("wild", 0, read, write), nothing: none}
}

// toy is a plan that is made by hand, with buffers of elems i32.
type toy struct {
	*program.Plan
	d     *program.Device
	names map[string]int
}

func newToy() *toy {
	p := &program.Plan{Devices: make([]program.Device, 1)}
	p.Code, p.Kernels = kernels()
	d := &p.Devices[0]
	d.Progs = []program.Program{{Name: "step"}}
	return &toy{p, d, map[string]int{}}
}

// buffer adds a buffer of so many elements to a memory.
func (t *toy) buffer(memory, dtype string, n int) int {
	at := &t.d.Arena
	if memory == program.Host {
		at = &t.d.Host
	}
	bytes := int64(4 * n)
	t.d.Buffers = append(t.d.Buffers, program.Buffer{Space: program.Scratch, Offset: *at, Bytes: bytes, DType: dtype, Memory: memory,
		Axes: []program.Axis{{Name: "i", Size: n, Global: n}}})
	if n == 1 {
		t.d.Buffers[len(t.d.Buffers)-1].Axes = nil
	}
	*at += (bytes + program.Align - 1) / program.Align * program.Align
	return len(t.d.Buffers) - 1
}

func (t *toy) instr(in program.Instr) { t.d.Progs[0].Instrs = append(t.d.Progs[0].Instrs, in) }

func (t *toy) kernel(k int, bufs ...int) { t.instr(program.Instr{Kernel: k, Bufs: bufs}) }

func (t *toy) port(role, path string, buffer int) {
	t.d.Ports = append(t.d.Ports, program.Port{Program: "step", Role: role, Path: path, Buffer: buffer})
}

// onFake has what is opened run on a driver for tests, which must be left clean.
func onFake(t *testing.T, o fakecuda.Options) *fakecuda.Driver {
	t.Helper()
	if err := foreign.Available(); err != nil {
		t.Skip(err)
	}
	d := fakecuda.New(o)
	Use(d.Lookup)
	t.Cleanup(func() { Use(nil) })
	return d
}

// clean checks that nothing is left on a driver, and that nobody used it wrongly.
func clean(t *testing.T, d *fakecuda.Driver) {
	t.Helper()
	if p, l := d.Problems(), d.Leaks(); len(p) > 0 || len(l) > 0 {
		t.Errorf("problems %q, left %q", p, l)
	}
}

// opened is an engine of the toy, and its program.
func (t *toy) opened(r device.Request) (device.Engine, device.Program, error) {
	r.Plan, r.Device, r.Threads = t.Plan, t.d, 2
	e, err := open(r)
	if err != nil {
		return nil, nil, err
	}
	p, err := e.Capture(0)
	if err != nil {
		e.Close()
		return nil, nil, err
	}
	return e, p, nil
}

// state is what the memories of a device hold, by buffer.
type state [][]uint32

// fresh fills all buffers.
func (t *toy) fresh(rng *rand.Rand) state {
	s := make(state, len(t.d.Buffers))
	for i := range s {
		for range program.Elems(t.d.Buffers[i].Axes) {
			s[i] = append(s[i], rng.Uint32())
		}
	}
	return s
}

func (t *toy) write(e device.Engine, s state) error {
	for i, b := range t.d.Buffers {
		bytes := make([]byte, 0, 4*len(s[i]))
		for _, x := range s[i] {
			bytes = binary.LittleEndian.AppendUint32(bytes, x)
		}
		if err := e.Memory(b.Memory).CopyIn(b.Offset, bytes); err != nil {
			return err
		}
	}
	return nil
}

// compare reads all buffers and compares them.
func (t *toy) compare(e device.Engine, want state) error {
	for i, b := range t.d.Buffers {
		bytes := make([]byte, 4*len(want[i]))
		if err := e.Memory(b.Memory).CopyOut(bytes, b.Offset); err != nil {
			return err
		}
		for j, x := range want[i] {
			if got := binary.LittleEndian.Uint32(bytes[4*j:]); got != x {
				return fmt.Errorf("buffer %d, element %d: got %d, want %d", i, j, got, x)
			}
		}
	}
	return nil
}

// run is what instructions do, one after the other.
func (t *toy) run(s state, exchange func(src, dst []uint32)) {
	for i := range t.d.Progs[0].Instrs {
		in := &t.d.Progs[0].Instrs[i]
		if c := in.Comm; c != nil {
			switch {
			case c.Kind == collective.Done:
			case c.Moves():
				src, dst := in.Ends()
				for k := range src {
					copy(s[dst[k]], s[src[k]])
				}
			case c.Kind == collective.ShardSlice:
				t.slice(in, s)
			default:
				exchange(s[in.Bufs[0]], s[in.Bufs[len(in.Bufs)-1]])
			}
			continue
		}
		for j := range elems {
			switch in.Kernel {
			case mix:
				s[in.Bufs[2]][j] = 3*s[in.Bufs[0]][j] + 5*s[in.Bufs[1]][j]
			case stir:
				s[in.Bufs[1]][j] = 7*s[in.Bufs[1]][j] + s[in.Bufs[0]][j]
			case next:
				s[in.Bufs[1]][j] = s[in.Bufs[0]][j] + 1
			}
		}
	}
}

// slice is a shard_slice of rank 0, or of whom the test says.
func (t *toy) slice(in *program.Instr, s state) {
	c := in.Comm
	parts, at := t.Mesh.Parts(c.Over), t.Mesh.CoordinateOver(sliceRank, c.Over)
	for o := range int(c.Outer) {
		for i := range int(c.Inner) {
			s[in.Bufs[1]][o*int(c.Inner)+i] = s[in.Bufs[0]][(o*parts+at)*int(c.Inner)+i]
		}
	}
}

// sliceRank is the rank that programs with a shard_slice run as.
const sliceRank = 1
