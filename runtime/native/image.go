package native

import (
	"debug/elf"
	"fmt"
	"os"
	"runtime"
	"sync"

	"ptc/internal/foreign"
)

// Image is one or more objects in executable memory.
type Image struct {
	mem     [][]byte // of each object
	symbols map[string]uintptr
	close   sync.Once
}

// machines names the ELF machine of each Go architecture that can run kernels.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// nominalBase is an address of the kind that mmap returns. A first relocation
// against it, in ordinary memory, finds what is malformed before anything is
// mapped.
const nominalBase = 0x7f00_0000_0000

// Load checks an object, maps its sections, resolves its references and makes
// its code executable. The object's bytes are not kept.
//
// The error says what is malformed, unsupported, undefined (by name) or for
// another machine.
//
// Several objects become one image. They do not refer to each other, and no
// two export the same name.
func Load(objects ...[]byte) (*Image, error) {
	if err := foreign.Available(); err != nil {
		return nil, fmt.Errorf("native code: %w", err)
	}
	img := &Image{symbols: map[string]uintptr{}}
	for _, object := range objects {
		if err := img.load(object); err != nil {
			img.Close()
			return nil, fmt.Errorf("native code: %w", err)
		}
	}
	return img, nil
}

// load adds an object to the image.
func (img *Image) load(object []byte) error {
	l, err := link(object)
	if err != nil {
		return err
	}
	if m := l.obj.machine; m != machines[runtime.GOARCH] {
		return fmt.Errorf("the object is for %s and this host is %s", machineName(m), runtime.GOARCH)
	}
	mem, err := mapMemory(int(l.size))
	if err != nil {
		return err
	}
	l.fill(mem)
	base := addressOf(mem)
	if err = l.relocate(mem, uint64(base)); err == nil {
		err = l.protect(mem)
	}
	if err != nil {
		unmapMemory(mem)
		return err
	}
	img.mem = append(img.mem, mem)
	for i, s := range l.obj.symbols {
		if s.bind != elf.STB_LOCAL && s.shndx < elf.SHN_LORESERVE && l.obj.sections[s.shndx].loaded {
			if _, twice := img.symbols[s.name]; twice {
				return fmt.Errorf("two objects define %s", s.name)
			}
			img.symbols[s.name] = uintptr(l.address(uint32(i), uint64(base)))
		}
	}
	return nil
}

// link does all of Load that needs no executable memory.
func link(object []byte) (*layout, error) {
	o, err := parseObject(object)
	if err != nil {
		return nil, err
	}
	l, err := newLayout(o, uint64(os.Getpagesize()))
	if err != nil {
		return nil, err
	}
	mem := make([]byte, l.size)
	l.fill(mem)
	return l, l.relocate(mem, nominalBase)
}

// protect takes the write permission from code and constants, and makes the code
// visible to instruction fetch.
func (l *layout) protect(mem []byte) error {
	syncInstructions(mem[:l.ro])
	if err := protectMemory(mem[:l.ro], true); err != nil {
		return err
	}
	if err := protectMemory(mem[l.ro:l.rw], false); err != nil {
		return err
	}
	return serializeCores()
}

func machineName(m elf.Machine) string {
	if m == elf.EM_AARCH64 {
		return "arm64"
	}
	return "x86-64"
}

// Symbol is the address of a symbol that the object defines and exports.
func (img *Image) Symbol(name string) (uintptr, bool) {
	a, ok := img.symbols[name]
	return a, ok
}

// Close unmaps the image. Nothing may run or hold its code any more.
func (img *Image) Close() {
	img.close.Do(func() {
		for _, mem := range img.mem {
			unmapMemory(mem)
		}
		img.symbols = nil
	})
}
