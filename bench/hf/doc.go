// Package hf holds the families of std.models to the classes of transformers.
//
// In: folders of config.json, model.safetensors and logits.json: models with random
// parameters, the tokens they were given and what transformers computed, in float64.
// Those in testdata are tiny, written by families.py from its seed; `make hf-check`
// makes larger ones, which need Python. Out: nothing but tests: the model of the
// standard library, with the imported parameters, computes the same logits; and what is
// exported again is the same to the bit, which check.py reads with transformers and
// with the reader of gguf.
// Imports compiler, lang, ir and runtime/weights in tests alone.
package hf
