package program

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestSampleIsValid(t *testing.T) {
	if err := sample().Validate(); err != nil {
		t.Fatal(err)
	}
}

// TestValidate breaks one thing of the sample at a time.
func TestValidate(t *testing.T) {
	dev := func(f func(d *Device)) func(*Plan) { return func(p *Plan) { f(&p.Devices[0]) } }
	buf := func(i int, f func(b *Buffer)) func(*Plan) { return dev(func(d *Device) { f(&d.Buffers[i]) }) }
	product := func(i int, f func(p *Product)) func(*Plan) { return func(p *Plan) { f(&p.Kernels[3].Products[i]) } }
	for _, c := range []struct {
		name   string
		change func(p *Plan)
		want   string
	}{
		{"code without kind", func(p *Plan) { p.Code[0].Kind = "" }, "of no kind"},
		{"kernel's code", func(p *Plan) { p.Kernels[0].Code = 1 }, "code 1 of 1"},
		{"threads", func(p *Plan) { p.Kernels[0].Threads = -1 }, "blocks of -1 threads"},
		{"too many threads", func(p *Plan) { p.Kernels[0].Threads = 1 << 20 }, "blocks of 1048576 threads"},
		{"shared memory", func(p *Plan) { p.Kernels[0].Shared = -1 }, "-1 bytes of shared memory"},
		{"map's argument", func(p *Plan) { p.Kernels[0].Maps[0].Arg = 2 }, "tensor map 0: argument 2 of 2"},
		{"map's dtype", func(p *Plan) { p.Kernels[0].Maps[0].DType = "f31" }, `elements of "f31"`},
		{"map's offset", func(p *Plan) { p.Kernels[0].Maps[0].Offset = 8 }, "offset of 8"},
		{"map's offset within", func(p *Plan) { p.Kernels[0].Maps[0].Offset = 32 }, "it reaches 64 bytes of argument 1, which has 48"},
		{"map without dimensions", func(p *Plan) { p.Kernels[0].Maps[0].Sizes = nil }, "0 sizes, 1 strides and 2"},
		{"map's strides", func(p *Plan) { p.Kernels[0].Maps[0].Strides[0] = 24 }, "24 bytes between"},
		{"map's sizes", func(p *Plan) { p.Kernels[0].Maps[0].Sizes[1] = 0 }, "0 elements of dimension 1"},
		{"map's reach", func(p *Plan) { p.Kernels[0].Maps[0].Sizes[1], p.Kernels[0].Maps[0].Strides[0] = 1<<32, 1<<40-16 }, "it reaches more than"},
		{"map's tile", func(p *Plan) { p.Kernels[0].Maps[0].Box[1] = 512 }, "512 elements of dimension 1"},
		{"map's row", func(p *Plan) { p.Kernels[0].Maps[0].Box[0] = 8 }, "16 bytes next to each other; expected 32"},
		{"map's swizzle", func(p *Plan) { p.Kernels[0].Maps[0].Swizzle = 16 }, "rows of 16 bytes"},
		{"maps", func(p *Plan) { p.Kernels[0].Maps = make([]TensorMap, 25) }, "25 tensor maps"},
		{"an adapter of nothing", func(p *Plan) { p.Adapters[0].On = nil }, "an adapter of []"},
		{"an adapter times what is no number", func(p *Plan) { p.Adapters[0].Scale = math.NaN() }, "times NaN"},
		{"a setting of no name", func(p *Plan) { p.Settings[0].Name = "" }, "setting 0"},
		{"two settings of a name", func(p *Plan) { p.Settings[1].Name = "layers" }, "two settings"},
		{"a setting that is no number", func(p *Plan) { p.Settings[0].Value = math.NaN() }, "is not finite"},
		{"a setting with a fraction", func(p *Plan) { p.Settings[0].Value = 2.5 }, "has to be a whole number"},
		{"a setting of what is none", func(p *Plan) { p.Settings[1].Is = "deep + 1" }, "which is no setting"},
		{"a setting of a text", func(p *Plan) { p.Settings[1].Is = "layers +" }, "not arithmetic"},
		{"a setting that is another number", func(p *Plan) { p.Settings[1].Value = 4 }, "is 3"},
		{"a guard that does not hold", func(p *Plan) { p.Guards[0].Holds = false }, "the plan is for values"},
		{"a guard of nothing", func(p *Plan) { p.Guards[0].Text = "" }, "not arithmetic"},
		{"a port of no setting", func(p *Plan) { p.Devices[0].Ports[11].Path = "width" }, "which is no setting"},
		{"a port that is too large", func(p *Plan) { p.Devices[0].Ports[11].Path = "layers * 1e60" }, "has to be a number that f32 has"},
		{"a port that is a vector", func(p *Plan) { p.Devices[0].Ports[11].Buffer = 3 }, "not a scalar"},
		{"a setting twice", func(p *Plan) { p.Devices[0].Ports = append(p.Devices[0].Ports, p.Devices[0].Ports[11]) }, "twice"},
		{"a device of no name", func(p *Plan) { p.Roof.Device = "" }, "the roofline"},
		{"a device that moves nothing", func(p *Plan) { p.Roof.Bytes = 0 }, "the roofline"},
		{"a device that computes nothing", func(p *Plan) { p.Roof.Rates = nil }, "0 rates"},
		{"a rate of no dtype", func(p *Plan) { p.Roof.Rates[0].DType = "f31" }, `"f31"`},
		{"no rate", func(p *Plan) { p.Roof.Rates[0].Flops = math.NaN() }, "NaN operations"},
		{"a variant's map", func(p *Plan) { p.Variants[0].Kernels[0].Maps = []TensorMap{{Arg: 9}} }, "variant old: kernel 0: tensor map 0: argument 9 of 2"},
		{"a variant of no name", func(p *Plan) { p.Variants[0].Arch = "" }, "without a name"},
		{"two variants", func(p *Plan) { p.Variants = append(p.Variants, p.Variants[0]) }, `two variants, or one without a name: "old"`},
		{"many variants", func(p *Plan) { p.Variants = make([]Variant, 65) }, "65 variants, more than 64"},
		{"a variant without a kernel", func(p *Plan) { p.Variants[0].Kernels = p.Variants[0].Kernels[1:] }, "variant old: 3 kernels of the plan's 4"},
		{"a variant's code", func(p *Plan) { p.Variants[0].Kernels[1].Code = 2 }, "variant old: kernel 1: code 2 of 2"},
		{"a variant's symbol", func(p *Plan) { p.Variants[0].Kernels[2].Symbol = "" }, "kernel 2: symbol: an empty name"},
		{"a variant's threads", func(p *Plan) { p.Variants[0].Kernels[0].Threads = 1 << 20 }, "blocks of 1048576 threads"},
		{"a variant's roofline", func(p *Plan) { p.Variants[0].Roof.Bytes = -1 }, "variant old: the roofline"},
		{"a variant of another kind", func(p *Plan) { p.Variants[0].Code[0].Kind = "ir" }, `kernel 1 is code of kind "ir", and the plan's of "elf"`},
		{"a variant that says more", func(p *Plan) { p.Variants[0].Kernels[0].Flops = 1 }, "kernel 0 says what the plan's says"},
		{"kernel's code below 0", func(p *Plan) { p.Kernels[0].Code = -1 }, "code -1"},
		{"no symbol", func(p *Plan) { p.Kernels[0].Symbol = "" }, "empty name"},
		{"long symbol", func(p *Plan) { p.Kernels[0].Symbol = strings.Repeat("x", 5000) }, "name of 5000"},
		{"tasks", func(p *Plan) { p.Kernels[0].Tasks = -1 }, "-1 tasks"},
		{"scratch", func(p *Plan) { p.Kernels[0].Scratch = 1 << 40 }, "scratch"},
		{"argument size", func(p *Plan) { p.Kernels[0].Args[0].Bytes = -8 }, "argument 0"},
		{"a product's argument", product(0, func(p *Product) { p.Left.Arg = 5 }), "left: argument 5 of 5"},
		{"a product of nothing", product(0, func(p *Product) { p.K = 0 }), "4 by 5 by 0"},
		{"a huge product", product(0, func(p *Product) { p.N = 1 << 31 }), "by 2147483648"},
		{"a product of whole numbers", product(0, func(p *Product) { p.Left.DType, p.Right.DType = "i32", "i32" }), `factors of "i32"`},
		{"factors apart", product(1, func(p *Product) { p.Right.DType = "f16" }), `"bf16" by "f16"`},
		{"a result with padding", func(p *Plan) {
			o := &p.Kernels[3].Products[0]
			o.Out.Row++
		}, "out: it"},
		{"a product's dtype", product(0, func(p *Product) { p.Out.DType = "bf16" }), `as "bf16"`},
		{"a bias of 16 bits", product(0, func(p *Product) { p.Bias.DType = "bf16" }), `"bf16" is added`},
		{"a result that is read", product(0, func(p *Product) { p.Left.Arg = 3 }), "argument 3 is read where"},
		{"a result that is an argument", product(0, func(p *Product) { p.Out.Arg = 0 }), "argument 0 is read where"},
		{"rows that meet", product(0, func(p *Product) { p.Left.Row = 2 }), "rows of 3 elements, 2 apart"},
		{"a factor before its argument", product(0, func(p *Product) { p.Left.Offset = -1 }), "from -1 on"},
		{"matrices backwards", product(0, func(p *Product) { p.Left.Batch = -1 }), "-1 apart"},
		{"a factor beyond its argument", product(0, func(p *Product) { p.Left.Batch = 28 }), "left: it reaches beyond the 192 bytes"},
		{"a factor far beyond", product(0, func(p *Product) { p.Left.Row = 1<<63 - 1 }), "left: it reaches beyond"},
		{"an offset beyond", product(0, func(p *Product) { p.Right.Offset = 10 }), "right: it reaches beyond"},
		{"a bias beyond", product(0, func(p *Product) { p.Bias.Offset = 12 }), "bias: it reaches beyond"},
		{"a result transposed", product(0, func(p *Product) { p.Out.Transposed = true }), "out is transposed"},
		{"a part of a result", product(1, func(p *Product) { p.M = 3 }), "not all of argument 4"},
		{"results that meet", product(0, func(p *Product) { p.Out.Row, p.Out.Batch = 5, 5 }), "share elements"},
		{"results in between", product(0, func(p *Product) { p.Out.Row, p.Out.Batch = 9, 5 }), "share elements"},
		{"one result twice", func(p *Plan) {
			k := &p.Kernels[3]
			k.Products = append(k.Products, k.Products[1])
		}, "the result of another one"},
		{"a variant with products", func(p *Plan) {
			v := &p.Variants[0].Kernels[3]
			v.Args, v.Products = p.Kernels[3].Args, p.Kernels[3].Products
		}, "says what the plan's says"},
		{"a result of no product", func(p *Plan) { p.Kernels[3].Products = p.Kernels[3].Products[:1] }, "the result of no product"},
		{"cost", func(p *Plan) { p.Kernels[0].Flops = -8 }, "cost"},
		{"mesh size", func(p *Plan) { p.Mesh[1].Size = 0 }, "of size 0"},
		{"huge mesh", func(p *Plan) { p.Mesh[0].Size, p.Mesh[1].Size = 1<<24, 1<<24 }, "mesh axis"},
		{"mesh twice", func(p *Plan) { p.Mesh[0].Name = "tp" }, "mesh axis"},
		{"devices by no axis", func(p *Plan) { p.By[0] = "pp" }, `mesh axis "pp"`},
		{"devices by an axis twice", func(p *Plan) { p.By = []string{"tp", "tp"} }, "out of order"},
		{"a coordinate outside", dev(func(d *Device) { d.At[0] = 1 }), "coordinate 1 of 1 on dp"},
		{"a coordinate missing", dev(func(d *Device) { d.At = nil }), "has 0 coordinates"},
		{"devices left out", func(p *Plan) { p.By = []string{"tp"} }, "1 programs for 2 places"},
		{"devices in one place", func(p *Plan) {
			p.By, p.Devices = []string{"tp"}, append(p.Devices, sample().Devices[0])
		}, "of another"},
		{"validation every", func(p *Plan) { p.Data.EvalEvery = -1 }, "-1 steps"},
		{"training of", func(p *Plan) { p.Data.Steps = -1 }, "-1 steps"},
		{"arena", dev(func(d *Device) { d.Arena = 1 << 50 }), "an arena"},
		{"smaller arena", dev(func(d *Device) { d.Arena -= 64 }), "not in the arena"},
		{"alignment", buf(0, func(b *Buffer) { b.Offset = 32 }), "multiple of 64"},
		{"before the arena", buf(0, func(b *Buffer) { b.Offset = -64 }), "multiple of 64"},
		{"overflow", buf(0, func(b *Buffer) { b.Offset = 1<<63 - 64 }), "not in the arena"},
		{"negative size", buf(0, func(b *Buffer) { b.Bytes = -1 }), "not in the arena"},
		{"dtype", buf(0, func(b *Buffer) { b.DType = "f31" }), `"f31"`},
		{"small buffer", buf(6, func(b *Buffer) { b.Bytes = 8 }), "40 elements"},
		{"padding below nothing", buf(18, func(b *Buffer) { b.Pad = -1 }), "-1 elements of padding behind each row of 2 axes"},
		{"padding without rows", buf(5, func(b *Buffer) { b.Pad = 1 }), "1 elements of padding behind each row of 0 axes"},
		{"padding on the host", buf(11, func(b *Buffer) { b.Pad = 1 }), "1 elements of padding"},
		{"padding beyond the buffer", buf(18, func(b *Buffer) { b.Pad = 2 }), "48 bytes for 14 elements"},
		{"endless padding", buf(18, func(b *Buffer) { b.Pad = math.MaxInt }), "elements of padding, more than"},
		{"padding of a tensor", buf(15, func(b *Buffer) {
			b.Axes, b.Pad = []Axis{{Name: "x", Size: 2, Global: 2}, {Name: "y", Size: 5, Global: 5}}, 1
		}), "tensor blocks.{i+1}.w has 1 elements of padding"},
		{"padding of a port", buf(3, func(b *Buffer) { b.Axes[0], b.Pad = Axis{Name: "batch", Size: 7, Global: 7}, 1 }), "1 elements of padding behind each row"},
		{"padding that is sent", buf(6, func(b *Buffer) { b.Axes[0], b.Pad = Axis{Name: "x", Size: 39, Global: 39}, 1 }), "all_to_all of buffer 6, whose rows have padding"},
		{"axis twice", buf(0, func(b *Buffer) { b.Axes[1].Name = "out" }), "two axes"},
		{"axis size", buf(3, func(b *Buffer) { b.Axes[0].Size = 0 }), "of size 0"},
		{"elements overflow", buf(3, func(b *Buffer) { b.Axes = []Axis{{"a", 1 << 40, 1 << 40, nil}, {"b", 1 << 40, 1 << 40, nil}} }), "axis b"},
		{"no such mesh axis", buf(0, func(b *Buffer) { b.Axes[0].Mesh[0] = "pp" }), `"pp"`},
		{"sharding", buf(3, func(b *Buffer) { b.Axes[0].Global = 16 }), "mesh axes make"},
		{"mesh axis used twice", buf(3, func(b *Buffer) {
			b.Axes = []Axis{{"a", 2, 4, []string{"tp"}}, {"b", 2, 4, []string{"tp"}}}
		}), "cut over"},
		{"tensor's buffer", dev(func(d *Device) { d.Tensors[0].Buffer = 22 }), "buffer 22 of 22"},
		{"tensor twice", dev(func(d *Device) { d.Tensors[1].Path = "w" }), "two tensors"},
		{"no path", dev(func(d *Device) { d.Tensors[1].Path = "" }), "without a path"},
		{"tensors meet", dev(func(d *Device) { d.Tensors[1].Buffer = 0 }), "share the bytes"},
		{"buffer meets a tensor", buf(6, func(b *Buffer) { b.Offset = 64; b.Bytes = 640 }), "covers a part"},
		{"init", dev(func(d *Device) { d.Tensors[0].Init.Kind = "magic" }), `"magic"`},
		{"copy of nothing", dev(func(d *Device) { d.Tensors[1].Of = "v" }), "a copy of v, which is not here"},
		{"copy of itself", dev(func(d *Device) { d.Tensors[1].Of = "w/m" }), "a copy of w/m, which is not here"},
		{"copy's shape", dev(func(d *Device) { d.Buffers[1].Axes = []Axis{{Name: "flat", Size: 12, Global: 12}} }), "another shape than w"},
		{"init of integers", dev(func(d *Device) { d.Buffers[0].DType = "i32" }), "cannot start"},
		{"program twice", dev(func(d *Device) { d.Progs[1].Name = "step" }), "two programs"},
		{"kernel", dev(func(d *Device) { d.Progs[0].Instrs[0].Kernel = 4 }), "kernel 4 of 4"},
		{"buffer", dev(func(d *Device) { d.Progs[0].Instrs[0].Bufs[0] = -1 }), "buffer -1"},
		{"too few buffers", dev(func(d *Device) { d.Progs[0].Instrs[0].Bufs = []int{0} }), "1 buffers of 2"},
		{"kernel needs more", func(p *Plan) { p.Kernels[0].Args[0].Bytes = 49 }, "of which it uses 49"},
		{"read before written", dev(func(d *Device) { d.Progs[0].Instrs[2].NoWait = true }), "does not wait"},
		{"written before read", dev(func(d *Device) { d.Progs[0].Instrs[1].Bufs = []int{1, 0} }), "does not wait"},
		{"both write", dev(func(d *Device) { d.Progs[0].Instrs[1].Bufs = []int{0, 2} }), "does not wait"},
		{"kinds mixed", func(p *Plan) { p.Code = append(p.Code, Code{Kind: "ir"}); p.Kernels[1].Code = 1 }, "beside elf"},
		{"port's program", dev(func(d *Device) { d.Ports[0].Program = "stop" }), `"stop"`},
		{"port's buffer", dev(func(d *Device) { d.Ports[0].Buffer = 22 }), "buffer 22"},
		{"port's role", dev(func(d *Device) { d.Ports[0].Role = "rôle" }), "unknown role"},
		{"port twice", dev(func(d *Device) { d.Ports = append(d.Ports, d.Ports[0]) }), "twice"},
		{"second loss", dev(func(d *Device) { d.Ports[4].Role = RoleLoss }), "twice"},
		{"after too many", dev(func(d *Device) { d.Ports[5].After = 4 }), "after 4 of 3"},
		{"loss has no after", dev(func(d *Device) { d.Ports[3].After = 1 }), "after 1"},
		{"gradient of nothing", dev(func(d *Device) { d.Ports[5].Path = "v" }), "no such parameter"},
		{"gradient's size", dev(func(d *Device) { d.Ports[5].Buffer = 5 }), "1 elements"},
		{"step's type", dev(func(d *Device) { d.Ports[1].Buffer = 5 }), "scalar i32"},
		{"loss's type", dev(func(d *Device) { d.Ports[3].Buffer = 4 }), "scalar f32 or f64"},
		{"data's type", dev(func(d *Device) { d.Ports[0].Buffer = 6 }), "data of f64"},
	} {
		p := sample()
		c.change(p)
		err := p.Validate()
		var want *InvalidError
		if !errors.As(err, &want) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestInPlace: a tensor's new value may be another buffer in its very place.
func TestInPlace(t *testing.T) {
	p := sample()
	d := &p.Devices[0]
	d.Buffers = append(d.Buffers, Buffer{Space: Activations, Offset: 0, Bytes: 48, DType: "f32",
		Axes: []Axis{{Name: "flat", Size: 12, Global: 12}}})
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}

// TestDevicesAgree splits the sample into two devices and lets them disagree.
func TestDevicesAgree(t *testing.T) {
	for name, change := range map[string]func(d *Device){
		"": func(d *Device) {},
		"programs": func(d *Device) {
			for i := range d.Ports {
				if d.Ports[i].Program == "eval" {
					d.Ports[i].Program = "test"
				}
			}
			d.Progs[1].Name = "test"
		},
		"tensor w":   func(d *Device) { d.Tensors[0].Init.Kind = "uniform"; d.Tensors[0].Init.Args = nil },
		"tensor w/m": func(d *Device) { d.Tensors[1].Train = true },
		"step grad w": func(d *Device) {
			d.Buffers[2].Axes = []Axis{{Name: "flat", Size: 12, Global: 24, Mesh: []string{"tp"}}}
			d.Ports[5].Buffer = 2
		},
		"step data tok": func(d *Device) { d.Buffers[3].Axes[0].Name = "row" },
	} {
		p := sample()
		p.Devices = append(p.Devices, sample().Devices[0])
		p.By, p.Devices[0].At, p.Devices[1].At = []string{"tp"}, []int{0}, []int{1}
		change(&p.Devices[1])
		err := p.Validate()
		if name == "" && err != nil {
			t.Errorf("alike: %v", err)
		} else if name != "" && (err == nil || !strings.Contains(err.Error(), name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInitValues(t *testing.T) {
	for _, c := range []struct {
		init Init
		want Values
		bad  bool
	}{
		{init: Init{Kind: "zeros"}, want: Values{Std: 1, Low: -1, High: 1}},
		{init: Init{Kind: "ones"}, want: Values{Value: 1, Std: 1, Low: -1, High: 1}},
		{init: Init{"constant", []KV{{"value", "-2.5"}}}, want: Values{Value: -2.5, Std: 1, Low: -1, High: 1}},
		{init: Init{"normal", []KV{{"std", "2"}, {"mean", "1"}}}, want: Values{Dist: Normal, Mean: 1, Std: 2, Low: -1, High: 1}},
		{init: Init{"uniform", []KV{{"high", "0.5"}}}, want: Values{Dist: Uniform, Std: 1, Low: -1, High: 0.5}},
		{init: Init{Kind: "constant"}, bad: true},
		{init: Init{"zeros", []KV{{"value", "1"}}}, bad: true},
		{init: Init{"normal", []KV{{"std", "-1"}}}, bad: true},
		{init: Init{"normal", []KV{{"std", "inf"}}}, bad: true},
		{init: Init{"normal", []KV{{"std", "wide"}}}, bad: true},
		{init: Init{"normal", []KV{{"std", "NaN"}}}, bad: true},
		{init: Init{"uniform", []KV{{"low", "2"}}}, bad: true},
	} {
		got, err := c.init.Values()
		if (err != nil) != c.bad || err == nil && got != c.want {
			t.Errorf("%v: %+v, %v, want %+v", c.init, got, err, c.want)
		}
	}
}

func TestBox(t *testing.T) {
	p := &Plan{Mesh: []MeshAxis{{"dp", 2}, {"tp", 3}}}
	axes := []Axis{{"a", 2, 12, []string{"tp", "dp"}}, {"b", 5, 5, nil}, {"c", 4, 4, nil}}
	for rank, lo := range []int{0, 4, 8, 2, 6, 10} { // tp is major: part = tp·2 + dp
		gotLo, gotHi := p.Mesh.Box(rank, axes)
		if !reflect.DeepEqual(gotLo, []int{lo, 0, 0}) || !reflect.DeepEqual(gotHi, []int{lo + 2, 5, 4}) {
			t.Errorf("rank %d: [%v, %v), want lo %d", rank, gotLo, gotHi, lo)
		}
	}
	if p.Mesh.Ranks() != 6 || (Mesh{}).Ranks() != 1 || Elems(axes) != 40 || Elems(nil) != 1 {
		t.Error("numbers of ranks or elements")
	}
}
