package fakeblaslt

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/cuda/fakelib"
)

// kinds are the bytes of an element of a type (library_types.h, cudaDataType).
var kinds = map[uint32]int{0: 4, 2: 2, 14: 2}

// product is what a call of the library computes: D = op(A) · op(B) + beta · C, and a bias of each row.
type product struct {
	desc       desc
	a, b, c, d layout
}

// read finds descriptors, and says whether they are those of a product: the layouts are those of A, B, C
// and D.
func (l *Library) read(description uintptr, layouts [4]uintptr) (p product, ok bool) {
	d, ok := get[*desc](l, description)
	if !ok {
		return p, false
	}
	p.desc = *d
	p.desc.bias = 0
	for i, to := range []*layout{&p.a, &p.b, &p.c, &p.d} {
		x, ok := get[*layout](l, layouts[i])
		if !ok {
			return p, false
		}
		*to = *x
	}
	m, n, k := p.sizes()
	if a, b := op(p.a, d.transposed[0]), op(p.b, d.transposed[1]); a != [2]int{m, k} || b != [2]int{k, n} || p.c.rows != m || p.c.cols != n ||
		slices.ContainsFunc([]layout{p.a, p.b, p.c}, func(x layout) bool { return x.batch != p.d.batch }) {
		l.problem("layouts %v, %v, %v and %v", p.a, p.b, p.c, p.d)
		return p, false
	}
	if p.a.kind != p.b.kind || p.c.kind != p.d.kind || p.d.kind != 0 && p.d.kind != p.a.kind {
		l.problem("types %d, %d, %d and %d", p.a.kind, p.b.kind, p.c.kind, p.d.kind)
		return p, false
	}
	return p, true
}

// op are the rows and columns of a matrix or of its transpose.
func op(x layout, transposed bool) [2]int {
	if transposed {
		return [2]int{x.cols, x.rows}
	}
	return [2]int{x.rows, x.cols}
}

func (p *product) sizes() (m, n, k int) {
	return p.d.rows, p.d.cols, op(p.a, p.desc.transposed[0])[1]
}

// configured is a product and how its operands are aligned, for which an algorithm was offered.
type configured struct {
	product
	align [4]uint32
}

// hash is a number of a configured product.
func (c configured) hash() uint64 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(fmt.Sprintf("%+v", c)) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

// heuristic writes cublasLtMatmulHeuristicResult_t (cublasLt.h of CUDA 12.4): 64 bytes of the algorithm,
// the workspace, a status, waves and 16 bytes that are reserved.
func heuristic(l *Library, a []uintptr) int {
	_, ok := get[*handle](l, a[0])
	p, ok2 := l.read(a[1], [4]uintptr(a[2:6]))
	want, ok3 := get[*prefer](l, a[6])
	if !ok || !ok2 || !ok3 {
		return InvalidValue
	}
	if want.reduction&^2 != 0 { // none, or CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
		return l.problem("reductions %d", want.reduction)
	}
	if l.o.Refuses {
		return NotSupported
	}
	n, at := 0, a[8]
	for i, o := range l.o.Offers {
		if n == int(int32(a[7])) || uint64(o.Workspace) > want.workspace && !o.Hidden {
			continue
		}
		*fakelib.Pointer[[8]uint64](at) = [8]uint64{0xb1a5, uint64(i), configured{p, want.align}.hash(), uint64(want.align[0]), uint64(want.align[1]),
			uint64(want.align[2]), uint64(want.align[3])}
		*fakelib.Pointer[uint64](at + 64) = uint64(o.Workspace)
		*fakelib.Pointer[int32](at + 72) = Success
		at += 96
		n++
	}
	*fakelib.Pointer[int32](a[9]) = int32(n)
	if n == 0 {
		return NotSupported
	}
	return Success
}

// matmul checks a product and gives it to a stream. The arguments are the handle, the description, alpha, A,
// its layout, B, its layout, beta, C, its layout, D, its layout, the algorithm, the workspace, its size and
// the stream.
func matmul(l *Library, a []uintptr) int {
	_, ok := get[*handle](l, a[0])
	p, ok2 := l.read(a[1], [4]uintptr{a[4], a[6], a[9], a[11]})
	if !ok || !ok2 {
		return InvalidValue
	}
	d, _ := get[*desc](l, a[1])
	algo := *fakelib.Pointer[[8]uint64](a[12])
	c := configured{product: p}
	for i := range c.align {
		c.align[i] = uint32(algo[3+i])
	}
	if algo[0] != 0xb1a5 || algo[1] >= uint64(len(l.o.Offers)) || algo[2] != c.hash() {
		return l.problem("an algorithm that was offered for something else")
	}
	for i, at := range []uintptr{a[3], a[5], a[8], a[10]} {
		if at%uintptr(max(1, c.align[i])) != 0 {
			return l.problem("operand %d at %#x is not aligned by %d", i, at, c.align[i])
		}
	}
	o := &l.o.Offers[algo[1]]
	if uintptr(o.Workspace) > a[14] || o.Workspace > 0 && a[13] == 0 {
		return l.problem("%d bytes of workspace; expected %d", a[14], o.Workspace)
	}
	if o.Fails != Success {
		return o.Fails
	}
	w := &work{l: l, product: p, bias: d.bias, alpha: *fakelib.Pointer[float32](a[2]), beta: *fakelib.Pointer[float32](a[7]),
		at: [4]uint64{uint64(a[3]), uint64(a[5]), uint64(a[8]), uint64(a[10])}, workspace: uint64(a[13]), needs: int(o.Workspace), number: int(algo[1])}
	if msg := w.wrong(); msg != "" {
		return l.problem("%s", msg)
	}
	if l.o.Driver.Work(a[15], o.Time, w.run) != fakecuda.Success {
		return Failed
	}
	return Success
}

