package llvm

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"ptc/backend/cpu/llvm/target"
	"ptc/internal/foreign"
)

// pipeline is the optimization run before code generation. The text is tiled and
// vectorized already, so this only inlines helpers, puts memory cells and
// invariants into registers and cleans up. On a register-tiled GEMM kernel it
// gives the instructions that `default<O2>` gives, in less time; and unlike O2 it
// has no pass that recognizes a loop as memset or memcpy, which an object without
// undefined symbols must not call.
const pipeline = "always-inline,cgscc(inline),globaldce," +
	"function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg," +
	"loop-mssa(loop-rotate,licm),loop(indvars),gvn,loop-unroll," +
	"instcombine<no-verify-fixpoint>,simplifycfg,adce)"

// Compile turns LLVM IR text into a relocatable ELF object for t: position
// independent, small code model. The triple and data layout of the text, if
// any, are replaced by t's; functions without a `target-cpu` attribute get
// t's processor and features.
//
// The error carries LLVM's diagnostics, with their line in the text. The
// object may still refer to symbols it does not define: see Undefined.
func (l *Library) Compile(ir string, t target.Target) ([]byte, error) {
	return l.emit(ir, t, fileObject)
}

// Assembly is Compile's output as text: to read, and PTX for an NVPTX triple.
func (l *Library) Assembly(ir string, t target.Target) (string, error) {
	asm, err := l.emit(ir, t, fileAssembly)
	return string(asm), err
}

func (l *Library) emit(ir string, t target.Target, kind int32) ([]byte, error) {
	tm, err := l.machine(t)
	if err != nil {
		return nil, err
	}
	defer l.c.DisposeTargetMachine(tm)

	ctx := l.c.ContextCreate()
	defer l.c.ContextDispose(ctx)
	id, diags := l.diagnostics.add()
	defer l.diagnostics.remove(id)
	l.c.ContextSetDiagnosticHandler(ctx, l.handler, id)

	mod, err := l.parse(ctx, ir)
	if err != nil {
		return nil, err
	}
	defer l.c.DisposeModule(mod)
	if err := l.optimize(mod, tm, t); err != nil {
		return nil, err
	}
	var buf ref
	var msg uintptr
	failed := l.c.TargetMachineEmitToMemoryBuffer(tm, mod, kind, &msg, &buf) != 0
	if why := l.c.takeMessage(msg); failed {
		return nil, fmt.Errorf("llvm: no code for %s: %s", t.Triple, why)
	}
	defer l.c.DisposeMemoryBuffer(buf)
	if s := diags.String(); s != "" {
		return nil, fmt.Errorf("llvm: no code for %s: %s", t.Triple, s)
	}
	return append([]byte(nil), view(l.c.GetBufferStart(buf), l.c.GetBufferSize(buf))...), nil
}

// machine makes the code generator for t.
func (l *Library) machine(t target.Target) (ref, error) {
	if strings.ContainsRune(t.Triple+t.CPU+t.Features, 0) {
		return 0, errors.New("llvm: a target's triple, processor or features contain a zero byte")
	}
	var tgt ref
	var msg uintptr
	if l.c.GetTargetFromTriple(t.Triple, &tgt, &msg) != 0 {
		return 0, fmt.Errorf("llvm: %s cannot generate code for %s: %s", l.path, t.Triple, l.c.takeMessage(msg))
	}
	reloc, model := int32(relocPIC), int32(modelSmall)
	if strings.HasPrefix(t.Triple, "nvptx") {
		reloc, model = relocDefault, modelDefault
	}
	tm := l.c.CreateTargetMachine(tgt, t.Triple, t.CPU, t.Features, optAggressive, reloc, model)
	if tm == 0 {
		return 0, fmt.Errorf("llvm: %s has no code generator for %s", l.path, t.Triple)
	}
	return tm, nil
}

// parse reads the text into a module of ctx. The buffer's name becomes the
// module's, and so part of the object: it is a constant.
func (l *Library) parse(ctx ref, ir string) (ref, error) {
	buf := l.c.CreateMemoryBufferWithMemoryRangeCopy(unsafe.Pointer(unsafe.StringData(ir)), uintptr(len(ir)), "ptc")
	var mod ref
	var msg uintptr
	if l.c.ParseIRInContext(ctx, buf, &mod, &msg) != 0 { // takes buf, also when it fails
		return 0, fmt.Errorf("llvm: the text is not LLVM IR: %s", strings.TrimSpace(l.c.takeMessage(msg)))
	}
	return mod, nil
}

// optimize verifies mod, makes it t's and runs the pipeline over it.
func (l *Library) optimize(mod, tm ref, t target.Target) error {
	layout := l.c.CreateTargetDataLayout(tm)
	l.c.SetModuleDataLayout(mod, layout)
	l.c.DisposeTargetData(layout)
	l.c.SetTarget(mod, t.Triple)

	var msg uintptr
	bad := l.c.VerifyModule(mod, returnStatus, &msg) != 0
	if why := l.c.takeMessage(msg); bad {
		return fmt.Errorf("llvm: the module is invalid: %s", strings.TrimSpace(why))
	}
	opts := l.c.CreatePassBuilderOptions()
	defer l.c.DisposePassBuilderOptions(opts)
	if e := l.c.RunPasses(mod, pipeline, tm, opts); e != 0 {
		m := l.c.GetErrorMessage(e)
		why := foreign.Text(m)
		l.c.DisposeErrorMessage(m)
		return fmt.Errorf("llvm: %s: %s", pipeline, why)
	}
	return nil
}
