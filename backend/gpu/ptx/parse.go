package ptx

import (
	"fmt"
	"strconv"
	"strings"
)

// limits of text that is read.
const (
	maxText      = 64 << 20
	maxRegisters = 1 << 20
)

// Parse reads what String writes. The error names the line.
func Parse(text string) (*Module, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("ptx: %d bytes; at most %d are read", len(text), maxText)
	}
	p := &parser{lines: strings.Split(text, "\n"), m: &Module{}}
	for p.next() {
		if err := p.top(); err != nil {
			return nil, fmt.Errorf("ptx: line %d: %w", p.at, err)
		}
	}
	return p.m, nil
}

type parser struct {
	lines []string
	at    int // lines read
	line  string
	m     *Module
	e     *Entry // whose body is read
	ext   string // the dynamic array declared last
}

// next goes on to the next line that is not empty.
func (p *parser) next() bool {
	for p.at < len(p.lines) {
		p.line = strings.TrimSpace(p.lines[p.at])
		p.at++
		if i := strings.Index(p.line, "//"); i >= 0 {
			p.line = strings.TrimSpace(p.line[:i])
		}
		if p.line != "" {
			return true
		}
	}
	return false
}

func (p *parser) top() error {
	word, rest, _ := strings.Cut(p.line, " ")
	switch word {
	case ".version":
		p.m.Version = rest
	case ".target":
		p.m.Target = rest
	case ".address_size":
		if rest != "64" {
			return fmt.Errorf("address size %s; expected 64", rest)
		}
	case ".extern":
		name, ok := strings.CutPrefix(rest, ".shared .align 1024 .b8 ")
		name, ok2 := strings.CutSuffix(name, "[];")
		if !ok || !ok2 {
			return fmt.Errorf("found `%s`; expected an array of shared memory", p.line)
		}
		p.ext = name
	case ".visible":
		return p.entry(rest)
	default:
		return fmt.Errorf("found `%s` outside of an entry", p.line)
	}
	return nil
}

func (p *parser) entry(rest string) error {
	name, ok := strings.CutPrefix(rest, ".entry ")
	name, ok2 := strings.CutSuffix(name, "(")
	p.e = &Entry{Name: name}
	if !ok {
		return fmt.Errorf("found `%s`; expected an entry", p.line)
	}
	if !ok2 {
		if p.e.Name, ok = strings.CutSuffix(name, "()"); !ok {
			return fmt.Errorf("found `%s`; expected parameters", p.line)
		}
	} else if err := p.params(); err != nil {
		return err
	}
	p.e.Dynamic = p.ext != "" && p.ext == p.e.Name+"_"+DynamicName
	for p.next() && p.line != "{" {
		if err := p.directive(); err != nil {
			return err
		}
	}
	for p.next() {
		if p.line == "}" {
			p.m.Entries = append(p.m.Entries, p.e)
			return nil
		}
		if err := p.stmt(); err != nil {
			return err
		}
	}
	return fmt.Errorf("the body of %s has no end", p.e.Name)
}

func (p *parser) params() error {
	for p.next() {
		line, last := strings.CutSuffix(p.line, ")")
		line = strings.TrimSuffix(line, ",")
		var x Param
		if name, ok := strings.CutPrefix(line, ".param .u64 "); ok {
			x.Name = name
		} else if n, err := fmt.Sscanf(strings.NewReplacer("[", " ", "]", "").Replace(line), ".param .align %d .b8 %s %d", &x.Align, &x.Name, &x.Bytes); n != 3 || x.Bytes < 1 || x.Bytes > 4096 || x.Align < 1 {
			return fmt.Errorf("found `%s`; expected a parameter (%v)", p.line, err)
		}
		p.e.Params = append(p.e.Params, x)
		if last {
			return nil
		}
	}
	return fmt.Errorf("the parameters of %s have no end", p.e.Name)
}

func (p *parser) directive() error {
	if p.line == ".explicitcluster" {
		return nil // printed where there are clusters
	}
	word, rest, _ := strings.Cut(p.line, " ")
	first, _, _ := strings.Cut(rest, ",")
	n, err := strconv.Atoi(first)
	if err != nil || n < 1 {
		return fmt.Errorf("found `%s`; expected a directive and a number", p.line)
	}
	switch word {
	case ".reqntid":
		p.e.Threads = n
	case ".minnctapersm":
		p.e.Blocks = n
	case ".reqnctapercluster":
		p.e.Cluster = n
	default:
		return fmt.Errorf("directive %s is not known", word)
	}
	return nil
}

