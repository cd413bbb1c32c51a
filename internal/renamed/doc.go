// Package renamed maps the words of earlier dumps and plans to those of this version.
//
// In: a word of a dump of the IR or of a plan. Out: the word of this version.
// Invariant: readers of these files pass every word of the table through [Current]; only words of this version
// are printed. No word of the table gets another meaning, and a row stays for as long as files with its
// word are read (docs/compatibility.md).
// Imports nothing.
package renamed

// words has the words of this version by those of earlier ones.
var words = map[string]string{
	// Operations of the IR; the first two are also kinds of communication in plans.
	"fetch":      "host_to_device",
	"store":      "device_to_host",
	"part":       "subview",
	"hold":       "concat_in_place",
	"enter_turn": "enter_tick",
	"leave_turn": "leave_tick",
	// A line of a function in the IR.
	"turns": "ticks",
}

// Current is the word of this version for word.
func Current(word string) string {
	if now, ok := words[word]; ok {
		return now
	}
	return word
}
