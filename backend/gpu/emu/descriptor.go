package emu

import "fmt"

// operandBytes is how many bytes of K a product takes of each row, whatever the elements.
const operandBytes = 32

// descriptor is a matrix in shared memory as products find it ("PTX ISA", 9.7.15.5.1): in units
// of 8 rows by 16 bytes, or if it is M- or N-major, of 8 steps of K by 16 bytes of a row.
//
//	            K-major                              M- or N-major
//	no swizzle  8 rows 16 bytes apart, then stride;  8 steps of K 16 bytes apart, then lead;
//	            the second 16 bytes at lead          the next 16 bytes of a row at stride
//	swizzled    8 rows a span apart, then stride     8 steps of K a span apart, then stride;
//	                                                 the next span of a row at lead
type descriptor struct {
	start, lead, stride int
	swizzle             Swizzle
	byRow               bool // M- or N-major
	size                int  // of an element
}

func decodeDescriptor(x uint64, byRow bool, size int) (descriptor, error) {
	field := func(at int) int { return int(x>>at&(1<<14-1)) << 4 }
	d := descriptor{start: field(0), lead: field(16), stride: field(32), byRow: byRow, size: size,
		swizzle: [4]Swizzle{NoSwizzle, Swizzle128, Swizzle64, Swizzle32}[x>>62]}
	const unused = 3<<14 | 3<<30 | 7<<46 | 1023<<52
	if x&unused != 0 {
		return d, fmt.Errorf("the descriptor %#x has bits that mean nothing", x)
	}
	if base := x >> 49 & 7; base != 0 {
		return d, fmt.Errorf("the descriptor %#x has base offset %d, which is not emulated", x, base)
	}
	// The pattern repeats after 8 rows of a span; what begins within a row of it is fine.
	if d.swizzle != NoSwizzle && d.swizzle.at(d.start) != d.start {
		return d, fmt.Errorf("the descriptor %#x begins within a pattern of %d bytes", x, 8*d.swizzle.span())
	}
	return d, nil
}

// at is the address of the element of a row (of M or N) and a step of K.
func (d *descriptor) at(row, k int) int {
	span := d.swizzle.span()
	if !d.byRow {
		x := k * d.size
		if d.swizzle == NoSwizzle {
			return d.start + row%8*16 + row/8*d.stride + x/16*d.lead + x%16
		}
		return d.swizzle.at(d.start + row%8*span + row/8*d.stride + x)
	}
	x := row * d.size
	if d.swizzle == NoSwizzle {
		return d.start + x%16 + x/16*d.stride + k%8*16 + k/8*d.lead
	}
	return d.swizzle.at(d.start + x%span + x/span*d.lead + k%8*span + k/8*d.stride)
}

// units calls f for the addresses of the 16 bytes that rows first to last of a matrix of so many
// steps of K are made of.
func (d *descriptor) units(first, last, k int, f func(at int) error) error {
	rows, steps := 1, 16/d.size
	if d.byRow {
		rows, steps = steps, rows
	}
	for r := first; r < last; r += rows {
		for j := 0; j < k; j += steps {
			if err := f(d.at(r, j)); err != nil {
				return err
			}
		}
	}
	return nil
}