// work is a product with its operands.
type work struct {
	product
	l           *Library
	alpha, beta float32
	at          [4]uint64 // of A, B, C and D
	bias        uint64
	workspace   uint64
	needs       int
	number      int // of the algorithm
}

// wrong says what the library leaves undefined: a result over a factor, or over what is added as it does not
// lie.
func (w *work) wrong() string {
	meet := func(i, j int) bool {
		return w.at[i] < w.at[j]+uint64(w.of(j).bytes()) && w.at[j] < w.at[i]+uint64(w.of(i).bytes())
	}
	switch {
	case meet(0, 3) || meet(1, 3):
		return "the result is over a factor"
	case meet(2, 3) && (w.at[2] != w.at[3] || w.c != w.d):
		return "the result is over a part of what is added"
	case w.desc.biased && w.bias == 0:
		return "there is no bias"
	}
	return ""
}

func (w *work) of(i int) *layout { return [4]*layout{&w.a, &w.b, &w.c, &w.d}[i] }

// bytes is how far a matrix reaches.
func (x *layout) bytes() int {
	return ((x.batch-1)*x.stride + (x.cols-1)*x.ld + x.rows) * kinds[x.kind]
}

// run computes the product in memory of the GPU. The workspace has rubbish behind it.
func (w *work) run(mem fakecuda.Memory) error {
	var bytes [4][]byte
	for i := range bytes {
		var err error
		if bytes[i], err = mem.Bytes(w.at[i], w.of(i).bytes()); err != nil {
			return fmt.Errorf("operand %d of a product: %w", i, err)
		}
	}
	m, n, k := w.sizes()
	var bias, rest []byte
	var err error
	if w.desc.biased {
		if bias, err = mem.Bytes(w.bias, m*kinds[w.d.kind]); err != nil {
			return fmt.Errorf("the bias of a product: %w", err)
		}
	}
	if w.needs > 0 {
		if rest, err = mem.Bytes(w.workspace, w.needs); err != nil {
			return fmt.Errorf("the workspace of a product: %w", err)
		}
	}
	for i := range rest {
		rest[i] = 0xff
	}
	for b := range w.d.batch {
		for j := range n {
			for i := range m {
				w.element(bytes, bias, b, i, j, k)
			}
		}
	}
	w.l.ran(fmt.Sprintf("%d: %d %d %d", w.number, m, n, k))
	return nil
}

// ran notes a product, on whatever goroutine has the driver do its work.
func (l *Library) ran(what string) {
	l.ordering.Lock()
	defer l.ordering.Unlock()
	l.order = append(l.order, what)
}

// element computes one of the result.
func (w *work) element(bytes [4][]byte, bias []byte, b, i, j, k int) {
	var sum float64
	for x := range k {
		sum += w.a.get(bytes[0], b, i, x, w.desc.transposed[0]) * w.b.get(bytes[1], b, x, j, w.desc.transposed[1])
	}
	sum *= float64(w.alpha)
	if w.beta != 0 {
		sum += float64(w.beta) * w.c.get(bytes[2], b, i, j, false)
	}
	if w.desc.biased {
		sum += load(bias, i, w.d.kind)
	}
	store(bytes[3], b*w.d.stride+j*w.d.ld+i, w.d.kind, sum)
}

// get is an element of a matrix, or of its transpose.
func (x *layout) get(bytes []byte, b, i, j int, transposed bool) float64 {
	if transposed {
		i, j = j, i
	}
	return load(bytes, b*x.stride+j*x.ld+i, x.kind)
}

func load(b []byte, i int, kind uint32) float64 {
	switch kind {
	case 2:
		return float64(float16.Frombits(binary.LittleEndian.Uint16(b[2*i:])).Float32())
	case 14:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
}

func store(b []byte, i int, kind uint32, x float64) {
	f := float32(x)
	switch kind {
	case 2:
		binary.LittleEndian.PutUint16(b[2*i:], float16.Fromfloat32(f).Bits())
	case 14:
		u := math.Float32bits(f)
		if f == f {
			u += 0x7fff + u>>16&1
		}
		binary.LittleEndian.PutUint16(b[2*i:], uint16(u>>16))
	default:
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(f))
	}
}
