package gemm

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
)

// machines have caches so small that products of tens of rows are cut in every
// direction.
var machines = map[string]kernel.Machine{
	"masked 512": {VectorBits: 512, Registers: 32, FMA: true, Masked: true, L1: 4 << 10, L2: 16 << 10},
	"pairs 512":  {VectorBits: 512, Registers: 32, FMA: true, DotBF16: true, Masked: true, L1: 4 << 10, L2: 16 << 10},
	"tiles":      {VectorBits: 512, Registers: 32, FMA: true, DotBF16: true, TileBF16: true, Masked: true, L1: 4 << 10, L2: 16 << 10},
	"matrices":   {VectorBits: 128, Registers: 32, FMA: true, MatBF16: true, L1: 2 << 10, L2: 8 << 10},
	"256":        {VectorBits: 256, Registers: 16, FMA: true, L1: 2 << 10, L2: 8 << 10},
	"128 of 16":  {VectorBits: 128, Registers: 16, L1: 2 << 10, L2: 4 << 10},
	"128 of 32":  {VectorBits: 128, Registers: 32, FMA: true, L1: 2 << 10, L2: 4 << 10},
	"scalar":     {VectorBits: 32, Registers: 8, L1: 1 << 10, L2: 2 << 10},
	"few":        {VectorBits: 64, Registers: 4, Masked: true, L1: 1 << 10, L2: 2 << 10},
}

// interpret checks the result of c, and returns it.
func interpret(t *testing.T, name string, c matmul, m kernel.Machine) []byte {
	t.Helper()
	k, err := c.generate("gemm", m)
	if err != nil {
		t.Fatalf("%s: %v: %v", name, c, err)
	}
	bufs := c.inputs(1)
	if err := (kerneltest.Interp{NoFMA: !m.FMA}).Run(k, bufs, 0, k.Tasks); err != nil {
		t.Fatalf("%s: %v: %v", name, c, err)
	}
	if err := c.check(bufs); err != nil {
		t.Fatalf("%s: %v: %v", name, c, err)
	}
	return bufs[len(bufs)-1]
}

// TestRandomProducts interprets products of random shape, layout and fusion.
// The interpreter also rejects accesses outside of a buffer, and scratch read
// before it is written shows as NaN.
func TestRandomProducts(t *testing.T) {
	for name, m := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(3, 5))
			for range 60 {
				interpret(t, name, random(r, 40), m)
			}
			for range 6 {
				c := random(r, 30)
				c.k += 60 + r.Int64N(90) // several blocks of K
				interpret(t, name, c, m)
			}
		})
	}
}

// TestBatch interprets random products over random ranges of their tasks, in any order,
// which must not matter; some of them do several tasks at once.
func TestBatch(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	several := 0
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		for range 12 {
			c := random(r, 40)
			c.n += 40
			c.k += r.Int64N(90)
			own, err := Choices(c.spec("gemm"), machines[name])
			if err != nil {
				t.Fatal(err)
			}
			if len(own) > 0 {
				c.blocks = &own[0]
				c.blocks.Rows, c.blocks.Cols = c.blocks.TileRows*(1+r.Int64N(3)), c.blocks.TileCols*(1+r.Int64N(2))
			}
			want := interpret(t, name, c, machines[name])
			k, err := c.generate("gemm", machines[name])
			if err != nil {
				t.Fatal(err)
			}
			if k.Batch != nil {
				several++
			}
			bufs := c.inputs(1)
			var ranges [][2]int64
			for at := int64(0); at < k.Tasks; {
				n := 1 + r.Int64N(k.Tasks-at)
				ranges = append(ranges, [2]int64{at, at + n})
				at += n
			}
			r.Shuffle(len(ranges), func(i, j int) { ranges[i], ranges[j] = ranges[j], ranges[i] })
			for _, x := range ranges {
				if err := (kerneltest.Interp{NoFMA: !machines[name].FMA}).Run(k, bufs, x[0], x[1]); err != nil {
					t.Fatalf("%s: %v: %v", name, c, err)
				}
			}
			if !bytes.Equal(bufs[len(bufs)-1], want) {
				t.Errorf("%s: %v: tasks in ranges %v give other results", name, c, ranges)
			}
		}
	}
	if several < 10 {
		t.Errorf("%d products do several tasks at once", several)
	}
}

// TestOnce: a thread that has all tasks packs most of what it packs of a product of long sums once,
// where a task has few rows and columns.
func TestOnce(t *testing.T) {
	m := kernel.Machine{VectorBits: 512, Registers: 32, FMA: true, Masked: true, L1: 48 << 10, L2: 1 << 20}
	p, err := newBlocking(&Spec{M: 1024, N: 768, K: 50257, Left: Operand{Unit: AlongK}, Right: Operand{Unit: AlongN}}, m)
	if err != nil {
		t.Fatal(err)
	}
	if p.mostTiles < p.tiles/2 || p.mostPanels < p.panels/2 || p.blocksM*p.blocksN < manyTasks {
		t.Errorf("%+v", p)
	}
}

