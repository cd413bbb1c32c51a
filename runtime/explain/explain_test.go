package explain

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/runtime/program"
)

func TestFold(t *testing.T) {
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{"blocks.0.attn", "blocks.1.attn", "blocks.2.attn"}, "blocks.0..2.attn"},
		{[]string{"blocks.3", "blocks.3"}, "blocks.3"},
		{[]string{"a.5.b", "a.0.b", "a.2.b"}, "a.{0,2,5}.b"},
		{[]string{"a.0", "a.2", "a.4", "a.6", "a.8"}, "a.*"},
		{[]string{"a.0.1", "a.1.1", "a.0.2", "a.1.2"}, "a.0..1.1..2"},
		{[]string{"loss"}, "loss"},
		{nil, ""},
	} {
		var places []place
		for _, path := range c.paths {
			places = append(places, place{path, 1})
		}
		if got := fold(places); got != c.want {
			t.Errorf("%v is folded to %q, expected %q", c.paths, got, c.want)
		}
	}
	for _, c := range []struct {
		places []place
		want   string
	}{
		{[]place{{"blocks.{i}.attn", 96}}, "blocks.0..95.attn"},
		{[]place{{"blocks.{i}.attn", 1}}, "blocks.0.attn"},
		{[]place{{"blocks.{i+12}.attn", 12}, {"blocks.{i}.attn", 12}, {"blocks.24.attn", 1}}, "blocks.0..24.attn"},
		{[]place{{"blocks.{2i}.attn", 48}}, "blocks.*.attn"},
		{[]place{{"blocks.{2i}.attn", 2}}, "blocks.{0,2}.attn"},
		{[]place{{"blocks.{2i+1}.attn", 48}, {"blocks.{2i}.attn", 48}}, "blocks.0..95.attn"},
		{[]place{{"blocks.{2i+1}.attn", 1 << 20}}, "blocks.*.attn"},
		{[]place{{"blocks.{i}.attn", 1 << 20}}, "blocks.0..1048575.attn"},
	} {
		if got := fold(c.places); got != c.want {
			t.Errorf("%v is folded to %q, expected %q", c.places, got, c.want)
		}
	}
	for in, want := range map[string]string{"blocks.12.attn": "blocks.*.attn", "blocks.{2i+1}.attn": "blocks.*.attn", "x1.2y": "x1.2y", "": "", "7": "*"} {
		if got := template(in); got != want {
			t.Errorf("the template of %q is %q", in, got)
		}
	}
	if got := withoutValues("all_gather for %123: x%y and %"); got != "all_gather for %: x%y and %" {
		t.Errorf("without values: %q", got)
	}
}

// deep is a plan of so many blocks: in each, on two devices, one launch, one
// message and a remark.
func deep(blocks int) *program.Plan {
	p := &program.Plan{Name: "Deep", Layout: "pair", Target: "ref:f32",
		Mesh:    []program.MeshAxis{{Name: "tp", Size: 2}},
		Kernels: []program.Kernel{{Name: "gemm_0", Class: "gemm", Flops: 100, Bytes: 10}, {Name: "map_0", Class: "map", Flops: 1, Bytes: 400}}}
	for i := range 40 {
		p.Kernels = append(p.Kernels, program.Kernel{Name: fmt.Sprintf("row_%d", i), Class: "row"})
	}
	d := program.Device{Arena: 4096, Buffers: []program.Buffer{
		{Space: program.Params, Bytes: 64}, {Space: program.Activations, Offset: 64, Bytes: 64}, {Space: program.Activations, Offset: 96, Bytes: 64}}}
	var step []program.Instr
	for i := range blocks {
		scope := fmt.Sprintf("blocks.%d.attn", i)
		step = append(step, program.Instr{Kernel: 0, Scope: scope, Pos: "m.ptl:3:1"}, program.Instr{Scope: scope, Pos: "m.ptl:4:1",
			Comm: &program.Comm{Kind: collective.AllReduce, Over: []string{"tp"}, Bytes: 1000, Why: fmt.Sprintf("for blocks.%d.w", i)}})
		p.Remarks = append(p.Remarks, program.Remark{Pass: "partition", Scope: scope, Text: fmt.Sprintf("all_reduce for %%%d", 7*i)})
	}
	step = append(step, program.Instr{Kernel: 1, Scope: "loss", Pos: "m.ptl:9:1"})
	d.Progs = []program.Program{{Name: "step", Instrs: step}}
	p.Devices = []program.Device{d}
	return p
}

