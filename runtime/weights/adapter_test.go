package weights

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/checkpoint/safetensors/safetensorstest"
	"ptc/runtime/program"
)

// adapted is a plan with adapters, its names, and a file of its parameters.
type adapted struct {
	plan  *program.Plan
	names *program.Names
	path  string
}

func (x *adapted) tensor(path string, names string, sizes ...int64) safetensors.Tensor {
	d := &x.plan.Devices[0]
	var axes []program.Axis
	for i, n := range strings.Fields(names) {
		axes = append(axes, program.Axis{Name: n, Size: int(sizes[i]), Global: int(sizes[i])})
	}
	part := strings.HasSuffix(path, program.AdapterDown) || strings.HasSuffix(path, program.AdapterUp)
	d.Tensors = append(d.Tensors, program.Tensor{Path: path, Buffer: len(d.Buffers), Train: part})
	d.Buffers = append(d.Buffers, program.Buffer{Axes: axes})
	return safetensors.Tensor{Name: path, DType: dtype.F32, Shape: sizes}
}

// drawAdapted draws sizes: q and k are one tensor, whose heads and columns are an axis each; w1 and w2 are of
// experts, w1 with a part down for all, and w2 with one for each. Of a family with rows that are summed over, tensors are the other way round.
func drawAdapted(t *testing.T, r *rand.Rand, rows bool) *adapted {
	t.Helper()
	size := func() int64 { return int64(1 + r.Intn(4)) }
	e, h, c, f, rank := 1+size(), size(), 1+size(), 1+size(), size()
	x := &adapted{plan: &program.Plan{Devices: make([]program.Device, 1)}, names: &program.Names{Family: "llama", Format: "hf", Architecture: "L"}}
	if rows {
		x.names.Family = "gpt2"
	}
	x.plan.Adapters = []program.Adapter{{On: []string{"q"}, Scale: 0.5}, {On: []string{"**"}, Scale: 0.5}}
	list := []safetensors.Tensor{x.tensor("norm", "e", e)}
	for _, p := range []string{"q", "k"} {
		list = append(list, x.tensor(p, "e h c", e, h, c), x.tensor(p+program.AdapterDown, "e lora_rank", e, rank), x.tensor(p+program.AdapterUp, "lora_rank h c", rank, h, c))
	}
	list = append(list, x.tensor("w1", "n e f", 3, e, f), x.tensor("w1"+program.AdapterDown, "e lora_rank", e, rank), x.tensor("w1"+program.AdapterUp, "lora_rank n f", rank, 3, f),
		x.tensor("w2", "n f e", 3, f, e), x.tensor("w2"+program.AdapterDown, "n f lora_rank", 3, f, rank), x.tensor("w2"+program.AdapterUp, "lora_rank e", rank, e))
	joined := program.Named{Name: "b.qk.weight", Over: 0}
	for _, p := range []string{"q", "k"} {
		piece := program.Piece{Param: p, From: []int64{0, 0, 0}, Extent: []int64{e, h, c}, View: []int64{e, h, c}, Order: []int64{1, 2, 0}, Shape: []int64{h * c, e}}
		if rows {
			joined.Over, piece.Order, piece.Shape = 1, []int64{0, 1, 2}, []int64{e, h * c}
		}
		joined.Pieces = append(joined.Pieces, piece)
	}
	x.names.Tensors = append(x.names.Tensors, program.Named{Name: "b.norm.weight", Pieces: []program.Piece{{Param: "norm", From: []int64{0}, Extent: []int64{e}, View: []int64{e}, Order: []int64{0}, Shape: []int64{e}}}}, joined)
	for i := range int64(3) {
		for _, p := range []string{"w1", "w2"} {
			a, b := e, f
			if p == "w2" {
				a, b = f, e
			}
			piece := program.Piece{Param: p, From: []int64{i, 0, 0}, Extent: []int64{1, a, b}, View: []int64{a, b}, Order: []int64{1, 0}, Shape: []int64{b, a}}
			if rows {
				piece.Order, piece.Shape = []int64{0, 1}, []int64{a, b}
			}
			x.names.Tensors = append(x.names.Tensors, program.Named{Name: fmt.Sprintf("b.%d.%s.weight", i, p), Pieces: []program.Piece{piece}})
		}
	}
	x.path = filepath.Join(t.TempDir(), "tuned.safetensors")
	safetensorstest.Write(t, x.path, list, func(s *safetensors.Tensor) []float64 {
		v := make([]float64, s.Bytes()/4)
		for i := range v {
			v[i] = float64(float32(0.1 + r.Float64()))
		}
		return v
	})
	return x
}

