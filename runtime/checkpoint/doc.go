// Package checkpoint saves the state of a run and gives it back.
//
// In come named tensors, each in as many slices of its global shape as the
// layout of the run cut it into; out come the same tensors in the slices of any
// other layout. A checkpoint is a folder below the run's:
//
//	DIR/latest                              step-00000010, for people and for Latest
//	DIR/step-00000010/model.safetensors     parameters, by path: blocks.3.attn.wq
//	DIR/step-00000010/optimizer.safetensors their state: blocks.3.attn.wq/m
//	DIR/step-00000010/manifest.json         step, hashes, shapes, names of axes
//
// The invariant: a folder step-N is whole. It is written under another name,
// put on disk, and renamed; whatever fails or is killed before leaves the older
// checkpoints as they were. What is loaded has the hashes of what was saved.
// One run at a time may save below one folder.
//
// Besides safetensors and atomicfile below it, it imports nothing of the module.
package checkpoint
