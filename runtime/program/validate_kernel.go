package program

import (
	"fmt"
	"math"
)

func (r *Roof) validate() error {
	if r == nil {
		return nil
	}
	positive := func(x float64) bool { return x > 0 && x <= math.MaxFloat64 }
	if err := name(r.Device); err != nil {
		return fmt.Errorf("device: %w", err)
	}
	if !positive(r.Bytes) || len(r.Rates) == 0 {
		return fmt.Errorf("%g bytes a second, and %d rates", r.Bytes, len(r.Rates))
	}
	for _, x := range r.Rates {
		if !positive(x.Flops) || DTypeSize(x.DType) == 0 {
			return fmt.Errorf("%g operations a second of %q", x.Flops, x.DType)
		}
	}
	return nil
}

// validate checks a kernel, of so many pieces of code.
func (k *Kernel) validate(codes int) error {
	switch {
	case k.Code < 0 || k.Code >= codes:
		return fmt.Errorf("code %d of %d", k.Code, codes)
	case name(k.Symbol) != nil:
		return fmt.Errorf("symbol: %w", name(k.Symbol))
	case k.Tasks < 0:
		return fmt.Errorf("%d tasks", k.Tasks)
	case k.Tasks > maxTasks:
		return within(SizeLimit, "%d tasks", k.Tasks, maxTasks)
	case k.Scratch < 0:
		return fmt.Errorf("%d bytes of scratch", k.Scratch)
	case k.Scratch > maxScratch:
		return within(SizeLimit, "%d bytes of scratch memory for a thread", k.Scratch, maxScratch)
	case k.Threads < 0 || k.Threads > maxThreads:
		return fmt.Errorf("blocks of %d threads", k.Threads)
	case k.Shared < 0 || k.Shared > maxShared:
		return fmt.Errorf("blocks with %d bytes of shared memory", k.Shared)
	case k.Flops < 0 || k.Bytes < 0:
		return fmt.Errorf("a cost of %d operations and %d bytes", k.Flops, k.Bytes)
	}
	for i, a := range k.Args {
		if a.Bytes < 0 {
			return fmt.Errorf("argument %d of %d bytes", i, a.Bytes)
		}
		if err := within(SizeLimit, "an argument of %d bytes", a.Bytes, maxArena); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
	}
	return k.validateProducts()
}

// validateVariants checks that each variant has every kernel, in code of the kind that the plan's
// own is of.
func validateVariants(p *Plan) error {
	if err := within(CountLimit, "%d variants", int64(len(p.Variants)), maxVariants); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range p.Variants {
		v := &p.Variants[i]
		if err := name(v.Arch); err != nil || seen[v.Arch] {
			return unlessLimit(err, "two variants, or one without a name: %q", v.Arch)
		}
		seen[v.Arch] = true
		if err := v.validate(p.Kernels, p.Code); err != nil {
			return fmt.Errorf("variant %s: %w", v.Arch, err)
		}
	}
	return nil
}

func (v *Variant) validate(kernels []Kernel, code []Code) error {
	if len(v.Kernels) != len(kernels) {
		return fmt.Errorf("%d kernels of the plan's %d", len(v.Kernels), len(kernels))
	}
	if err := v.Roof.validate(); err != nil {
		return fmt.Errorf("the roofline: %w", err)
	}
	for i := range v.Kernels {
		k := &v.Kernels[i]
		if err := k.validate(len(v.Code)); err != nil {
			return fmt.Errorf("kernel %d: %w", i, err)
		}
		if err := k.validateMaps(kernels[i].Args); err != nil {
			return fmt.Errorf("kernel %d: %w", i, err)
		}
		if k.Name != "" || k.Class != "" || k.IR != "" || len(k.Args) > 0 || k.Flops != 0 || k.Bytes != 0 || k.Factors != "" || len(k.Products) > 0 {
			return fmt.Errorf("kernel %d says what the plan's says", i)
		}
		if own, got := code[kernels[i].Code].Kind, v.Code[k.Code].Kind; own != got {
			return fmt.Errorf("kernel %d is code of kind %q, and the plan's of %q", i, got, own)
		}
	}
	return nil
}
