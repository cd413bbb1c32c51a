package kernel_test

import (
	"strings"
	"testing"

	"ptc/backend/kernel"
)

// A prefetch keeps what its place is computed from, and neither loads nor what is computed from them.
func TestPrefetch(t *testing.T) {
	b := kernel.New("ahead", 4)
	x, at := b.Arg("x", kernel.F32, 16, kernel.Read), b.Arg("at", kernel.I64, 4, kernel.Read)
	b.Prefetch(func() {
		i := b.Value(b.Task())
		far := kernel.Of(b.Mul(i, b.ConstInt(i.Type, 1000))) // beyond x: it is never read
		v := b.Load(x.At(far), 4)
		b.Add(v, v)
		b.Load(x.At(kernel.Of(b.Load(at.At(b.Task()), 1))), 1)
	})
	k, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	text := k.String()
	if n := strings.Count(text, "prefetch x["); n != 1 {
		t.Errorf("%d prefetches of x; expected the one whose place is not loaded", n)
	}
	for _, never := range []string{" load ", " add "} {
		if strings.Contains(text, never) {
			t.Errorf("found%sin\n%s", never, text)
		}
	}
	if !strings.Contains(text, "prefetch at[") {
		t.Errorf("nothing asks for at:\n%s", text)
	}
}
