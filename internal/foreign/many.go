package foreign

// mostCalled is how many arguments [Call] passes.
const mostCalled = 15

// manyRegisters is how many of the arguments are in registers, where assembly of ours calls.
const manyRegisters = 6

// manyCall is a call of a C function with any number of arguments. The assembly of an architecture reads
// it.
type manyCall struct {
	fn        uintptr
	registers [manyRegisters]uintptr
	words     uintptr // on the stack, an even number
	stack     uintptr // where they are
}
