// Package machine reads descriptions of machines: devices, hosts, and the levels of links between them.
//
// In: the text of a .ptm file, or the name of a machine that comes with ptc, and the sizes of its levels.
// Out: a [Machine], or the complete list of the file's mistakes; a [Cluster], which knows where each rank stands.
//
//	text ─lang/syntax─▶ tree ─table of entries─▶ Machine ─sizes─▶ Cluster ─axes of a mesh─▶ Spread
//
//	machine.go   the types
//	table.go     what each section may hold: unit, bounds, help for editors
//	load.go      from a tree to a Machine, or its mistakes
//	facts.go     one entry: its row, its value, its source
//	agree.go     what entries say together
//	named.go     the machines that come with ptc (machines/*.ptm)
//	spec.go      NAME:LEVELS, from the command line
//	cluster.go   ranks and their levels
//	spread.go    how a group of ranks lies on the levels
//
// Invariant: every number of a Machine has a source and lies within the bounds of its row. Values are in SI units:
// seconds, bytes, bytes/s, FLOP/s, watts; money in USD. Nothing here estimates a time.
//
// Imports internal/diag, internal/dtype, internal/units, lang/directive, lang/source, lang/syntax.
package machine
