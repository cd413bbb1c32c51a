package kernel

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// String is k as readable text. Values are numbered in order of appearance, so
// the text does not depend on how k was built.
func (k *Kernel) String() string {
	p := &printer{names: map[*Value]string{}}
	p.line("kernel %s tasks=%d scratch=%d {", k.Name, k.Tasks, k.ScratchBytes())
	p.indent++
	for _, b := range k.Buffers {
		p.line("%s", p.buffer(b))
	}
	if len(k.Sections) > 0 {
		p.sections(k)
	} else {
		p.names[k.Task] = "task"
		if x := k.Batch; x != nil {
			p.names[x.End] = "end"
			p.line("batch tasks=%d of %d rows=%d of %d", x.Most, x.Row, x.MostRows, x.Rows)
		}
		p.block(k.Body)
	}
	p.indent--
	p.line("}")
	return p.Builder.String()
}

// sections lists what each section works on, and then the kernels.
func (p *printer) sections(k *Kernel) {
	for _, s := range k.Sections {
		p.line("section %s from=%d args=%v", s.Name, s.First, s.Args)
	}
	for _, b := range k.Bodies() {
		for line := range strings.Lines(b.String()) {
			p.line("%s", strings.TrimSuffix(line, "\n"))
		}
	}
}

type printer struct {
	strings.Builder
	names  map[*Value]string
	values int
	loops  int
	indent int
}

func (p *printer) line(format string, args ...any) {
	p.WriteString(strings.Repeat("  ", p.indent))
	fmt.Fprintf(p, format, args...)
	p.WriteByte('\n')
}

func (p *printer) buffer(b *Buffer) string {
	s := fmt.Sprintf("%s : %s %s[%d]", b.Name, b.Space, b.Elem, b.Len)
	switch {
	case b.Space != Global:
		return s + fmt.Sprintf(" offset %d", b.Offset)
	case !b.Distinct:
		return s + " " + b.Use.String() + " aliased"
	}
	return s + " " + b.Use.String()
}

func (p *printer) block(b *Block) {
	for _, s := range b.Stmts {
		p.stmt(s)
	}
}

// define names a value; loop variables are i0, i1, … and the others %0, %1, ….
func (p *printer) define(v *Value) string {
	p.names[v] = "%" + strconv.Itoa(p.values)
	p.values++
	return p.names[v]
}

func (p *printer) use(vs []*Value) string {
	var s []string
	for _, v := range vs {
		s = append(s, p.names[v])
	}
	return strings.Join(s, ", ")
}

func (p *printer) stmt(s *Stmt) {
	switch s.Op {
	case OpFor:
		p.loop(s)
		return
	case OpIf:
		p.branch(s)
		return
	}
	words := []string{s.name()}
	if len(s.Args) > 0 {
		words = append(words, p.use(s.Args))
	}
	switch s.Op {
	case OpConst:
		words = append(words, constant(s.Result().Type.Elem, s.Bits))
	case OpToValue, OpTailMask:
		words = append(words, p.index(s.Index))
	case OpExtract, OpShuffle:
		words = append(words, fmt.Sprint(s.Lanes))
	case OpRound:
		words = append(words, "to "+s.Elem.String())
	case OpStore:
		words = append(words, "to "+p.ref(s.Ref))
	case OpLoad, OpPrefetch:
		words = append(words, p.ref(s.Ref))
	case OpTileZero, OpTileDot:
		words = append(words, fmt.Sprint(s.Lanes))
	case OpTileLoad, OpTileStream, OpTileStore:
		words = append(words, fmt.Sprint(s.Lanes), p.ref(s.Ref))
	}
	text := strings.Join(words, " ")
	if len(s.Results) == 1 {
		r := s.Result()
		text = fmt.Sprintf("%s : %s = %s", p.define(r), r.Type, text)
	}
	p.line("%s", text)
}

func (p *printer) ref(r Ref) string {
	s := r.Buf.Name + "[" + p.index(r.Index) + "]"
	switch {
	case r.Gather != nil:
		s += fmt.Sprintf(" gather %s", p.names[r.Gather])
		if r.Stride != 1 {
			s += fmt.Sprintf(" stride %d", r.Stride)
		}
	case r.Stride == 0:
		s += " broadcast"
	case r.Stride != 1:
		s += fmt.Sprintf(" stride %d", r.Stride)
	}
	if r.Mask != nil {
		s += " mask " + p.names[r.Mask]
	}
	return s
}

func (p *printer) index(x Index) string {
	var parts []string
	for _, t := range x.Terms {
		name := p.names[t.Var]
		if t.Coef != 1 {
			name = fmt.Sprintf("%d*%s", t.Coef, name)
		}
		parts = append(parts, name)
	}
	if x.Const != 0 || len(parts) == 0 {
		parts = append(parts, strconv.FormatInt(x.Const, 10))
	}
	return strings.ReplaceAll(strings.Join(parts, " + "), "+ -", "- ")
}

func (p *printer) loop(s *Stmt) {
	l := s.Loop
	args := p.use(s.Args)
	lo, hi := p.index(l.Lo), p.index(l.Hi)
	p.names[l.Var] = "i" + strconv.Itoa(p.loops)
	p.loops++
	head := fmt.Sprintf("for %s = %s to %s", p.names[l.Var], lo, hi)
	if l.Step != 1 {
		head += fmt.Sprintf(" step %d", l.Step)
	}
	switch {
	case l.Unroll == UnrollFull:
		head += " unroll full"
	case l.Unroll != 0:
		head += fmt.Sprintf(" unroll %d", l.Unroll)
	}
	if len(l.Carry) > 0 {
		var carry []string
		for _, c := range l.Carry {
			carry = append(carry, fmt.Sprintf("%s : %s", p.define(c), c.Type))
		}
		head += fmt.Sprintf(" carry %s = %s", strings.Join(carry, ", "), args)
	}
	p.line("%s {", head)
	p.body(l.Body)
	p.end(s)
}

func (p *printer) branch(s *Stmt) {
	p.line("if %s {", p.use(s.Args))
	p.body(s.Then)
	if len(s.Else.Stmts) > 0 || len(s.Else.Yield) > 0 {
		p.line("} else {")
		p.body(s.Else)
	}
	p.end(s)
}

func (p *printer) body(b *Block) {
	p.indent++
	p.block(b)
	if len(b.Yield) > 0 {
		p.line("yield %s", p.use(b.Yield))
	}
	p.indent--
}

// end closes a region and names its results after the brace.
func (p *printer) end(s *Stmt) {
	var names []string
	for _, r := range s.Results {
		names = append(names, p.define(r))
	}
	if len(names) == 0 {
		p.line("}")
		return
	}
	p.line("} -> %s", strings.Join(names, ", "))
}

// constant prints bits such that different bits print differently.
func constant(e Elem, bits uint64) string {
	var f float64
	switch e {
	case F32:
		f = float64(math.Float32frombits(uint32(bits)))
	case F64:
		f = math.Float64frombits(bits)
	default:
		return strconv.FormatInt(e.Signed(bits), 10)
	}
	if math.IsNaN(f) {
		return fmt.Sprintf("nan(%#x)", bits)
	}
	size := 64
	if e == F32 {
		size = 32
	}
	return strconv.FormatFloat(f, 'g', -1, size)
}
