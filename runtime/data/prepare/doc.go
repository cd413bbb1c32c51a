// Package prepare turns text into shards of tokens.
//
// In come text files, a tokenizer and a folder. Out come the shards, files of
// u16 or u32, and manifest.json, which describes them.
//
// The invariant: equal files, tokenizer and options give equal bytes, with any
// number of threads and after any number of interruptions. A shard appears complete
// or not at all. Progress is recorded after each shard, and the next call continues
// from there, once it has checked the existing ones. The tokens of a document are
// consecutive in one shard.
//
// A chat template turns records that are conversations into tokens, with marks on
// the targets (chat.go).
//
// Of the module the package imports runtime/chat, runtime/data and its corpus, runtime/tokenizer
// and runtime/checkpoint/atomicfile and folderlock.
package prepare
