// Command ptx assembles what ptc makes for GPUs with NVIDIA's assembler, and holds
// it to what its schedules claim.
//
// In come the paths of `ptxas` and `nvdisasm`, which `make ptx-check` installs into an
// environment of its own. Plans of the examples, of GPT-2 124M and of Llama 1B and 8B are compiled
// for each target, and each of their kernels is assembled. Out come, for each kernel and target, the
// registers, spilled bytes, stack, shared memory, occupancy and instructions, as JSON; and an
// error for a kernel that spills, has a stack, takes more than there is, lacks the matrix
// instructions of its class, or of which the assembler warns.
//
// Nothing is executed.
package main
