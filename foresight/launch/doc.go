// Package launch translates the launch configurations of other training software to
// sources of ptc, and layouts of ptc back to such configurations.
//
//	flags, TOML, JSON, YAML ─From─▶ Run ─Source─▶ model.ptl
//	a lowered source ─Read─▶ Run ─To─▶ flags, TOML, JSON, YAML
//
// In: what the user of Megatron-LM or of other software gives to it, and the
// number of devices; or a lowered module with its config. Out: a source with model, training
// and layout, or a configuration; and a note for every setting that is not simply translated.
//
// Invariants: every setting is translated, or noted as without effect on the layout, or an
// error; an unknown one is an error. A record that is written as a source and read back is
// the same record.
//
// [Run] is the neutral record. Each software is a few files with its table of settings, its
// defaults and its rules; Megatron-Bridge's fields are read as the flags of Megatron-LM that
// say the same. source.go and model.go write the source, and read.go reads it.
//
// Imports internal/diag, ir, ir/layout, lang/directive, lang/syntax.
package launch
