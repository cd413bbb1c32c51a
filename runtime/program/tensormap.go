package program

import "fmt"

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
