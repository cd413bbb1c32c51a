package ceilings

import (
	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/llvm/target"
	"ptc/backend/kernel"
)

// Sizes of the loops. A task of arithmetic takes some 0.2 ms, and one of memory a
// piece that a thread reads in a row.
const (
	arithmeticSteps = 1 << 16
	arithmeticTasks = 64 // of each thread
	piece           = 1 << 18
	launches        = 1 << 12
	most            = 1 << 20 // tasks that a kernel may be launched with
)

// loop is a kernel to measure.
type loop struct {
	kind  Kind
	name  string // of the function
	work  float64
	tasks func(threads int, bytes int64) int64
	bufs  func(a *arrays) []uintptr
	note  string // what it is, next to the kind
	times int    // that a run launches it; 0: once
}

func tasksOfArithmetic(threads int, _ int64) int64 { return arithmeticTasks * int64(threads) }
func taskOfEach(threads int, _ int64) int64        { return int64(threads) }
func tasksOfMemory(_ int, bytes int64) int64       { return bytes / piece }

// multiplyAdds is a loop of independent multiply-adds on as many vectors as hide
// their latency: two or four of 4 or 5 cycles are begun in each.
func multiplyAdds(t target.Target) (*kernel.Kernel, loop, error) {
	lanes, vectors := emit.Machine(t).Lanes(kernel.F32), 12
	if t.Registers >= 32 {
		vectors = 24
	}
	k, err := MultiplyAdds("ceiling_fma", emit.Machine(t), most, arithmeticSteps, vectors)
	return k, loop{kind: MultiplyAdd, name: "ceiling_fma", work: 2 * arithmeticSteps * float64(vectors*lanes),
		tasks: tasksOfArithmetic, bufs: func(a *arrays) []uintptr { return []uintptr{a.results} }}, err
}

// MultiplyAdds builds a kernel that multiplies and adds independent vectors in a loop of so many steps, and does nothing else.
func MultiplyAdds(name string, m kernel.Machine, tasks, steps int64, vectors int) (*kernel.Kernel, error) {
	lanes := m.Lanes(kernel.F32)
	b := kernel.New(name, tasks)
	buf := b.Arg("x", kernel.F32, tasks*int64(lanes), kernel.ReadWrite)
	place := buf.At(b.Task().Mul(int64(lanes)))
	x := b.Load(place, lanes)
	acc := make([]*kernel.Value, vectors)
	for i := range acc {
		acc[i] = b.F32(float32(i), lanes)
	}
	acc = b.ForCarry(kernel.Span(steps).Unrolled(1), acc, func(_ kernel.Index, c []*kernel.Value) []*kernel.Value {
		next := make([]*kernel.Value, len(c))
		for i := range c {
			next[i] = b.MulAdd(x, x, c[i])
		}
		return next
	})
	b.Store(place, sum(b, acc))
	return b.Finish()
}

// sum adds values in pairs, so that no sum waits for all before it.
func sum(b *kernel.Builder, list []*kernel.Value) *kernel.Value {
	for len(list) > 1 {
		var next []*kernel.Value
		for i := 0; i+1 < len(list); i += 2 {
			next = append(next, b.Add(list[i], list[i+1]))
		}
		if len(list)%2 == 1 {
			next = append(next, list[len(list)-1])
		}
		list = next
	}
	return list[0]
}

const (
	vectorsAtOnce = 8 // of a loop over memory
	elements      = piece / 4
)

// read sums an array.
func read(t target.Target) (*kernel.Kernel, loop, error) {
	lanes := emit.Machine(t).Lanes(kernel.F32)
	b := kernel.New("ceiling_read", most)
	in := b.Arg("in", kernel.F32, most*elements, kernel.Read)
	out := b.Arg("out", kernel.F32, most*int64(lanes), kernel.Write)
	acc := make([]*kernel.Value, vectorsAtOnce)
	for i := range acc {
		acc[i] = b.F32(0, lanes)
	}
	acc = b.ForCarry(over(b, lanes), acc, func(at kernel.Index, c []*kernel.Value) []*kernel.Value {
		next := make([]*kernel.Value, len(c))
		for i := range c {
			next[i] = b.Add(c[i], b.Load(in.At(at.Plus(int64(i*lanes))), lanes))
		}
		return next
	})
	b.Store(out.At(b.Task().Mul(int64(lanes))), sum(b, acc))
	k, err := b.Finish()
	return k, loop{kind: Read, name: "ceiling_read", work: piece, tasks: tasksOfMemory,
		bufs: func(a *arrays) []uintptr { return []uintptr{a.first, a.results} }}, err
}

// over are the elements of a task, so many vectors at a time.
func over(b *kernel.Builder, lanes int) kernel.Range {
	from := b.Task().Mul(elements)
	return kernel.Between(from, from.Plus(elements)).By(int64(vectorsAtOnce * lanes)).Unrolled(1)
}

// copied copies one array to another.
func copied(t target.Target) (*kernel.Kernel, loop, error) {
	lanes := emit.Machine(t).Lanes(kernel.F32)
	b := kernel.New("ceiling_copy", most)
	in := b.Arg("in", kernel.F32, most*elements, kernel.Read)
	out := b.Arg("out", kernel.F32, most*elements, kernel.Write)
	b.For(over(b, lanes), func(at kernel.Index) {
		for i := range vectorsAtOnce {
			x := at.Plus(int64(i * lanes))
			b.Store(out.At(x), b.Load(in.At(x), lanes))
		}
	})
	k, err := b.Finish()
	return k, loop{kind: Copy, name: "ceiling_copy", work: 2 * piece, tasks: tasksOfMemory,
		bufs: func(a *arrays) []uintptr { return []uintptr{a.first, a.second} }}, err
}

// update replaces every element x of an array by x/2 + 1/2, which stays finite
// and normal however often it is run.
func update(t target.Target) (*kernel.Kernel, loop, error) {
	lanes := emit.Machine(t).Lanes(kernel.F32)
	b := kernel.New("ceiling_update", most)
	buf := b.Arg("x", kernel.F32, most*elements, kernel.ReadWrite)
	half := b.F32(0.5, lanes)
	b.For(over(b, lanes), func(at kernel.Index) {
		for i := range vectorsAtOnce {
			place := buf.At(at.Plus(int64(i * lanes)))
			b.Store(place, b.MulAdd(b.Load(place, lanes), half, half))
		}
	})
	k, err := b.Finish()
	return k, loop{kind: Update, name: "ceiling_update", work: 2 * piece, tasks: tasksOfMemory,
		bufs: func(a *arrays) []uintptr { return []uintptr{a.first} }}, err
}

// launch does nothing, so that what a run takes is the launches and their barriers.
func launch(target.Target) (*kernel.Kernel, loop, error) {
	b := kernel.New("ceiling_launch", most)
	b.Arg("x", kernel.F32, 1, kernel.Read)
	k, err := b.Finish()
	return k, loop{kind: Launch, name: "ceiling_launch", tasks: taskOfEach, times: launches,
		bufs: func(a *arrays) []uintptr { return []uintptr{a.results} }}, err
}
