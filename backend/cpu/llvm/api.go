package llvm

import (
	"fmt"
	"reflect"
	"unsafe"

	"ptc/internal/foreign"
)

// ref is an opaque pointer of LLVM's (LLVMContextRef, LLVMModuleRef, …).
type ref = uintptr

// api holds the functions of LLVM's C interface (llvm-c/*.h) that are used. A
// field's name, with LLVM before it, is the C name.
type api struct {
	GetVersion func(major, minor, patch *uint32)

	ContextCreate               func() ref
	ContextDispose              func(ctx ref)
	ContextSetDiagnosticHandler func(ctx ref, handler, data uintptr)
	GetDiagInfoSeverity         func(info ref) int32
	GetDiagInfoDescription      func(info ref) uintptr
	DisposeMessage              func(msg uintptr)

	CreateMemoryBufferWithMemoryRangeCopy func(data unsafe.Pointer, size uintptr, name string) ref
	DisposeMemoryBuffer                   func(buf ref)
	GetBufferStart                        func(buf ref) uintptr
	GetBufferSize                         func(buf ref) uintptr

	ParseIRInContext    func(ctx, buf ref, module *ref, msg *uintptr) int32
	VerifyModule        func(module ref, action int32, msg *uintptr) int32
	DisposeModule       func(module ref)
	SetTarget           func(module ref, triple string)
	SetModuleDataLayout func(module, layout ref)

	GetTargetFromTriple             func(triple string, target *ref, msg *uintptr) int32
	CreateTargetMachine             func(target ref, triple, cpu, features string, level, reloc, model int32) ref
	DisposeTargetMachine            func(tm ref)
	CreateTargetDataLayout          func(tm ref) ref
	DisposeTargetData               func(layout ref)
	TargetMachineEmitToMemoryBuffer func(tm, module ref, kind int32, msg *uintptr, buf *ref) int32

	CreatePassBuilderOptions  func() ref
	DisposePassBuilderOptions func(opts ref)
	RunPasses                 func(module ref, passes string, tm, opts ref) ref
	GetErrorMessage           func(err ref) uintptr
	DisposeErrorMessage       func(msg uintptr)

	CreateDisasmCPUFeatures func(triple, cpu, features string, info uintptr, tag int32, operands, symbols uintptr) ref
	SetDisasmOptions        func(d ref, options uint64) int32
	DisasmInstruction       func(d ref, bytes unsafe.Pointer, size, pc uint64, text unsafe.Pointer, room uintptr) uintptr
	DisasmDispose           func(d ref)
}

// Values of the C interface's enumerations.
const (
	optAggressive = 3 // LLVMCodeGenLevelAggressive
	relocDefault  = 0 // LLVMRelocDefault
	relocPIC      = 2 // LLVMRelocPIC
	modelDefault  = 0 // LLVMCodeModelDefault
	modelSmall    = 3 // LLVMCodeModelSmall
	fileAssembly  = 0 // LLVMAssemblyFile
	fileObject    = 1 // LLVMObjectFile
	returnStatus  = 2 // LLVMReturnStatusAction
	severityError = 0 // LLVMDSError
)

// bind resolves every field, so that an unfit library is known by name of what
// it lacks and not by a crash.
func (c *api) bind(lib uintptr) error {
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		name := "LLVM" + v.Type().Field(i).Name
		addr, err := foreign.Symbol(lib, name)
		if err != nil {
			return fmt.Errorf("has no function %s", name)
		}
		foreign.Bind(v.Field(i).Addr().Interface(), addr)
	}
	return nil
}

// initTargets makes LLVM's code generators known to it. A library built without
// one of them still serves for the others: Compile then names the triple.
func (c *api) initTargets(lib uintptr) error {
	found := false
	for _, t := range []string{"X86", "AArch64", "NVPTX"} {
		for _, part := range []string{"TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser", "Disassembler"} {
			if addr, err := foreign.Symbol(lib, "LLVMInitialize"+t+part); err == nil {
				foreign.Call(addr)
				found = true
			}
		}
	}
	if !found {
		return fmt.Errorf("has none of the code generators X86, AArch64 and NVPTX")
	}
	return nil
}

// view is n bytes of LLVM's memory, valid until LLVM frees them.
func view(p, n uintptr) []byte { return unsafe.Slice((*byte)(foreign.Pointer(p)), n) }

// takeMessage copies and frees a message that LLVM handed over.
func (c *api) takeMessage(p uintptr) string {
	if p == 0 {
		return ""
	}
	s := foreign.Text(p)
	c.DisposeMessage(p)
	return s
}
