package main

import (
	"os"
	"strings"

	"ptc/compiler"
	"ptc/runtime/program"
)

// plan is a model, as it is compiled.
type plan struct {
	name   string
	file   string
	layout string // empty: the file's first, or bf16
	bf16   bool   // with a layout that computes in bf16
	f8     bool   // and whose linear products are of floats of eight bits
	set    string
	edits  []string // of the file's text: what is replaced, and by what
}

// plans are what is assembled.
var plans = []plan{
	{name: "mlp", file: "examples/mlp/mlp.ptl"},
	{name: "gpt", file: "examples/gpt/gpt.ptl"},
	{name: "llama", file: "examples/llama/llama.ptl"},
	{name: "moe", file: "examples/moe/moe.ptl"},
	{name: "lora", file: "examples/lora/lora.ptl"},
	{name: "gpt-bf16", file: "examples/gpt/gpt.ptl", bf16: true},
	{name: "llama-bf16", file: "examples/llama/llama.ptl", bf16: true},
	{name: "moe-bf16", file: "examples/moe/moe.ptl", bf16: true},
	{name: "gpt-dropout", file: "examples/gpt/gpt.ptl", set: "head=40 seq=200", edits: dropout},
	{name: "gpt-dropout-bf16", file: "examples/gpt/gpt.ptl", bf16: true, set: "head=80 seq=200", edits: dropout},
	{name: "gpt-f8", file: "examples/gpt/gpt.ptl", f8: true},
	{name: "llama-f8", file: "examples/llama/llama.ptl", f8: true},
	{name: "gpt2-124m", file: "examples/gpt/gpt.ptl", bf16: true, set: "layers=12 embed=768 heads=12 head=64 ffn=3072 vocab=50257 seq=1024 batch=32"},
	{name: "gpt2-124m-f8", file: "examples/gpt/gpt.ptl", f8: true, set: "layers=12 embed=768 heads=12 head=64 ffn=3072 vocab=50257 seq=1024 batch=32"},
	{name: "llama-1b", file: "examples/llama/llama.ptl", bf16: true, set: "layers=16 embed=2048 heads=32 kv=8 head=64 ffn=8192 vocab=128256 seq=2048 batch=4"},
	{name: "llama-8b", file: "examples/llama/llama.ptl", bf16: true, set: "layers=32 embed=4096 heads=32 kv=8 head=128 ffn=14336 vocab=128256 seq=2048 batch=1"},
}

// dropout is in the attention of examples/gpt, of a window.
var dropout = []string{
	"param wo         :", "drop : nn.Dropout(0.25)\n  param wo         :",
	"p = softmax(where(index(seq) >= index(kseq), s, -inf), over = kseq)",
	"p = drop(softmax(where(index(seq) >= index(kseq) and index(kseq) + 48 > index(seq), s, -inf), over = kseq))",
}

// bf16Layout computes in bf16, and f8Layout its linear products in eight bits.
const (
	bf16Layout = "\nlayout assembled_bf16 {\n  precision { compute = bf16 }\n}\n"
	f8Layout   = "\nlayout assembled_f8 {\n  precision { compute = bf16  products = f8 }\n}\n"
)

// compile is p for a target.
func (p plan) compile(target string) (*program.Plan, error) {
	text, err := os.ReadFile(p.file)
	if err != nil {
		return nil, err
	}
	text = []byte(strings.NewReplacer(p.edits...).Replace(string(text)))
	o := compiler.Options{File: p.file, Source: text, Layout: p.layout, Target: target, Set: strings.Fields(p.set)}
	if p.bf16 {
		o.Source, o.Layout = append(text, bf16Layout...), "assembled_bf16"
	}
	if p.f8 {
		o.Source, o.Layout = append(text, f8Layout...), "assembled_f8"
	}
	out, _, err := compiler.Compile(o)
	return out, err
}