// TestAdapterThereAndBack: an adapter that is written alone and read again is the same added to the base, and kept
// apart is the same to the bit.
func TestAdapterThereAndBack(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for trial := range 40 {
		x := drawAdapted(t, r, trial%2 == 1)
		src, err := OpenFile(x.path)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		base, ad := filepath.Join(dir, "base"), filepath.Join(dir, "adapter")
		if err := Export(src, x.names, base, Options{}); err != nil {
			t.Fatal(err)
		}
		if count, err := ExportAdapter(src, x.plan, x.names, ad, Options{Base: "b"}); err != nil || count != 7 {
			t.Fatal(count, err)
		}
		merged, err := Merged(src, x.plan)
		if err != nil {
			t.Fatal(err)
		}
		whole := filepath.Join(dir, "whole")
		if err := Export(merged, x.names, whole, Options{}); err != nil {
			t.Fatal(err)
		}
		added, want := readWith(t, x, base, ad, false), readWith(t, x, whole, "", false)
		if len(added) != 5 {
			t.Fatalf("%d parameters", len(added))
		}
		for name, v := range want {
			for i := range v {
				if math.Abs(added[name][i]-v[i]) > 2e-7*math.Abs(v[i]) {
					t.Fatalf("%d: %s[%d] is %g, and %g where the plan merges", trial, name, i, added[name][i], v[i])
				}
			}
		}
		kept, all := readWith(t, x, base, ad, true), safetensorstest.Floats(t, x.path)
		if len(kept) != len(all) {
			t.Fatalf("%d tensors, not %d", len(kept), len(all))
		}
		for name, v := range all {
			if fmt.Sprint(kept[name]) != fmt.Sprint(v) {
				t.Fatalf("%d: %s is %v, and was %v", trial, name, kept[name], v)
			}
		}
		src.Close()
	}
}

// readWith imports a folder with an adapter.
func readWith(t *testing.T, x *adapted, dir, adapter string, keep bool) map[string][]float64 {
	t.Helper()
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if adapter != "" {
		ad, err := OpenAdapter(adapter, x.names)
		if err != nil {
			t.Fatal(err)
		}
		defer ad.Close()
		if keep {
			if n, err := f.Keep(ad, x.names, x.plan); err != nil || n != 4 {
				t.Fatal(n, err)
			}
		} else {
			f.Add(ad)
		}
	}
	path := filepath.Join(t.TempDir(), "init.safetensors")
	if err := Import(f, x.names, path); err != nil {
		t.Fatal(err)
	}
	return safetensorstest.Floats(t, path)
}