// TestRepetitionIsOneLine: the text does not grow with the depth of the model, and
// what it adds up does.
func TestRepetitionIsOneLine(t *testing.T) {
	const blocks = 300
	p := deep(blocks)
	for _, s := range Sections() {
		if a, b := strings.Count(Text(deep(4), s), "\n"), strings.Count(Text(p, s), "\n"); a != b || b > 120 {
			t.Errorf("section %s has %d lines for 4 blocks and %d for %d", s, a, b, blocks)
		}
	}
	text := Text(p, "all")
	for _, want := range []string{
		"     300     100 FLOP         10 B  100.0%   88.2%  gemm       gemm_0        blocks.0..299.attn m.ptl:3:1\n",
		"       1       1 FLOP        400 B    0.0%   11.8%  map        map_0         loss m.ptl:9:1\n",
		"     300       1000 B  100.0%  all_reduce       tp       blocks.0..299.attn: for blocks.0..299.w\n",
		"a device has at most 300 operations, of 293 KiB",
		"partition: blocks.0..299.attn: all_reduce for %0 (300 times)\n",
		"activations       96 B\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if s := Text(p, "summary"); !strings.Contains(s, "… 30 more: --section kernels") || !strings.Contains(s, "blocks.0..299.attn m.ptl:3:1") {
		t.Errorf("summary:\n%s", s)
	}
	if s := Text(p, "transfers"); s != "this plan has no transfers\n" {
		t.Errorf("transfers: %q", s)
	}
}

// TestDescriptionIsWhole: JSON keeps each collective and remark, has a version, and
// no list in it is null.
func TestDescriptionIsWhole(t *testing.T) {
	text, err := json.Marshal(Describe(deep(5)))
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d["version"] != float64(Version) || len(d["collectives"].([]any)) != 5 || len(d["remarks"].([]any)) != 5 {
		t.Errorf("%s", text)
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("null in %s", text)
	}
	if text, _ := json.Marshal(Describe(&program.Plan{})); strings.Contains(string(text), "null") {
		t.Errorf("null in %s", text)
	}
}

// rolled is deep with the blocks written once.
func rolled(blocks int) *program.Plan {
	p := deep(blocks)
	d := &p.Devices[0]
	step := d.Progs[0].Instrs
	step = []program.Instr{step[0], step[1], step[len(step)-1]}
	comm := *step[1].Comm
	step[0].Scope, step[1].Scope, comm.Why = "blocks.{i}.attn", "blocks.{i}.attn", "for blocks.{i}.w"
	step[1].Comm = &comm
	d.Stacks = []program.Stack{{Name: "blocks", Count: blocks}}
	d.Progs[0].Instrs, d.Progs[0].Runs = step, []program.Run{{Stack: 1, To: 2}}
	return p
}

// TestRunsCount: what is written once is counted for every instance.
func TestRunsCount(t *testing.T) {
	plain, p := deep(300), rolled(300)
	for _, s := range Sections() {
		want, got := Text(plain, s), Text(p, s)
		got = strings.Replace(got, "  runs        for blocks ×300: 1 launch\n", "", 1)
		if got != want {
			t.Errorf("section %s:\n%s\nwant\n%s", s, got, want)
		}
	}
	a, b := Describe(plain), Describe(p)
	if a.LaunchesPerStep != b.LaunchesPerStep || !reflect.DeepEqual(a.Kernels, b.Kernels) || len(b.Runs) != 1 || b.Runs[0].Sends != 1 {
		t.Errorf("%+v and %+v", a, b)
	}
	if c := b.Collectives; len(c) != 1 || c[0].Count != 300 || c[0].Scope != "blocks.0..299.attn" {
		t.Errorf("collectives %+v", c)
	}
}

