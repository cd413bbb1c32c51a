package ptx

// Module is a file of PTX.
type Module struct {
	Version string // of the language: "8.3"
	Target  string // "sm_80", "sm_90a"
	Entries []*Entry
}

// Entry is a kernel.
type Entry struct {
	Name    string
	Params  []Param
	Threads int // of a block, exactly
	Blocks  int // of a multiprocessor at least, so that registers suffice; 0 leaves it open
	Cluster int // blocks of a cluster along x; 0 for none
	Static  []Shared
	Dynamic bool // whether shared memory is extended at launch: the symbol "dynamic"
	Body    []Stmt
}

// DynamicName is the symbol of the shared memory that a launch gives.
const DynamicName = "dynamic"

// Param is an argument of a kernel: a number of 64 bits, or bytes.
type Param struct {
	Name  string
	Bytes int // 0: a number of 64 bits
	Align int // of bytes
}

// Shared is an array in the memory that the threads of a block share.
type Shared struct {
	Name         string
	Bytes, Align int
}

// Stmt is an instruction, or a label where Label is not empty.
type Stmt struct {
	Label string
	Guard Reg  // the predicate under which it is executed; none if it is zero
	Not   bool // if the guard does not hold
	Op    string
	Args  []Operand
}

// Class is the size of a register.
type Class uint8

// The classes of registers.
const (
	NoReg Class = iota
	Pred        // %p
	B16         // %h
	B32         // %r
	B64         // %d
)

var classNames = [...]struct{ prefix, decl string }{Pred: {"%p", ".pred"}, B16: {"%h", ".b16"}, B32: {"%r", ".b32"}, B64: {"%d", ".b64"}}

// Bits is the size of c; 1 of a predicate.
func (c Class) Bits() int { return [...]int{0, 1, 16, 32, 64}[c] }

// Reg is a virtual register.
type Reg struct {
	Class Class
	N     int
}

// Kind is what an operand is.
type Kind uint8

// The kinds of operands.
const (
	IsReg    Kind = iota
	IsImm         // an integer, or the bits of an f32 (IsF32) or f64 (IsF64)
	IsF32         // printed as 0f and eight hexadecimal digits
	IsF64         // printed as 0d and sixteen
	IsSymbol      // a label, parameter, array or special register, as %tid.x
	IsMem         // [base + offset], the base being a register or a symbol
	IsVec         // {a, b, …}
	IsTensor      // [map, {x, y}]: a tensor map and a position, of bulk copies
	IsNot         // !%p
	IsPair        // a|b: a result, and a predicate with it
)

// Operand is an operand of an instruction.
type Operand struct {
	Kind   Kind
	Reg    Reg
	Imm    int64 // also the offset of IsMem
	Symbol string
	Vec    []Operand
}

// R, Imm, F32, Sym, At, AtSym, Vec and Pair make operands.
func R(r Reg) Operand                      { return Operand{Kind: IsReg, Reg: r} }
func Imm(n int64) Operand                  { return Operand{Kind: IsImm, Imm: n} }
func Sym(s string) Operand                 { return Operand{Kind: IsSymbol, Symbol: s} }
func At(r Reg, offset int64) Operand       { return Operand{Kind: IsMem, Reg: r, Imm: offset} }
func AtSym(s string, offset int64) Operand { return Operand{Kind: IsMem, Symbol: s, Imm: offset} }
func Vec(xs ...Operand) Operand            { return Operand{Kind: IsVec, Vec: xs} }
func Pair(a, b Operand) Operand            { return Operand{Kind: IsPair, Vec: []Operand{a, b}} }