// TestAdapterConfig: the modules are named as briefly as others allow, and what most have is said once.
func TestAdapterConfig(t *testing.T) {
	n := &program.Names{Family: "gpt2"}
	for _, name := range []string{"h.0.attn.c.weight", "h.0.mlp.c.weight", "h.0.q.weight", "h.1.attn.c.weight", "h.1.mlp.c.weight", "h.1.q.weight", "h.0.ln.bias"} {
		n.Tensors = append(n.Tensors, program.Named{Name: name})
	}
	text, err := adapterConfig([]lowRank{{module: "h.0.mlp.c", rank: 4, scale: 0.5}, {module: "h.1.mlp.c", rank: 4, scale: 0.5}, {module: "h.0.q", rank: 3, scale: 1.0 / 3}}, n, "m")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"r": 4,`, `"lora_alpha": 2,`, `"rank_pattern": {` + "\n    " + `"0\\.q": 3`, `"alpha_pattern": {` + "\n    " + `"0\\.q": 1`,
		`"fan_in_fan_out": true`, `"base_model_name_or_path": "m"`, `"target_modules": [` + "\n    \"mlp.c\",\n    \"0.q\"\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("lacks %s:\n%s", want, text)
		}
	}
	c, err := parsePeft(text)
	if err != nil {
		t.Fatal(err)
	}
	for module, want := range map[string][2]float64{"h.0.mlp.c": {4, 0.5}, "h.0.q": {3, 1.0 / 3}} {
		if rank, scale, err := c.of(module); err != nil || rank != int64(want[0]) || scale != want[1] || !c.targeted(module) {
			t.Errorf("%s: rank %d, scale %g, %v", module, rank, scale, err)
		}
	}
	if c.targeted("h.1.q") || c.targeted("h.0.attn.c") {
		t.Error("modules without an adapter are targets")
	}
}

// TestAdapterRefuses: what is not computed is an error that says what it is.
func TestAdapterRefuses(t *testing.T) {
	x := drawAdapted(t, rand.New(rand.NewSource(3)), false)
	src, err := OpenFile(x.path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dir := filepath.Join(t.TempDir(), "adapter")
	if _, err := ExportAdapter(src, x.plan, x.names, dir, Options{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, adapterConfigFile)
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{`"use_dora": false`, `"use_dora": true`, "has use_dora"},
		{`"use_dora": false`, `"lora_bias": true`, "has lora_bias"},
		{`"use_dora": false`, `"layer_replication": [[0, 1]]`, "has layer_replication"},
		{`"init_lora_weights": true`, `"init_lora_weights": "pissa_niter_4"`, "pissa_niter_4"},
		{`"peft_type": "LORA"`, `"peft_type": "LOHA"`, `"LOHA"`},
		{`"peft_type": "LORA"`, `"peft_type": 3`, "not a config"},
		{`"r": `, `"r": 7`, "have the shapes"},
		{`"r": `, `"r": -`, "expected a rank"},
		{`"lora_alpha": `, `"lora_alpha": "x", "z": `, "not a config"},
		{`"lora_alpha": `, `"lora_alpha": null, "lora_dropout": `, "expected a number"},
		{`"rank_pattern": {`, `"rank_pattern": {"(": 3, `, "cannot be read"},
		{`"rank_pattern": {`, `"rank_pattern": {"w1": 0.5, `, "the rank 0.5"},
		{`"target_modules": [`, `"target_modules": "w9", "layers": [`, "layers"},
		{`"target_modules": [`, `"target_modules": "w9", "exclude_modules": [`, "not among the target_modules"},
		{`"target_modules": [`, `"target_modules": 5, "exclude_modules": [`, "neither a list"},
	} {
		if !strings.Contains(string(was), c[0]) {
			t.Fatalf("%s lacks %s", was, c[0])
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(was), c[0], c[1], 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		if ad, err := OpenAdapter(dir, x.names); err == nil || !strings.Contains(err.Error(), c[2]) {
			if err == nil {
				ad.Close()
			}
			t.Errorf("%s: %v, want %q", c[1], err, c[2])
		}
	}
	if err := os.WriteFile(path, was, 0o666); err != nil {
		t.Fatal(err)
	}
	x.names.Tensors = x.names.Tensors[:len(x.names.Tensors)-1]
	if _, err := OpenAdapter(dir, x.names); err == nil || !strings.Contains(err.Error(), "the module b.2.w2, which a model of the family llama does not have") {
		t.Error(err)
	}
	x.plan.Devices[0].Tensors[0].Train = true
	if _, err := ExportAdapter(src, x.plan, x.names, dir+"2", Options{}); err == nil || !strings.Contains(err.Error(), "trains norm besides") {
		t.Error(err)
	}
}
