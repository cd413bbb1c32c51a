package fakecuda

import (
	"fmt"
	"strings"
	"unsafe"

	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/ptx"
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
	for c := *pointer[byte](at); c != 0; c = *pointer[byte](at + uintptr(len(text))) {
		text = append(text, c)
	}
	return string(text)
}

func moduleLoad(d *Driver, g *gpu, a []uintptr) int {
	log, ok := readLog(a[2], a[3], a[4])
	if !ok {
		d.problem("options of a module that are not known")
		return InvalidValue
	}
	text, result, err := d.image(a[1])
	var m *module
	if err == nil {
		m, result, err = d.load(g, text)
	}
	if err != nil {
		copy(log, err.Error()+"\x00")
		return result
	}
	*pointer[uintptr](a[0]) = d.handle(m)
	return Success
}

// readLog finds the buffer for errors among options: CU_JIT_ERROR_LOG_BUFFER and its size.
func readLog(n, options, values uintptr) (log []byte, ok bool) {
	var buffer, size uintptr
	for i := range n {
		value := *pointer[uintptr](values + 8*i)
		switch *pointer[uint32](options + 4*i) {
		case 5:
			buffer = value
		case 6:
			size = value
		default:
			return nil, false
		}
	}
	if buffer == 0 || size == 0 {
		return nil, n == 0
	}
	return unsafe.Slice(pointer[byte](buffer), size)[:size-1], true
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

func moduleUnload(d *Driver, g *gpu, a []uintptr) int {
	m, ok := get[*module](d, "module", a[0])
	if !ok {
		return InvalidHandle
	}
	r := d.flushAll(g)
	m.unloaded = true
	delete(d.objects, a[0])
	return r
}

func moduleFunction(d *Driver, _ *gpu, a []uintptr) int {
	m, ok := get[*module](d, "module", a[1])
	if !ok {
		return InvalidHandle
	}
	k := m.kernels[cString(a[2])]
	if k == nil {
		return NotFound
	}
	*pointer[uintptr](a[0]) = d.handle(k)
	return Success
}

// function is a kernel that can be launched.
func (d *Driver) function(handle uintptr) (*kernel, bool) {
	k, ok := get[*kernel](d, "function", handle)
	if ok && k.m.unloaded {
		d.problem("kernel %s is used after its module was unloaded", k.program.Entry().Name)
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
	*pointer[uintptr](a[2]) = 8 * a[1]
	*pointer[uintptr](a[3]) = uintptr(max(8, params[a[1]].Bytes))
	return Success
}
