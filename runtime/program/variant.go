package program

import "fmt"

// Variant is the plan's kernels in other code, for devices that do not run the plan's own. Memory,
// programs and results' places are the plan's: it is the code that a device chooses, when it is
// opened.
type Variant struct {
	Arch string `cbor:"1,keyasint,omitempty"` // what it is for, for people: "sm_80"
	Code []Code `cbor:"2,keyasint,omitempty"` // as Plan.Code
	// Kernels are the plan's in their order, each with what is of its code and nothing else: Code,
	// an index in the variant's, Symbol, Tasks, Scratch, Threads, Shared, Maps.
	Kernels []Kernel `cbor:"3,keyasint,omitempty"`
	Roof    *Roof    `cbor:"4,keyasint,omitempty"` // as Plan.Roof
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

// validateVariants checks that each variant has every kernel, in code of the kind that the plan's
// own is of.
func (p *Plan) validateVariants() error {
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
		if err := p.validateVariant(v); err != nil {
			return fmt.Errorf("variant %s: %w", v.Arch, err)
		}
	}
	return nil
}

func (p *Plan) validateVariant(v *Variant) error {
	if len(v.Kernels) != len(p.Kernels) {
		return fmt.Errorf("%d kernels of the plan's %d", len(v.Kernels), len(p.Kernels))
	}
	if err := v.Roof.validate(); err != nil {
		return fmt.Errorf("the roofline: %w", err)
	}
	for i := range v.Kernels {
		k := &v.Kernels[i]
		if err := k.validate(len(v.Code)); err != nil {
			return fmt.Errorf("kernel %d: %w", i, err)
		}
		if err := k.validateMaps(p.Kernels[i].Args); err != nil {
			return fmt.Errorf("kernel %d: %w", i, err)
		}
		if k.Name != "" || k.Class != "" || k.IR != "" || len(k.Args) > 0 || k.Flops != 0 || k.Bytes != 0 || k.Factors != "" || len(k.Products) > 0 {
			return fmt.Errorf("kernel %d says what the plan's says", i)
		}
		if own, got := p.Code[p.Kernels[i].Code].Kind, v.Code[k.Code].Kind; own != got {
			return fmt.Errorf("kernel %d is code of kind %q, and the plan's of %q", i, got, own)
		}
	}
	return nil
}
