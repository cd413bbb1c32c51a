package fakecuda

import (
	"fmt"
	"slices"
	"unsafe"

	"ptc/runtime/cuda/fakelib"
)

func start(d *Driver, _ *gpu, a []uintptr) int {
	if a[0] != 0 {
		return InvalidValue
	}
	if len(d.gpus) == 0 {
		return NoDevice
	}
	d.started = true
	return Success
}

func version(d *Driver, _ *gpu, a []uintptr) int {
	*fakelib.Pointer[int32](a[0]) = int32(d.o.Version)
	return Success
}

func deviceCount(d *Driver, _ *gpu, a []uintptr) int {
	*fakelib.Pointer[int32](a[0]) = int32(len(d.gpus))
	return Success
}

// A device's handle is its number and something else, so that one is not taken for the other.
const firstDevice = 40

func deviceGet(d *Driver, _ *gpu, a []uintptr) int {
	if int(a[1]) >= len(d.gpus) {
		return InvalidValue
	}
	*fakelib.Pointer[int32](a[0]) = firstDevice + int32(a[1])
	return Success
}

// of is the GPU with a handle.
func (d *Driver) of(device uintptr) *gpu {
	n := int(int32(device)) - firstDevice
	if n < 0 || n >= len(d.gpus) {
		d.Problem("there is no device %d", int32(device))
		return nil
	}
	return d.gpus[n]
}

func deviceName(d *Driver, g *gpu, a []uintptr) int {
	name := fmt.Sprintf("Fake GPU %d\x00", g.number)
	if int(a[1]) < len(name) {
		return InvalidValue
	}
	copy(unsafe.Slice(fakelib.Pointer[byte](a[0]), len(name)), name)
	return Success
}

func deviceUUID(d *Driver, g *gpu, a []uintptr) int {
	*fakelib.Pointer[[16]byte](a[0]) = [16]byte{0: 0xfa, 15: byte(g.number)}
	return Success
}

func deviceAttribute(d *Driver, g *gpu, a []uintptr) int {
	major, minor := d.o.Major, d.o.Minor
	if d.o.Mixed && g.number > 0 {
		major, minor = 8, 0
	}
	switch a[1] {
	case 75: // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
		*fakelib.Pointer[int32](a[0]) = int32(major)
	case 76: // … MINOR
		*fakelib.Pointer[int32](a[0]) = int32(minor)
	case 97: // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
		*fakelib.Pointer[int32](a[0]) = int32(d.shared())
	default:
		return InvalidValue
	}
	return Success
}

func retain(d *Driver, g *gpu, a []uintptr) int {
	if g.context == 0 {
		g.context = d.Handle(g)
	}
	g.refs++
	*fakelib.Pointer[uintptr](a[0]) = g.context
	return Success
}

func release(d *Driver, g *gpu, a []uintptr) int {
	switch {
	case g.refs == 0:
		d.Problem("the context of GPU %d is released too often", g.number)
		return InvalidContext
	}
	g.refs--
	return Success
}

func setCurrent(d *Driver, _ *gpu, a []uintptr) int {
	if a[0] == 0 {
		delete(d.threads, fakelib.Thread())
		return Success
	}
	for _, g := range d.gpus {
		if g.context == a[0] && g.refs > 0 {
			d.threads[fakelib.Thread()] = g
			return g.sticky
		}
	}
	d.Problem("there is no context %#x", a[0])
	return InvalidContext
}

// texts of results, which live as long as the process.
var (
	names = map[int]string{
		InvalidValue: "CUDA_ERROR_INVALID_VALUE", OutOfMemory: "CUDA_ERROR_OUT_OF_MEMORY", NotInitialized: "CUDA_ERROR_NOT_INITIALIZED",
		NoDevice: "CUDA_ERROR_NO_DEVICE", InvalidDevice: "CUDA_ERROR_INVALID_DEVICE", InvalidContext: "CUDA_ERROR_INVALID_CONTEXT",
		NoBinary: "CUDA_ERROR_NO_BINARY_FOR_GPU", InvalidPTX: "CUDA_ERROR_INVALID_PTX", InvalidHandle: "CUDA_ERROR_INVALID_HANDLE",
		NotFound: "CUDA_ERROR_NOT_FOUND", NotReady: "CUDA_ERROR_NOT_READY", IllegalAddress: "CUDA_ERROR_ILLEGAL_ADDRESS", LaunchFailed: "CUDA_ERROR_LAUNCH_FAILED",
		Unknown: "CUDA_ERROR_UNKNOWN", NotInCapture: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", WrongThread: "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
	}
	texts = map[string][]byte{}
)

func errorName(_ *Driver, _ *gpu, a []uintptr) int { return text(a, "") }
func errorText(_ *Driver, _ *gpu, a []uintptr) int { return text(a, "the text of ") }

func text(a []uintptr, prefix string) int {
	name, ok := names[int(a[0])]
	if !ok {
		*fakelib.Pointer[uintptr](a[1]) = 0
		return InvalidValue
	}
	key := prefix + name
	if texts[key] == nil {
		texts[key] = []byte(key + "\x00")
	}
	*fakelib.Pointer[uintptr](a[1]) = uintptr(unsafe.Pointer(unsafe.SliceData(texts[key])))
	return Success
}

// get is the object of a type with a handle; for what no handle is, a problem.
func get[T any](d *Driver, what string, handle uintptr) (o T, ok bool) {
	if o, ok = fakelib.Get[T](&d.Handles, handle); !ok {
		d.Problem("there is no %s %#x", what, handle)
	}
	return o, ok
}

// Leaks are what was made and not freed, sorted.
func (d *Driver) Leaks() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, o := range d.Objects() {
		switch o.(type) {
		case *gpu, *kernel, *node:
		default:
			out = append(out, fmt.Sprintf("%T", o))
		}
	}
	for _, b := range d.pinned {
		out = append(out, fmt.Sprintf("%d pinned bytes", len(b)))
	}
	for _, g := range d.gpus {
		for _, n := range g.allocs {
			out = append(out, fmt.Sprintf("%d bytes of GPU %d", n, g.number))
		}
		if g.refs > 0 {
			out = append(out, fmt.Sprintf("%d times the context of GPU %d", g.refs, g.number))
		}
	}
	slices.Sort(out)
	return out
}
