package value

import (
	"math"
	"slices"
	"strconv"

	"ptc/internal/diag"
	"ptc/internal/formula"
	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// Value is what an expression evaluates to. Only [Tensor] exists when the
// program runs; all the others are known at compile time.
type Value interface {
	// what names the kind of value, with its article, for messages.
	What() string
}

type (
	// Number is a compile-time number. name is the config entry that it comes
	// from, which is also the name of an axis of that size.
	Number struct {
		V     float64
		Whole bool
		Name  string
	}
	// Traced is a number of which a plan is told another value when it runs: what it is
	// while the program is compiled, and how it is computed of such entries of the config.
	Traced struct {
		Number
		X *formula.Expr
	}
	Text  string
	Truth bool
	// Word is a name that is bound to nothing: the name of an axis, or a
	// plain word such as `bytes`. at is where it stands, for an error if it is
	// used as anything else.
	Word struct {
		Name string
		At   syntax.Node
	}
	Tuple  []Value
	Tensor struct{ V *ir.Value }
	// Function is a declared function with the instance it belongs to.
	Function struct {
		Decl *syntax.Fn
		File *source.File
		Inst *Instance
	}
	// ModuleRef is a module, model or optimizer that is not instantiated yet.
	ModuleRef struct {
		Decl *syntax.Module
		File *source.File
	}
	// OptimizerRef is an optimizer with its arguments, not yet evaluated.
	OptimizerRef struct {
		ModuleRef
		Args []*syntax.Arg
		At   *syntax.Call
	}
	Namespace struct{ File *source.File }
	DType     ir.DType
	// Shape is a type as a value: i32[batch, seq].
	Shape struct{ ir.Type }
	// Instances is a repeated module.
	Instances []*Instance
	// Unknown is the value of what went wrong; it silences what follows.
	Unknown struct{}
)

func (n Number) What() string    { return "the number " + FormatNumber(n) }
func (t Text) What() string      { return "the string " + strconv.Quote(Clip(string(t))) }
func (t Truth) What() string     { return strconv.FormatBool(bool(t)) }
func (w Word) What() string      { return "the name `" + w.Name + "`" }
func (Tuple) What() string       { return "a tuple" }
func (t Tensor) What() string    { return "a tensor " + t.V.Type.String() }
func (f Function) What() string  { return "the function `" + f.Decl.Name.Name + "`" }
func (m ModuleRef) What() string { return "the " + m.Decl.Kind + " `" + m.Decl.Name.Name + "`" }
func (n Namespace) What() string { return "the import `" + n.File.Name + "`" }
func (d DType) What() string     { return "the dtype " + ir.DType(d).String() }
func (s Shape) What() string     { return "the type " + s.Type.String() }
func (i Instances) What() string { return "a repeated module of " + strconv.Itoa(len(i)) }
func (Unknown) What() string     { return "an unknown value" }
func (i *Instance) What() string { return "the " + i.Decl.Kind + " `" + i.Decl.Name.Name + "`" }
func (d *Data) What() string     { return "a source of data" }

// Whole makes an integer.
func Whole(n int) Number { return Number{V: float64(n), Whole: true} }

// Int is the number as an int, if it is a whole number that fits.
func (n Number) Int() (int, bool) {
	if n.V != math.Trunc(n.V) || math.Abs(n.V) > 1<<53 {
		return 0, false
	}
	return int(n.V), true
}

// NumberOf is a number, or what a traced one is while the program is compiled.
func NumberOf(v Value) (Number, bool) {
	switch v := v.(type) {
	case Number:
		return v, true
	case Traced:
		return v.Number, true
	}
	return Number{}, false
}

func FormatNumber(n Number) string {
	if i, ok := n.Int(); ok && n.Whole {
		return strconv.Itoa(i)
	}
	return ir.Float(n.V).String()
}

func IsUnknown(vs ...Value) bool {
	return slices.ContainsFunc(vs, func(v Value) bool {
		_, bad := v.(Unknown)
		return bad
	})
}

// Param is a trained parameter, or an optimizer's state.
type Param struct {
	Path string
	Type ir.Type
	Init ir.Term
	Pos  diag.Pos
	Node syntax.Node
	Bad  bool // something of it was a mistake
	// Decay is whether its declaration says that it decays, or does not; nil
	// where it says nothing.
	Decay *bool
	// Absent is the condition of a parameter that there is not, since it is
	// false.
	Absent syntax.Expr
	// Like is the parameter that it is like, of an instance that is omitted.
	Like *Param
	// Adapter is what is added to the parameter where it is read; nil for none. Adapts
	// is the parameter that this one adapts, as a part of its adapter.
	Adapter *Adapter
	Adapts  *Param
}

// Adapter is a low-rank addition to a parameter: Scale · Down · Up. Products that
// contract Over do so with Down first.
type Adapter struct {
	Down, Up *Param
	Over     []string
	Scale    float64
}

// ParamRef is a parameter as a value; reading it gives its tensor.
type ParamRef struct{ *Param }

func (p ParamRef) What() string { return "the parameter `" + p.Path + "`" }

func (o OptimizerRef) What() string { return "the optimizer `" + o.Decl.Name.Name + "`" }

// Instance is a module with its arguments, parameters and sub-modules.
type Instance struct {
	Decl *syntax.Module
	file *source.File
	Path string // of the instance in the model; empty for the model itself
	Args map[string]Value
	// Params are the parameters; Subs the sub-modules, each an *Instance or
	// Instances; Lets the constants.
	Params map[string]*Param
	Subs   map[string]Value
	Lets   map[string]Value
}

// Member is a name inside the module.
func (i *Instance) Member(name string) (Value, bool) {
	if v, ok := i.Args[name]; ok {
		return v, true
	}
	if p, ok := i.Params[name]; ok {
		return ParamRef{p}, true
	}
	if v, ok := i.Subs[name]; ok {
		return v, true
	}
	if v, ok := i.Lets[name]; ok {
		return v, true
	}
	if d := i.Decl.Fn(name); d != nil {
		return Function{Decl: d, File: i.file, Inst: i}, true
	}
	return nil, false
}

// Names lists the members, sorted.
func (i *Instance) Names() []string {
	var out []string
	for id := range i.Decl.Declared() {
		out = append(out, id.Name)
	}
	slices.Sort(out)
	return out
}

func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func NewInstance(m ModuleRef, path string) *Instance {
	return &Instance{Decl: m.Decl, file: m.File, Path: path, Args: map[string]Value{},
		Params: map[string]*Param{}, Subs: map[string]Value{}, Lets: map[string]Value{}}
}
