package backend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/backend/tile/schedule"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/targetinfo"
	"ptc/runtime/program"
)

// Target generates code for one kind of device.
type Target interface {
	// Info has the facts, such as the resolved name "cpu:x86-64-v4".
	Info() targetinfo.Info
	// Unfit is why the target cannot have k, a kernel of class attention, as one; empty where it can.
	Unfit(k *fusion.Kernel) string
	// Parts is into how many parts the sum of a product, a kernel or a section of one, is
	// cut (passes/fuse): as given says, or by the target's estimates; 1 is one.
	Parts(product *fusion.Kernel, given *schedule.Table) int64
	// Generate makes code for kernel functions, cut as given says where it says it; nil
	// leaves all of it to the target. It fills what only the generator knows of each
	// kernel: Code, Symbol, Tasks, Scratch. An error says what the target cannot do, in
	// the user's terms.
	Generate(kernels []*ir.Func, given *schedule.Table) (*Code, error)
	// Forms are the texts of a kernel function on its way to code, in that order: what Generate, given
	// the same, makes of it alone. A form that needs a tool that is not here is left out.
	Forms(f *ir.Func, given *schedule.Table) ([]Form, error)
	// Disassembly shows the instructions of one symbol of finished code; without a Kind where code has none.
	Disassembly(code program.Code, symbol string) (Form, error)
}

// Form is a kernel in one of the languages below ir.
type Form struct {
	Kind    string // as the extension of a file: tile, loop, ll, s, dis, ptx, sass
	Text    string
	Missing string // why there is no text
}

// Code is what a target generated.
type Code struct {
	Features []string // processor features that it needs
	Maker    string   // version of the code generator, where it is not ptc
	Code     []program.Code
	Kernels  []program.Kernel  // in the order given
	Roof     *program.Roof     // what a device does at most, where the target says which that is
	Variants []program.Variant // the kernels for other devices as well
}

// Backend resolves the names of its targets.
type Backend struct {
	Name string // prefix of target names: cpu, ref
	Doc  string
	// Resolve takes the whole name: "cpu", "cpu:x86-64-v3".
	Resolve func(name string) (Target, error)
	// Available is nil where the backend can generate code here, or says what
	// is missing and how to get it.
	Available func() error
	// Names lists full target names.
	Names func() []string
	// Rank orders backends for the default target: the first available one.
	Rank int
}

var backends = map[string]*Backend{}

// Register adds a backend; it is called from init only.
func Register(b *Backend) {
	if backends[b.Name] != nil {
		panic("backend: " + b.Name + " registered twice")
	}
	backends[b.Name] = b
}

// All lists the backends in order of preference.
func All() []*Backend {
	return slices.SortedFunc(maps.Values(backends), func(a, b *Backend) int { return a.Rank - b.Rank })
}

// Names lists every target name, backends' short names included.
func Names() []string {
	var out []string
	for _, b := range All() {
		out = append(out, b.Name)
		out = append(out, b.Names()...)
	}
	return out
}

// accelerators are what users may call targets that there are none of yet.
var accelerators = map[string]bool{"gpu": true, "nvptx": true, "ptx": true, "rocm": true, "hip": true, "metal": true, "tpu": true, "xpu": true}

// Resolve finds the target called name; the empty name is the default: the
// first backend that is available.
func Resolve(name string) (Target, error) {
	if name == "" {
		for _, b := range All() {
			if b.Available() == nil {
				return b.Resolve(b.Name)
			}
		}
		return nil, fmt.Errorf("no backend is available")
	}
	short, _, _ := strings.Cut(name, ":")
	b := backends[short]
	if b == nil {
		hint := diag.DidYouMean(name, Names())
		if i := slices.IndexFunc(Names(), func(n string) bool { return strings.HasSuffix(n, ":"+name) }); i >= 0 {
			hint = "did you mean `" + Names()[i] + "`?"
		}
		if accelerators[short] {
			hint = "this version has no target for accelerators but GPUs of NVIDIA, which `cuda` is for; `cpu` is native code for this machine"
		}
		return nil, &diag.Error{Code: "E0701", Msg: fmt.Sprintf("unknown target `%s`", name), Want: diag.OneOf(Names()), Hint: hint}
	}
	return b.Resolve(name)
}
