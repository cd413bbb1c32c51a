package verify

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
)

// role says where a role may stand and what its value must be.
type role struct {
	arg, result bool
	many        bool // several of one function may have the same path
	kernel      bool // belongs to kernels; other roles to entry functions
	scalar      bool
	ok          func(d ir.DType) bool
	want        string
}

var roles = map[string]role{
	ir.RoleParam:   {arg: true, result: true},
	ir.RoleState:   {arg: true, result: true},
	ir.RoleData:    {arg: true},
	ir.RoleStep:    {arg: true, scalar: true, ok: func(d ir.DType) bool { return d == ir.I32 }, want: "i32[]"},
	ir.RoleSeed:    {arg: true, scalar: true, ok: func(d ir.DType) bool { return d == ir.I32 }, want: "i32[]"},
	ir.RoleSetting: {arg: true, scalar: true, ok: func(d ir.DType) bool { return d == ir.F32 || d == ir.F64 || d == ir.I32 }, want: "f32[], f64[] or i32[]"},
	ir.RoleCoord:   {arg: true, ok: func(d ir.DType) bool { return d == ir.I32 }, want: "i32[mesh=n]"},
	ir.RoleIndex:   {arg: true, scalar: true, ok: func(d ir.DType) bool { return d == ir.I32 }, want: "i32[]"},
	ir.RoleLoss:    {result: true, scalar: true, ok: ir.DType.IsFloat, want: "a float scalar"},
	ir.RoleStat:    {result: true, scalar: true, want: "a scalar"},
	ir.RoleGrad:    {result: true},
	ir.RoleIn:      {arg: true, many: true, kernel: true},
	ir.RoleOut:     {result: true, many: true, kernel: true},
}

// roles checks the interface of a function: which roles there are, that each
// is unique with its path, and that an updated parameter or state has an
// argument of its type.
func (c *checker) roles(f *ir.Func) {
	type key struct{ role, path string }
	args, results := map[key]*ir.Value{}, map[key]*ir.Value{}
	check := func(where site, pos diag.Pos, k key, v *ir.Value, isArg bool, seen map[key]*ir.Value) {
		if k.role == "" || v == nil {
			return
		}
		r, known := roles[k.role]
		if msg, want, hint := badRole(f, k.role, r, known, isArg); msg != "" {
			c.add(codeRole, pos, where.String(), msg, want, hint)
			return
		}
		if !r.many && seen[k] != nil {
			c.add(codeRole, pos, where.String(), fmt.Sprintf("there are two with role `%s` and path %q", k.role, k.path), "", "")
		}
		seen[k] = v
		if r.scalar && v.Type.Rank() > 0 || r.ok != nil && !r.ok(v.Type.DType) {
			c.add(codeRole, pos, where.String(), fmt.Sprintf("`%s` has type %s", k.role, v.Type), r.want, "")
		}
	}
	for i, a := range f.Args {
		check(argument(f, i), a.Pos, key{a.Role, a.Path}, a.Value, true, args)
	}
	for i, r := range f.Results {
		where := result(f, i)
		k := key{r.Role, r.Path}
		check(where, diag.Pos{}, k, r.Value, false, results)
		if f.Class != ir.Entry || r.Value == nil || r.Role != ir.RoleParam && r.Role != ir.RoleState {
			continue
		}
		switch old := args[k]; {
		case old == nil:
			c.add(codeRole, diag.Pos{}, where.String(), fmt.Sprintf("no argument has role `%s` and path %q", r.Role, r.Path), "", "")
		case !sameAxes(old.Type, r.Value.Type):
			c.add(codeRole, diag.Pos{}, where.String(), fmt.Sprintf("the new value of `%s` %q has type %s", r.Role, r.Path, r.Value.Type), old.Type.String(), "")
		}
	}
}

func badRole(f *ir.Func, name string, r role, known, isArg bool) (msg, want, hint string) {
	kind := "a result"
	if isArg {
		kind = "an argument"
	}
	switch {
	case !known || isArg && !r.arg || !isArg && !r.result:
		return "`" + name + "` is not a role of " + kind, diag.OneOf(roleNames(isArg)), diag.DidYouMean(name, roleNames(isArg))
	case f.Class == ir.Entry && r.kernel || f.Class == ir.Kernel && !r.kernel:
		return "role `" + name + "` in a function of class " + f.Class.String(), "", ""
	}
	return "", "", ""
}

func roleNames(isArg bool) []string {
	var out []string
	for n, r := range roles {
		if isArg && r.arg || !isArg && r.result {
			out = append(out, n)
		}
	}
	return out // OneOf and Nearest do not depend on the order
}

// sameAxes compares dtypes, axis names and sizes, not shardings.
func sameAxes(t, u ir.Type) bool { return t.DType == u.DType && t.SameAxes(u) }
