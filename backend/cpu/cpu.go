package cpu

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"ptc/backend"
	"ptc/backend/cpu/emit"
	"ptc/backend/cpu/llvm"
	"ptc/backend/cpu/llvm/target"
	"ptc/backend/cpu/lower"
	"ptc/backend/kernel"
	"ptc/backend/tile/schedule"
	"ptc/internal/diag"
	"ptc/internal/order"
	"ptc/internal/processors"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/targetinfo"
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

func (c *cpu) Info() targetinfo.Info {
	return targetinfo.Info{Name: c.Name, Disk: true, Chunk: targetinfo.Chunks(256)}
}

func (c *cpu) Unfit(*fusion.Kernel) string { return "" }

// Parts are as many as the estimates of package lower want.
func (c *cpu) Parts(product *fusion.Kernel, given *schedule.Table) int64 {
	return lower.Parts(product, emit.Machine(c.Target), given)
}

// Generate compiles all kernels, and the replay driver, into a few objects.
func (c *cpu) Generate(fns []*ir.Func, given *schedule.Table) (*backend.Code, error) {
	lib, err := llvm.Load()
	if err != nil {
		return nil, fmt.Errorf("the target %s needs libLLVM to compile: %w", c.Name, err)
	}
	forms, err := c.lower(fns, given)
	if err != nil {
		return nil, err
	}
	sizes, of := make([]int, len(forms)), make([]int, len(forms))
	for i, k := range forms {
		sizes[i] = k.Size()
	}
	parts := make([][]*kernel.Kernel, 0, objects)
	for n, share := range order.Deal(sizes, objects) {
		parts = append(parts, nil)
		for _, i := range share {
			parts[n], of[i] = append(parts[n], forms[i]), n
		}
	}
	made, err := c.compile(lib, parts)
	if err != nil {
		return nil, err
	}
	out := &backend.Code{Features: c.Requires, Maker: lib.Version()}
	for _, o := range made {
		out.Code = append(out.Code, program.Code{Kind: "elf", Data: o})
	}
	for i, k := range forms {
		out.Kernels = append(out.Kernels, program.Kernel{Symbol: k.Name, Code: of[i], Tasks: k.Tasks, Scratch: k.ScratchBytes()})
	}
	return out, nil
}

// objects is the number of object files, which compile side by side. It is
// fixed: the plan must not depend on the machine that compiles.
const objects = 8

// compile makes the objects; the first has the replay driver as well.
func (c *cpu) compile(lib *llvm.Library, shares [][]*kernel.Kernel) ([][]byte, error) {
	driver, err := llvm.Driver(c.Target)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(shares))
	errs := make([]error, len(shares))
	side(len(shares), func(i int) {
		text, err := emit.Module(c.Target, shares[i]...)
		if err != nil {
			errs[i] = err
			return
		}
		if i == 0 {
			text += "\n" + driver
		}
		if out[i], errs[i] = lib.Compile(text, c.Target); errs[i] != nil {
			return
		}
		if missing, err := llvm.Undefined(out[i]); err != nil || len(missing) > 0 {
			errs[i] = fmt.Errorf("the code for %s needs symbols that are not in it: %s (%v)", c.Name, strings.Join(missing, ", "), err)
		}
	})
	return out, errors.Join(errs...)
}

// side runs f for 0 … n-1 on all processors. A panic in f panics here.
func side(n int, f func(i int)) {
	var wg sync.WaitGroup
	panics := make([]any, n)
	next := make(chan int)
	for range min(n, processors.Count()) {
		wg.Go(func() {
			for i := range next {
				func() {
					defer func() { panics[i] = recover() }()
					f(i)
				}()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
}

// lower generates the loop/tile form of each kernel, several at a time.
func (c *cpu) lower(fns []*ir.Func, given *schedule.Table) ([]*kernel.Kernel, error) {
	m := emit.Machine(c.Target)
	forms := make([]*kernel.Kernel, len(fns))
	errs := make([]error, len(fns))
	side(len(fns), func(i int) { forms[i], errs[i] = lower.Kernel(fns[i].Name, fns[i], m, given) })
	for _, err := range errs {
		var of *lower.ScheduleError
		if errors.As(err, &of) {
			return nil, &diag.Error{Code: "E0703", Msg: err.Error(), Want: "a schedule that `ptc tune` wrote for this target"}
		}
		if err != nil {
			return nil, err
		}
	}
	return forms, nil
}
