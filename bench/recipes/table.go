package recipes

const (
	sc21   = "Narayanan et al., \"Efficient large-scale language model training on GPU clusters using Megatron-LM\" (2021), table 1"
	korth  = "Korthikanti et al., \"Reducing activation recomputation in large transformer models\" (2022), table 3"
	llama3 = "Grattafiori et al., \"The Llama 3 herd of models\" (2024), table 4"
	titan  = "Liang et al., \"TorchTitan\" (2024), section 4"
)

// sizesOf are those of GPT as Megatron-LM has it.
func sizesOf(layers, embed, heads, batch int) Sizes {
	return Sizes{Layers: layers, Embed: embed, Heads: heads, Head: embed / heads, Vocab: 51200, Seq: 2048, Batch: batch}
}

var (
	llama8   = Sizes{Layers: 32, Embed: 4096, Heads: 32, KV: 8, Head: 128, FFN: 14336, Vocab: 128256, Seq: 8192}
	llama70  = Sizes{Layers: 80, Embed: 8192, Heads: 64, KV: 8, Head: 128, FFN: 28672, Vocab: 128256, Seq: 8192}
	llama405 = Sizes{Layers: 126, Embed: 16384, Heads: 128, KV: 8, Head: 128, FFN: 53248, Vocab: 128256, Seq: 8192}
)

var (
	qwen30   = Sizes{Layers: 48, Embed: 2048, Heads: 32, KV: 4, Head: 128, FFN: 768, Vocab: 151936, Seq: 4096, Experts: 128, Chosen: 8}
	qwen235  = Sizes{Layers: 94, Embed: 4096, Heads: 64, KV: 4, Head: 128, FFN: 1536, Vocab: 151936, Seq: 4096, Experts: 128, Chosen: 8}
	maverick = Sizes{Layers: 24, Embed: 5120, Heads: 40, KV: 8, Head: 128, FFN: 8192, Vocab: 202048, Seq: 8192, Experts: 128, Chosen: 1,
		Dense: 2*2*5120*(40+8)*128 + 3*5120*(16384+8192) + 128*5120}
	deepseek = Sizes{Layers: 58, Embed: 7168, Heads: 128, FFN: 2048, Vocab: 129280, Seq: 4096, Experts: 256, Chosen: 8,
		Dense: latent + 256*7168 + 3*7168*2048, Front: 3 * (latent + 3*7168*18432)}
)

// latent is the elements of DeepSeek-V3's attention (DeepSeek-AI, 2024, section 2.1.1): of queries down
// and up, of keys and values down and up, and of the output.
const latent = 7168*1536 + 1536*128*(128+64) + 7168*(512+64) + 512*128*(128+128) + 128*128*7168

// of is the sizes with another batch and sequence.
func of(s Sizes, batch, seq int) Sizes {
	s.Batch, s.Seq = batch, seq
	return s
}

