// Package weights reads and writes parameters as other programs have them: folders of
// config.json and safetensors files, low-rank adapters of PEFT, and GGUF files.
//
// In: the names of a plan, and a folder of the other program ([Open], [OpenAdapter], [Import]); or
// parameters in ptc's own files, and where to write ([Export], [ExportAdapter], [ExportGGUF]). Out:
// files, whole or not at all. One tensor at most is in memory, and factors of adapters.
//
// Invariant: what is imported and exported again has the same bits. Which tensor
// holds what, the names say: nothing here knows a family, an axis or a layer, but that
// PEFT joins the experts of Mixtral. Files
// are of strangers: what they claim is checked against the names and their sizes
// before anything is allocated by it.
// Imports internal/dtype, internal/hfclass, internal/regular, runtime/checkpoint, runtime/program, runtime/tokenizer.
package weights
