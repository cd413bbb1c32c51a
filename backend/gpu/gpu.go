package gpu

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ptc/backend"
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/choose"
	"ptc/backend/gpu/lower"
	"ptc/backend/gpu/nvptx"
	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/target"
	"ptc/backend/gpu/thread"
	"ptc/backend/nest"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/internal/diag"
	"ptc/internal/order"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/targetinfo"
	"ptc/runtime/program"
)

// Kind is the kind of code that the package makes: text of PTX.
const Kind = "ptx"

func init() {
	backend.Register(&backend.Backend{
		Name:      "cuda",
		Doc:       "PTX for GPUs of NVIDIA, a training step as one graph",
		Resolve:   resolve,
		Available: func() error { return nil },
		Names:     target.Names,
		Rank:      10, // behind ref, which there always is: a GPU is never the default
	})
}

func resolve(name string) (backend.Target, error) {
	t, err := target.Resolve(name)
	if err != nil {
		return nil, err
	}
	return &gpu{t}, nil
}

// lowered is a kernel as an entry of PTX.
type lowered = lower.Kernel[*ptx.Entry]

type gpu struct{ target.Target }

func (g *gpu) Info() targetinfo.Info {
	return targetinfo.Info{
		Name: g.Name, Chunk: targetinfo.Chunks(8192),
		Block: 128, // of products with work for most multiprocessors
		// A tensor map and the longest access need 16. Of full cache lines, a copy of a tile reads no more than it takes.
		Rows: targetinfo.Rows{Least: 16, Best: 128},
		Disk: false, // runtime/cuda copies from and to pinned memory
	}
}

// Parts is one: how many would be worth it was not measured on a GPU.
func (g *gpu) Parts(*fusion.Kernel, *schedule.Table) int64 { return 1 }

// alsoFor are the targets for which a plan has code as well, where its own runs on one kind of
// device alone.
var alsoFor = map[string][]string{"cuda:sm_90a": {"cuda:sm_80"}}

// Generate makes the code of the target, and that of those in alsoFor, for which nothing is given:
// what was measured is the target's own.
func (g *gpu) Generate(fns []*ir.Func, given *schedule.Table) (*backend.Code, error) {
	out, err := g.code(fns, given)
	if err != nil {
		return nil, err
	}
	for i, f := range fns {
		out.Kernels[i].Products = products(f)
	}
	for _, name := range alsoFor[g.Target.Name] {
		t, err := target.Resolve(name)
		if err != nil {
			return nil, err
		}
		c, err := (&gpu{t}).code(fns, nil)
		if err != nil {
			return nil, err
		}
		out.Variants = append(out.Variants, program.Variant{Arch: t.Arch, Code: c.Code, Kernels: c.Kernels, Roof: c.Roof})
	}
	return out, nil
}

// code makes the entries, and puts them into a few modules, which drivers compile side by side.
func (g *gpu) code(fns []*ir.Func, given *schedule.Table) (*backend.Code, error) {
	made := make([]lowered, len(fns))
	for i, f := range fns {
		var err error
		if made[i], err = Kernel(f, g.Target, given); err != nil {
			return nil, err
		}
	}
	out := &backend.Code{Roof: g.roof()}
	sizes, of := make([]int, len(made)), make([]int, len(made))
	for i := range made {
		sizes[i] = len(made[i].Entry.Body)
	}
	for n, share := range order.Deal(sizes, modules) {
		m := g.module()
		for _, i := range share {
			g.put(m, made[i].Entry)
			of[i] = n
		}
		out.Code = append(out.Code, program.Code{Kind: Kind, Data: []byte(m.String())})
	}
	for i, k := range made {
		out.Kernels = append(out.Kernels, program.Kernel{Symbol: k.Entry.Name, Code: of[i], Tasks: k.Blocks,
			Threads: int64(k.Entry.Threads), Shared: int64(k.Shared), Maps: maps(k.Maps)})
	}
	return out, nil
}

// module is an empty one of the target.
func (g *gpu) module() *ptx.Module { return &ptx.Module{Version: g.PTX, Target: g.Arch} }

// put adds an entry, and raises the version where the entry takes it.
func (g *gpu) put(m *ptx.Module, e *ptx.Entry) {
	if usesFP8MMA(e) {
		m.Version = fp8PTX
	}
	m.Entries = append(m.Entries, e)
}

// fp8PTX is the version of the language from which on warps multiply floats of eight bits ("PTX ISA", mma); others
// keep the older one, which more drivers know.
const fp8PTX = "8.4"

func usesFP8MMA(e *ptx.Entry) bool {
	return slices.ContainsFunc(e.Body, func(s ptx.Stmt) bool { return strings.HasPrefix(s.Op, "mma.sync.aligned.m16n8k32.") })
}

// maps are tensor maps as plans have them.
func maps(all []assign.Map) []program.TensorMap {
	var out []program.TensorMap
	for _, m := range all {
		out = append(out, program.TensorMap{Arg: m.Arg, Offset: m.Offset, DType: m.DType.String(), Sizes: m.Sizes, Strides: m.Strides,
			Box: m.Box, Swizzle: int64(m.Swizzle)})
	}
	return out
}

