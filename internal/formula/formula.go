package formula

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Expr is a number, a name, or an operation on others.
type Expr struct {
	Op   string // of the tables below; empty for a number or a name
	Name string
	Num  float64 // where Op and Name are empty: finite, and not below 0
	Args []*Expr

	size, depth int
}

// Bounds of an expression, far above what anybody writes.
const (
	MaxSize  = 256 // nodes
	MaxDepth = 64
	MaxText  = 8192 // bytes
)

// binary are the operators of two operands: how tightly they bind, and what they compute.
// Comparisons give 1 or 0.
var binary = map[string]struct {
	level int
	f     func(a, b float64) float64
}{
	"==": {1, func(a, b float64) float64 { return truth(a == b) }},
	"!=": {1, func(a, b float64) float64 { return truth(a != b) }},
	"<":  {1, func(a, b float64) float64 { return truth(a < b) }},
	"<=": {1, func(a, b float64) float64 { return truth(a <= b) }},
	">":  {1, func(a, b float64) float64 { return truth(a > b) }},
	">=": {1, func(a, b float64) float64 { return truth(a >= b) }},
	"+":  {2, func(a, b float64) float64 { return a + b }},
	"-":  {2, func(a, b float64) float64 { return a - b }},
	"*":  {3, func(a, b float64) float64 { return a * b }},
	"/":  {3, func(a, b float64) float64 { return a / b }},
	"%":  {3, math.Mod},
	"**": {5, math.Pow},
}

// negLevel is how tightly the sign binds, and atom what needs no parentheses.
const (
	negLevel = 4
	atom     = 6
)

// functions are what is written name(x) or name(x, y).
var functions = map[string]any{
	"abs": math.Abs, "cos": math.Cos, "exp": math.Exp, "floor": math.Floor, "log": math.Log, "sin": math.Sin,
	"sqrt": math.Sqrt, "tanh": math.Tanh,
	Whole: func(a float64) float64 {
		if a != math.Trunc(a) {
			return math.NaN()
		}
		return a
	},
	"max": func(a, b float64) float64 { return max(a, b) },
	"min": func(a, b float64) float64 { return min(a, b) },
}

// Neg is the operation of a sign, and Whole what a whole number is itself in: of any other
// it is no number.
const (
	Neg   = "neg"
	Whole = "whole"
)

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Number is a constant; nil where it is not finite.
func Number(v float64) *Expr {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return nil
	case math.Signbit(v):
		return Apply(Neg, Number(-v))
	}
	return &Expr{Num: v, size: 1, depth: 1}
}

// Name is a named number.
func Name(name string) *Expr { return &Expr{Name: name, size: 1, depth: 1} }

// Apply is an operator, [Neg] or a function of operands; nil where there is none such, an
// operand is nil, or the expression is too large.
func Apply(op string, args ...*Expr) *Expr {
	x := &Expr{Op: op, Args: args, size: 1, depth: 1}
	if arity(op) != len(args) {
		return nil
	}
	for _, a := range args {
		if a == nil {
			return nil
		}
		x.size += a.size
		x.depth = max(x.depth, a.depth+1)
	}
	if x.size > MaxSize || x.depth > MaxDepth {
		return nil
	}
	return x
}

// arity is how many operands an operation has; 0 where there is none such.
func arity(op string) int {
	if op == Neg {
		return 1
	}
	if _, ok := binary[op]; ok {
		return 2
	}
	switch functions[op].(type) {
	case func(float64) float64:
		return 1
	case func(a, b float64) float64:
		return 2
	}
	return 0
}

// Eval computes the expression; a name without a value is NaN.
func (x *Expr) Eval(value func(name string) (float64, bool)) float64 {
	if x.Op == "" {
		if x.Name == "" {
			return x.Num
		}
		v, ok := value(x.Name)
		if !ok {
			return math.NaN()
		}
		return v
	}
	a := x.Args[0].Eval(value)
	if x.Op == Neg {
		return -a
	}
	if f, ok := functions[x.Op].(func(float64) float64); ok {
		return f(a)
	}
	b := x.Args[1].Eval(value)
	if f, ok := functions[x.Op].(func(a, b float64) float64); ok {
		return f(a, b)
	}
	return binary[x.Op].f(a, b)
}

// Names are the names in an expression, sorted.
func (x *Expr) Names() []string {
	var out []string
	var visit func(*Expr)
	visit = func(x *Expr) {
		if x.Name != "" {
			out = append(out, x.Name)
		}
		for _, a := range x.Args {
			visit(a)
		}
	}
	visit(x)
	slices.Sort(out)
	return slices.Compact(out)
}

// String is the expression as the language writes it, with the parentheses that it needs.
func (x *Expr) String() string {
	var b strings.Builder
	x.write(&b)
	return b.String()
}

func (x *Expr) level() int {
	switch op, ok := binary[x.Op]; {
	case ok:
		return op.level
	case x.Op == Neg:
		return negLevel
	}
	return atom
}

func (x *Expr) write(b *strings.Builder) {
	part := func(a *Expr, least int) {
		if a.level() < least {
			b.WriteByte('(')
			defer b.WriteByte(')')
		}
		a.write(b)
	}
	switch op, ok := binary[x.Op]; {
	case ok:
		left, right := op.level, op.level+1
		if x.Op == "**" || op.level == 1 { // neither side is one without parentheses
			left = op.level + 1
		}
		part(x.Args[0], left)
		b.WriteString(" " + x.Op + " ")
		part(x.Args[1], right)
	case x.Op == Neg:
		b.WriteByte('-')
		part(x.Args[0], negLevel+1)
	case x.Op != "":
		b.WriteString(x.Op + "(")
		for i, a := range x.Args {
			if i > 0 {
				b.WriteString(", ")
			}
			a.write(b)
		}
		b.WriteByte(')')
	case x.Name != "":
		b.WriteString(x.Name)
	default:
		form := byte('g')
		if x.Num == math.Trunc(x.Num) && x.Num <= 1<<53 {
			form = 'f'
		}
		b.WriteString(strconv.FormatFloat(x.Num, form, -1, 64))
	}
}
