package program

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ptc/internal/dtype"
)

// portCheck checks what the programs of a device are fed and what is read of them.
type portCheck struct {
	device  *Device
	progs   map[string]*Order // by name
	axes    int               // of the mesh
	tensors map[string]int    // by path
	have    portValues
}

func (c *portCheck) all() error {
	d, settings := c.device, map[string]bool{}
	all := paths[*Port]{meet: func(a, _ *Port, _ string, i, _ int) error {
		return fmt.Errorf("program %s has the port %s %q twice", a.Program, a.Role, of(a.Path, i))
	}}
	for i := range d.Ports {
		x := &d.Ports[i]
		path := x.Path
		if x.Role == RoleStep || x.Role == RoleSeed || x.Role == RoleLoss || x.Role == RoleCoord || x.Role == RoleSetting {
			path = ""
		}
		order := c.progs[x.Program]
		switch {
		case order == nil:
			return fmt.Errorf("port %d is of the program %q, which there is not", i, x.Program)
		case x.Buffer < 0 || x.Buffer >= len(d.Buffers):
			return fmt.Errorf("port %d is buffer %d of %d", i, x.Buffer, len(d.Buffers))
		case x.After < 0 || x.After > order.Ops || x.After > 0 && x.Role != RoleGrad:
			return fmt.Errorf("port %s %q after %d of %d instructions", x.Role, x.Path, x.After, order.Ops)
		}
		b := &d.Buffers[x.Buffer]
		err := c.instances(x, b, path)
		if err == nil {
			err = c.port(x, b)
		}
		if err != nil {
			return fmt.Errorf("port %s %q of program %s: %w", x.Role, x.Path, x.Program, err)
		}
		if x.Role == RoleSetting { // a formula is no path
			key := x.Program + " " + x.Path
			if settings[key] {
				return fmt.Errorf("program %s has the port %s %q twice", x.Program, x.Role, x.Path)
			}
			settings[key] = true
			continue
		}
		if err := all.add(x.Program+" "+x.Role, path, d.family(x.Buffer), x); err != nil {
			return err
		}
	}
	return all.compare()
}

// instances checks that a port is of a stack, or of microbatches, in its path, its
// places, its number and the instruction that it is read behind.
func (c *portCheck) instances(x *Port, b *Buffer, path string) error {
	o := c.progs[x.Program]
	if b.MicroRing > 0 && (x.Role != RoleIndex || b.Stack > 0 || b.MicroRing != o.Micro) {
		return fmt.Errorf("%d microbatches have %d places, of stack %d", o.Micro, b.MicroRing, b.Stack)
	}
	count := c.device.family(x.Buffer)
	if err := openPath(path, b.Stack > 0 || b.MicroRing > 0, count); err != nil {
		return err
	}
	if count == 1 && b.Stack == 0 {
		return nil
	}
	if instances, micros := b.Places(); x.In() && instances*micros != count {
		return fmt.Errorf("%d instances are fed in %d places", count, instances)
	}
	if x.Role == RoleIndex && x.Number > math.MaxInt32-int32(count) {
		return fmt.Errorf("numbers from %d on are too large", x.Number)
	}
	if x.After > 0 {
		if s := o.stack(x.After - 1); s > 0 && s != b.Stack {
			return fmt.Errorf("every instance has one, and instruction %d is of others", x.After-1)
		}
	}
	return nil
}

// port checks the type of one.
func (c *portCheck) port(x *Port, b *Buffer) error {
	d := c.device
	if b.Memory != "" {
		return fmt.Errorf("it is in %s memory", b.Memory)
	}
	if b.Pad != 0 {
		return fmt.Errorf("it has %d elements of padding behind each row", b.Pad)
	}
	scalar := func(dtypes ...dtype.DType) error {
		names := dtype.Names(dtypes)
		if len(b.Axes) != 0 || !slices.Contains(names, b.DType) {
			return fmt.Errorf("a %s with %d axes, not a scalar %s", b.DType, len(b.Axes), strings.Join(names, " or "))
		}
		return nil
	}
	switch x.Role {
	case RoleStep, RoleSeed, RoleIndex:
		return scalar(dtype.I32)
	case RoleSetting:
		if err := scalar(dtype.F32, dtype.F64, dtype.I32); err != nil {
			return err
		}
		_, err := c.have.port(x.Path, b.DType)
		return err
	case RoleCoord:
		if b.DType != dtype.I32.String() || len(b.Axes) != 1 || b.Axes[0].Size != c.axes || b.Axes[0].Global != c.axes {
			return fmt.Errorf("not an i32 for each of %d mesh axes", c.axes)
		}
		return nil
	case RoleLoss:
		return scalar(dtype.F32, dtype.F64)
	case RoleStat:
		if err := name(x.Path); err != nil {
			return err
		}
		return scalar(dtype.F32, dtype.F64)
	case RoleData:
		if b.DType != dtype.I32.String() && b.DType != dtype.F32.String() {
			return fmt.Errorf("data of %s, not i32 or f32", b.DType)
		}
		return name(x.Path)
	case RoleGrad:
		i, ok := c.tensors[x.Path]
		if !ok || d.stackOf(&d.Tensors[i]) != b.Stack {
			return fmt.Errorf("there is no such parameter")
		}
		if g, w := wholeElems(b), wholeElems(&d.Buffers[d.Tensors[i].Buffer]); g != w {
			return fmt.Errorf("%d elements, and the parameter has %d", g, w)
		}
		return nil
	}
	return fmt.Errorf("unknown role")
}

func wholeElems(b *Buffer) int64 {
	n := int64(1)
	for _, a := range b.Axes {
		n *= int64(a.Global)
	}
	return n
}
