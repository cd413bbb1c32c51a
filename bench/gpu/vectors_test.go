package gpu

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/ptx"
	"ptc/runtime/cuda"
	"ptc/runtime/program"
)

var write = flag.String("write", "", "write what each instruction gives to this file, as testdata/vectors.json has it")

// vectors is how often an instruction is executed: by so many threads, each of numbers of its own.
const vectors = 256

// TestVectors: each instruction on registers that plans have gives on the GPU the bits that the
// emulator gives, or, under the emulator, those that a GPU gave. Operands are random bits, among
// which are infinities, numbers that are none, zeros, and the smallest ones.
func TestVectors(t *testing.T) {
	known := map[string]string{} // results by instruction
	if text, err := os.ReadFile("testdata/vectors.json"); err == nil {
		if err := json.Unmarshal(text, &known); err != nil {
			t.Fatal(err)
		}
	} else if !os.IsNotExist(err) {
		t.Fatal(err)
	}
	all := instructions(t)
	if len(all) < 60 {
		t.Errorf("found %d instructions in plans", len(all))
	}
	got := map[string]string{}
	for i, x := range all {
		t.Run(x.name(), func(t *testing.T) {
			in := operands(rand.New(rand.NewSource(int64(i))), x)
			driver(t, 0)
			out := execute(t, x, in)
			got[x.name()] = base64.StdEncoding.EncodeToString(out)
			if want, ok := known[x.name()]; ok && want != got[x.name()] && !*real {
				t.Errorf("a GPU gave other bits")
			}
			if *real {
				emulated := emulate(t, x, in)
				for k := range vectors {
					if a, b := word(out, k), word(emulated, k); a != b && !(x.float() && isNaN(a) && isNaN(b)) {
						t.Fatalf("of %x the GPU gives %#x, the emulator %#x", words(in, k, len(x.from)), a, b)
					}
				}
			}
		})
	}
	if *write != "" {
		text, err := json.MarshalIndent(got, "", " ")
		must(t, err)
		must(t, os.WriteFile(*write, append(text, '\n'), 0o666))
	}
}

// instruction is one on registers and numbers alone: a result, and operands.
type instruction struct {
	op   string
	to   ptx.Class
	from []ptx.Operand // registers stand for random ones of their class
}

// name is `fma.rn.f32 b32 b32 b32 b32`, with numbers as they are.
func (x instruction) name() string {
	parts := []string{x.op, classes[x.to]}
	for _, o := range x.from {
		if o.Kind == ptx.IsReg {
			parts = append(parts, classes[o.Reg.Class])
		} else {
			parts = append(parts, fmt.Sprintf("%#x", o.Imm))
		}
	}
	return strings.Join(parts, " ")
}

var classes = map[ptx.Class]string{ptx.Pred: "pred", ptx.B16: "b16", ptx.B32: "b32", ptx.B64: "b64"}

// float reports whether the result is an f32, of which those that are no number are alike.
func (x instruction) float() bool { return strings.HasSuffix(x.op, ".f32") && x.to == ptx.B32 }

func isNaN(x uint64) bool { return math.IsNaN(float64(math.Float32frombits(uint32(x)))) }

// instructions are those that plans of the examples have, each once. Of numbers that stand in an
// instruction the first few are tried.
func instructions(t *testing.T) []instruction {
	t.Helper()
	seen, forms := map[string]instruction{}, map[string]int{}
	for _, m := range []model{{"gpt", tiny, ""}, {"llama", llama, "precision { compute = bf16 }"}, {"moe", tiny, "precision { compute = f16 }"}} {
		for _, c := range m.compile(t, target).Code {
			text, err := ptx.Parse(string(c.Data))
			must(t, err)
			for _, e := range text.Entries {
				for _, s := range e.Body {
					x, ok := pure(s)
					if !ok || seen[x.name()].op != "" {
						continue
					}
					form := fmt.Sprint(x.op, len(x.from), slices.ContainsFunc(x.from, func(o ptx.Operand) bool { return o.Kind != ptx.IsReg }))
					if forms[form]++; forms[form] <= 4 {
						seen[x.name()] = x
					}
				}
			}
		}
	}
	var out []instruction
	for _, x := range seen {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b instruction) int { return strings.Compare(a.name(), b.name()) })
	return out
}

// pure is s, if it computes one register of registers and numbers.
func pure(s ptx.Stmt) (instruction, bool) {
	name, _, _ := strings.Cut(s.Op, ".")
	if s.Op == "" || len(s.Args) < 2 || slices.Contains([]string{"ld", "st", "shfl", "vote", "cvta", "ldmatrix", "mma", "elect", "mapa"}, name) {
		return instruction{}, false
	}
	for i, o := range s.Args {
		if o.Kind != ptx.IsReg && (i == 0 || o.Kind != ptx.IsImm && o.Kind != ptx.IsF32 && o.Kind != ptx.IsF64) {
			return instruction{}, false
		}
	}
	return instruction{s.Op, s.Args[0].Reg.Class, s.Args[1:]}, true
}

