package ptx

import (
	"fmt"
	"strconv"
	"strings"
)

// String is m as text.
func (m *Module) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".version %s\n.target %s\n.address_size 64\n", m.Version, m.Target)
	for _, e := range m.Entries {
		b.WriteByte('\n')
		e.print(&b)
	}
	return b.String()
}

func (e *Entry) print(b *strings.Builder) {
	if e.Dynamic {
		// Each entry has its own, so that entries can be in files of their own.
		fmt.Fprintf(b, ".extern .shared .align 1024 .b8 %s_%s[];\n", e.Name, DynamicName)
	}
	fmt.Fprintf(b, ".visible .entry %s(", e.Name)
	for i, p := range e.Params {
		if i > 0 {
			b.WriteByte(',')
		}
		if p.Bytes == 0 {
			fmt.Fprintf(b, "\n  .param .u64 %s", p.Name)
		} else {
			fmt.Fprintf(b, "\n  .param .align %d .b8 %s[%d]", p.Align, p.Name, p.Bytes)
		}
	}
	b.WriteString(")\n")
	if e.Threads > 0 {
		fmt.Fprintf(b, ".reqntid %d, 1, 1\n", e.Threads)
	}
	if e.Blocks > 0 {
		fmt.Fprintf(b, ".minnctapersm %d\n", e.Blocks)
	}
	if e.Cluster > 1 {
		// Both, as NVIDIA's compiler has for kernels whose size of clusters is their own, so that launches need not say it.
		fmt.Fprintf(b, ".explicitcluster\n.reqnctapercluster %d, 1, 1\n", e.Cluster)
	}
	b.WriteString("{\n")
	for c, n := range e.Registers() {
		if n > 0 {
			fmt.Fprintf(b, "  .reg %s %s<%d>;\n", classNames[c].decl, classNames[c].prefix, n)
		}
	}
	for _, s := range e.Static {
		fmt.Fprintf(b, "  .shared .align %d .b8 %s[%d];\n", s.Align, s.Name, s.Bytes)
	}
	for i := range e.Body {
		e.Body[i].print(b, e)
	}
	b.WriteString("}\n")
}

// Registers is how many registers of each class e has.
func (e *Entry) Registers() []int {
	n := make([]int, B64+1)
	see := func(r Reg) {
		if r.Class != NoReg {
			n[r.Class] = max(n[r.Class], r.N+1)
		}
	}
	for i := range e.Body {
		see(e.Body[i].Guard)
		for _, a := range e.Body[i].Args {
			a.registers(see)
		}
	}
	return n
}

func (o Operand) registers(see func(Reg)) {
	see(o.Reg)
	for _, v := range o.Vec {
		v.registers(see)
	}
}

func (s *Stmt) print(b *strings.Builder, e *Entry) {
	if s.Label != "" {
		fmt.Fprintf(b, "%s:\n", s.Label)
		return
	}
	b.WriteString("  ")
	if s.Guard.Class != NoReg {
		b.WriteByte('@')
		if s.Not {
			b.WriteByte('!')
		}
		b.WriteString(s.Guard.String())
		b.WriteByte(' ')
	}
	b.WriteString(s.Op)
	for i, a := range s.Args {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte(' ')
		b.WriteString(a.text(e))
	}
	b.WriteString(";\n")
}

func (r Reg) String() string { return classNames[r.Class].prefix + strconv.Itoa(r.N) }

func (o Operand) text(e *Entry) string {
	switch o.Kind {
	case IsReg:
		return o.Reg.String()
	case IsNot:
		return "!" + o.Reg.String()
	case IsImm:
		return strconv.FormatInt(int64(o.Imm), 10)
	case IsF32:
		return fmt.Sprintf("0f%08X", uint32(o.Imm))
	case IsF64:
		return fmt.Sprintf("0d%016X", uint64(o.Imm))
	case IsSymbol:
		return e.symbol(o.Symbol)
	case IsVec:
		return "{" + e.list(o.Vec) + "}"
	case IsPair:
		return o.Vec[0].text(e) + "|" + o.Vec[1].text(e)
	case IsTensor:
		return "[" + e.base(o) + ", {" + e.list(o.Vec) + "}]"
	}
	if o.Imm == 0 {
		return "[" + e.base(o) + "]"
	}
	return fmt.Sprintf("[%s+%d]", e.base(o), o.Imm)
}

func (e *Entry) list(xs []Operand) string {
	words := make([]string, len(xs))
	for i, x := range xs {
		words[i] = x.text(e)
	}
	return strings.Join(words, ", ")
}

func (e *Entry) base(o Operand) string {
	if o.Symbol != "" {
		return e.symbol(o.Symbol)
	}
	return o.Reg.String()
}

func (e *Entry) symbol(s string) string {
	if s == DynamicName {
		return e.Name + "_" + s
	}
	return s
}

// String is s as it is printed, without its end.
func (s *Stmt) String() string {
	var b strings.Builder
	s.print(&b, &Entry{})
	return strings.TrimSuffix(strings.TrimSpace(b.String()), ";")
}
