package tensor

// Put writes the elements to b as memory holds them: little-endian, booleans
// as one byte. Bytes that pad rows are all set, which is not a number of any float. It panics if b is
// shorter than the tensor.
func (t *Tensor) Put(b []byte) {
	t.rows(b, func(row []byte, data []float64) { t.Type.DType.Encode(row, data) }, func(pad []byte) {
		for i := range pad {
			pad[i] = 0xff
		}
	})
}

// Get reads the elements from b, the inverse of [Tensor.Put].
func (t *Tensor) Get(b []byte) {
	t.rows(b, func(row []byte, data []float64) { t.Type.DType.Decode(data, row) }, func([]byte) {})
}

// rows calls a function for each row with its elements and where they are in b, and another for what is
// behind it; without padding all elements are one row.
func (t *Tensor) rows(b []byte, row func([]byte, []float64), pad func([]byte)) {
	if t.Type.Pad == 0 || len(t.Type.Axes) == 0 {
		row(b, t.Data)
		return
	}
	n, size := t.Type.Axes[len(t.Type.Axes)-1].Size, t.Type.DType.Size()
	for at := 0; at < len(t.Data); at += n {
		row(b[:n*size], t.Data[at:at+n])
		pad(b[n*size : (n+t.Type.Pad)*size])
		b = b[(n+t.Type.Pad)*size:]
	}
}
