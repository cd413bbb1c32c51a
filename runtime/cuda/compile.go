package cuda

import (
	"bytes"
	"fmt"
	"runtime"
	"unsafe"

	"ptc/internal/foreign"
	"ptc/runtime/cuda/cubin"
)

// inputPTX is the kind of what is linked (cuda.h of CUDA 12.4, CUjitInputType).
const inputPTX = 1

// compile makes machine code of text that ends in a zero, for the current context's GPU; log is what the
// compiler says of its errors.
func (d *driver) compile(text []byte) (code []byte, log string, err error) {
	buffer := make([]byte, 16<<10)
	values := &jitLog{unsafe.Pointer(unsafe.SliceData(buffer)), uintptr(len(buffer))} // which the link keeps
	defer runtime.KeepAlive(values)
	said := func() string {
		b, _, _ := bytes.Cut(buffer, []byte{0})
		return string(bytes.TrimSpace(b))
	}
	var link, at, size uintptr
	err = d.call("cuLinkCreate", d.linkCreate, uintptr(len(jitOptions)), uintptr(unsafe.Pointer(&jitOptions[0])),
		uintptr(unsafe.Pointer(values)), uintptr(unsafe.Pointer(&link)))
	if err != nil {
		return nil, said(), err
	}
	defer func() { _ = d.call("cuLinkDestroy", d.linkDestroy, link) }()
	name := []byte("plan\x00")
	err = d.call("cuLinkAddData", d.linkAddData, link, inputPTX, uintptr(unsafe.Pointer(unsafe.SliceData(text))), uintptr(len(text)),
		uintptr(unsafe.Pointer(unsafe.SliceData(name))), 0, 0, 0)
	if err == nil {
		err = d.call("cuLinkComplete", d.linkComplete, link, uintptr(unsafe.Pointer(&at)), uintptr(unsafe.Pointer(&size)))
	}
	if err != nil {
		return nil, said(), err
	}
	return bytes.Clone(unsafe.Slice((*byte)(foreign.Pointer(at)), size)), "", nil
}

// loadText loads the module of text that ends in a zero: from the cache where it is there, and else compiled, and
// kept there where there is one. What cannot be loaded from the cache is compiled again.
func (e *engine) loadText(text []byte) (module uintptr, log string, err error) {
	if e.cache == nil {
		return e.drv.load(text)
	}
	g := e.gpu()
	key := cubin.KeyOf(text, fmt.Sprintf("sm_%d%d", g.major, g.minor), e.drv.version)
	if code := e.cache.Get(key); code != nil {
		if module, _, err = e.drv.load(code); err == nil {
			return module, "", nil
		}
	}
	code, log, err := e.drv.compile(text)
	if err != nil {
		return 0, log, err
	}
	if module, log, err = e.drv.load(code); err == nil {
		_ = e.cache.Put(key, code) // next time it is compiled again
	}
	return module, log, err
}
