package ir

import (
	"fmt"
	"strconv"

	"ptc/internal/diag"
)

// Limits of the text. What exceeds them is a mistake in the text, not a large
// model: they keep arithmetic on sizes free of overflow and parsing linear.
const (
	MaxText    = 64 << 20  // bytes of a module's text
	MaxRank    = 64        // axes of a type, names or sizes of one list of axes
	MaxElems   = 1 << 52   // elements of a tensor: exact in float64, and ×8 bytes fits int64
	MaxDevices = 1 << 24   // devices of a mesh
	MaxID      = 1<<31 - 1 // a value's number
	MaxCount   = 1 << 20   // instances of a stack
	MaxNesting = 32        // terms inside terms
	maxErrors  = 50        // diagnostics of one parse
)

// Codes of the diagnostics of [Parse].
const (
	codeHeader    = "E0301" // not IR text, an unknown version or level, too large
	codeSyntax    = "E0302" // something else was expected here
	codeLiteral   = "E0303" // a number or string that is not one
	codeDType     = "E0304" // unknown dtype
	codeSize      = "E0305" // a size below 1 or beyond the limits
	codeDuplicate = "E0306" // a name given twice
	codeUndefined = "E0307" // a value read before its definition, or a function that there is not
	codeRedefined = "E0308" // a value defined twice
	codeNesting   = "E0309" // terms nested too deeply
)

// Parse reads the text that [Print] writes. Blank lines and lines that start
// with // are skipped. The source is not trusted: it is bounded by [MaxText],
// and any text gives either a module or diagnostics (codes E0301 to E0309)
// with positions in file. A bad line does not hide mistakes in later ones.
//
// Parse knows the structure of the text alone: whether operations and types
// mean something is for ir/verify to say. A module is nil if there are
// diagnostics.
func Parse(file string, src []byte) (*Module, diag.List) {
	p := &parser{scanner: &scanner{file: file}, m: &Module{}, funcs: map[string]int{}}
	if len(src) > MaxText {
		p.report(&diag.Error{Code: codeHeader, Pos: diag.Pos{File: file, Line: 1, Col: 1},
			Msg: fmt.Sprintf("IR text of %d bytes is too large", len(src)), Want: fmt.Sprintf("at most %d bytes", MaxText)})
		return nil, p.errs
	}
	p.rest = string(src)
	p.module()
	p.link()
	if len(p.errs) > 0 {
		return nil, p.errs.Sort()
	}
	return p.m, nil
}

// parser reads what stands outside of functions.
type parser struct {
	*scanner
	m     *Module
	funcs map[string]int // line of each function
	calls []call
	open  *body // the function that is being read, or nil
}

func (p *parser) module() {
	if !p.next() {
		p.num, p.line, p.at, p.bad = 1, "", 0, false
		p.fail(codeHeader, "the IR text is empty", "a first line such as ptir 1 global \"Name\"")
		return
	}
	p.header()
	if p.bad {
		return
	}
	for p.next() {
		at := p.at
		word := p.word()
		switch {
		case word == "func":
			if p.open != nil {
				p.at = at
				p.fail(codeSyntax, "function @"+p.open.f.Name+" is not closed before the next", "a line `end`")
				p.bad = false
				p.at += len(word)
			}
			p.funcLine()
		case p.open != nil:
			p.at = at
			if p.open.statement(word) {
				p.calls = append(p.calls, p.open.calls...)
				p.open = nil
			}
		case word == "mesh":
			p.meshLine()
		case word == "meta":
			p.metaLine()
		default:
			p.at = at
			p.fail(codeSyntax, "unexpected "+p.found()+" outside a function", "`mesh`, `meta` or `func`")
		}
	}
	if p.open != nil && len(p.errs) < maxErrors {
		p.bad = false
		p.fail(codeSyntax, "function @"+p.open.f.Name+" is not closed", "a line `end`")
	}
}

// header is: ptir 1 global "Name".
func (p *parser) header() {
	if p.word() != "ptir" {
		p.at = 0
		p.fail(codeHeader, "this is not IR text", "a first line such as ptir 1 global \"Name\"")
		return
	}
	p.space()
	at := p.at
	if v := p.word(); v != strconv.Itoa(textVersion) {
		p.failAt(at, codeHeader, "unknown version `"+v+"` of the IR text", "`"+strconv.Itoa(textVersion)+"`",
			"the ptc that wrote it reads it; or compile the source again with --dump-ir")
		return
	}
	p.space()
	at = p.at
	name := p.word()
	level, ok := ParseLevel(name)
	if !ok {
		p.failAt(at, codeHeader, "unknown level `"+name+"`", diag.OneOf(levelNames[:]), diag.DidYouMean(name, levelNames[:]))
		return
	}
	p.m.Level = level
	p.m.Name = p.quoted()
	p.endLine()
}

// meshLine is: mesh dp=2, tp=2.
func (p *parser) meshLine() {
	for !p.bad {
		p.space()
		at := p.at
		name := p.ident("the name of a mesh axis")
		if p.m.MeshSize(name) > 0 {
			p.failAt(at, codeDuplicate, "mesh axis `"+name+"` is given twice", "", "")
		}
		p.expect('=')
		p.space()
		at = p.at
		n := p.size()
		if !p.bad && (len(p.m.Mesh) == MaxRank || n > MaxDevices/p.m.Devices()) {
			p.failAt(at, codeSize, "the mesh is too large", fmt.Sprintf("at most %d devices", MaxDevices), "")
		}
		if p.bad {
			return
		}
		p.m.Mesh = append(p.m.Mesh, MeshAxis{Name: name, Size: n})
		if !p.accept(',') {
			break
		}
	}
	p.endLine()
}

func (p *parser) metaLine() {
	t := p.term(0)
	p.endLine()
	if !p.bad {
		p.m.Meta = append(p.m.Meta, t)
	}
}
