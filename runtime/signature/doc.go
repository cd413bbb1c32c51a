// Package signature signs files and finds out who signed them, in the format of
// minisign (https://jedisct1.github.io/minisign), so keys and signatures work
// in that program too.
//
// In: keys, and the bytes of a file. Out: the bytes of FILE.minisig, or the
// public key that made one.
// Invariant: a file counts as signed only by a key that was given; the signature
// does not say which keys to trust.
// Of the module the package imports internal/regular.
package signature
