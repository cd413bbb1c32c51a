package program

import "fmt"

// maxSide is how many rows or columns a matrix of a product may have, and how many a batch: what
// libraries count by.
const maxSide = 1<<31 - 1

// validateProducts checks that products are of the kernel's arguments, within them, and write
// each of its results once.
func (k *Kernel) validateProducts() error {
	if len(k.Products) == 0 {
		return nil
	}
	written := map[int]bool{}
	for i := range k.Products {
		p := &k.Products[i]
		if err := p.validate(k.Args); err != nil {
			return fmt.Errorf("product %d: %w", i, err)
		}
		if written[p.Out.Arg] {
			return fmt.Errorf("product %d: argument %d is the result of another one", i, p.Out.Arg)
		}
		written[p.Out.Arg] = true
	}
	for i, a := range k.Args {
		if a.Write && !written[i] {
			return fmt.Errorf("argument %d is written, and the result of no product", i)
		}
	}
	return nil
}

func (p *Product) validate(args []Arg) error {
	for _, n := range []int64{p.Batch, p.M, p.N, p.K} {
		if n < 1 || n > maxSide {
			return fmt.Errorf("a batch of %d of %d by %d by %d", p.Batch, p.M, p.N, p.K)
		}
	}
	if err := p.validateDTypes(); err != nil {
		return err
	}
	for _, m := range []struct {
		name       string
		at         *Matrices
		rows, cols int64
		plain      bool
	}{{"left", &p.Left, p.M, p.K, false}, {"right", &p.Right, p.K, p.N, false}, {"out", &p.Out, p.M, p.N, true},
		{"add", p.Add, p.M, p.N, true}, {"bias", p.Bias, 1, p.N, true}} {
		if m.at == nil {
			continue
		}
		if m.plain && m.at.Transposed {
			return fmt.Errorf("%s is transposed", m.name)
		}
		if err := m.at.validate(args, m.at == &p.Out, p.Batch, m.rows, m.cols); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return p.validateOut(args)
}

func (p *Product) validateDTypes() error {
	switch p.Left.DType {
	case "f32", "f16", "bf16":
	default:
		return fmt.Errorf("factors of %q", p.Left.DType)
	}
	out := p.Out.DType
	if p.Right.DType != p.Left.DType || out != "f32" && out != p.Left.DType {
		return fmt.Errorf("%q by %q as %q", p.Left.DType, p.Right.DType, out)
	}
	for _, m := range []*Matrices{p.Add, p.Bias} {
		if m != nil && (m.DType != "f32" || out != "f32") {
			return fmt.Errorf("%q is added to %q", m.DType, out)
		}
	}
	return nil
}

// validate checks matrices of so many rows and columns.
func (m *Matrices) validate(args []Arg, out bool, batch, rows, cols int64) error {
	if m.Transposed {
		rows, cols = cols, rows
	}
	switch {
	case m.Arg < 0 || m.Arg >= len(args):
		return fmt.Errorf("argument %d of %d", m.Arg, len(args))
	case args[m.Arg].Write != out:
		return fmt.Errorf("argument %d is read where it is written, or the other way", m.Arg)
	case m.Offset < 0 || m.Row < cols || m.Batch < 0:
		return fmt.Errorf("rows of %d elements, %d apart, matrices %d apart, from %d on", cols, m.Row, m.Batch, m.Offset)
	}
	left := args[m.Arg].Bytes / int64(DTypeSize(m.DType)) // of the argument's elements
	for _, step := range [][2]int64{{1, m.Offset}, {1, cols}, {rows - 1, m.Row}, {batch - 1, m.Batch}} {
		if step[0] > 0 && step[1] > left/step[0] {
			return fmt.Errorf("it reaches beyond the %d bytes of argument %d", args[m.Arg].Bytes, m.Arg)
		}
		left -= step[0] * step[1]
	}
	return nil
}

// validateOut checks that the result is all of its argument, each element once. Rows of the argument may have
// padding behind them, up to the next row or, behind the last one, the end.
func (p *Product) validateOut(args []Arg) error {
	o, size := &p.Out, int64(DTypeSize(p.Out.DType))
	all := args[o.Arg].Bytes / size
	row := p.N
	if (p.Batch == 1 || o.Batch == p.M*o.Row) && o.Row <= all {
		row = o.Row
	}
	if o.Offset != 0 || p.M*row > all || p.M*row*p.Batch != all || all*size != args[o.Arg].Bytes {
		return fmt.Errorf("out: it is not all of argument %d", o.Arg)
	}
	apart := p.Batch == 1 || o.Batch >= (p.M-1)*o.Row+p.N
	within := p.Batch > 1 && o.Batch >= p.N && (p.M == 1 || o.Row >= (p.Batch-1)*o.Batch+p.N)
	if !apart && !within {
		return fmt.Errorf("out: its matrices share elements")
	}
	return nil
}
