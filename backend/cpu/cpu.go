package cpu

import (
	"fmt"
	"runtime"
	"strings"
	"sync"

	"ptc/backend"
	"ptc/backend/cpu/emit"
	"ptc/backend/kernel"
	"ptc/backend/kernel/lower"
	"ptc/backend/llvm"
	"ptc/backend/llvm/target"
	"ptc/ir"
	"ptc/runtime/program"
)

func init() {
	backend.Register(&backend.Backend{
		Name:      "cpu",
		Doc:       "native code by libLLVM, vectorized and multi-threaded",
		Resolve:   resolve,
		Available: func() error { _, err := llvm.Load(); return err },
		Names:     target.Names,
		Rank:      1,
	})
}

func resolve(name string) (backend.Target, error) {
	t, err := target.Resolve(name)
	if err != nil {
		return nil, err
	}
	return &cpu{t}, nil
}

type cpu struct{ target.Target }

func (c *cpu) Name() string               { return c.Target.Name }
func (c *cpu) Exact() bool                { return false }
func (c *cpu) Vector() (bits, l1, l2 int) { return c.VectorBits, c.L1, c.L2 }

// Generate compiles all kernels and the replay driver into one object.
func (c *cpu) Generate(fns []*ir.Func) (*backend.Code, error) {
	lib, err := llvm.Load()
	if err != nil {
		return nil, fmt.Errorf("the target %s needs libLLVM to compile: %w", c.Name(), err)
	}
	forms, err := c.lower(fns)
	if err != nil {
		return nil, err
	}
	text, err := emit.Module(c.Target, forms...)
	if err != nil {
		return nil, err
	}
	driver, err := llvm.Driver(c.Target)
	if err != nil {
		return nil, err
	}
	object, err := lib.Compile(text+"\n"+driver, c.Target)
	if err != nil {
		return nil, err
	}
	if missing, err := llvm.Undefined(object); err != nil || len(missing) > 0 {
		return nil, fmt.Errorf("the code for %s needs symbols that are not in it: %s (%v)", c.Name(), strings.Join(missing, ", "), err)
	}
	out := &backend.Code{
		Features: c.Requires, Maker: lib.Version(),
		Code: []program.Code{{Kind: "elf", Data: object}},
	}
	for _, k := range forms {
		out.Kernels = append(out.Kernels, program.Kernel{Symbol: k.Name, Tasks: k.Tasks, Scratch: k.ScratchBytes()})
	}
	return out, nil
}

// lower generates the loop/tile form of each kernel, several at a time.
func (c *cpu) lower(fns []*ir.Func) ([]*kernel.Kernel, error) {
	m := emit.Machine(c.Target)
	forms := make([]*kernel.Kernel, len(fns))
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				forms[i], errs[i] = lower.Kernel(fns[i].Name, fns[i], m)
			}
		}()
	}
	for i := range fns {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return forms, nil
}
