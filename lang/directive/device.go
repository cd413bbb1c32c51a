package directive

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir/layout"
	"ptc/lang/syntax"
)

// Device is `device memory = 80 GiB`; several entries are separated by commas.
type Device struct {
	line
	Entries []*syntax.Entry `parser:"'device' @@ ( ',' @@ )*"`
}

var _ = define(Form{Word: "device", Node: &Device{}, Keys: []Key{{Name: "memory"}}})

// List has the properties.
func (d *Device) List() []*syntax.Entry { return d.Entries }

func (d *Device) read(r *reading) {
	for _, e := range d.Entries {
		if e.Key.Name != "memory" {
			r.f.Wants("E0415", e.Key, "`memory`", diag.DidYouMean(e.Key.Name, []string{"memory"}), "`device` has no option `%s`", e.Key.Name)
			continue
		}
		r.single(e, "device memory")
		if n, ok := r.bytes(e.Value, "E0416", "the memory of a device", "80 GiB", 1024); ok {
			r.add(d, d, &layout.Device{Memory: int64(n)})
		}
	}
}

// hasMemory is whether the layout says how much memory a device has, or a search will.
func (c context) hasMemory() bool {
	return c.free != nil || slices.ContainsFunc(of[*Device](c.decl), func(d *Device) bool {
		return slices.ContainsFunc(d.Entries, func(e *syntax.Entry) bool { return e.Key.Name == "memory" })
	})
}
