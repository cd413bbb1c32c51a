package op

// The names of the operations that are not elementwise; unary.go and binary.go have the others, and
// package collective its kinds. Code that emits an operation, or has a rule about it alone, names it by
// these. Code that asks what an operation is like asks its row (see [Traits] and [Class]).
const (
	Accumulate    = "accumulate"
	AccumulateMax = "accumulate_max"
	Broadcast     = "broadcast"
	Call          = "call"
	Cast          = "cast"
	Concat        = "concat"
	Const         = "const"
	Coordinate    = "coordinate"
	Dot           = "dot"
	Enter         = "enter"
	EnterTurn     = "enter_turn"
	Gather        = "gather"
	Grad          = "grad"
	Hold          = "hold"
	Index         = "index"
	Leave         = "leave"
	LeaveTurn     = "leave_turn"
	Merge         = "merge"
	Pad           = "pad"
	Part          = "part"
	Random        = "random"
	ReduceMax     = "reduce_max"
	ReduceSum     = "reduce_sum"
	Rename        = "rename"
	Reshard       = "reshard"
	ScatterAdd    = "scatter_add"
	Select        = "select"
	Slice         = "slice"
	Split         = "split"
	Surrogate     = "surrogate"
	Take          = "take"
	Transpose     = "transpose"
)
