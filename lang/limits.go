package lang

// Bounds on what a program may ask for, far beyond any that is meant, so that
// a slip such as `layers = 1e9` is an error and not an exhausted machine.
const (
	maxFiles   = 1000
	maxRepeat  = 10_000     // copies of a repeated module
	maxModules = 500_000    // instances in all
	maxParams  = 200_000    // parameters in all
	maxOps     = 1_000_000  // operations of a function
	maxSteps   = 20_000_000 // evaluated expressions
	maxDepth   = 64         // calls, or modules, inside one another
	maxSize    = 1<<31 - 1  // of an axis: positions are i32
	maxElems   = 1 << 40    // of a tensor
	maxRank    = 16         // axes of a tensor
	maxPath    = 1024       // bytes of the path of a module or parameter
	maxNames   = 64         // axes that an argument names
	maxDevices = 1 << 20    // of a mesh
	maxErrors  = 50         // reported in one go
	maxText    = 1 << 20    // bytes of a string that a program builds
)
