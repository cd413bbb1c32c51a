// Package backend is the contract of a target and the list of targets.
//
// In: a target's name as the user gives it. Out: a [Target], which generates
// code for the kernels of ir(Planned).
// Invariant: a target's resolved name alone decides its code: the same name
// and kernels give the same bytes on any machine.
// To add a backend: a package that calls [Register] in init.
// Imports ir, runtime/program.
package backend