// TestDegenerate interprets the corners: every size 1, a vector, or one off.
func TestDegenerate(t *testing.T) {
	for name, m := range machines {
		lanes := int64(m.Lanes(kernel.F32))
		for _, left := range []Along{AlongM, AlongK} {
			for _, right := range []Along{AlongN, AlongK} {
				for i := range int64(27) {
					pick := func(j int64) int64 { return []int64{1, lanes, lanes + 1}[j%3] }
					c := matmul{m: pick(i), n: pick(i / 3), k: pick(i / 9), left: left, right: right,
						stride: 1, elem: kernel.F32, fused: i%2 == 0}
					interpret(t, name, c, m)
				}
			}
		}
	}
}

// TestCut checks what newBlocking promises for many sizes: every row and column
// belongs to exactly one task, tiles fit the registers, panels fit the caches,
// and large products have enough tasks.
func TestCut(t *testing.T) {
	machine := kernel.Machine{VectorBits: 512, Registers: 32, FMA: true, Masked: true, L1: 32 << 10, L2: 1 << 20}
	for _, d := range []int64{1, 7, 64, 65, 127, 128, 384, 512, 1000, 1024, 2048, 4096, 50257} {
		for _, n := range []int64{1, 17, 64, 257, 512, 4096, 50257} {
			for _, k := range []int64{1, 64, 385, 4096} {
				p, err := newBlocking(&Spec{M: d, N: n, K: k, Left: Operand{Unit: AlongK}, Right: Operand{Unit: AlongK}}, machine)
				if err != nil {
					t.Fatal(err)
				}
				if rows := p.wide*p.mr + (p.tiles-p.wide)*(p.mr-1); rows != d || p.wide < 1 || p.wide > p.tiles {
					t.Errorf("%dx%dx%d: tiles cover %d rows: %+v", d, n, k, rows, p)
				}
				if p.mr*p.vecs+p.vecs+1 > int64(machine.Registers) {
					t.Errorf("%dx%dx%d: a tile of %dx%d vectors", d, n, k, p.mr, p.vecs)
				}
				if (p.steps-1)*p.kc >= k || p.steps*p.kc < k {
					t.Errorf("%dx%dx%d: %d blocks of %d", d, n, k, p.steps, p.kc)
				}
				if bytes := 4 * p.mostTiles * p.slotStride(); bytes > int64(machine.L2)*3/2 && p.perBlockM > 1 && !p.inPlace {
					t.Errorf("%dx%dx%d: tiles of %d bytes", d, n, k, bytes)
				}
				if bytes := 4 * p.group * p.nr * p.kc; bytes > int64(machine.L2) {
					t.Errorf("%dx%dx%d: panels of %d bytes", d, n, k, bytes)
				}
				if sums := 4 * p.mostTiles * p.mr * p.mostPanels * p.nr; p.accumulate && sums > 2*int64(machine.L2) {
					t.Errorf("%dx%dx%d: %d bytes of sums", d, n, k, sums)
				}
				tasks := p.blocksM * p.blocksN
				if work := float64(d) * float64(n) * float64(k); work > manyTasks*maxWork && tasks < manyTasks || work < minWork && tasks > p.panels+4*d*(k+32)/int64(machine.L2) {
					t.Errorf("%dx%dx%d: %d tasks", d, n, k, tasks)
				}
			}
		}
	}
}

// TestDeterminism generates a kernel twice.
func TestDeterminism(t *testing.T) {
	c := matmul{m: 300, n: 200, k: 100, left: AlongM, right: AlongK, stride: 1, elem: kernel.F32}
	var text [2]string
	for i := range text {
		k, err := c.generate("gemm", machines["masked 512"])
		if err != nil {
			t.Fatal(err)
		}
		text[i] = k.String()
	}
	if text[0] != text[1] {
		t.Error("the same product gave two kernels")
	}
}

func TestErrors(t *testing.T) {
	good := func() Spec {
		load := func(At, Along, int, *kernel.Value) *kernel.Value { return nil }
		return Spec{M: 1, N: 1, K: 1, Left: Operand{Load: load, Unit: AlongK}, Right: Operand{Load: load, Unit: AlongN},
			Begin: func(int64) *kernel.Builder { return nil }, Store: func(At, *kernel.Value, int, *kernel.Value) {}}
	}
	for want, spoil := range map[string]func(*Spec){
		"a size is 0":           func(s *Spec) { s.M = 0 },
		"a size is -1":          func(s *Spec) { s.OuterK = []int64{-1} },
		"a callback is missing": func(s *Spec) { s.Store = nil },
		"does not have":         func(s *Spec) { s.Left.Unit = AlongN },
	} {
		s := good()
		spoil(&s)
		if _, err := Generate(s, machines["scalar"]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}
