// Package renamed knows the words that dumps and plans of earlier versions have for what is called
// otherwise now.
//
// In: a word of a dump of the IR or of a plan. Out: the word of this version.
// Invariant: whoever reads such a file passes every word of the table through [Current], and prints
// only words of this version. A word of the table is never given to anything else, and a row stays for as
// long as its files are read (docs/compatibility.md).
// Imports nothing.
package renamed

// since is the word of this version, by that of an earlier one.
var since = map[string]string{
	// Operations of the IR; the first two are kinds of communication in plans, too.
	"fetch":      "host_to_device",
	"store":      "device_to_host",
	"part":       "subview",
	"hold":       "concat_in_place",
	"enter_turn": "enter_tick",
	"leave_turn": "leave_tick",
	// A line of a function in the IR.
	"turns": "ticks",
}

// Current is what this version calls what an earlier one called word.
func Current(word string) string {
	if now, ok := since[word]; ok {
		return now
	}
	return word
}
