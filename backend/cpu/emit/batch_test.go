package emit

import (
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
)

// TestBatch compares a kernel that writes the sizes of its batches with the
// interpreter, over all ranges.
func TestBatch(t *testing.T) {
	_, runnable := targets(t)
	tgt := runnable[len(runnable)-1]
	const tasks = 24
	for _, x := range []kernel.Batch{
		{Row: 4, Rows: 3, Most: 4, MostRows: 1}, {Row: 4, Rows: 3, Most: 3, MostRows: 1}, {Row: tasks, Rows: 1, Most: 2, MostRows: 1},
		{Row: tasks, Rows: 1, Most: tasks, MostRows: 1}, {Row: 1, Rows: 8, Most: 1, MostRows: 3}, {Row: 4, Rows: 3, Most: 4, MostRows: 2}, {Row: 4, Rows: 6, Most: 4, MostRows: 6},
	} {
		b := kernel.New("batches", tasks)
		out := b.Arg("out", kernel.I64, tasks, kernel.ReadWrite)
		end := b.Batch(x)
		n := b.Value(end.Sub(b.Task()))
		b.For(kernel.Between(b.Task(), end), func(i kernel.Index) { b.Store(out.At(i), b.Add(n, b.Load(out.At(i), 1))) })
		k := build(t, b)
		img := image(t, compile(t, tgt, k))
		for begin := range k.Tasks {
			for end := begin; end <= k.Tasks; end++ {
				want := [][]byte{make([]byte, 8*tasks)}
				if err := kerneltest.Interpret(k, want, begin, end); err != nil {
					t.Fatal(err)
				}
				if d := differ(kernel.I64, run(t, img, k, [][]byte{make([]byte, 8*tasks)}, begin, end)[0], want[0]); d != "" {
					t.Fatalf("%+v, tasks %d to %d: %s", x, begin, end, d)
				}
			}
		}
	}
}
