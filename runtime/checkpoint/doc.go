// Package checkpoint saves the state of a run and gives it back.
//
// In come named tensors, each in as many slices of its global shape as the
// layout of the run cut it into; out come the same tensors in the slices of any
// other layout. A checkpoint is a folder below the run's:
//
//	DIR/step-00000010/model.safetensors     parameters, by path: blocks.3.attn.wq
//	DIR/step-00000010/optimizer.safetensors their state: blocks.3.attn.wq/m
//	DIR/step-00000010/manifest.json         step, number of the save, hashes, shapes, names of axes
//	DIR/.lock                               which process saves, while it does
//
// Several processes write one together, each a part with files of its own (PartWriter), which have
// slices of tensors:
//
//	DIR/step-00000010/model-00003-of-00016.safetensors
//
// The manifest says which part has which slice, by a grid for each tensor. What is loaded does
// not depend on how many parts there were.
//
// DIR is a folder of this machine, or s3://bucket/key, below which the same files are
// objects; what differs is behind the interfaces place, folder and draft.
//
// The invariant: a folder step-N is whole. It is written under another name,
// put on disk, and renamed by rank 0 once all parts are there; in an object store it is there when its manifest is, which
// is written last. Whatever fails or is killed before leaves the older
// checkpoints as they were. What is loaded has the hashes of what was saved, and
// manifest.json has one of itself: the SHA-256 of its text with nothing between
// the quotes after "manifest_sha256", which a person can compute as well.
//
// The manifests number the saves into a folder, and the highest number is the
// latest: nothing outside of a checkpoint says so, which could be out of step
// with it. One process at a time saves below a folder, by a lock on an open file, or by
// an object that the last one to take it has signed; any number may read.
//
// Besides safetensors, atomicfile and folderlock below it, it imports internal/regular and
// runtime/storage.
package checkpoint
