package llvm

import (
	"bytes"
	"debug/elf"
	"fmt"
	"sort"
)

// Undefined lists the symbols that an object refers to and does not define,
// sorted. It must be empty for kernels: a plan's machine has nothing to link
// them with. A name like `memcpy` or `expf` says that LLVM turned an
// instruction or intrinsic into a library call.
func Undefined(object []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, fmt.Errorf("llvm: not an ELF object: %w", err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		return nil, fmt.Errorf("llvm: object without symbols: %w", err)
	}
	var names []string
	for _, s := range syms {
		if s.Section == elf.SHN_UNDEF && s.Name != "" {
			names = append(names, s.Name)
		}
	}
	sort.Strings(names)
	return names, nil
}
