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

// What a tensor map can say (CUDA Driver API, "Tensor Map Object Management"), and how many of them are
// arguments besides those of the buffers: there are 4096 bytes of these.
const (
	maxMaps      = 24
	maxMapDims   = 5
	maxMapSize   = 1 << 32
	maxMapStride = 1 << 40
	maxMapBox    = 256
	mapAlign     = 16
)

// validateMaps holds the maps of a kernel with arguments args to what devices take.
func (k *Kernel) validateMaps(args []Arg) error {
	if len(k.Maps) > maxMaps {
		return fmt.Errorf("%d tensor maps; expected at most %d", len(k.Maps), maxMaps)
	}
	for i := range k.Maps {
		if err := k.Maps[i].validate(args); err != nil {
			return fmt.Errorf("tensor map %d: %w", i, err)
		}
	}
	return nil
}

// validate holds m to what devices take, and to the bytes that arguments have.
func (m *TensorMap) validate(args []Arg) error {
	size := int64(DTypeSize(m.DType))
	dims := len(m.Sizes)
	switch {
	case m.Arg < 0 || m.Arg >= len(args):
		return fmt.Errorf("argument %d of %d", m.Arg, len(args))
	case size == 0:
		return fmt.Errorf("elements of %q", m.DType)
	case m.Offset < 0 || m.Offset > maxArena || m.Offset%mapAlign != 0:
		return fmt.Errorf("an offset of %d bytes; expected a multiple of %d", m.Offset, mapAlign)
	case dims < 1 || dims > maxMapDims || len(m.Strides) != dims-1 || len(m.Box) != dims:
		return fmt.Errorf("%d sizes, %d strides and %d sizes of a tile", dims, len(m.Strides), len(m.Box))
	case m.Swizzle != 32 && m.Swizzle != 64 && m.Swizzle != 128:
		return fmt.Errorf("rows of %d bytes; expected 32, 64 or 128", m.Swizzle)
	}
	end := m.Offset + size
	for i, n := range m.Sizes {
		stride := size
		if i > 0 {
			stride = m.Strides[i-1]
		}
		switch {
		case n < 1 || n > maxMapSize:
			return fmt.Errorf("%d elements of dimension %d", n, i)
		case i > 0 && (stride < 1 || stride >= maxMapStride || stride%mapAlign != 0):
			return fmt.Errorf("%d bytes between elements of dimension %d; expected a multiple of %d", stride, i, mapAlign)
		case m.Box[i] < 1 || m.Box[i] > maxMapBox:
			return fmt.Errorf("a tile with %d elements of dimension %d", m.Box[i], i)
		case (n - 1) > (maxArena-end)/stride:
			return fmt.Errorf("it reaches more than %d bytes", int64(maxArena))
		}
		end += (n - 1) * stride
	}
	if m.Box[0]*size != m.Swizzle {
		return fmt.Errorf("a tile has %d bytes next to each other; expected %d", m.Box[0]*size, m.Swizzle)
	}
	if of := args[m.Arg].Bytes; end > of {
		return fmt.Errorf("it reaches %d bytes of argument %d, which has %d", end, m.Arg, of)
	}
	return nil
}
