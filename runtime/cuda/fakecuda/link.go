package fakecuda

import (
	"fmt"
	"strings"
	"unsafe"

	"ptc/backend/gpu/ptx"
)

// link is a linker with what it was given, or what it made of that.
type link struct {
	log  []byte
	text string
	code []byte
}

// machineCode is how code begins that is loaded as it is: what GPU it is for and how many bytes follow, which
// are the text that it was made of.
const machineCode = "machine code for sm_%d, %d bytes\n"

func linkCreate(d *Driver, _ *gpu, a []uintptr) int {
	log, ok := readLog(a[0], a[1], a[2])
	if !ok {
		d.problem("options of a link that are not known")
		return InvalidValue
	}
	*pointer[uintptr](a[3]) = d.handle(&link{log: log})
	return Success
}

func linkAddData(d *Driver, _ *gpu, a []uintptr) int {
	l, ok := get[*link](d, "link", a[0])
	switch {
	case !ok:
		return InvalidHandle
	case a[1] != 1 || a[5] != 0 || l.text != "": // CU_JIT_INPUT_PTX, without options
		d.problem("a link of something else than one text")
		return InvalidValue
	}
	text := string(unsafe.Slice(pointer[byte](a[2]), a[3]))
	text, ended := strings.CutSuffix(text, "\x00")
	if !ended {
		d.problem("text that does not end in a zero is linked")
		return InvalidPTX
	}
	p, err := ptx.Parse(text)
	result := InvalidPTX
	if err == nil {
		result, err = NoBinary, d.runs(p.Target)
	}
	if err != nil {
		copy(l.log, err.Error()+"\x00")
		return result
	}
	l.text = text
	return Success
}

func linkComplete(d *Driver, _ *gpu, a []uintptr) int {
	l, ok := get[*link](d, "link", a[0])
	if !ok {
		return InvalidHandle
	}
	l.code = []byte(fmt.Sprintf(machineCode, 10*d.o.Major+d.o.Minor, len(l.text)) + l.text)
	*pointer[uintptr](a[1]) = uintptr(unsafe.Pointer(unsafe.SliceData(l.code)))
	*pointer[uintptr](a[2]) = uintptr(len(l.code))
	return Success
}

func linkDestroy(d *Driver, _ *gpu, a []uintptr) int {
	l, ok := get[*link](d, "link", a[0])
	if !ok {
		return InvalidHandle
	}
	spoil(l.code) // who still has it does not have it
	delete(d.objects, a[0])
	return Success
}

// image is the text of a module that is to be loaded: of machine code that which it was made of.
func (d *Driver) image(at uintptr) (text string, result int, err error) {
	var arch, n int
	first, _, _ := strings.Cut(machineCode, "%")
	if got := unsafe.Slice(pointer[byte](at), 1); got[0] != first[0] {
		return cString(at), Success, nil
	}
	head := lineAt(at)
	if k, _ := fmt.Sscanf(head, machineCode, &arch, &n); k != 2 {
		return "", NoBinary, fmt.Errorf("machine code with the head %q", head)
	}
	if own := 10*d.o.Major + d.o.Minor; arch != own {
		return "", NoBinary, fmt.Errorf("machine code for sm_%d on sm_%d", arch, own)
	}
	d.loads++
	return string(unsafe.Slice(pointer[byte](at+uintptr(len(head))), n)), Success, nil
}

// lineAt is text of the caller's up to the end of a line, which is short.
func lineAt(at uintptr) string {
	var text []byte
	for c := byte(0); c != '\n' && len(text) < 80; {
		c = *pointer[byte](at + uintptr(len(text)))
		text = append(text, c)
	}
	return string(text)
}

// Loads is how many modules were loaded as machine code.
func (d *Driver) Loads() int { d.mu.Lock(); defer d.mu.Unlock(); return d.loads }
