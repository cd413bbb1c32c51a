// Package arch holds the architecture to its word: it has tests only.
//
// In: the source files of the module. Out: failures that name the file, what it
// imports and the rule. The invariant: data flows one way, from the language
// through the IR and the passes to the backends and the plan, and the runtime
// never sees the IR; docs/packages.md says what each folder is for.
// Imports nothing of ours.
package arch
