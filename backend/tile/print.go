package tile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// String is p as the text that [Parse] reads. Tiles are numbered in order of
// appearance, so that the text does not depend on how p was built.
func (p *Program) String() string {
	w := &printer{names: map[*Value]string{}}
	w.line("tile @%s", p.Name)
	w.indent++
	if s := p.Schedule.String(); s != "" {
		w.line("schedule %s", s)
	}
	for _, b := range p.Buffers {
		w.line("%s", b)
	}
	for _, v := range p.Views {
		w.line("%s", v)
	}
	for _, ph := range p.Phases {
		var grid []string
		for _, r := range ph.Grid {
			grid = append(grid, r.String())
		}
		w.line("%s", strings.TrimSuffix("phase "+strings.Join(grid, ", "), " "))
		w.block(ph.Body)
		w.line("end")
	}
	w.indent--
	w.line("end")
	return w.Builder.String()
}

// String is the declaration of b.
func (b *Buffer) String() string {
	s := fmt.Sprintf("%s : %s[%d]", b.Name, b.DType, b.Len)
	if b.Use == Work {
		return "work " + s
	}
	var over []string
	for _, a := range b.Over {
		over = append(over, a.Name)
	}
	if len(over) > 0 {
		return "arg " + s + " " + b.Use.String() + " over " + strings.Join(over, ", ")
	}
	return "arg " + s + " " + b.Use.String()
}

// String is the declaration of v: each axis with its size and its stride.
func (v *View) String() string {
	var axes []string
	for _, a := range v.Axes {
		pad := ""
		if a.Pad > 0 {
			pad = fmt.Sprintf("+%d", a.Pad)
		}
		axes = append(axes, fmt.Sprintf("%s=%d%s:%d", a.Name, a.Size, pad, a.Stride))
	}
	at := ""
	if v.Offset != 0 {
		at = fmt.Sprintf(" + %d", v.Offset)
	}
	return fmt.Sprintf("view %s : %s%s [%s]", v.Name, v.Buffer.Name, at, strings.Join(axes, ", "))
}

// String is the range as phases and loops introduce it.
func (r *Range) String() string {
	s := fmt.Sprintf("%s in %s=%d by %d", r.Name, r.Axis, r.Extent, r.Size)
	if r.Reversed {
		s += " reversed"
	}
	return s
}

type printer struct {
	strings.Builder
	names  map[*Value]string
	indent int
}

func (w *printer) line(format string, args ...any) {
	w.WriteString(strings.Repeat("  ", w.indent))
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

func (w *printer) block(b *Block) {
	w.indent++
	for _, o := range b.Ops {
		w.op(o)
	}
	if len(b.Yield) > 0 {
		w.line("yield %s", w.use(b.Yield))
	}
	w.indent--
}

// name is what v is called, from its first appearance on.
func (w *printer) name(v *Value) string {
	if w.names[v] == "" {
		w.names[v] = "%" + strconv.Itoa(len(w.names))
	}
	return w.names[v]
}

func (w *printer) use(vs []*Value) string {
	var s []string
	for _, v := range vs {
		s = append(s, w.name(v))
	}
	return strings.Join(s, ", ")
}

// define is the results of o with their types, before what makes them.
func (w *printer) define(o *Op) string {
	var s []string
	for _, v := range o.Results {
		s = append(s, w.name(v)+" : "+v.Type.String())
	}
	if len(s) == 0 {
		return ""
	}
	return strings.Join(s, ", ") + " = "
}

func (w *printer) op(o *Op) {
	switch o.Kind {
	case For:
		w.loop(o)
		return
	case If:
		args := w.use(o.Args)
		w.line("%sif %s", w.define(o), args)
		w.block(o.Then)
		if len(o.Else.Ops) > 0 || len(o.Else.Yield) > 0 {
			w.line("else")
			w.block(o.Else)
		}
		w.line("end")
		return
	}
	words := []string{string(o.Kind)}
	if s := w.subject(o); s != "" {
		words = append(words, s)
	}
	if len(o.Over) > 0 {
		words = append(words, "over "+rangeNames(o.Over))
	}
	switch {
	case o.Kind == Dot && len(o.Args) > 2:
		words = append(words, "init "+w.name(o.Args[2]))
	case o.Kind == Repeat:
		words = append(words, "over "+o.Range.Name)
	case o.Kind == Random:
		dist := "uniform"
		if o.Normal {
			dist = "normal"
		}
		words = append(words, dist, "at "+w.affine(o.At[0]))
	}
	text := strings.Join(words, " ")
	w.line("%s%s", w.define(o), text)
}

// subject is what o works on.
func (w *printer) subject(o *Op) string {
	switch o.Kind {
	case Load, Copy:
		return w.place(o)
	case Store, Scatter:
		return w.place(o) + ", " + w.use(o.Args)
	case Const:
		return number(o.Const)
	case Index, First, Last:
		return o.Range.Name
	case Dot:
		return w.use(o.Args[:min(2, len(o.Args))])
	}
	return w.use(o.Args)
}

func (w *printer) place(o *Op) string {
	var at []string
	for _, x := range o.At {
		at = append(at, w.affine(x))
	}
	return o.View.Name + "[" + strings.Join(at, ", ") + "]"
}

// affine is x as a sum: 2*i - %3 + 4.
func (w *printer) affine(x Affine) string {
	var s strings.Builder
	add := func(n int64, name string) {
		sign := ""
		if s.Len() > 0 {
			sign = " + "
			if n < 0 && n != math.MinInt64 {
				sign, n = " - ", -n
			}
		}
		s.WriteString(sign)
		switch {
		case name == "":
			s.WriteString(strconv.FormatInt(n, 10))
		case n == 1:
			s.WriteString(name)
		default:
			s.WriteString(strconv.FormatInt(n, 10) + "*" + name)
		}
	}
	for _, t := range x.Terms {
		if t.Range != nil {
			add(t.Coef, t.Range.Name)
		} else {
			add(t.Coef, w.name(t.Value))
		}
	}
	if x.Const != 0 || len(x.Terms) == 0 {
		add(x.Const, "")
	}
	return s.String()
}

func (w *printer) loop(o *Op) {
	l := o.Loop
	s := "loop " + o.Range.String()
	if l.From != nil {
		s += " from " + w.name(l.From)
	}
	if l.To != nil {
		s += " to " + w.name(l.To)
	}
	if l.Stages > 1 {
		s += fmt.Sprintf(" stages %d", l.Stages)
	}
	first := make([]string, len(o.Args))
	for i, a := range o.Args {
		first[i] = w.name(a)
	}
	define := w.define(o)
	var carry []string
	for i, c := range l.Carry {
		carry = append(carry, fmt.Sprintf("%s : %s = %s", w.name(c), c.Type, first[i]))
	}
	if len(carry) > 0 {
		s += " carry " + strings.Join(carry, ", ")
	}
	w.line("%s%s", define, s)
	w.block(l.Body)
	w.line("end")
}

func rangeNames(rs []*Range) string {
	var s []string
	for _, r := range rs {
		s = append(s, r.Name)
	}
	return strings.Join(s, ", ")
}

// number prints what parses back to the same number.
func number(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	case math.IsNaN(x):
		return "nan"
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
