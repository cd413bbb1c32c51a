package tensor

// Put writes the elements to b as memory holds them: little-endian, booleans
// as one byte. It panics if b is shorter than the tensor.
func (t *Tensor) Put(b []byte) { t.Type.DType.Encode(b, t.Data) }

// Get reads the elements from b, the inverse of [Tensor.Put].
func (t *Tensor) Get(b []byte) { t.Type.DType.Decode(t.Data, b) }
