// Package weights reads and writes parameters in the formats of other programs: folders of
// config.json and safetensors files, low-rank adapters of PEFT, and GGUF files.
//
// In: the names of a plan, and a folder of the other program ([Open], [OpenAdapter], [Import]); or
// parameters in ptc's own files, and where to write ([Export], [ExportAdapter], [ExportGGUF]). Out:
// files, complete or not at all. At most one tensor is in memory, and the factors of adapters.
//
// Invariant: importing and exporting again keeps every bit. The names say which tensor
// holds what: no code here knows a family, an axis or a layer, except that
// PEFT joins the experts of Mixtral. Files
// are a stranger's: their claims are checked against the names and their sizes
// before anything is allocated for them.
// Imports internal/dtype, internal/hfclass, internal/regular, runtime/checkpoint, runtime/program, runtime/tokenizer.
package weights
