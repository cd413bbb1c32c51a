// Package offload moves what a layout says out of device memory: to the host's,
// or to a file on its disk.
//
// [Optimizer], level Local: `offload optimizer to host { piece = 4 MiB }`. States
// of the optimizer live in the other memory, and the update that reads and
// writes them is done piece by piece:
//
//	before                          after, for each range of the major axis
//	%m1 = mul %b, %m                %x = fetch %m from=0 limit=512
//	%m2 = add %m1, %g               %y = part %g from=0 limit=512
//	…                               %m1 = mul %b, %x
//	result %m2 state "w/m"          %m2 = add %m1, %y
//	                                %z = store %m2 memory=host
//	                                …
//	                                %h = hold %z, …
//	                                result %h state "w/m"
//
// States of the blocks of a stack are updated in a run; pieces are cut there for one
// instance in the place of all, and all of them are of that run.
//
// [Activations], level Fused: `offload activations of Block to host`. What the
// kernels of the modules leave for the backward phase is stored behind its last
// reader in the forward phase and fetched before its first one in the backward
// phase; in between its place is free. In runs and tasks, one store and one fetch in
// each run or task that reads it are for all instances and microbatches:
//
//	for blocks                      for blocks down
//	  %x = enter %e                   %y = fetch %s
//	  …                               %d = call %g, %y
//	  %s = store %x memory=host       …
//
// In: entry functions of one device. Out: the same results, computed by the same
// operations on pieces; arguments with the attribute memory, and fetches and
// stores that are not started: package overlap does that.
// Invariant: each byte of a state is fetched before it is stored, so that the new
// state can lie where the old one does; pieces begin at multiples of 64 bytes.
// Imports internal/diag, internal/openpath, ir, ir/fusion, ir/layout, ir/op, passes/pass.
package offload
