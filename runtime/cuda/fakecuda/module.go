package fakecuda

import (
	"fmt"
	"strings"
	"unsafe"

	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/ptx"
	"ptc/runtime/cuda/fakelib"
)

// module is a loaded module.
type module struct {
	g        *gpu
	kernels  map[string]*kernel
	unloaded bool
}

// kernel is an entry.
type kernel struct {
	m       *module
	program *emu.Program
	shared  int // bytes of dynamic shared memory that are allowed
}

// usualShared is how many bytes of shared memory a block has that was not allowed more.
const usualShared = 48 << 10

// shared is how many it may have ("CUDA C++ Programming Guide", compute capabilities).
func (d *Driver) shared() int {
	switch own := 10*d.o.Major + d.o.Minor; {
	case own < 80:
		return 64 << 10
	case own == 80 || own == 87:
		return 163 << 10
	case own < 90 || own >= 120:
		return 99 << 10
	}
	return 227 << 10
}

// cString is text of the caller's, up to the zero behind it.
func cString(at uintptr) string {
	var text []byte
	for c := *fakelib.Pointer[byte](at); c != 0; c = *fakelib.Pointer[byte](at + uintptr(len(text))) {
		text = append(text, c)
	}
	return string(text)
}

func moduleLoad(d *Driver, g *gpu, a []uintptr) int {
	log, ok := readLogs(a[2], a[3], a[4])
	if !ok {
		d.Problem("options of a module that are not known")
		return InvalidValue
	}
	m, result, err := d.load(g, cString(a[1]))
	if err != nil {
		copy(log.errors, err.Error()+"\x00")
		return result
	}
	copy(log.info, d.o.Says+"\x00")
	*fakelib.Pointer[uintptr](a[0]) = d.Handle(m)
	return Success
}

// logs are buffers for what the compiler says, empty where the caller has none.
type logs struct{ info, errors []byte }

// readLogs finds them among options: CU_JIT_INFO_LOG_BUFFER and its size, CU_JIT_ERROR_LOG_BUFFER and its size.
// CU_JIT_LOG_VERBOSE is taken as well.
func readLogs(n, options, values uintptr) (l logs, ok bool) {
	var given [7]uintptr
	for i := range n {
		option := *fakelib.Pointer[uint32](options + 4*i)
		switch {
		case option == 12:
			continue
		case option < 3 || option > 6:
			return logs{}, false
		}
		given[option] = *fakelib.Pointer[uintptr](values + 8*i)
	}
	buffer := func(at, size uintptr) []byte {
		if at == 0 || size == 0 {
			return nil
		}
		return unsafe.Slice(fakelib.Pointer[byte](at), size)[:size-1]
	}
	l = logs{buffer(given[3], given[4]), buffer(given[5], given[6])}
	return l, (given[3] == 0) == (given[4] == 0) && (given[5] == 0) == (given[6] == 0)
}

func (d *Driver) load(g *gpu, text string) (*module, int, error) {
	p, err := ptx.Parse(text)
	if err != nil {
		return nil, InvalidPTX, err
	}
	if err := d.runs(p.Target); err != nil {
		return nil, NoBinary, err
	}
	m := &module{g: g, kernels: map[string]*kernel{}}
	for _, e := range p.Entries {
		program, err := emu.Load(e)
		if err != nil {
			return nil, InvalidPTX, err
		}
		m.kernels[e.Name] = &kernel{m: m, program: program, shared: usualShared}
	}
	return m, Success, nil
}

// runs says whether the GPUs run code for a target.
func (d *Driver) runs(target string) error {
	var n int
	suffix := ""
	if k, _ := fmt.Sscanf(target, "sm_%d%s", &n, &suffix); k == 0 {
		return fmt.Errorf("target %s is not known", target)
	}
	own := 10*d.o.Major + d.o.Minor
	if strings.HasPrefix(suffix, "a") && n != own || n > own {
		return fmt.Errorf("target %s does not run on sm_%d", target, own)
	}
	return nil
}

func moduleUnload(d *Driver, g *gpu, m *module, a []uintptr) int {
	r := d.flushAll(g)
	m.unloaded = true
	d.Drop(a[0])
	return r
}

func moduleFunction(d *Driver, _ *gpu, m *module, a []uintptr) int {
	k := m.kernels[cString(a[2])]
	if k == nil {
		return NotFound
	}
	*fakelib.Pointer[uintptr](a[0]) = d.Handle(k)
	return Success
}

// function is a kernel that can be launched.
func (d *Driver) function(handle uintptr) (*kernel, bool) {
	k, ok := get[*kernel](d, "function", handle)
	if ok && k.m.unloaded {
		d.Problem("kernel %s is used after its module was unloaded", k.program.Entry().Name)
		return nil, false
	}
	return k, ok
}

func setAttribute(d *Driver, _ *gpu, a []uintptr) int {
	k, ok := d.function(a[0])
	switch n := int(int32(a[2])); {
	case !ok:
		return InvalidHandle
	case a[1] != 8 || n < 0 || n > d.shared(): // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
		return InvalidValue
	default:
		k.shared = n
	}
	return Success
}

func paramInfo(d *Driver, _ *gpu, a []uintptr) int {
	k, ok := d.function(a[0])
	if !ok {
		return InvalidHandle
	}
	params := k.program.Entry().Params
	if a[1] >= uintptr(len(params)) {
		return InvalidValue
	}
	*fakelib.Pointer[uintptr](a[2]) = 8 * a[1]
	*fakelib.Pointer[uintptr](a[3]) = uintptr(max(8, params[a[1]].Bytes))
	return Success
}

// encodeTiled is cuTensorMapEncodeTiled: a map as package emu has it.
func encodeTiled(d *Driver, _ *gpu, a []uintptr) int {
	const align, interleaved, fill = 64, 8, 11
	if a[0] == 0 || a[0]%align != 0 || a[2] < 1 || a[2] > 5 || a[interleaved] != 0 || a[fill] != 0 {
		d.Problem("a tensor map that is not aligned, of %d dimensions or interleaved", a[2])
		return InvalidValue
	}
	m := emu.TensorMap{Type: emu.TensorType(a[1]), Rank: int(a[2]), Address: uint64(a[3]), Swizzle: emu.Swizzle(a[9])}
	copy(m.Sizes[:], unsafe.Slice(fakelib.Pointer[uint64](a[4]), m.Rank))
	copy(m.Strides[:], unsafe.Slice(fakelib.Pointer[uint64](a[5]), m.Rank-1))
	copy(m.Box[:], unsafe.Slice(fakelib.Pointer[uint32](a[6]), m.Rank))
	copy(m.Steps[:], unsafe.Slice(fakelib.Pointer[uint32](a[7]), m.Rank))
	b, err := m.Encode()
	if err != nil {
		d.Problem("%v", err)
		return InvalidValue
	}
	copy(unsafe.Slice(fakelib.Pointer[byte](a[0]), len(b)), b)
	return Success
}