func (g *gpu) roof() *program.Roof {
	r := g.Roof
	fp8 := r.FP8
	if !g.FP8 { // they are multiplied as bf16
		fp8 = r.Half
	}
	out := &program.Roof{Device: r.Device, Bytes: r.Bytes, Rates: []program.Rate{
		{DType: "f32", Flops: r.F32}, {DType: "bf16", Flops: r.Half}, {DType: "f16", Flops: r.Half},
		{DType: "f8e4m3", Flops: fp8}, {DType: "f8e5m2", Flops: fp8}}}
	return out
}

// modules is the number of modules. It is fixed: the plan must not depend on the machine
// that compiles.
const modules = 8

// Kernel generates the kernel function f, cut as given says, or where it has nothing for the
// kernel or section, as [choose.Schedule] chooses.
func Kernel(f *ir.Func, t target.Target, given *schedule.Table) (lowered, error) {
	out, err := fitting(f, t, given)
	var of *diag.Error
	if err == nil || errors.As(err, &of) {
		return out, err
	}
	err = fmt.Errorf("kernel @%s for %s: %w", f.Name, t.Name, err)
	if scheduled(f, given) {
		err = &diag.Error{Code: "E0703", Msg: err.Error(), Want: "a schedule that `ptc tune` wrote for this target"}
	}
	return out, err
}

// generate is the kernel of which [choose.Schedule] leaves so many bytes of shared memory more than it would.
func generate(f *ir.Func, t target.Target, given *schedule.Table, spare int) (lowered, error) {
	k, err := fusion.Analyze(f)
	if err != nil {
		return lowered{}, err
	}
	for _, o := range f.Ops {
		if slices.ContainsFunc(slices.Concat(o.Results, o.Args), func(v *ir.Value) bool { return v.Type.DType == ir.F64 }) {
			return lowered{}, fmt.Errorf("found %s of f64; f64 runs on the target ref only", o.Name)
		}
	}
	parts := k.Apart()
	cuts := make([]schedule.Schedule, len(parts))
	warps := int64(1)
	on := choose.On(t, len(parts))
	on.Spare, on.Less = int64(spare), spare/spareStep
	for i, p := range parts {
		if s, ok := given.Of(fusion.Key(p.F)); ok {
			cuts[i] = s
		} else {
			cuts[i] = choose.Schedule(p, on)
		}
		if cuts[i].Dot.Kind == schedule.WGMMA && !t.Has(target.WGMMA) {
			return lowered{}, fmt.Errorf("found a schedule with dot=%s; %s has no such matrix instructions", cuts[i].Dot, t.Arch)
		}
		if cuts[i].Cluster > 1 && !t.Clusters {
			return lowered{}, fmt.Errorf("found a schedule with cluster=%d; %s has no clusters", cuts[i].Cluster, t.Arch)
		}
		warps = max(warps, cuts[i].Warps)
	}
	if len(parts) == 1 && k.Class != fusion.Attend {
		p, err := nest.Program(f.Name, k, cuts[0])
		if err != nil {
			return lowered{}, err
		}
		all, err := lower.Kernels(machine(t), p, int(warps))
		if err != nil {
			return lowered{}, err
		}
		if len(all) != 1 {
			return lowered{}, fmt.Errorf("found %d phases; expected one", len(all))
		}
		all[0].Programs = []*tile.Program{p}
		return all[0], nil
	}
	sections, err := sections(k, cuts)
	if err != nil {
		return lowered{}, err
	}
	out, err := lower.Join(machine(t), f.Name, len(f.Args)+len(f.Results), sections, int(warps))
	for _, s := range sections {
		if !slices.Contains(out.Programs, s.Program) { // those that are alike share theirs
			out.Programs = append(out.Programs, s.Program)
		}
	}
	return out, err
}

// machine makes entries for t.
func machine(t target.Target) thread.Machine[*ptx.Entry] { return nvptx.Machine{FP8: t.FP8} }

// sections are those of k, or k as one, each as its programs; those that are alike share theirs.
func sections(k *fusion.Kernel, cuts []schedule.Schedule) ([]lower.Section, error) {
	alike := map[string][]nest.Part{}
	var out []lower.Section
	for i, s := range k.All() {
		key := fusion.Key(s.F)
		if alike[key] == nil {
			var err error
			if alike[key], err = programs(fmt.Sprintf("%s.%d", k.F.Name, len(alike)), s.Kernel, cuts[i]); err != nil {
				return nil, fmt.Errorf("section %d: %w", i, err)
			}
		}
		all := slices.Clone(s.Args) // of the section, in its own numbers
		for _, r := range s.Results {
			all = append(all, len(k.F.Args)+r)
		}
		for _, p := range alike[key] {
			section := lower.Section{Program: p.Program}
			for _, a := range p.Args {
				section.Args = append(section.Args, all[a])
			}
			out = append(out, section)
		}
	}
	return out, nil
}

// programs are those whose tasks are k's.
func programs(name string, k *fusion.Kernel, s schedule.Schedule) ([]nest.Part, error) {
	if k.Class == fusion.Attend {
		return nest.Fold(name, k, s)
	}
	p, err := nest.Program(name, k, s)
	return []nest.Part{{Program: p, Args: order.Of(len(k.F.Args) + len(k.F.Results))}}, err
}
