package ir

import (
	"slices"
	"strconv"
	"strings"

	"ptc/internal/diag"
	"ptc/internal/renamed"
)

// body reads what stands inside of a function.
type body struct {
	*scanner
	f    *Func
	run  *Run // the open run, or nil
	task *Task
	// values of f; nil for one whose defining line is bad, so that its
	// readers are not reported as well.
	values  map[int]*Value
	ordinal int // how far: 0 arguments, 1 operations, 2 results
	calls   []call
}

// funcLine is: func @step class=entry.
func (p *parser) funcLine() {
	f := &Func{}
	p.open = &body{scanner: p.scanner, f: f, values: map[int]*Value{}}
	p.space()
	at := p.at
	p.expect('@')
	name := p.ident("the name of a function")
	f.Attrs = take(f, p.attrs(), funcFacts)
	p.endLine()
	if p.bad {
		return
	}
	if first, ok := p.funcs[name]; ok {
		p.failAt(at, codeDuplicate, "function @"+clip(name)+" is defined twice", "", "")
		p.note("first defined here", first)
	}
	p.funcs[name] = p.num
	f.Name = name
	p.m.Funcs = append(p.m.Funcs, f)
}

// statements are by their first word; others are operations.
var statements = map[string]func(p *body){"stack": (*body).stackLine, "task": (*body).taskLine, "ticks": (*body).ticksLine,
	"do": (*body).doLine, "for": (*body).forLine, "arg": (*body).argLine, "result": (*body).resultLine}

// statement reads a line, of which word is the first word, if any, and not yet consumed. It
// reports whether the line ends the function.
func (p *body) statement(word string) (ends bool) {
	name := renamed.Current(word)
	switch name {
	case "stack", "task", "ticks", "end":
	case "arg":
		p.order(0, "arguments come before operations and results")
	case "result":
		p.order(2, "")
	default:
		p.order(1, "operations come before results")
	}
	read := statements[name]
	if read == nil && name != "end" {
		p.opLine(word)
		return false
	}
	if p.at += len(word); read != nil {
		read(p)
		return false
	}
	return p.end()
}

// end is: end, end for or end do. It reports whether the function ends.
func (p *body) end() bool {
	if p.space(); !p.bad && strings.HasPrefix(p.line[p.at:], "for") {
		p.endFor()
		return false
	}
	if !p.bad && strings.HasPrefix(p.line[p.at:], "do") {
		p.endDo()
		return false
	}
	p.endLine()
	if p.run != nil {
		p.bad = false
		p.fail(codeSyntax, "`for "+p.run.Stack.Name+"` is not closed", "a line `end for`")
	}
	if p.task != nil {
		p.bad = false
		p.fail(codeSyntax, "`do "+p.task.Name+"` is not closed", "a line `end do`")
	}
	return true
}

// order holds arguments, operations and results apart.
func (p *body) order(section int, msg string) {
	if section < p.ordinal {
		p.fail(codeSyntax, msg, "")
	}
	p.ordinal = max(p.ordinal, section)
}

// argLine is: arg %0 : f32[embed=384] param "wte" init=zeros() // gpt.ptl:3:1.
func (p *body) argLine() {
	start := p.at
	v := p.def()
	a := &Arg{Value: v}
	a.Role, a.Path = p.role()
	a.Attrs = take(a, p.attrs(), argFacts)
	_, a.Pos = p.origin()
	if p.bad {
		p.poison(start)
		return
	}
	p.f.Args = append(p.f.Args, a)
}

// opLine is: %13 : f32[], %14 : f32[] = call %1, %2 fn=@k3 // scope f:1:2.
func (p *body) opLine(word string) {
	start := p.at
	o := &Op{}
	o.Run, o.Task = p.run, p.task
	if word == "_" {
		p.at++
	} else if p.at < len(p.line) && p.line[p.at] != '%' {
		p.fail(codeSyntax, "unexpected "+p.found(), "`arg`, `result`, `end` or an operation such as %3 : f32[] = add %1, %2")
	} else {
		for !p.bad {
			v := p.def()
			if p.bad {
				break
			}
			v.Def = o
			o.Results = append(o.Results, v)
			if !p.accept(',') {
				break
			}
		}
	}
	p.expect('=')
	o.Name = renamed.Current(p.ident("the name of an operation"))
	p.space()
	if !p.bad && p.at < len(p.line) && p.line[p.at] == '%' {
		o.Args = make([]*Value, 0, 2)
		for !p.bad {
			o.Args = append(o.Args, p.use(o))
			if !p.accept(',') {
				break
			}
		}
	}
	p.space()
	at := p.at
	o.Attrs = p.callee(o, at, take(o, p.attrs(), opFacts))
	o.Scope, o.Pos = p.origin()
	if p.bad {
		p.poison(start)
		return
	}
	p.f.Ops = append(p.f.Ops, o)
}

// callee takes fn=@name and fn_first=@name from the attributes; the functions may be
// further down.
func (p *body) callee(o *Op, at int, as Attrs) Attrs {
	pos := diag.Pos{File: p.file, Line: p.num, Col: at + 1}
	return slices.DeleteFunc(as, func(a Attr) bool {
		name, ok := a.Val.(Sym)
		if !ok || a.Key != "fn" && a.Key != "fn_first" {
			return false
		}
		c := call{&o.Callee, string(name), pos}
		if a.Key != "fn" {
			c.to = &o.First
		}
		p.calls = append(p.calls, c)
		return true
	})
}

// call is a call of a function by its name.
type call struct {
	to   **Func
	name string
	pos  diag.Pos
}

