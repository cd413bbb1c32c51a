package source

// Bounds on what a program may ask for, far beyond any that is meant, so that
// a slip such as `layers = 1e9` is an error and not an exhausted machine.
const (
	maxFiles   = 1000
	MaxRepeat  = 10_000     // copies of a repeated module
	MaxModules = 500_000    // instances in all
	MaxParams  = 200_000    // parameters in all
	MaxOps     = 1_000_000  // operations of a function
	MaxSteps   = 20_000_000 // evaluated expressions
	MaxDepth   = 64         // calls, or modules, inside one another
	MaxSize    = 1<<31 - 1  // of an axis: positions are i32
	MaxElems   = 1 << 52    // of a tensor, as in the IR; what one device has is bounded by its memory
	MaxRank    = 16         // axes of a tensor
	MaxPath    = 1024       // bytes of the path of a module or parameter
	MaxNames   = 64         // axes that an argument names
	MaxDevices = 1 << 24    // of a mesh
	maxErrors  = 50         // reported in one go
	MaxText    = 1 << 20    // bytes of a string that a program builds
)
