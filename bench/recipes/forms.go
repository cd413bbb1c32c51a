package recipes

// Form is what the closed forms say of a recipe; bytes are of one device, counts and
// traffic of all stages together, as `ptc explain` counts them.
type Form struct {
	Peak float64 // bytes of memory
	// Outputs is what ptc takes besides: a microbatch under way keeps a place for what its
	// stage has sent to the next one (docs/next.md).
	Outputs float64
	// Block is the traffic of tensor parallelism in the blocks of one step.
	Block map[string]Traffic
	// Gradients and Parameters are the bytes of all gradients that replicas add up, and
	// of all parameters that are gathered.
	Gradients, Parameters float64
	// Attention is how often kernels of attention are launched.
	Attention int
}

// Traffic is at most so many collectives of so many bytes in all.
type Traffic struct {
	Count int
	Bytes float64
}

// Of computes the forms of r.
func Of(r *Recipe) Form {
	f := Form{Block: map[string]Traffic{}}
	tp, pp, micro := max(1, r.TP), max(1, r.PP), max(1, r.Micro)
	turns := r.Layers * micro
	rows := float64(r.Batch) / float64(max(1, r.DP)*max(1, r.EP)*micro) * float64(r.Seq) / float64(max(1, r.CP))
	act := 2 * rows * float64(r.Embed) // bytes of a block's input, of one microbatch
	f.tensor(r, turns, act)
	layer, embedding := r.layer(), float64(r.Vocab*r.Embed)/float64(tp)
	all := float64(r.Layers)*layer + embedding*r.embeddings()
	f.Gradients = 4 * all
	if r.Zero > 0 {
		f.Parameters = 2 * all
	}
	if r.Zero == 3 {
		f.Parameters *= 2 // in the forward phase, and once for the backward phase with what it rematerializes
	}
	// Forward and backward phase, and what a device of a pipeline has of the layers.
	f.Attention = 2 * turns / pp
	if r.Ring {
		f.Attention *= r.CP
	}
	if pp > 1 {
		f.Outputs = float64(min(pp, micro)*max(1, r.Chunks)) * act
		if r.SP {
			f.Outputs /= float64(tp)
		}
	}
	f.Peak = r.persistent(layer, embedding) + r.activations(act) + r.working(act, rows, layer)
	return f
}

// tensor is Megatron's f and g (Shoeybi et al., 2019): two sums in the forward phase of a
// block and two in its backward phase. With sequence parallelism each is a
// reduce-scatter and a gather, and the two inputs are gathered anew for the gradients of
// weights (Korthikanti et al., 2022, section 4.2.2). What is rematerialized sends its
// two sums again; gathered inputs are then there for the backward phase.
func (f *Form) tensor(r *Recipe, turns int, act float64) {
	if r.TP <= 1 {
		return
	}
	again := 0
	if r.Recompute == "Block" {
		again = 2
	}
	if !r.SP {
		// What crosses a boundary of stages is sent in shards, and gathered behind it
		// (Narayanan et al., 2021, section 4.1).
		crossings := 2 * (max(1, r.PP)*max(1, r.Chunks) - 1) * max(1, r.Micro)
		f.Block["all_gather"] = Traffic{crossings, float64(crossings) * act}
		f.Block["all_reduce"] = Traffic{(4 + again) * turns, float64((4+again)*turns) * act}
		return
	}
	f.Block["all_gather"] = Traffic{6 * turns, 6 * float64(turns) * act}
	f.Block["reduce_scatter"] = Traffic{(4 + again) * turns, float64((4+again)*turns) * act}
}

// layer is how many elements of a layer's parameters a device has: heads and ffn are
// sharded, experts over ep.
func (r *Recipe) layer() float64 {
	h, kv, ffn, mats := r.Embed, r.KV, r.FFN, 3
	if kv == 0 {
		kv = r.Heads
	}
	if ffn == 0 {
		ffn = 4 * h
	}
	if r.Model == "gpt.ptl" || r.Experts > 0 { // two matrices; the others are gated
		mats = 2
	}
	tp := float64(max(1, r.TP))
	shards := tp
	if kv == 1 {
		shards = 1 // the one head is on every device
	}
	attention := 2*float64(h*r.Heads*r.Head)/tp + 2*float64(h*kv*r.Head)/shards
	mlp := float64(mats*h*ffn) / tp
	if r.Experts > 0 {
		mlp *= float64(r.Experts) / float64(max(1, r.EP))
	}
	return attention + mlp + 8*float64(h) // norms and biases
}

// embeddings is how many tables of the vocabulary there are.
func (r *Recipe) embeddings() float64 {
	if r.Model == "llama.ptl" || r.Model == "moe.ptl" {
		return 2
	}
	return 1
}

// persistent is the bytes of parameters (2), gradients (4), and of master and moments
// (12), of the first stage (Rajbhandari et al., "ZeRO", 2020, section 3.1).
func (r *Recipe) persistent(layer, embedding float64) float64 {
	pp := max(1, r.PP)
	n := float64((r.Layers+pp-1)/pp)*layer + embedding
	if pp == 1 {
		n += embedding * (r.embeddings() - 1)
	}
	over := float64(max(1, r.DP) * max(1, r.CP))
	switch r.Zero {
	case 0:
		return 18 * n
	case 3:
		return 18 * n / over
	}
	return n * (6 + 12/over)
}

// activations is the bytes that wait for the backward phase on the first stage, where
// most microbatches are under way: as many as there are stages, and of an interleaved
// schedule (p-1)/(p·v) more (Korthikanti et al., 2022, section 4.2.3). Of a rematerialized
// block its input is kept, of one whose attention is rematerialized 34·s·b·h/t bytes with
// sequence parallelism (table 2).
func (r *Recipe) activations(act float64) float64 {
	pp, tp, micro := max(1, r.PP), float64(max(1, r.TP)), max(1, r.Micro)
	layers := float64((r.Layers+pp-1)/pp) * float64(min(pp, micro))
	if r.Chunks > 1 {
		layers *= 1 + float64(pp-1)/float64(pp*r.Chunks)
	}
	keep := act
	if r.SP {
		keep /= tp
	}
	if r.Recompute == "Core" {
		keep = 17 * act / tp
	}
	return layers * keep
}

// working is the bytes of one block while it is computed and differentiated,
// (10 + 24/t)·s·b·h of activations (Korthikanti et al., 2022, equation 2) and their gradients;
// of 8,192 rows of logits and their gradient; and of zero 3 two layers' parameters and
// gradients as a whole.
func (r *Recipe) working(act, rows, layer float64) float64 {
	tp := float64(max(1, r.TP))
	block := 2 * (5 + 12/tp) * act
	logits := 6 * min(rows, 8192) * float64(r.Vocab) / tp
	whole := 0.0
	if r.Zero == 3 {
		whole = 2 * (2 + 4) * layer
	}
	return max(block, logits) + whole
}