// link finds the functions that are called, in a text without mistakes.
func (p *parser) link() {
	if len(p.errs) > 0 {
		return
	}
	funcs := make(map[string]*Func, len(p.m.Funcs))
	var names []string
	for _, f := range p.m.Funcs {
		funcs[f.Name] = f
		names = append(names, f.Name)
	}
	for _, c := range p.calls {
		*c.to = funcs[c.name]
		if *c.to == nil && len(p.errs) < maxErrors {
			p.report(&diag.Error{Code: codeUndefined, Pos: c.pos, Msg: "unknown function @" + clip(c.name), Hint: diag.DidYouMean(c.name, names)})
		}
	}
}

// resultLine is: result %12 param "wte".
func (p *body) resultLine() {
	r := Result{Value: p.use(nil)}
	r.Role, r.Path = p.role()
	r.Attrs = p.attrs()
	p.endLine()
	if !p.bad {
		p.f.Results = append(p.f.Results, r)
	}
}

// def is: %12 : f32[batch=8].
func (p *body) def() *Value {
	p.space()
	at := p.at
	v := &Value{ID: p.id()}
	p.expect(':')
	v.Type = p.typ()
	if v.Each, v.Micro = p.each(); p.bad {
		return v
	}
	if _, ok := p.values[v.ID]; ok {
		p.failAt(at, codeRedefined, "value %"+strconv.Itoa(v.ID)+" is defined twice in @"+p.f.Name, "a fresh number", "")
		return v
	}
	p.values[v.ID] = v
	p.f.Adopt(v.ID)
	return v
}

// use is a value that is defined above, and not on the line of o itself.
func (p *body) use(o *Op) *Value {
	p.space()
	at := p.at
	n := p.id()
	if p.bad {
		return nil
	}
	v, ok := p.values[n]
	if !ok || v != nil && o != nil && v.Def == o {
		p.failAt(at, codeUndefined, "value %"+strconv.Itoa(n)+" is not defined above", "a value of @"+p.f.Name+" from a line before", "")
	}
	return v
}

// poison remembers what a bad line meant to define.
func (p *body) poison(start int) {
	left, _, _ := strings.Cut(p.line[start:], " = ")
	for {
		_, after, ok := strings.Cut(left, "%")
		if !ok {
			return
		}
		n := 0
		for n < len(after) && n < 10 && isDigit(after[n]) {
			n++
		}
		if id, err := strconv.Atoi(after[:n]); err == nil {
			p.values[id] = nil
		}
		left = after
	}
}

// role is a role and a quoted path; both may be missing. A word before = is
// not a role but the first attribute.
func (p *scanner) role() (role, path string) {
	p.space()
	at := p.at
	if startsIdent(p.line[p.at:]) {
		role = p.ident("a role")
		p.space()
		if p.at < len(p.line) && p.line[p.at] == '=' {
			p.at = at
			return "", ""
		}
	}
	p.space()
	if !p.bad && p.at < len(p.line) && p.line[p.at] == '"' {
		path = p.quoted()
	}
	return role, path
}

// origin ends the line, with the comment that carries scope and position if
// it has their form.
func (p *scanner) origin() (scope string, pos diag.Pos) {
	p.space()
	if p.bad || p.at == len(p.line) {
		return "", diag.Pos{}
	}
	text, ok := strings.CutPrefix(p.line[p.at:], "//")
	if !ok {
		p.endLine()
		return "", diag.Pos{}
	}
	first, text, ok1 := commentWord(text)
	second, text, ok2 := commentWord(text)
	if !ok1 || !ok2 || strings.TrimLeft(text, " \t") != "" {
		return "", diag.Pos{} // an ordinary comment
	}
	if pos, ok := first.pos(); ok && second.text == "" {
		return "", pos
	}
	if second.text == "" && !second.quoted {
		if first.tail == "" && (first.quoted || !strings.Contains(first.text, ":")) {
			return first.text, diag.Pos{}
		}
		return "", diag.Pos{}
	}
	if pos, ok := second.pos(); ok && first.tail == "" {
		return first.text, pos
	}
	return "", diag.Pos{}
}

// comment is one word of a comment: bare, or quoted with what follows it.
type comment struct {
	text   string
	quoted bool
	tail   string // after the closing quote
}

func commentWord(s string) (w comment, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t")
	if s != "" && s[0] == '"' {
		q, err := strconv.QuotedPrefix(s)
		if err != nil {
			return w, s, false
		}
		if w.text, err = strconv.Unquote(q); err != nil {
			return w, s, false
		}
		w.quoted = true
		s = s[len(q):]
	}
	end := strings.IndexAny(s, " \t")
	if end < 0 {
		end = len(s)
	}
	if w.quoted {
		w.tail = s[:end]
	} else {
		w.text = s[:end]
	}
	return w, s[end:], true
}

// pos is the word as file:line:col.
func (w comment) pos() (diag.Pos, bool) {
	s := w.text
	if w.quoted {
		s = w.tail
	}
	j := strings.LastIndexByte(s, ':')
	if j <= 0 {
		return diag.Pos{}, false
	}
	i := strings.LastIndexByte(s[:j], ':')
	if i < 0 || w.quoted && i > 0 || !w.quoted && i == 0 {
		return diag.Pos{}, false
	}
	line, err1 := strconv.ParseUint(s[i+1:j], 10, 31)
	col, err2 := strconv.ParseUint(s[j+1:], 10, 31)
	if err1 != nil || err2 != nil || line == 0 {
		return diag.Pos{}, false
	}
	file := s[:i]
	if w.quoted {
		file = w.text
	}
	return diag.Pos{File: file, Line: int(line), Col: int(col)}, true
}
