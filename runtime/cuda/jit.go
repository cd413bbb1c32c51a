package cuda

import (
	"bytes"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// jitLogs is the array of values of the options of cuModuleLoadDataEx: a buffer for what the compiler notes and one
// for its errors, each with its length, and that it notes all that it can. They are in the order of jitOptions.
type jitLogs struct {
	info      unsafe.Pointer
	infoSize  uintptr
	fault     unsafe.Pointer
	faultSize uintptr
	verbose   uintptr
}

// jitOptions are those that belong to them (cuda.h of CUDA 12.4, CUjit_option): CU_JIT_INFO_LOG_BUFFER,
// CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES and CU_JIT_LOG_VERBOSE.
var jitOptions = [5]uint32{3, 4, 5, 6, 12}

// said is what the compiler says of a module: notes of one that it compiles, errors of one that it does not.
type said struct{ notes, errors string }

// load compiles text that ends in a zero, as a whole program, and loads it, for the current context's GPU. Code that
// the driver has in its cache is not compiled, and nothing is said of it.
func (d *driver) load(text []byte) (module uintptr, log said, err error) {
	const size = 64 << 10 // a few hundred bytes of statistics for each kernel
	info, fault := make([]byte, size), make([]byte, size)
	values := &jitLogs{unsafe.Pointer(unsafe.SliceData(info)), size, unsafe.Pointer(unsafe.SliceData(fault)), size, 1}
	err = d.call("cuModuleLoadDataEx", d.moduleLoadDataEx, uintptr(unsafe.Pointer(&module)), uintptr(unsafe.Pointer(unsafe.SliceData(text))),
		uintptr(len(jitOptions)), uintptr(unsafe.Pointer(&jitOptions[0])), uintptr(unsafe.Pointer(values)))
	runtime.KeepAlive(values)
	return module, said{beforeZero(info), beforeZero(fault)}, err
}

func beforeZero(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(bytes.TrimSpace(b))
}

// numbered is a message with a number, as "(C7509) Potential Performance Loss: wgmma.mma_async instructions are
// serialized". The compiler calls some of them infos, though they cost half of a kernel's speed.
var numbered = regexp.MustCompile(`\(C\d+\)`)

// warnings are the lines of a log that a user should see, each once. The rest counts registers.
func (s said) warnings() (out []string) {
	for line := range strings.Lines(s.notes) {
		line = strings.TrimSpace(line)
		if (numbered.MatchString(line) || strings.Contains(strings.ToLower(line), "warning")) && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}
