package fusion

import (
	"slices"

	"ptc/ir"
)

// Contraction says what the axes of a product are: those of a matrix product, with loops around it.
//
//	for Outer { for M { for N { sum = 0; for OuterK { for K { sum += Left · Right } } } } }
type Contraction struct {
	// Left and Right are the operands: Left has the rows, Right the columns. The result stores a
	// column axis last, unless both operands have all of its axes.
	Left, Right *ir.Value
	// The axes that both operands, Left alone and Right alone have in the result, and those that are
	// summed over, in loop order.
	Batch, Rows, Cols, Sum []ir.Axis
	// M, N and K are the loop over rows, the one over columns and the one that sums, of each at most
	// one: the largest loop of rows, and the innermost ones of the others.
	M, N, K []Loop
	// Outer are the other loops of the result, OuterK the other ones that sum.
	Outer, OuterK []Loop
}

// contraction is what the axes of the product k are.
func (k *Kernel) contraction() *Contraction {
	root := k.Root
	c := &Contraction{Left: root.Args[0], Right: root.Args[1]}
	for _, a := range slices.Backward(k.Space) {
		l, r := c.Left.Type.Has(a.Name), c.Right.Type.Has(a.Name)
		if l == r || a.Size == 1 {
			continue
		}
		if l {
			c.Left, c.Right = c.Right, c.Left
		}
		break
	}
	for _, a := range k.Space {
		switch l, r := c.Left.Type.Has(a.Name), c.Right.Type.Has(a.Name); {
		case l && r:
			c.Batch = append(c.Batch, a)
		case l:
			c.Rows = append(c.Rows, a)
		case r:
			c.Cols = append(c.Cols, a)
		}
	}
	over := root.Attrs.Names("over")
	for _, a := range c.Left.Type.Axes {
		if slices.Contains(over, a.Name) {
			c.Sum = append(c.Sum, a)
		}
	}
	rows, cols, sum := k.Loops(c.Rows), k.Loops(c.Cols), k.Loops(c.Sum)
	c.M, rows = take(rows, largest(rows))
	c.N, cols = take(cols, len(cols)-1)
	c.K, c.OuterK = take(sum, len(sum)-1)
	c.Outer = slices.Concat(k.Loops(c.Batch), rows, cols)
	return c
}

// largest is the index of the largest loop; the last loop wins a tie.
func largest(loops []Loop) int {
	best := len(loops) - 1
	for i, l := range loops {
		if l.Size > loops[best].Size {
			best = i
		}
	}
	return best
}

// take separates loop i from the others, if there are any.
func take(loops []Loop, i int) (one, rest []Loop) {
	if len(loops) == 0 {
		return nil, nil
	}
	return loops[i : i+1], slices.Concat(loops[:i], loops[i+1:])
}