// TestTogether: instances that are one launch are counted once, with the work of all.
func TestTogether(t *testing.T) {
	p := rolled(300)
	d := &p.Devices[0]
	d.Progs[0].Runs = []program.Run{{Stack: 1, To: 1, Together: true}, {Stack: 1, From: 1, To: 2}}
	apart, all := Describe(rolled(300)), Describe(p)
	a, b := apart.Kernels[0], all.Kernels[0]
	if all.LaunchesPerStep != apart.LaunchesPerStep-299 || !all.Runs[0].Together || all.Runs[1].Together {
		t.Errorf("%d launches where %d were one by one, runs %+v", all.LaunchesPerStep, apart.LaunchesPerStep, all.Runs)
	}
	if a.Launches != b.Launches+299 || int64(b.Launches)*b.Bytes != int64(a.Launches)*a.Bytes || b.Where[0].Launches != 1 {
		t.Errorf("%+v, and one by one %+v", b, a)
	}
}

// TestUnion compares what families cover with bytes, one by one.
func TestUnion(t *testing.T) {
	for seed := range int64(500) {
		r := rand.New(rand.NewSource(seed))
		d := &program.Device{Stacks: []program.Stack{{Name: "s", Count: 6}}}
		held, step := map[int64]bool{}, int64(16+r.Intn(8))
		for range 1 + r.Intn(5) {
			b := program.Buffer{Space: program.Params, Offset: 200 + r.Int63n(120), Bytes: 1 + r.Int63n(16), Stack: 1}
			if r.Intn(4) > 0 {
				b.Step, b.Ring = step, 2+r.Intn(5)
			}
			if r.Intn(8) == 0 {
				b.Step = -b.Step
			}
			if r.Intn(3) == 0 {
				b.MicroStep, b.MicroRing = int64(16+r.Intn(99)), 2+r.Intn(9)
			}
			d.Buffers = append(d.Buffers, b)
			for k := range 6 {
				for m := range 12 {
					for i := range b.Bytes {
						held[b.Place(k, m)+i] = true
					}
				}
			}
		}
		if got := covered(d, program.Params); got != int64(len(held)) {
			t.Fatalf("seed %d: %d bytes, want %d: %+v", seed, got, len(held), d.Buffers)
		}
	}
}

// TestClasses: a million devices are a line.
func TestClasses(t *testing.T) {
	p := &program.Plan{Mesh: []program.MeshAxis{{Name: "dp", Size: 1 << 20}, {Name: "pp", Size: 2}}, By: []string{"pp"},
		Devices: []program.Device{{At: []int{0}, Arena: 8}, {At: []int{1}, Arena: 9}}}
	d := Describe(p)
	if d.Devices != 1<<21 || len(d.Classes) != 2 || d.Classes[1].Devices != 1<<20 || d.Classes[1].At["pp"] != 1 || !slices.Equal(d.Memory.Peak, []int64{8, 9}) {
		t.Errorf("%+v", d)
	}
}

// TestDevicesThatDiffer: what is of one device and what is of all is told apart, and rows
// of several programs are said to be so.
func TestDevicesThatDiffer(t *testing.T) {
	p := deep(2)
	p.Stats.FlopsPerStep = 404 // of two devices, by the mesh
	alone := Text(p, "summary")
	p.Devices = append(p.Devices, p.Devices[0])
	for text, want := range map[string]bool{"at most 3 launches on a device, of 42 kernels": true, "404 FLOP on all devices": true, "devices run 2 programs": false} {
		if strings.Contains(alone, text) != want || !strings.Contains(Text(p, "summary"), text) {
			t.Errorf("%q: %v of one program\n%s\nand of two\n%s", text, want, alone, Text(p, "summary"))
		}
	}
	if p.Devices, p.Mesh = p.Devices[:1], nil; !strings.Contains(Text(p, "summary"), "  3 launches of 42 kernels, from") {
		t.Errorf("of one device:\n%s", Text(p, "summary"))
	}
}
