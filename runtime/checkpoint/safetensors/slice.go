package safetensors

// Slice is a box of a tensor: Extent[i] elements from Offset[i] on, on each
// axis. The zero Slice is the whole tensor.
type Slice struct{ Offset, Extent []int64 }

// check gives the slice with all its bounds, which must lie in the tensor and
// take the given number of bytes.
func (s Slice) check(t *Tensor, bytes int64) (Slice, error) {
	if s.Offset == nil && s.Extent == nil {
		s = Slice{make([]int64, len(t.Shape)), t.Shape}
	}
	if len(s.Offset) != len(t.Shape) || len(s.Extent) != len(t.Shape) {
		return s, tensorErrorf(t.Name, "slice %v of shape %v has another rank", s, t.Shape)
	}
	for i, n := range t.Shape {
		if s.Offset[i] < 0 || s.Extent[i] < 0 || s.Offset[i] > n || s.Extent[i] > n-s.Offset[i] {
			return s, tensorErrorf(t.Name, "slice %v leaves the shape %v", s, t.Shape)
		}
	}
	if n, ok := byteSize(t.DType, s.Extent); !ok || n != bytes {
		return s, tensorErrorf(t.Name, "slice %v of %s takes %d bytes, but the buffer has %d", s, t.DType.Safetensors(), n, bytes)
	}
	return s, nil
}

// Within gives the slice with all its bounds: an error where it is not in the tensor, or takes another number of
// bytes.
func (s Slice) Within(t *Tensor, bytes int64) (Slice, error) { return s.check(t, bytes) }

// And is what two slices with bounds share, and whether that is anything.
func (s Slice) And(o Slice) (Slice, bool) {
	both := s.clone()
	for i := range s.Extent {
		lo := max(s.Offset[i], o.Offset[i])
		hi := min(s.Offset[i]+s.Extent[i], o.Offset[i]+o.Extent[i])
		if hi <= lo {
			return Slice{}, false
		}
		both.Offset[i], both.Extent[i] = lo, hi-lo
	}
	return both, true
}

// From is the slice as one of a tensor whose first element is at that place.
func (s Slice) From(origin []int64) Slice {
	out := s.clone()
	for i, x := range origin {
		out.Offset[i] -= x
	}
	return out
}

// Elems is the number of elements of a slice with bounds.
func (s Slice) Elems() int64 {
	n := int64(1)
	for _, x := range s.Extent {
		n *= x
	}
	return n
}

// Place copies the bytes of a slice to their place in those of all of a tensor.
func (s Slice) Place(t *Tensor, whole, src []byte) error {
	s, err := s.check(t, int64(len(src)))
	if err != nil {
		return err
	}
	return s.runs(t, func(global, local, n int64) error {
		copy(whole[global:global+n], src[local:local+n])
		return nil
	})
}

// Copy copies the slice of a tensor out of the bytes of all of it.
func (s Slice) Copy(t *Tensor, dst, whole []byte) error {
	s, err := s.check(t, int64(len(dst)))
	if err != nil {
		return err
	}
	return s.runs(t, func(global, local, n int64) error {
		copy(dst[local:local+n], whole[global:global+n])
		return nil
	})
}

// runs calls do for each contiguous part of a checked slice, in order: where it
// starts in the tensor and in the slice, and its length, in bytes.
func (s Slice) runs(t *Tensor, do func(global, local, n int64) error) error {
	rank := len(t.Shape)
	// The axes after cut are whole, so a run is all of them and the slice of cut.
	cut, run := rank-1, int64(t.DType.Size())
	for ; cut > 0 && s.Extent[cut] == t.Shape[cut]; cut-- {
		run *= t.Shape[cut]
	}
	stride := make([]int64, rank)
	for i, n := rank-1, int64(t.DType.Size()); i >= 0; i-- {
		stride[i] = n
		n *= t.Shape[i]
	}
	if rank > 0 {
		run *= s.Extent[cut]
	}
	for _, n := range s.Extent {
		if n == 0 {
			return nil
		}
	}
	at := make([]int64, rank) // in the slice
	for local := int64(0); ; local += run {
		global := int64(0)
		for i := range rank {
			global += (s.Offset[i] + at[i]) * stride[i]
		}
		if err := do(global, local, run); err != nil {
			return err
		}
		i := cut - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < s.Extent[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// overlaps says whether two checked slices share an element.
func (s Slice) overlaps(o Slice) bool {
	for i := range s.Extent {
		if s.Offset[i] >= o.Offset[i]+o.Extent[i] || o.Offset[i] >= s.Offset[i]+s.Extent[i] {
			return false
		}
	}
	return true
}

func (s Slice) clone() Slice {
	return Slice{append([]int64(nil), s.Offset...), append([]int64(nil), s.Extent...)}
}
