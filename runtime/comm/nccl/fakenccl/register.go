package fakenccl

import "ptc/runtime/cuda/fakelib"

// block is bytes of a GPU, each of which has addresses of its own.
type block struct {
	gpu   int
	at, n uint64
}

func (b block) has(at uintptr) bool { return uint64(at) >= b.at && uint64(at) < b.at+b.n }

// place is where a block begins.
type place struct {
	gpu int
	at  uintptr
}

func memAlloc(l *Library, a []uintptr) int {
	at, ok := l.drv.Alloc(int64(a[1]))
	if !ok {
		return CUDAError
	}
	gpu := l.drv.Current()
	l.blocks[place{gpu, uintptr(at)}] = block{gpu, at, uint64(a[1])}
	*fakelib.Pointer[uint64](a[0]) = at
	return Success
}

func memFree(l *Library, a []uintptr) int {
	here := place{l.drv.Current(), a[0]}
	if _, ok := l.blocks[here]; !ok {
		l.Problem("memory %#x is freed that is not the library's", a[0])
		return InvalidArgument
	}
	for _, m := range l.members {
		for _, b := range m.buffers {
			if b.gpu == here.gpu && b.has(a[0]) {
				l.Problem("memory is freed that member %d has registered", m.rank)
			}
		}
	}
	delete(l.blocks, here)
	l.drv.Free(uint64(a[0]))
	return Success
}

// register takes memory of the library alone, as other memory is not safe to be registered.
func register(l *Library, a []uintptr) int {
	m := l.member(a[0], "ncclCommRegister")
	if m == nil {
		return InvalidArgument
	}
	b := block{m.gpu, uint64(a[1]), uint64(a[2])}
	if own := l.blocks[place{m.gpu, a[1]}]; own.n == 0 || b.n > own.n {
		l.Problem("memory is registered that is not the library's")
		return InvalidArgument
	}
	l.next += 16
	m.buffers[l.next] = b
	*fakelib.Pointer[uintptr](a[3]) = l.next
	return l.busy(m, false)
}

func deregister(l *Library, a []uintptr) int {
	m := l.member(a[0], "ncclCommDeregister")
	if m == nil {
		return InvalidArgument
	}
	if _, ok := m.buffers[a[1]]; !ok {
		l.Problem("a buffer that is not registered is deregistered")
		return InvalidArgument
	}
	delete(m.buffers, a[1])
	return l.busy(m, false)
}

// registered says whether two calls of one meeting have registered memory at both ends, or at neither.
func (l *Library) registered(c, o *issued) bool {
	if c.series.link {
		return c.m.has(max(c.src, c.dst)) == o.m.has(max(o.src, o.dst))
	}
	return c.m.has(c.src) == o.m.has(o.src) && c.m.has(c.dst) == o.m.has(o.dst)
}

// has says whether an address is in memory that the member has registered.
func (m *member) has(at uintptr) bool {
	for _, b := range m.buffers {
		if b.has(at) {
			return true
		}
	}
	return false
}
