// Package amx asks the system for the tile registers of AMX, which a process may not use before.
//
// Invariant: what was permitted stays so, for all threads.
package amx
