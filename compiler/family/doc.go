// Package family writes the source of a model of a published family.
//
// In: the keys of another program's config, such as config.json. Out: a source that
// imports the family from the standard library and sets its config; the rows of config
// of the family's names say which key is which entry.
//
// Invariant: an entry that the config has, and only such a one, is in the source; one
// that it leaves out has the default of the row, and one without a default is an error.
// Imports internal/diag, lang/directive, lang/keymap, lang/syntax, stdlib.
package family
