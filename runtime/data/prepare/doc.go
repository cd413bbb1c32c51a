// Package prepare turns text into shards of tokens.
//
// In come files of text, a tokenizer and a folder. Out come the shards, files of
// u16 or u32, and manifest.json, which says what they are.
//
// The invariant: equal files, tokenizer and options give equal bytes, with any
// number of threads and after any number of interruptions. A shard is there whole
// or not at all; what has been done is written down behind each one, so that the
// next call goes on from there, once it has checked what is there. The tokens of a
// document follow one another in one shard.
//
// Records that are conversations become tokens by a chat template, with marks that say
// which of them are to be predicted (chat.go).
//
// Of the module the package imports runtime/chat, runtime/data and its corpus, runtime/tokenizer
// and runtime/checkpoint/atomicfile and folderlock.
package prepare
