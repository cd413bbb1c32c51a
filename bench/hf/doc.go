// Package hf holds the families of std.models to the classes of transformers.
//
// In: folders of config.json, model.safetensors and logits.json: models with random
// parameters, the tokens they were given and what transformers computed, in float64.
// Those in testdata are tiny, written by families.py from its seed; `make hf-check`
// makes larger ones, which need Python. Out: nothing but tests: the model of the
// standard library, with the imported parameters, computes the same logits; and what is
// exported again is the same to the bit, which check.py reads with transformers. adapters.py
// compares low-rank adapters in both directions with PEFT, and ggufs.py reads GGUF files, with their
// tokenizers, with llama.cpp's package. drawn.py draws configs in which keys are left out, null, or
// what the class takes anyway: each means here what it means there, is exported as the
// same config, or is refused; and the table of internal/hfclass is that of the classes.
// Imports compiler, lang, ir and runtime/weights in tests alone.
package hf