// operands are what each thread computes of: 8 bytes for each operand.
func operands(r *rand.Rand, x instruction) []byte {
	special := []uint32{0, 1, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000, 0xbf800000, 0x00800000, 0x007fffff, 0x7f7fffff, 0xffffffff, 0x7fffffff}
	var out []byte
	for range vectors * len(x.from) {
		w := r.Uint64()
		switch r.Intn(6) {
		case 0:
			w = uint64(special[r.Intn(len(special))])
		case 1, 2: // numbers of ordinary size
			w = uint64(math.Float32bits(float32(r.NormFloat64() * math.Exp2(float64(r.Intn(20)-10)))))
		case 3:
			w = uint64(r.Intn(64))
		}
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

func word(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }

func words(b []byte, thread, n int) (out []uint64) {
	for i := range n {
		out = append(out, word(b, thread*n+i))
	}
	return out
}

// entry is a kernel that executes x once in each of a block's threads.
func (x instruction) entry() *ptx.Entry {
	e := &ptx.Entry{Name: "k", Params: []ptx.Param{{Name: "in"}, {Name: "out"}}, Threads: vectors}
	op := func(name string, args ...ptx.Operand) { e.Body = append(e.Body, ptx.Stmt{Op: name, Args: args}) }
	reg := func(c ptx.Class, n int) ptx.Operand { return ptx.R(ptx.Reg{Class: c, N: n}) }
	d := func(n int) ptx.Operand { return reg(ptx.B64, n) }
	op("ld.param.u64", d(0), ptx.AtSym("in", 0))
	op("ld.param.u64", d(1), ptx.AtSym("out", 0))
	op("cvta.to.global.u64", d(0), d(0))
	op("cvta.to.global.u64", d(1), d(1))
	op("mov.u32", reg(ptx.B32, 0), ptx.Sym("%tid.x"))
	op("mul.wide.u32", d(2), reg(ptx.B32, 0), ptx.Imm(int64(8*len(x.from))))
	op("add.s64", d(0), d(0), d(2))
	op("mul.wide.u32", d(2), reg(ptx.B32, 0), ptx.Imm(8))
	op("add.s64", d(1), d(1), d(2))
	args := []ptx.Operand{reg(x.to, 20)}
	for i, o := range x.from {
		if o.Kind != ptx.IsReg {
			args = append(args, o)
			continue
		}
		op("ld.global.b64", d(3+i), ptx.At(d(0).Reg, int64(8*i)))
		to := reg(o.Reg.Class, 10+i)
		switch o.Reg.Class {
		case ptx.B64:
			op("mov.b64", to, d(3+i))
		case ptx.B32:
			op("cvt.u32.u64", to, d(3+i))
		case ptx.B16:
			op("cvt.u32.u64", reg(ptx.B32, 30+i), d(3+i))
			op("cvt.u16.u32", to, reg(ptx.B32, 30+i))
		case ptx.Pred:
			op("cvt.u32.u64", reg(ptx.B32, 30+i), d(3+i))
			op("and.b32", reg(ptx.B32, 30+i), reg(ptx.B32, 30+i), ptx.Imm(1))
			op("setp.ne.u32", to, reg(ptx.B32, 30+i), ptx.Imm(0))
		}
		args = append(args, to)
	}
	op(x.op, args...)
	low := reg(ptx.B32, 40)
	switch x.to {
	case ptx.B64:
		op("mov.b64", d(9), args[0])
	case ptx.B32:
		op("cvt.u64.u32", d(9), args[0])
	case ptx.B16:
		op("cvt.u32.u16", low, args[0])
		op("cvt.u64.u32", d(9), low)
	case ptx.Pred:
		op("selp.b32", low, ptx.Imm(1), ptx.Imm(0), args[0])
		op("cvt.u64.u32", d(9), low)
	}
	op("st.global.b64", ptx.At(d(1).Reg, 0), d(9))
	op("ret")
	return e
}

// execute runs x on the device that tests use.
func execute(t *testing.T, x instruction, in []byte) []byte {
	t.Helper()
	m := ptx.Module{Version: "8.3", Target: "sm_80", Entries: []*ptx.Entry{x.entry()}}
	p := &program.Plan{Target: target, Code: []program.Code{{Kind: cuda.Kind, Data: []byte(m.String())}},
		Kernels: []program.Kernel{{Name: "k", Symbol: "k", Tasks: 1, Threads: vectors,
			Args: []program.Arg{{Bytes: int64(len(in))}, {Bytes: 8 * vectors, Write: true}}}}, Devices: make([]program.Device, 1)}
	d := &p.Devices[0]
	for _, n := range []int{len(in), 8 * vectors} {
		d.Buffers = append(d.Buffers, program.Buffer{Space: program.Scratch, Offset: d.Arena, Bytes: int64(n), DType: "i32",
			Axes: []program.Axis{{Name: "i", Size: n / 4, Global: n / 4}}})
		d.Arena += int64(n+program.Align-1) / program.Align * program.Align
	}
	d.Progs = []program.Program{{Name: "step", Instrs: []program.Instr{{Bufs: []int{0, 1}}}}}
	e := open(t, p)
	defer e.Close()
	mem := e.Memory("")
	must(t, mem.CopyIn(0, in))
	c, err := e.Capture(0)
	must(t, err)
	c.Launch()
	must(t, c.Wait())
	out := make([]byte, 8*vectors)
	must(t, mem.CopyOut(out, d.Buffers[1].Offset))
	return out
}

// emulate runs x under the emulator.
func emulate(t *testing.T, x instruction, in []byte) []byte {
	t.Helper()
	p, err := emu.Load(x.entry())
	must(t, err)
	d := &emu.Device{}
	out := make([]byte, 8*vectors)
	must(t, d.Run(p, emu.Launch{Grid: 1, Args: []emu.Arg{emu.Word(d.Map(in)), emu.Word(d.Map(out))}}))
	return out
}