// Table is the recipes.
var Table = []Recipe{
	{Name: "GPT-2 124M on 8", Source: "Karpathy, nanoGPT, config/train_gpt2.py", Model: "gpt.ptl", Most: 40, CPU: 3,
		Sizes: Sizes{Layers: 12, Embed: 768, Heads: 12, Head: 64, Vocab: 50304, Seq: 1024, Batch: 480}, Plan: Plan{DP: 8, Micro: 5}},
	{Name: "GPT 1.7B on 32", Source: sc21, Model: "gpt.ptl", Most: 80, CPU: 4, Sizes: sizesOf(24, 2304, 24, 512), Plan: Plan{DP: 32, Micro: 4, Recompute: "Block"}},
	{Name: "GPT 3.6B on 64", Source: sc21, Model: "gpt.ptl", Most: 80, CPU: 4, Sizes: sizesOf(30, 3072, 32, 512), Plan: Plan{DP: 32, TP: 2, Micro: 4, Recompute: "Block"}},
	{Name: "GPT 7.5B on 128", Source: sc21, Model: "gpt.ptl", Most: 80, CPU: 4, Sizes: sizesOf(36, 4096, 32, 512), Plan: Plan{DP: 32, TP: 4, Micro: 8, Recompute: "Block"}, Always: true},
	{Name: "GPT 18.4B on 256", Source: sc21, Model: "gpt.ptl", Most: 80, CPU: 4, Sizes: sizesOf(40, 6144, 48, 1024), Plan: Plan{DP: 32, TP: 8, Micro: 16, Recompute: "Block"}},
	{Name: "GPT 39.1B on 512", Source: sc21, Model: "gpt.ptl", Most: 80, CPU: 5, Sizes: sizesOf(48, 8192, 64, 1536), Plan: Plan{DP: 32, PP: 2, TP: 8, Micro: 24, Recompute: "Block"}, Always: true},
	{Name: "GPT 76.1B on 1,024", Source: sc21, Model: "gpt.ptl", Most: 80, CPU: 5, Sizes: sizesOf(60, 10240, 80, 1792), Plan: Plan{DP: 32, PP: 4, TP: 8, Micro: 56, Recompute: "Block"}},
	{Name: "GPT 145.6B on 1,536", Source: sc21, Model: "gpt.ptl", Most: 80, CPU: 5, Sizes: sizesOf(80, 12288, 96, 2304), Plan: Plan{DP: 24, PP: 8, TP: 8, Micro: 96, Recompute: "Block"}},
	{Name: "GPT 310.1B on 1,920", Source: sc21, Model: "gpt.ptl", Most: 80, CPU: 5, Sizes: sizesOf(96, 16384, 128, 2160), Plan: Plan{DP: 15, PP: 16, TP: 8, Micro: 144, Recompute: "Block"}},
	{Name: "GPT 529.6B on 2,520", Source: sc21, Model: "gpt.ptl", Most: 80, CPU: 5, Sizes: sizesOf(105, 20480, 128, 2520), Plan: Plan{DP: 9, PP: 35, TP: 8, Micro: 280, Recompute: "Block"}},
	{Name: "GPT 1T on 3,072", Source: sc21, Model: "gpt.ptl", Most: 80, CPU: 5, Sizes: sizesOf(128, 25600, 160, 3072), Plan: Plan{DP: 6, PP: 64, TP: 8, Micro: 512, Recompute: "Block"}},
	{Name: "GPT 22B on 8, selective", Source: korth, Model: "gpt.ptl", Most: 80, CPU: 4, Sizes: sizesOf(48, 6144, 64, 4), Plan: Plan{TP: 8, SP: true, Recompute: "Core"}},
	{Name: "GPT 175B on 64, selective", Source: korth, Model: "gpt.ptl", Most: 80, CPU: 4, Sizes: sizesOf(96, 12288, 96, 64), Plan: Plan{PP: 8, TP: 8, Micro: 64, Chunks: 3, SP: true, Recompute: "Core"}, Always: true},
	{Name: "GPT 530B on 280, selective", Source: korth, Model: "gpt.ptl", Most: 80, CPU: 5, Sizes: sizesOf(105, 20480, 128, 280), Plan: Plan{PP: 35, TP: 8, Micro: 280, Chunks: 3, SP: true, Recompute: "Core"}},
	{Name: "GPT 1T on 512, selective", Source: korth, Model: "gpt.ptl", Most: 80, CPU: 5, Sizes: sizesOf(128, 25600, 160, 512), Plan: Plan{PP: 64, TP: 8, Micro: 512, SP: true, Recompute: "Core"}},
	{Name: "MT-NLG 530B on 2,240", Source: "Smith et al., \"Using DeepSpeed and Megatron to train Megatron-Turing NLG 530B\" (2022), section 2.3", Model: "gpt.ptl", Most: 80, CPU: 5,
		Sizes: sizesOf(105, 20480, 128, 1920), Plan: Plan{DP: 8, PP: 35, TP: 8, Micro: 240, Recompute: "Block"}},
	{Name: "BLOOM 176B on 384", Source: "Le Scao et al., \"BLOOM\" (2022), section 3.4", Model: "gpt.ptl", Most: 80, CPU: 5,
		Sizes: Sizes{Layers: 70, Embed: 14336, Heads: 112, Head: 128, Vocab: 250880, Seq: 2048, Batch: 2048}, Plan: Plan{DP: 8, PP: 12, TP: 4, Micro: 128, Zero: 1, Recompute: "Block"}},
	{Name: "GPT-NeoX 20B on 96", Source: "Black et al., \"GPT-NeoX-20B\" (2022), section 3.2", Model: "gpt.ptl", Most: 40, CPU: 5,
		Sizes: Sizes{Layers: 44, Embed: 6144, Heads: 64, Head: 96, Vocab: 50432, Seq: 2048, Batch: 1536}, Plan: Plan{DP: 12, PP: 4, TP: 2, Micro: 32, Zero: 1, Recompute: "Block"}},
	// The publication has 992 devices; 124 replicas divide no axis of a parameter, and ZeRO would shard over 4 of them.
	{Name: "OPT 175B on 1,024", Source: "Zhang et al., \"OPT\" (2022), section 2.4, the sizes", Model: "gpt.ptl", Most: 80, CPU: 4,
		Sizes: Sizes{Layers: 96, Embed: 12288, Heads: 96, Head: 128, Vocab: 50272, Seq: 2048, Batch: 1024}, Plan: Plan{DP: 128, TP: 8, Zero: 3, Recompute: "Block"}},
	// The publication shards what lies between blocks over tp as well, and so fits in 32 GiB.
	{Name: "PaLM 540B on 6,144", Source: "Chowdhery et al., \"PaLM\" (2022), section 4", Model: "palm.ptl", Most: 48, CPU: 4,
		Sizes: Sizes{Layers: 118, Embed: 18432, Heads: 48, KV: 1, Head: 256, FFN: 73728, Vocab: 255996, Seq: 2048, Batch: 2048}, Plan: Plan{DP: 512, TP: 12, Zero: 3, Recompute: "Block"}},
	// A sequence of 2,048 positions is in 16 shards, as 12 do not divide it.
	{Name: "PaLM 540B on 8,192, sequence parallelism", Source: "the same, with the sequence as in Korthikanti et al. (2022), section 4.2.2", Model: "palm.ptl", Most: 48, CPU: 4,
		Sizes: Sizes{Layers: 118, Embed: 18432, Heads: 48, KV: 1, Head: 256, FFN: 73728, Vocab: 256000, Seq: 2048, Batch: 2048}, Plan: Plan{DP: 512, TP: 16, SP: true, Zero: 3, Recompute: "Block"}},
	{Name: "Llama 3 8B on 8, fully sharded", Source: titan, Model: "llama.ptl", Most: 80, CPU: 3, Sizes: of(llama8, 16, 8192), Plan: Plan{DP: 8, Zero: 3, Recompute: "Block"}},
	{Name: "Llama 3 8B on 64, fully sharded", Source: titan, Model: "llama.ptl", Most: 80, CPU: 3, Sizes: of(llama8, 128, 8192), Plan: Plan{DP: 64, Zero: 3, Recompute: "Block"}, Always: true},
	{Name: "Llama 3 8B on 8, 131,072 positions", Source: titan, Model: "llama.ptl", Most: 80, CPU: 4, Sizes: of(llama8, 1, 131072), Plan: Plan{CP: 8, Zero: 3, Recompute: "Block", Ring: true}, Always: true},
	{Name: "Llama 3 70B on 256, two dimensions", Source: titan, Model: "llama.ptl", Most: 80, CPU: 3, Sizes: of(llama70, 512, 8192), Plan: Plan{DP: 32, TP: 8, SP: true, Zero: 3, Recompute: "Block"}},
	{Name: "Llama 3 405B on 512, three dimensions", Source: titan, Model: "llama.ptl", Most: 80, CPU: 5, Sizes: of(llama405, 256, 8192), Plan: Plan{DP: 8, PP: 7, TP: 8, Micro: 32, Chunks: 2, SP: true, Zero: 1, Recompute: "Block"}},
	{Name: "Llama 3 405B on 8,192", Source: llama3, Model: "llama.ptl", Most: 80, CPU: 5, Sizes: of(llama405, 2048, 8192), Plan: Plan{DP: 64, PP: 16, TP: 8, Micro: 32, SP: true, Zero: 1, Recompute: "Block"}},
	{Name: "Llama 3 405B on 16,384", Source: llama3, Model: "llama.ptl", Most: 80, CPU: 5, Sizes: of(llama405, 2048, 8192), Plan: Plan{DP: 128, PP: 16, TP: 8, Micro: 16, SP: true, Zero: 1, Recompute: "Block"}, Always: true},
	{Name: "Llama 3 405B on 16,384, 131,072 positions", Source: llama3, Model: "llama.ptl", Most: 80, CPU: 8, Sizes: of(llama405, 128, 131072), Plan: Plan{DP: 8, PP: 16, TP: 8, CP: 16, Micro: 16, Zero: 1, Recompute: "Block", Ring: true}},
	{Name: "Mixtral 8x7B on 64", Source: "Megatron-LM, examples/mixtral", Model: "moe.ptl", Most: 80, CPU: 5,
		Sizes: Sizes{Layers: 32, Embed: 4096, Heads: 32, KV: 8, Head: 128, FFN: 14336, Vocab: 32000, Seq: 4096, Batch: 256, Experts: 8}, Plan: Plan{DP: 2, PP: 4, EP: 8, Micro: 16, Zero: 1, Recompute: "Block"}},
	{Name: "Mixtral 8x7B on 32, f16 in parts", Source: "the same, with the loss scale of Micikevicius et al., \"Mixed precision training\" (2018)", Model: "moe.ptl", Most: 80, CPU: 10,
		Sizes: Sizes{Layers: 32, Embed: 4096, Heads: 32, KV: 8, Head: 128, FFN: 14336, Vocab: 32000, Seq: 4096, Batch: 256, Experts: 8, Chosen: 2}, Plan: Plan{DP: 4, EP: 8, Micro: 4, Zero: 1, Recompute: "Block", Half: true}},
	{Name: "Mistral 7B on 64, 1,048,576 positions", Source: "Jiang et al., \"Mistral 7B\" (2023), table 1, the sizes", Model: "mistral.ptl", Most: 80, CPU: 3,
		Sizes: Sizes{Layers: 32, Embed: 4096, Heads: 32, KV: 8, Head: 128, FFN: 14336, Vocab: 32000, Window: 4096, Seq: 1 << 20, Batch: 1}, Plan: Plan{CP: 64, Zero: 3, Recompute: "Block", Ring: true}},
	{Name: "Gemma 2 2B on 64, 1,048,576 positions", Source: "Gemma Team, \"Gemma 2\" (2024), table 1, the sizes", Model: "gemma2.ptl", Most: 80, CPU: 6,
		Sizes: Sizes{Layers: 26, Embed: 2304, Heads: 8, KV: 4, Head: 256, FFN: 9216, Vocab: 256000, Window: 4096, Whole: 13, Seq: 1 << 20, Batch: 1}, Plan: Plan{CP: 64, Zero: 3, Recompute: "Block", Ring: true}},
	{Name: "Llama 3 8B on 64, 1,048,576 positions", Source: "Liu, Zaharia, Abbeel, \"Ring attention with blockwise transformers\" (2023), the method", Model: "llama.ptl", Most: 80, CPU: 5,
		Sizes: of(llama8, 1, 1<<20), Plan: Plan{CP: 64, Zero: 3, Recompute: "Block", Ring: true}},
	{Name: "MT-NLG 530B on 2,240, zero bubble", Source: "the same, in the schedule of Qi et al., \"Zero bubble pipeline parallelism\" (2024), section 2.1", Model: "gpt.ptl", Most: 80, CPU: 6,
		Sizes: sizesOf(105, 20480, 128, 1920), Plan: Plan{DP: 8, PP: 35, TP: 8, Micro: 240, SP: true, Zero: 1, Schedule: "zb_h1", Recompute: "Block"}},
	{Name: "Llama 3 405B on 512, eight bits", Source: titan, Model: "llama.ptl", Most: 80, CPU: 6, Sizes: of(llama405, 256, 8192), Plan: Plan{DP: 8, PP: 7, TP: 8, Micro: 32, Chunks: 2, SP: true, Zero: 1, Recompute: "Block", FP8: true}},
	{Name: "Llama 3 70B on 64, eight bits in parts", Source: titan, Model: "llama.ptl", Most: 80, CPU: 4, Sizes: of(llama70, 64, 8192), Plan: Plan{DP: 8, TP: 8, Micro: 4, SP: true, Zero: 1, Recompute: "Block", FP8: true}, Always: true},
	{Name: "Qwen3 30B-A3B on 32", Source: "Yang et al., \"Qwen3 technical report\" (2025), table 2, the sizes", Model: "qwen3.ptl", Most: 80, CPU: 4, Sizes: of(qwen30, 256, 4096), Plan: Plan{DP: 4, EP: 8, Micro: 4, Zero: 1, Recompute: "Block"}},
	{Name: "Qwen3 235B-A22B on 512", Source: "the same", Model: "qwen3.ptl", Most: 80, CPU: 6, Sizes: of(qwen235, 1024, 4096), Plan: Plan{DP: 4, PP: 8, EP: 16, Micro: 16, Chunks: 4, Zero: 1, Recompute: "Block"}},
	{Name: "Qwen3 235B-A22B on 512, zero bubble", Source: "the same, in the schedule of Qi et al., \"Pipeline parallelism with controllable memory\" (2024)", Model: "qwen3.ptl", Most: 80, CPU: 6,
		Sizes: of(qwen235, 1024, 4096), Plan: Plan{DP: 4, PP: 8, EP: 16, Micro: 16, Zero: 1, Schedule: "zb_v", Recompute: "Block"}},
	{Name: "Qwen3 30B-A3B on 32, 32,768 positions", Source: "the same", Model: "qwen3.ptl", Most: 80, CPU: 4, Sizes: of(qwen30, 32, 32768), Plan: Plan{CP: 4, EP: 8, Micro: 4, Zero: 1, Recompute: "Block", Ring: true}, Always: true},
	{Name: "Qwen3 235B-A22B on 512, 32,768 positions", Source: "the same", Model: "qwen3.ptl", Most: 80, CPU: 6, Sizes: of(qwen235, 256, 32768),
		Plan: Plan{PP: 8, CP: 4, EP: 16, Micro: 16, Zero: 1, Recompute: "Block", Ring: true}},
	{Name: "Llama 4 Maverick on 512", Source: "Meta, \"The Llama 4 herd\" (2025), the sizes", Model: "llama4.ptl", Most: 80, CPU: 5, Sizes: of(maverick, 512, 8192), Plan: Plan{DP: 16, EP: 32, Zero: 3, Recompute: "Block"}},
	{Name: "Llama 4 Maverick on 256, zero bubble", Source: "the same, in the interleaved schedule of Qi et al. (2024), section 5", Model: "llama4.ptl", Most: 80, CPU: 12,
		Sizes: of(maverick, 512, 8192), Plan: Plan{DP: 2, PP: 8, EP: 16, Micro: 16, Chunks: 3, Zero: 1, Schedule: "interleaved_zb", Recompute: "Block"}},
	{Name: "DeepSeek-V3 671B on 2,048", Source: "DeepSeek-AI, \"DeepSeek-V3 technical report\" (2024), section 3.2", Model: "deepseek3.ptl", Most: 80, CPU: 8,
		Sizes: of(deepseek, 4096, 4096), Plan: Plan{DP: 2, PP: 16, EP: 64, Micro: 32, Zero: 1, Schedule: "dualpipe_v", Recompute: "Block, Dense"}},
	{Name: "DeepSeek-V3 671B on 2,048, 1f1b", Source: "the same", Model: "deepseek3.ptl", Most: 80, CPU: 6, Sizes: of(deepseek, 4096, 4096), Plan: Plan{DP: 2, PP: 16, EP: 64, Micro: 32, Zero: 1, Recompute: "Block, Dense"}},
}
