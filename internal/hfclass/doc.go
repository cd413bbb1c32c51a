// Package hfclass says what a config.json means to the configuration classes of
// transformers: what a class takes for a key that is missing, and for one that is null.
//
// In: the keys of a config.json. Out: the config as its class reads it, in which every key
// that the model depends on is there ([Read]); or the file of such a config, in the forms
// that old and new versions read ([Write]).
//
// The table is defaults.json, read from the version of transformers that it names, and
// bench/hf holds it to the one that is installed. A key has
//
//	default  the value where it is missing; without one, a missing key is as null
//	missing  a rule for the value where it is missing, in place of a default
//	null     a rule for null: "off", or a rule; without one, null is an error
//	type     int, float, bool, text or list; without one, that of the default
//
// A rule is a value in JSON, the name of a key, "key / key" (rounded down), "number * key", or
// "windows", the kinds of layers that the keys of windows make. Under "must" are keys that
// have to be missing or that value, and under "kept" those that change nothing of what a model computes. "also" are other names, which count if they are there.
//
// Invariant: a value that a class would refuse is an error, and so is one under which its
// model computes what none in ptc does without saying so: a window or a cap of 0.
// Imports nothing of ours.
package hfclass
