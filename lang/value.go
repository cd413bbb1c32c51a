package lang

import (
	"math"
	"strconv"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
)

// value is what an expression evaluates to. Only [tensor] exists when the
// program runs; all the others are known at compile time.
type value interface {
	// what names the kind of value, with its article, for messages.
	what() string
}

type (
	// number is a compile-time number. name is the config entry that it comes
	// from, which is also the name of an axis of that size.
	number struct {
		v     float64
		whole bool
		name  string
	}
	text  string
	truth bool
	// word is a name that is bound to nothing: the name of an axis, or a
	// plain word such as `bytes`. at is where it stands, for an error if it is
	// used as anything else.
	word struct {
		name string
		at   syntax.Node
	}
	tuple  []value
	tensor struct{ v *ir.Value }
	// function is a declared function with the instance it belongs to.
	function struct {
		decl *syntax.Fn
		file *file
		inst *instance
	}
	// moduleRef is a module, model or optimizer that is not instantiated yet.
	moduleRef struct {
		decl *syntax.Module
		file *file
	}
	// optimizerRef is an optimizer with its arguments, not yet evaluated.
	optimizerRef struct {
		moduleRef
		args []*syntax.Arg
		at   *syntax.Call
	}
	namespace struct{ file *file }
	dtype     ir.DType
	// shape is a type as a value: i32[batch, seq].
	shape struct{ ir.Type }
	// instances is a repeated module.
	instances []*instance
	// unknown is the value of what went wrong; it silences what follows.
	unknown struct{}
)

func (n number) what() string      { return "the number " + formatNumber(n) }
func (t text) what() string        { return "the string " + strconv.Quote(clip(string(t))) }
func (t truth) what() string       { return strconv.FormatBool(bool(t)) }
func (w word) what() string        { return "the name `" + w.name + "`" }
func (tuple) what() string         { return "a tuple" }
func (t tensor) what() string      { return "a tensor " + t.v.Type.String() }
func (f function) what() string    { return "the function `" + f.decl.Name.Name + "`" }
func (m moduleRef) what() string   { return "the " + m.decl.Kind + " `" + m.decl.Name.Name + "`" }
func (n namespace) what() string   { return "the import `" + n.file.name + "`" }
func (d dtype) what() string       { return "the dtype " + ir.DType(d).String() }
func (s shape) what() string       { return "the type " + s.Type.String() }
func (i instances) what() string   { return "a repeated module of " + strconv.Itoa(len(i)) }
func (unknown) what() string       { return "an unknown value" }
func (i *instance) what() string   { return "the " + i.decl.Kind + " `" + i.decl.Name.Name + "`" }
func (d *dataSource) what() string { return "a source of data" }

// whole makes an integer.
func whole(n int) number { return number{v: float64(n), whole: true} }

// int is the number as an int, if it is a whole number that fits.
func (n number) int() (int, bool) {
	if n.v != math.Trunc(n.v) || math.Abs(n.v) > 1<<53 {
		return 0, false
	}
	return int(n.v), true
}

func formatNumber(n number) string {
	if i, ok := n.int(); ok && n.whole {
		return strconv.Itoa(i)
	}
	return ir.Float(n.v).String()
}

func isUnknown(vs ...value) bool {
	for _, v := range vs {
		if _, bad := v.(unknown); bad {
			return true
		}
	}
	return false
}

// param is a trained parameter, or an optimizer's state.
type param struct {
	path string
	typ  ir.Type
	init ir.Term
	pos  diag.Pos
	node syntax.Node
	bad  bool // something of it was a mistake
	// decay is whether its declaration says that it decays, or does not; nil
	// where it says nothing.
	decay *bool
	// absent is the condition of a parameter that there is not, since it is
	// false.
	absent syntax.Expr
}

// paramRef is a parameter as a value; reading it gives its tensor.
type paramRef struct{ *param }

func (p paramRef) what() string { return "the parameter `" + p.path + "`" }

func (o optimizerRef) what() string { return "the optimizer `" + o.decl.Name.Name + "`" }
