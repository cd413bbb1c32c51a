package emit

import (
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
)

// TestTogether compares a kernel that writes how many tasks are done at once with the
// interpreter, over all ranges.
func TestTogether(t *testing.T) {
	_, runnable := targets(t)
	tgt := runnable[len(runnable)-1]
	const tasks = 11
	for _, x := range []kernel.Together{{Of: 4, Most: 4}, {Of: 4, Most: 3}, {Of: tasks, Most: 2}, {Of: tasks, Most: tasks}, {Of: 1, Most: 1}} {
		b := kernel.New("turns", tasks)
		out := b.Arg("out", kernel.I64, tasks, kernel.ReadWrite)
		end := b.Together(x.Of, x.Most)
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
					t.Fatalf("%d of %d, tasks %d to %d: %s", x.Most, x.Of, begin, end, d)
				}
			}
		}
	}
}