func (p *parser) stmt() error {
	if label, ok := strings.CutSuffix(p.line, ":"); ok {
		p.e.Body = append(p.e.Body, Stmt{Label: label})
		return nil
	}
	line, ok := strings.CutSuffix(p.line, ";")
	if !ok {
		return fmt.Errorf("found `%s`; expected `;` at its end", p.line)
	}
	switch {
	case strings.HasPrefix(line, ".reg "):
		return nil // counted again
	case strings.HasPrefix(line, ".shared "):
		var x Shared
		if n, _ := fmt.Sscanf(strings.NewReplacer("[", " ", "]", "").Replace(line), ".shared .align %d .b8 %s %d", &x.Align, &x.Name, &x.Bytes); n != 3 || x.Bytes < 1 || x.Align < 1 {
			return fmt.Errorf("found `%s`; expected an array of shared memory", p.line)
		}
		p.e.Static = append(p.e.Static, x)
		return nil
	}
	var s Stmt
	if guard, ok := strings.CutPrefix(line, "@"); ok {
		word, rest, _ := strings.Cut(guard, " ")
		word, s.Not = strings.CutPrefix(word, "!")
		if s.Guard, ok = register(word); !ok || s.Guard.Class != Pred {
			return fmt.Errorf("found guard %s; expected a predicate", word)
		}
		line = rest
	}
	op, rest, _ := strings.Cut(line, " ")
	s.Op = op
	args, err := p.operands(rest)
	if err != nil {
		return err
	}
	s.Args = args
	p.e.Body = append(p.e.Body, s)
	return nil
}

// operands reads a list, in which braces and brackets hold lists of their own.
func (p *parser) operands(text string) ([]Operand, error) {
	var out []Operand
	for _, word := range split(text) {
		o, err := p.operand(word)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// split cuts text at commas that are in no brackets.
func split(text string) []string {
	var out []string
	depth, from := 0, 0
	for i, c := range text {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(text[from:i]))
				from = i + 1
			}
		}
	}
	if last := strings.TrimSpace(text[from:]); last != "" {
		out = append(out, last)
	}
	return out
}

func (p *parser) operand(word string) (Operand, error) {
	if inner, ok := between(word, "{", "}"); ok {
		vec, err := p.operands(inner)
		return Operand{Kind: IsVec, Vec: vec}, err
	}
	if inner, ok := between(word, "[", "]"); ok {
		return p.memory(inner)
	}
	if first, second, ok := strings.Cut(word, "|"); ok {
		return p.pair(first, second)
	}
	if bits, ok := strings.CutPrefix(word, "0f"); ok {
		n, err := strconv.ParseUint(bits, 16, 32)
		return Operand{Kind: IsF32, Imm: int64(n)}, err
	}
	if bits, ok := strings.CutPrefix(word, "0d"); ok {
		n, err := strconv.ParseUint(bits, 16, 64)
		return Operand{Kind: IsF64, Imm: int64(n)}, err
	}
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return Imm(n), nil
	}
	kind := IsReg
	if rest, ok := strings.CutPrefix(word, "!"); ok {
		word, kind = rest, IsNot
	}
	if r, ok := register(word); ok {
		return Operand{Kind: kind, Reg: r}, nil
	}
	if word == "" || kind == IsNot {
		return Operand{}, fmt.Errorf("found `%s`; expected an operand", word)
	}
	return p.symbol(word), nil
}

// pair reads a|b, of which neither is a pair or in brackets.
func (p *parser) pair(first, second string) (Operand, error) {
	if strings.ContainsAny(first+second, "|{}[]") {
		return Operand{}, fmt.Errorf("found `%s|%s`; expected two operands", first, second)
	}
	a, err := p.operand(first)
	if err != nil {
		return a, err
	}
	b, err := p.operand(second)
	return Pair(a, b), err
}

func (p *parser) symbol(word string) Operand {
	if word == p.e.Name+"_"+DynamicName {
		word = DynamicName
	}
	return Sym(word)
}

func (p *parser) memory(inner string) (Operand, error) {
	if parts := split(inner); len(parts) == 2 {
		base, err := p.operand(parts[0])
		if err != nil {
			return base, err
		}
		at, err := p.operand(parts[1])
		if err == nil && (base.Kind != IsReg && base.Kind != IsSymbol || at.Kind != IsVec) {
			err = fmt.Errorf("found `[%s]`; expected a tensor map and a position", inner)
		}
		base.Kind, base.Vec = IsTensor, at.Vec
		return base, err
	}
	name, offset, _ := strings.Cut(inner, "+")
	base, err := p.operand(name)
	if err == nil && offset != "" {
		base.Imm, err = strconv.ParseInt(offset, 10, 64)
	}
	if err == nil && base.Kind != IsReg && base.Kind != IsSymbol {
		err = fmt.Errorf("found `[%s]`; expected a register or a symbol, and an offset", inner)
	}
	base.Kind = IsMem
	return base, err
}

func between(word, open, end string) (string, bool) {
	word, ok := strings.CutPrefix(word, open)
	if !ok {
		return word, false
	}
	return strings.CutSuffix(word, end)
}

func register(word string) (Reg, bool) {
	for c := Pred; c <= B64; c++ {
		if n, ok := strings.CutPrefix(word, classNames[c].prefix); ok {
			i, err := strconv.Atoi(n)
			if err == nil && i >= 0 && i < maxRegisters {
				return Reg{c, i}, true
			}
		}
	}
	return Reg{}, false
}
