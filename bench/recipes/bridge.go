package recipes

// bridge is the table of Megatron-Bridge for DGX H100: NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary.md, 00b7660, "25.11 NeMo
// Container". It has parallel sizes and batches, and says nothing of recomputation: none is assumed.
const bridge = "Megatron-Bridge, docs/performance-summary.md, 00b7660, DGX-H100"

// Bridge are the layouts by which Megatron-Bridge measures pretraining on H100s, of the models that are here. They are not in
// [Table], whose recipes fit closed forms without such small margins of memory.
var Bridge = []Recipe{
	{Name: "Llama 3 8B on 8, Megatron-Bridge", Source: bridge, Model: "llama.ptl", Most: 80, Sizes: of(llama8, 128, 8192), Plan: Plan{DP: 8, Zero: 3, Micro: 16, FP8: true}},
	{Name: "Llama 3 70B on 64, Megatron-Bridge", Source: bridge, Model: "llama.ptl", Most: 80, Sizes: of(llama70, 128, 8192), Plan: Plan{DP: 2, PP: 8, TP: 4, Micro: 64, Chunks: 5, SP: true, Zero: 1, FP8: true}},
	{Name: "Llama 3 405B on 1,024, Megatron-Bridge", Source: bridge, Model: "llama.ptl", Most: 80, Sizes: of(llama405, 512, 8192),
		Plan: Plan{DP: 8, PP: 8, TP: 8, CP: 2, Micro: 64, Chunks: 8, SP: true, Zero: 1, FP8: true, Ring: true}},
	{Name: "Qwen3 30B-A3B on 16, Megatron-Bridge", Source: bridge, Model: "qwen3.ptl", Most: 80, Sizes: of(qwen30, 512, 4096), Plan: Plan{PP: 2, EP: 8, Micro: 32, Chunks: 24, Zero: 1, FP8: true}},
}
