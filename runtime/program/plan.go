package program

// Plan is everything that `ptc run` and `ptc explain` need: nothing of the
// machine that compiled, and nothing else is read beside it.
type Plan struct {
	Name     string   `cbor:"1,keyasint,omitempty"` // the model's name
	Layout   string   `cbor:"2,keyasint,omitempty"` // the layout's name
	Compiler string   `cbor:"3,keyasint,omitempty"` // version of the ptc that compiled, for example "0.1.0"
	LLVM     string   `cbor:"4,keyasint,omitempty"` // version of libLLVM, where it made the code
	Target   string   `cbor:"5,keyasint,omitempty"` // resolved target, for example "cpu:x86-64-v4"
	Features []string `cbor:"6,keyasint,omitempty"` // processor features that the code needs
	Sources  []Source `cbor:"7,keyasint,omitempty"` // user's files first, then what they import
	Config   []KV     `cbor:"8,keyasint,omitempty"` // resolved config values, in the order of the file
	Mesh     Mesh     `cbor:"9,keyasint,omitempty"`
	Code     []Code   `cbor:"10,keyasint,omitempty"`
	Kernels  []Kernel `cbor:"11,keyasint,omitempty"`
	Devices  []Device `cbor:"12,keyasint,omitempty"` // one per distinct program; see Device.At
	Data     Data     `cbor:"13,keyasint,omitempty"`
	Passes   []string `cbor:"14,keyasint,omitempty"` // in the order in which they ran
	Remarks  []Remark `cbor:"15,keyasint,omitempty"`
	Stats    Stats    `cbor:"16,keyasint,omitempty"`
	// Refined pairs axes of Mesh with the axis of the layout that they are parts
	// of, together with their neighbours.
	Refined []KV `cbor:"17,keyasint,omitempty"`
	// By are the mesh axes by which devices differ in their programs, in the order
	// of Mesh: there is one of Devices for each combination of coordinates on them,
	// and every rank with these coordinates runs it.
	By []string `cbor:"18,keyasint,omitempty"`
	// Schedules say how kernels, by their keys, were cut where the compilation was told it.
	Schedules []KV `cbor:"19,keyasint,omitempty"`
	// Roof is what a device of the target does at most, where the target is so narrow that
	// this is known.
	Roof *Roof `cbor:"20,keyasint,omitempty"`
	// Variants are the kernels in code for other devices of the target's family. Which code a
	// device runs, its engine chooses.
	Variants []Variant `cbor:"21,keyasint,omitempty"`
	// Names are how other programs call the parameters, by which files of theirs are written.
	Names []Names `cbor:"22,keyasint,omitempty"`
	// Adapters are rules for the parameters that have a low-rank adapter: of those that
	// hold for one, the first.
	Adapters Adapters `cbor:"23,keyasint,omitempty"`
	// Memory is the bytes that one device has, where the layout says so; else 0.
	Memory int64 `cbor:"24,keyasint,omitempty"`
	// Settings are the entries of Config that a run may give another value, and those that are
	// computed of some; Guards what has to hold of the values for the plan to be of them.
	Settings []Setting `cbor:"25,keyasint,omitempty"`
	Guards   []Guard   `cbor:"26,keyasint,omitempty"`
}

// Source is one source text.
type Source struct {
	Name   string `cbor:"1,keyasint,omitempty"` // relative to the compiled file, or "std/nn.ptl"
	Text   string `cbor:"2,keyasint,omitempty"`
	SHA256 string `cbor:"3,keyasint,omitempty"` // of Text, in hexadecimal
}

// Remark is one decision of a pass.
type Remark struct {
	Pass  string `cbor:"1,keyasint,omitempty"`
	Pos   string `cbor:"2,keyasint,omitempty"`
	Scope string `cbor:"3,keyasint,omitempty"`
	Text  string `cbor:"4,keyasint,omitempty"`
}

// Stats are figures about compilation that are the same on every machine.
type Stats struct {
	OpsBeforeFusion int     `cbor:"1,keyasint,omitempty"`
	FlopsPerStep    float64 `cbor:"2,keyasint,omitempty"`
	TokensPerStep   int64   `cbor:"3,keyasint,omitempty"`
	// ModelFlops is the part of FlopsPerStep that the mathematics of the model takes: operations that are
	// rematerialized count once. A plan of an earlier version has none.
	ModelFlops float64 `cbor:"4,keyasint,omitempty"`
}

// Touches are the buffers that an instruction reads, and those that it writes.
func (p *Plan) Touches(in *Instr) (reads, writes []int) {
	if in.Comm != nil {
		return in.Ends()
	}
	for i, a := range p.Kernels[in.Kernel].Args {
		if a.Write {
			writes = append(writes, in.Bufs[i])
		} else {
			reads = append(reads, in.Bufs[i])
		}
	}
	return reads, writes
}

// CodeKind is the kind of code that the device's programs call, or "" where
// they call nothing.
func (p *Plan) CodeKind(d *Device) string {
	for i := range d.Progs {
		for _, in := range d.Progs[i].Instrs {
			if in.Comm == nil {
				return p.Code[p.Kernels[in.Kernel].Code].Kind
			}
		}
	}
	return ""
}

// With is the plan with a variant's code in the place of its own. What it shares with the plan must not
// be changed.
func (p *Plan) With(v *Variant) *Plan {
	out := *p
	out.Code, out.Roof, out.Variants = v.Code, v.Roof, nil
	out.Kernels = make([]Kernel, len(p.Kernels))
	for i := range out.Kernels {
		k, own := v.Kernels[i], &p.Kernels[i]
		k.Name, k.Class, k.IR, k.Args = own.Name, own.Class, own.IR, own.Args
		k.Flops, k.Bytes, k.Factors, k.Products = own.Flops, own.Bytes, own.Factors, own.Products
		out.Kernels[i] = k
	}
	return &out
}
