package compiler

import (
	"errors"
	"os"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/runtime/program"
)

// A program that is larger than plans can be is an error of the user's, with a
// code, and no fault of ptc.
func TestLimits(t *testing.T) {
	source, err := os.ReadFile("../examples/mlp/mlp.ptl")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		name, old, new, code, want string
		set                        []string
	}{
		{name: "parameter", old: "w2", new: long, code: "E0223", want: "a name of 5000 bytes"},
		{name: "axis", old: "hidden", new: long, code: "E0223", want: "a name of 5000 bytes"},
		{name: "arena", code: "E0615", want: "an arena of", set: []string{"embed=1048576", "hidden=1048576", "vocab=1048576", "seq=1", "batch=1"}},
		{name: "elements", code: "E0615", want: "elements on a device", set: []string{"batch=1000000000", "hidden=20000"}},
	} {
		text := strings.ReplaceAll(string(source), c.old, c.new)
		if c.old == "" {
			text = string(source)
		}
		_, _, err := Compile(Options{File: "mlp.ptl", Source: []byte(text), Set: c.set, Target: "ref:f64"})
		d, _ := diag.As(err)
		if len(d) == 0 || d[0].Code != c.code || !strings.Contains(d[0].Msg, c.want) {
			t.Errorf("%s: %.200v, want %s with %q", c.name, err, c.code, c.want)
		}
	}
}

// What a layout offloads to disk is refused where the directive stands, for a target that cannot.
func TestOffloadToDisk(t *testing.T) {
	source, err := os.ReadFile("../examples/mlp/mlp.ptl")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		target, to string
		refused    bool
	}{{"cuda:sm_80", "disk", true}, {"cuda:sm_80", "host", false}, {"ref", "disk", false}} {
		o := Options{File: "mlp.ptl", Source: append(source, "\nlayout added {\n  offload optimizer to "+c.to+"\n}\n"...), Layout: "added", Target: c.target}
		_, _, err := Compile(o)
		d, _ := diag.As(err)
		if refused := len(d) == 1 && d[0].Code == "E0418" && d[0].Pos.IsValid(); refused != c.refused || (err != nil) != c.refused {
			t.Errorf("to %s for %s: %v", c.to, c.target, err)
		}
	}
}

// Each excess of a plan has the code of its kind; a contradiction in a plan stays a
// fault of the compiler.
func TestExcess(t *testing.T) {
	for _, c := range []struct {
		name, code string
		change     func(p *program.Plan)
	}{
		{"", "", func(*program.Plan) {}},
		{"arena", "E0615", func(p *program.Plan) { p.Devices[0].Arena = 1 << 47 }},
		{"host arena", "E0615", func(p *program.Plan) { p.Devices[0].Host = 1 << 47 }},
		{"tasks", "E0615", func(p *program.Plan) { p.Kernels[0].Tasks = 1 << 41 }},
		{"scratch", "E0615", func(p *program.Plan) { p.Kernels[0].Scratch = 1 << 33 }},
		{"argument", "E0615", func(p *program.Plan) { p.Kernels[0].Args[0].Bytes = 1 << 47 }},
		{"elements", "E0615", func(p *program.Plan) {
			p.Devices[0].Buffers[0].Axes = []program.Axis{{Name: "a", Size: 1, Global: 1 << 53}}
		}},
		{"symbol", "E0616", func(p *program.Plan) { p.Kernels[0].Symbol = strings.Repeat("k", 4097) }},
		{"axis", "E0616", func(p *program.Plan) {
			p.Devices[0].Buffers[0].Axes = []program.Axis{{Name: strings.Repeat("a", 4097), Size: 1, Global: 1}}
		}},
		{"tensor", "E0616", func(p *program.Plan) {
			p.Devices[0].Tensors = []program.Tensor{{Path: strings.Repeat("w", 4097), Init: program.Init{Kind: "zeros"}}}
		}},
		{"port", "E0616", func(p *program.Plan) {
			p.Devices[0].Ports = []program.Port{{Program: "step", Role: program.RoleData, Path: strings.Repeat("x", 4097)}}
		}},
		{"mesh axis", "E0616", func(p *program.Plan) { p.Mesh = []program.MeshAxis{{Name: strings.Repeat("m", 4097), Size: 1}} }},
		{"devices", "E0617", func(p *program.Plan) { p.Mesh = []program.MeshAxis{{Name: "dp", Size: 1 << 25}} }},
		{"kernels", "E0617", func(p *program.Plan) { p.Kernels = make([]program.Kernel, 1<<24+1) }},
		{"contradiction", "bug", func(p *program.Plan) { p.Kernels[0].Code = 3 }},
	} {
		p := &program.Plan{
			Code:    []program.Code{{Kind: "ir"}},
			Kernels: []program.Kernel{{Name: "k", Symbol: "k", Args: []program.Arg{{Bytes: 4, Write: true}}}},
			Devices: []program.Device{{Arena: 64, Buffers: []program.Buffer{{Bytes: 4, DType: "f32"}},
				Progs: []program.Program{{Name: "step", Instrs: []program.Instr{{Bufs: []int{0}}}}}}},
		}
		c.change(p)
		err, got := fits(p), ""
		var d *diag.Error
		var b *Bug
		switch {
		case errors.As(err, &d):
			got = d.Code
		case errors.As(err, &b):
			got = "bug"
		case err != nil:
			got = err.Error()
		}
		if got != c.code {
			t.Errorf("%s: %q (%.200v), want %q", c.name, got, err, c.code)
		}
	}
}
