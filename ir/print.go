package ir

import (
	"strconv"
	"strings"

	"ptc/internal/diag"
)

// textVersion is the number in the first line of the text.
const textVersion = 1

// Print is the text of the module, one line for each argument, operation and
// result:
//
//	ptir 1 global "GPT"
//	mesh dp=2, tp=2
//	meta config(batch=8, embed=384)
//
//	func @step class=entry
//	  arg %0 : f32[vocab=256, embed=384] param "wte" init=zeros() // gpt.ptl:31:3
//	  %12 : f32[batch=8, ffn=1536] = dot %10, %3 over=(embed) // blocks.3.mlp gpt.ptl:24:7
//	  %13 : f32[], %14 : f32[] = call %1, %2 fn=@k3
//	  result %13 loss
//	end
//
// An operation without results is written with _ in their place. The comment
// at the end of a line carries the scope and the source position, either of
// which may be missing; [Parse] reads them back.
func Print(m *Module) string {
	p := &printer{b: make([]byte, 0, 256+100*countOps(m))}
	p.module(m)
	return string(p.b)
}

// PrintFunc is the text of one function, from func to end.
func PrintFunc(f *Func) string {
	p := &printer{}
	p.function(f)
	return string(p.b)
}

func countOps(m *Module) int {
	n := 0
	for _, f := range m.Funcs {
		n += len(f.Args) + len(f.Ops) + len(f.Results)
	}
	return n
}

type printer struct{ b []byte }

func (p *printer) str(s string) { p.b = append(p.b, s...) }

func (p *printer) quote(s string) { p.b = strconv.AppendQuote(p.b, s) }

func (p *printer) int(n int) { p.b = strconv.AppendInt(p.b, int64(n), 10) }

func (p *printer) module(m *Module) {
	p.str("ptir ")
	p.int(textVersion)
	p.str(" ")
	p.str(m.Level.String())
	p.str(" ")
	p.quote(m.Name)
	p.str("\n")
	for i, a := range m.Mesh {
		if i == 0 {
			p.str("mesh ")
		} else {
			p.str(", ")
		}
		p.str(a.Name)
		p.str("=")
		p.int(a.Size)
	}
	if len(m.Mesh) > 0 {
		p.str("\n")
	}
	for _, t := range m.Meta {
		p.str("meta ")
		p.str(t.String())
		p.str("\n")
	}
	for _, f := range m.Funcs {
		p.str("\n")
		p.function(f)
	}
}

func (p *printer) function(f *Func) {
	p.str("func @")
	p.str(f.Name)
	p.attrs(written(f, f.Attrs, funcFacts))
	p.str("\n")
	for _, s := range f.Stacks {
		p.str("  stack " + s.Name + " count=")
		p.int(s.Count)
		p.str("\n")
	}
	p.tasks(f)
	for _, a := range f.Args {
		p.str("  arg ")
		p.def(a.Value)
		p.role(a.Role, a.Path)
		p.attrs(written(a, a.Attrs, argFacts))
		p.origin("", a.Pos)
		p.str("\n")
	}
	var run *Run
	var task *Task
	for _, o := range f.Ops {
		if o.Run != run || o.Task != task {
			p.run(run, nil)
			run = nil
		}
		p.task(task, o.Task)
		p.run(run, o.Run)
		run, task = o.Run, o.Task
		p.op(o)
	}
	p.run(run, nil)
	p.task(task, nil)
	for _, r := range f.Results {
		p.str("  result ")
		p.value(r.Value)
		p.role(r.Role, r.Path)
		p.attrs(r.Attrs)
		p.str("\n")
	}
	p.str("end\n")
}

// tasks writes the tasks of a function and their ticks, so many in a line.
func (p *printer) tasks(f *Func) {
	const inLine = 16
	for _, t := range f.Tasks {
		p.str("  task " + t.Name)
		if t.Once {
			p.str(" once")
		}
		p.str("\n")
	}
	for i, t := range f.Ticks {
		if i%inLine == 0 {
			p.str("  ticks")
		}
		p.str(" " + t.Name)
		if !t.Once {
			p.str(":")
			p.int(t.Micro)
		}
		if i%inLine == inLine-1 || i == len(f.Ticks)-1 {
			p.str("\n")
		}
	}
}

// task closes a task and opens another.
func (p *printer) task(from, to *Task) {
	if from == to {
		return
	}
	if from != nil {
		p.str("  end do\n")
	}
	if to != nil {
		p.str("  do " + to.Name + "\n")
	}
}

// run closes a run and opens another.
func (p *printer) run(from, to *Run) {
	if from == to {
		return
	}
	if from != nil {
		p.str("  end for\n")
	}
	if to != nil {
		p.str("  for " + to.Stack.Name)
		if to.Down {
			p.str(" down")
		}
		p.str("\n")
	}
}

func (p *printer) op(o *Op) {
	p.str("  ")
	if o.Run != nil {
		p.str("  ")
	}
	if len(o.Results) == 0 {
		p.str("_")
	}
	for i, r := range o.Results {
		if i > 0 {
			p.str(", ")
		}
		p.def(r)
	}
	p.str(" = ")
	p.str(o.Name)
	for i, a := range o.Args {
		if i > 0 {
			p.str(",")
		}
		p.str(" ")
		p.value(a)
	}
	p.attrs(written(o, o.Attrs, opFacts))
	p.origin(o.Scope, o.Pos)
	p.str("\n")
}

// value writes %ID; a missing value, which only a broken pass leaves behind,
// is written so that the dump can still be read.
func (p *printer) value(v *Value) {
	if v == nil {
		p.str("%?")
		return
	}
	p.str("%")
	p.int(v.ID)
}

func (p *printer) def(v *Value) {
	p.value(v)
	p.str(" : ")
	if v == nil {
		return
	}
	p.str(v.Type.String())
	if v.Each != nil {
		p.str(" each " + v.Each.Name)
	} else if v.Micro {
		p.str(" each " + microbatch)
	}
}

// microbatch is in the place of a stack's name.
const microbatch = "microbatch"

func (p *printer) role(role, path string) {
	if role != "" {
		p.str(" ")
		p.str(role)
	}
	if path != "" {
		p.str(" ")
		p.quote(path)
	}
}

func (p *printer) attrs(as Attrs) {
	for _, a := range as {
		p.str(" ")
		p.str(a.Key)
		p.str("=")
		p.str(a.Val.String())
	}
}

// origin writes the comment "// scope file:line:col". What would not read
// back as one word is quoted.
func (p *printer) origin(scope string, pos diag.Pos) {
	if scope == "" && !pos.IsValid() {
		return
	}
	p.str(" //")
	if scope != "" {
		p.str(" ")
		if plain(scope) && !strings.Contains(scope, ":") {
			p.str(scope)
		} else {
			p.quote(scope)
		}
	}
	if pos.IsValid() {
		p.str(" ")
		if pos.File != "" && plain(pos.File) {
			p.str(pos.File)
		} else {
			p.quote(pos.File)
		}
		p.str(":")
		p.int(pos.Line)
		p.str(":")
		p.int(max(pos.Col, 0))
	}
}

// plain reports whether s is printable ASCII without blanks and quotes.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] >= 0x7f || s[i] == '"' {
			return false
		}
	}
	return true
}
