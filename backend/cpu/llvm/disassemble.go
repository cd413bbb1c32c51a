package llvm

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"ptc/backend/cpu/llvm/target"
	"ptc/internal/foreign"
)

// hexImmediates is LLVMDisassembler_Option_PrintImmHex.
const hexImmediates = 2

// mostText bounds the text of one instruction, its final zero included.
const mostText = 256

// Disassembly is the code of a function for t, a line for each instruction: its offset
// from the start of the function, and its text. A branch leads to such an offset, or to a
// function that near names by its distance. note, called with the offsets at which an
// instruction begins and ends, gives a comment, or "". Bytes that are no instruction are
// listed as such.
func (l *Library) Disassembly(code []byte, t target.Target, near map[int64]string, note func(from, to int) string) (string, error) {
	names := labels{}
	for at, name := range near {
		names[uint64(at)] = append([]byte(name), 0)
	}
	id := l.labels.last.Add(1)
	l.labels.open.Store(id, names)
	defer l.labels.open.Delete(id)
	d := l.c.CreateDisasmCPUFeatures(t.Triple, t.CPU, t.Features, id, 0, 0, l.named)
	if d == 0 {
		return "", fmt.Errorf("llvm: %s cannot disassemble code for %s", l.path, t.Triple)
	}
	defer l.c.DisasmDispose(d)
	l.c.SetDisasmOptions(d, hexImmediates)
	least := 1 // bytes to go on by where there is no instruction
	if t.Arch == "arm64" {
		least = 4
	}
	var out strings.Builder
	buf := make([]byte, mostText)
	for at := 0; at < len(code); {
		rest := code[at:]
		n := int(l.c.DisasmInstruction(d, unsafe.Pointer(unsafe.SliceData(rest)), uint64(len(rest)), uint64(at), unsafe.Pointer(unsafe.SliceData(buf)), mostText))
		text, _, _ := strings.Cut(string(buf), "\x00")
		if n == 0 {
			n = min(least, len(rest))
			text = fmt.Sprintf(".byte\t% x", rest[:n])
		}
		if more := note(at, at+n); more != "" {
			text += "\t# " + more
		}
		fmt.Fprintf(&out, "%6x\t%s\n", at, strings.TrimSpace(text))
		at += n
	}
	return out.String(), nil
}

// labels are the functions that code may lead to, by address: text that ends with a zero.
type labels map[uint64][]byte

// labelled finds the labels of a disassembly by the number that LLVM passes back.
type labelled struct {
	last atomic.Uintptr
	open sync.Map // of labels
}

// name is LLVM's LLVMSymbolLookupCallback. Where there is no name LLVM prints the target
// of a branch as an address, and not as a distance.
func (l *Library) name(id, value, kind, _, name uintptr) uintptr {
	*(*uint64)(foreign.Pointer(kind)), *(*uintptr)(foreign.Pointer(name)) = 0, 0
	if of, ok := l.labels.open.Load(id); ok {
		if text := of.(labels)[uint64(value)]; text != nil && value != 0 {
			return uintptr(unsafe.Pointer(unsafe.SliceData(text)))
		}
	}
	return 0
}
