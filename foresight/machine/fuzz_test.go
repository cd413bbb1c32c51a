package machine

import (
	"testing"

	"ptc/internal/diag"
	"ptc/lang/syntax"
)

// FuzzLoad holds that no text makes Load panic, that each mistake has a code and a place, and that what loads still
// does, with the same hash, once it is formatted; and that no list of sizes makes a cluster beyond the bounds.
func FuzzLoad(f *testing.F) {
	for _, name := range Names() {
		text, err := Source(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(text), "2x8")
	}
	f.Add([]byte("machine m { price = -1e308 USD/h from \"x\" kernels { \"k\" = inf s } level { } }"), "0x1")
	f.Fuzz(func(t *testing.T, src []byte, levels string) {
		m, errs := Load("m.ptm", src)
		diag.Plain.Render(errs, func(string) (string, bool) { return string(src), true })
		for _, e := range errs {
			if e.Code == "" || e.Msg == "" || !e.Pos.IsValid() {
				t.Fatalf("an incomplete error: %v", e)
			}
		}
		if (m == nil) != (len(errs) > 0) {
			t.Fatalf("a machine %v with %d errors", m != nil, len(errs))
		}
		if m == nil {
			return
		}
		out, errs := syntax.Format("m.ptm", src)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		again, errs := Load("m.ptm", out)
		if len(errs) > 0 || again.Hash != m.Hash {
			t.Fatalf("formatted it is another machine: %v", errs)
		}
		if c, err := m.On(levels); err == nil && (c.Devices() < 1 || c.Devices() > maxRanks || len(c.Sizes) != len(m.Levels)) {
			t.Fatalf("%q are %d devices", levels, c.Devices())
		}
	})
}
