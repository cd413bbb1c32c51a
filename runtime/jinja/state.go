package jinja

import (
	"strings"
	"time"
)

// state is of one rendering.
type state struct {
	steps int
	calls int
	out   *strings.Builder // where output goes now
	top   *strings.Builder // what is rendered
	spans [][2]int
	vars  *scope
	now   time.Time // the zero time: strftime_now is an error
}

// step counts a node.
func (s *state) step(line int) {
	if s.steps++; s.steps > maxSteps {
		fail(line, "the template takes more than %d steps", maxSteps)
	}
}

// pay counts a text of n bytes that is made.
func (s *state) pay(n, line int) {
	if n > maxText {
		fail(line, "a text has more than %d bytes", maxText)
	}
	s.steps += n / 16
	s.step(line)
}

// payItems counts a list of n elements that is made.
func (s *state) payItems(n, line int) {
	if n > maxItems {
		fail(line, "a list has more than %d elements", maxItems)
	}
	s.steps += n
	s.step(line)
}

// write adds to the output.
func (s *state) write(text string, line int) {
	s.pay(len(text), line)
	if s.out.Len()+len(text) > maxText {
		fail(line, "the rendered text has more than %d bytes", maxText)
	}
	s.out.WriteString(text)
}

// capture gives what a block writes, and keeps it out of the output.
func (s *state) capture(do func()) string {
	old := s.out
	s.out = &strings.Builder{}
	do()
	text := s.out.String()
	s.out = old
	return text
}

// enter counts calls within each other; the result ends one.
func (s *state) enter(line int) func() {
	if s.calls++; s.calls > maxCalls {
		fail(line, "more than %d calls are within each other", maxCalls)
	}
	return func() { s.calls-- }
}

// scope has variables; those around it are seen, and not assigned to.
type scope struct {
	vars   map[string]Value
	parent *scope
}

func (c *scope) get(name string) (Value, bool) {
	for ; c != nil; c = c.parent {
		if v, ok := c.vars[name]; ok {
			return v, true
		}
	}
	return nil, false
}

func (c *scope) set(name string, v Value) {
	if c.vars == nil {
		c.vars = map[string]Value{}
	}
	c.vars[name] = v
}

// within executes with variables of its own.
func (s *state) within(parent *scope, do func()) {
	old := s.vars
	s.vars = &scope{parent: parent}
	do()
	s.vars = old
}

// flow says how a statement ended.
type flow int

const (
	onward flow = iota
	stopped
	continued
)

type statement interface{ exec(s *state) flow }

func (b block) exec(s *state) flow {
	for _, x := range b {
		if f := x.exec(s); f != onward {
			return f
		}
	}
	return onward
}

// Template is a parsed template.
type Template struct {
	body          block
	marked, dated bool
}

// Parse reads a template. The error is an *Error.
func Parse(src string) (t *Template, err error) {
	defer catch(&err)
	if len(src) > maxSource {
		fail(0, "the template has more than %d bytes", maxSource)
	}
	t = &Template{}
	t.body, t.marked, t.dated = parse(src)
	return t, nil
}

// Dated is whether the template may ask for the date of today.
func (t *Template) Dated() bool { return t.dated }

// Marked is whether the template has {% generation %}.
func (t *Template) Marked() bool { return t.marked }

// Rendered is what a template makes.
type Rendered struct {
	Text string
	// Generated are the ranges of bytes that {% generation %} encloses, ascending.
	Generated [][2]int
}

// Render fills in variables. strftime_now takes the time now, and is an error where
// that is the zero time. The error is an *Error.
func (t *Template) Render(vars map[string]Value, now time.Time) (r Rendered, err error) {
	defer catch(&err)
	s := &state{top: &strings.Builder{}, now: now}
	s.out, s.vars = s.top, &scope{vars: globals}
	s.vars = &scope{parent: s.vars}
	for k, v := range vars {
		s.vars.set(k, v)
	}
	s.vars = &scope{parent: s.vars}
	t.body.exec(s)
	return Rendered{s.top.String(), s.spans}, nil
}
