package lower

import (
	"testing"

	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/nest"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
)

// wave is a machine of 64 lanes with the interfaces that every class of kernels needs, and no others. Its entries are
// the masks by which lanes exchange values.
type wave struct {
	*kernel.Builder
	masks map[int64]bool
	err   error
}

type waves struct{}

func (waves) Lanes() int { return 64 }

func (waves) Begin(_ string, threads int) (*thread.Builder, func() (map[int64]bool, int, error)) {
	w := &wave{masks: map[int64]bool{}}
	w.Builder = kernel.Stream(func(*kernel.Stmt) {}, func(_ *kernel.Value, then, els func() []*kernel.Value) []*kernel.Value {
		out := then()
		if els != nil {
			els()
		}
		return out
	})
	b := &thread.Builder{Builder: w.Builder, Control: w, Lanes: w, Memory: w, Launch: thread.Launch{Threads: threads}}
	return b, func() (map[int64]bool, int, error) { return w.masks, 0, w.err }
}

func (w *wave) fresh(e kernel.Elem, n int) (out []*thread.Value) {
	for range n {
		out = append(out, w.Fresh(kernel.Scalar(e)))
	}
	return out
}

func (w *wave) Loop(_, _ *thread.Value, _ int64, init []*thread.Value, body func(i *thread.Value, carry []*thread.Value) []*thread.Value) []*thread.Value {
	return body(w.fresh(kernel.I32, 1)[0], init)
}
func (w *wave) Anew(body func())                   { body() }
func (w *wave) Near(_ bool, body func())           { body() }
func (w *wave) Fail(err error)                     { w.err = err }
func (w *wave) Special(thread.Place) *thread.Value { return w.fresh(kernel.I32, 1)[0] }
func (w *wave) Exchange(v *thread.Value, mask int64) *thread.Value {
	w.masks[mask] = true
	return w.fresh(v.Type.Elem, 1)[0]
}
func (w *wave) Sync()                    {}
func (w *wave) Among(_ int, body func()) { body() }
func (w *wave) Overlay(body func())      { body() }
func (w *wave) UsesShared() bool         { return false }
func (w *wave) Param(_ string, e kernel.Elem) thread.Pointer {
	return thread.Pointer{Elem: e, Base: w.fresh(kernel.I64, 1)[0]}
}
func (w *wave) NewShared(e kernel.Elem, _, _ int) thread.Shared {
	return thread.Shared{Elem: e, Base: w.fresh(kernel.I32, 1)[0]}
}
func (w *wave) At(p thread.Pointer, _ kernel.Index) thread.Pointer         { return p }
func (w *wave) Choose(_ *thread.Value, p, _ thread.Pointer) thread.Pointer { return p }
func (w *wave) Within(s thread.Shared, _ *thread.Value) thread.Shared      { return s }
func (w *wave) StoreGlobal(thread.Pointer, thread.Access, []*thread.Value) {}
func (w *wave) StoreShared(thread.Shared, thread.Access, []*thread.Value)  {}
func (w *wave) LoadGlobal(p thread.Pointer, a thread.Access) []*thread.Value {
	return w.fresh(p.Elem.Register(), max(1, a.N))
}
func (w *wave) LoadShared(s thread.Shared, a thread.Access) []*thread.Value {
	return w.fresh(s.Elem.Register(), max(1, a.N))
}

// TestOtherMachine: all kernels can be lowered for a machine with another number of lanes, which has nothing that only some
// GPUs have; and reductions are across all of its lanes.
func TestOtherMachine(t *testing.T) {
	masks := map[int64]bool{}
	long, errs := ir.Parse("rows.ptir", []byte(rows))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, f := range append(kernels(t).Funcs, long.Funcs...) {
		if wide(f) {
			continue
		}
		whole, err := fusion.Analyze(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range whole.Apart() {
			s := schedule.Schedule{Rows: 1, Cols: 1024, Grid: -1}
			if k.Class == fusion.Scatter {
				s.Over = 1
			}
			p, err := nest.Program("k", k, s)
			if err != nil {
				t.Fatal(err)
			}
			made, err := Kernels(waves{}, p, 2)
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			for _, x := range made {
				for mask := range x.Entry {
					masks[mask] = true
				}
			}
		}
	}
	for mask := int64(1); mask < 64; mask *= 2 {
		if !masks[mask] {
			t.Errorf("no lanes exchange values that differ in the bit %d of their numbers", mask)
		}
	}
	if len(masks) != 6 {
		t.Errorf("lanes exchange values by %v", masks)
	}
}
