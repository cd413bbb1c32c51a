// Package offload moves what a layout says out of device memory: to the host's,
// or to a file on its disk.
//
// [Optimizer], level Local: `offload optimizer to host { piece = 4 MiB }`. States
// of the optimizer live in the other memory, and the update that reads and
// writes them is done piece by piece:
//
//	before                          after, for each range of the major axis
//	%m1 = mul %b, %m                %x = host_to_device %m from=0 limit=512
//	%m2 = add %m1, %g               %y = subview %g from=0 limit=512
//	…                               %m1 = mul %b, %x
//	result %m2 state "w/m"          %m2 = add %m1, %y
//	                                %z = device_to_host %m2 memory=host
//	                                …
//	                                %h = concat_in_place %z, …
//	                                result %h state "w/m"
//
// States of the blocks of a stack are updated in a run; pieces are cut there for one
// instance in the place of all, and all of them are of that run.
//
// [Activations], level Fused: `offload activations of Block to host`. What the
// kernels of the modules leave for the backward phase is copied to the host after its last
// reader in the forward phase, and back before its first reader in the backward phase; in
// between its place is free. In runs and tasks, one copy to the host, and one back in
// each run or task that reads it, are for all instances and microbatches:
//
//	for blocks                      for blocks down
//	  %x = enter %e                   %y = host_to_device %s
//	  …                               %d = call %g, %y
//	  %s = device_to_host %x          …
//
// In: entry functions of one device. Out: the same results, computed by the same
// operations on pieces; arguments with the attribute memory, and copies between memories
// that are not started: package overlap does that.
// Invariant: each byte of a state is copied to the device before a new one is copied back, so that the new
// state can lie where the old one does; pieces begin at multiples of 64 bytes.
// Imports internal/diag, internal/openpath, ir, ir/fusion, ir/layout, ir/op, passes/pass.
package offload
