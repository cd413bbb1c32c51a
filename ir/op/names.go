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
	ConcatInPlace = "concat_in_place"
	Const         = "const"
	Coordinate    = "coordinate"
	Dot           = "dot"
	Enter         = "enter"
	EnterTick     = "enter_tick"
	Gather        = "gather"
	Grad          = "grad"
	Index         = "index"
	Leave         = "leave"
	LeaveTick     = "leave_tick"
	Merge         = "merge"
	Pad           = "pad"
	Random        = "random"
	ReduceMax     = "reduce_max"
	ReduceSum     = "reduce_sum"
	Rename        = "rename"
	Reshard       = "reshard"
	ScatterAdd    = "scatter_add"
	Select        = "select"
	Slice         = "slice"
	Split         = "split"
	Subview       = "subview"
	Surrogate     = "surrogate"
	Take          = "take"
	Transpose     = "transpose"
)
