package program

import "fmt"

// Names is how another program calls the model's parameters and its config, and how
// the elements of parameters lie there: all that files of that program are written by.
type Names struct {
	Family       string   `cbor:"1,keyasint,omitempty"` // "llama"
	Format       string   `cbor:"2,keyasint,omitempty"` // hf, gguf
	Architecture string   `cbor:"3,keyasint,omitempty"` // "LlamaForCausalLM"
	Prefix       string   `cbor:"4,keyasint,omitempty"` // of names, which a file may lack
	Skip         []string `cbor:"5,keyasint,omitempty"` // tensors that a file may have besides, with open numbers: h.{i}.bias
	Tensors      []Named  `cbor:"6,keyasint,omitempty"`
	Keys         []Key    `cbor:"7,keyasint,omitempty"`
	Refuse       string   `cbor:"8,keyasint,omitempty"` // what of this model the format cannot say; then nothing is written
	PlusOne      string   `cbor:"9,keyasint,omitempty"` // tensors whose name ends so have elements that are 1 more; empty: none
}

// Named is a tensor of the other program: its pieces one after the other along the
// dimension Over.
type Named struct {
	Name   string  `cbor:"1,keyasint,omitempty"`
	Over   int     `cbor:"2,keyasint,omitempty"`
	Pieces []Piece `cbor:"3,keyasint,omitempty"`
}

// Piece is a slice of a parameter, Extent elements from From on along each axis. Its
// elements, row-major and seen as the sizes View, are in the tensor in the order Order
// of these, row-major, and make the shape Shape.
type Piece struct {
	Param  string  `cbor:"1,keyasint,omitempty"`
	From   []int64 `cbor:"2,keyasint,omitempty"`
	Extent []int64 `cbor:"3,keyasint,omitempty"`
	View   []int64 `cbor:"4,keyasint,omitempty"`
	Order  []int64 `cbor:"5,keyasint,omitempty"`
	Shape  []int64 `cbor:"6,keyasint,omitempty"`
}

// Key is a key of the other program's config, under one name or several, and its
// value as JSON. One that is Default may be missing, and is not written.
type Key struct {
	Names   []string `cbor:"1,keyasint,omitempty"`
	Value   string   `cbor:"2,keyasint,omitempty"`
	Default bool     `cbor:"3,keyasint,omitempty"`
}

// maxDims bounds the axes of a tensor with names.
const maxDims = 32

func validateNames(names []Names) error {
	for i := range names {
		n := &names[i]
		if n.Family == "" || n.Format == "" {
			return fmt.Errorf("names %d are of no family or format", i)
		}
		for j := range n.Tensors {
			if err := n.Tensors[j].validate(); err != nil {
				return fmt.Errorf("names of %s: tensor %q: %w", n.Family, n.Tensors[j].Name, err)
			}
		}
		for _, k := range n.Keys {
			if len(k.Names) == 0 {
				return fmt.Errorf("names of %s: a key without a name", n.Family)
			}
		}
	}
	return nil
}

// validate checks that each piece is a slice, seen as sizes, reordered and joined.
func (t *Named) validate() error {
	if len(t.Pieces) == 0 {
		return fmt.Errorf("no pieces")
	}
	first := t.Pieces[0].Shape
	if t.Over < 0 || t.Over > 0 && t.Over >= len(first) {
		return fmt.Errorf("dimension %d of %d", t.Over, len(first))
	}
	for i := range t.Pieces {
		p := &t.Pieces[i]
		if err := p.validate(); err != nil {
			return fmt.Errorf("piece %d: %w", i, err)
		}
		if len(p.Shape) != len(first) || i > 0 && len(first) == 0 {
			return fmt.Errorf("piece %d has %d dimensions", i, len(p.Shape))
		}
		for a, s := range p.Shape {
			if a != t.Over && s != first[a] {
				return fmt.Errorf("piece %d has size %d in dimension %d, and not %d", i, s, a, first[a])
			}
		}
	}
	return nil
}

func (p *Piece) validate() error {
	if p.Param == "" {
		return fmt.Errorf("of no parameter")
	}
	if len(p.From) != len(p.Extent) || len(p.View) != len(p.Order) {
		return fmt.Errorf("lists of different lengths")
	}
	var elems int64
	for i, sizes := range [][]int64{p.Extent, p.View, p.Shape} {
		n, err := product(sizes)
		if err != nil {
			return err
		}
		if i > 0 && n != elems {
			return fmt.Errorf("%d elements, and %d", elems, n)
		}
		elems = n
	}
	for _, f := range p.From {
		if f < 0 || f > maxElems {
			return fmt.Errorf("a slice from %d on", f)
		}
	}
	seen := make([]bool, len(p.View))
	for _, o := range p.Order {
		if o < 0 || o >= int64(len(seen)) || seen[o] {
			return fmt.Errorf("%v is no order of %d sizes", p.Order, len(seen))
		}
		seen[o] = true
	}
	return nil
}

// product is the number of elements of sizes that are at least 1.
func product(sizes []int64) (int64, error) {
	if len(sizes) > maxDims {
		return 0, fmt.Errorf("%d dimensions", len(sizes))
	}
	n := int64(1)
	for _, s := range sizes {
		if s < 1 || s > maxElems/n {
			return 0, fmt.Errorf("sizes %v", sizes)
		}
		n *= s
	}
	return n, nil
}
