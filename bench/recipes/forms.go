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
	// Exchange is the traffic of experts in one step: tokens go to their experts and come back.
	Exchange Traffic
	// Ring is what rings of attention send on in one step: keys, values and their gradients.
	Ring float64
	// Gradients and Parameters are the bytes that a device sends of all gradients that replicas add up, and
	// of all parameters that are gathered; of experts' inputs and outputs as well, where sequences are shared. An
	// all_reduce counts as its sums alone.
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
	if r.Chosen > 0 {
		f.exchange(r, turns, act)
	}
	shared, routed := r.layer()
	layer, embedding := shared+routed, float64(r.Vocab*r.Embed)/float64(tp)
	all := float64(r.Layers)*layer + embedding*r.embeddings() + float64(r.Front)
	replicas := float64(max(1, r.DP) * max(1, r.CP))
	exchanged := float64(r.Layers)*routed*(1-1/replicas) + (all-float64(r.Layers)*routed)*(1-1/(replicas*float64(max(1, r.EP))))
	f.Gradients = 4 * exchanged
	if r.Zero > 0 {
		f.Parameters = 2 * exchanged
		if pp > 1 && r.embeddings() == 1 { // first and last stage add up a gradient each of the one table
			f.Gradients += 4 * embedding
		}
	}
	if r.Zero == 3 {
		f.Parameters *= 2 // in the forward phase, and once for the backward phase with what it rematerializes
	}
	if r.Chosen > 0 && r.CP > 1 {
		f.rows(r, turns, act)
	}
	// Forward and backward phase, and what a device of a pipeline has of the layers.
	f.Attention = 2 * turns / pp
	if r.Ring {
		f.ring(r, rows)
	}
	if pp > 1 {
		f.Outputs = float64(min(pp, micro)*max(1, r.Chunks)) * act
		if r.SP {
			f.Outputs /= float64(tp)
		}
	}
	block := r.block(act)
	f.Peak = r.persistent(shared, routed, embedding) + r.activations(act) + r.working(block, rows, layer)
	if r.split() { // between its two halves, a backward phase keeps what is in all of a stage's blocks
		f.Peak += float64((r.Layers+pp-1)/pp) * block
	}
	return f
}

// ring is keys and values sent on in the forward phase and in the backward phase, once more where a block is
// rematerialized, and their gradients, in f32, in the backward phase, in each step of a ring (Liu, Zaharia, Abbeel,
// 2023, section 3). Of two blocks of positions that a device has in the zig-zag order, a window no longer than one reaches
// into the one before, which lies on either neighbour: so there are two steps of all.
func (f *Form) ring(r *Recipe, rows float64) {
	pp, micro, chunk := max(1, r.PP), max(1, r.Micro), r.Seq/(2*r.CP)
	layers, whole := r.Layers, r.Layers
	steps := float64(whole * (r.CP - 1))
	if r.Window > 0 {
		whole = r.Whole
		near := min(r.CP-1, 2*((r.Window+chunk-1)/chunk))
		steps = float64(whole*(r.CP-1) + (layers-whole)*near)
		f.Attention = 2 * micro / pp * (whole*r.CP + (layers-whole)*(1+near))
	} else {
		f.Attention *= r.CP
	}
	phases := 2
	if r.whole() {
		phases++
	}
	keys := rows * float64(r.KV*r.Head) / float64(max(1, r.TP))
	f.Ring = float64(micro) * steps * 2 * keys * float64(2*phases+4)
}

// exchange is two exchanges in the forward phase, two in the backward phase, and two where a
// block is rematerialized, of all places of experts (Lepikhin et al., "GShard", 2020, section 2.2).
func (f *Form) exchange(r *Recipe, turns int, act float64) {
	n := 4 * turns
	if r.whole() {
		n += 2 * turns
	}
	others := 1 - 1/float64(r.EP) // the devices that a place's tokens come from
	f.Exchange = Traffic{n, float64(n) * act * float64(r.Chosen) * capacity * others}
}

// rows is what devices add where they share sequences: each gathers the inputs of all, has the places of some
// experts, and adds up what it finds there with the others; gradients go the other way. Those places become a part of
// the places of all experts, and back, by as many exchanges as there are between experts.
func (f *Form) rows(r *Recipe, turns int, act float64) {
	n := 4 * turns
	gathers := 2 * turns
	if r.whole() {
		n, gathers = n+2*turns, gathers+turns
	}
	cp := float64(r.CP)
	f.Exchange.Count += n
	f.Exchange.Bytes += float64(n) * act * float64(r.Chosen) * capacity * (1 - 1/cp)
	f.Parameters += float64(gathers) * act * (cp - 1)
	f.Gradients += float64(2*turns) * act * (cp - 1)
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
	if r.whole() {
		again = 2
	}
	if r.Model == "palm.ptl" { // attention and MLP are one sum, which is read by no gradient; and that of the key and the value
		kv := 2 * act * float64(r.Head) / float64(r.Embed)
		if r.SP {
			again /= 2 // the key and the value are gathered again, where they are rematerialized
			f.Block["all_gather"] = Traffic{(5 + 2*again) * turns, float64(turns) * (3*act + float64(1+again)*kv)}
			f.Block["reduce_scatter"] = Traffic{4 * turns, float64(turns) * (2*act + kv)}
			return
		}
		f.Block["all_reduce"] = Traffic{4 * turns, float64(turns) * (2*act + kv)}
		return
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

// capacity is how many places experts have for each choice of a token.
const capacity = 1.25

// layer is how many elements of a layer's parameters a device has, besides experts and of experts:
// heads and ffn are sharded over tp, experts over ep.
func (r *Recipe) layer() (shared, routed float64) {
	h, kv, ffn, mats := r.Embed, r.KV, r.FFN, 3
	if kv == 0 {
		kv = r.Heads
	}
	if ffn == 0 {
		ffn = 4 * h
	}
	if r.Model == "gpt.ptl" || r.Model == "moe.ptl" { // two matrices; the others are gated
		mats = 2
	}
	tp := float64(max(1, r.TP))
	shards := tp
	if kv == 1 {
		shards = 1 // the one head is on every device
	}
	shared = 2*float64(h*r.Heads*r.Head)/tp + 2*float64(h*kv*r.Head)/shards + 8*float64(h) // norms and biases
	if r.Dense > 0 {
		shared = float64(r.Dense)
	}
	mlp := float64(mats*h*ffn) / tp
	if r.Experts > 0 {
		return shared, mlp * float64(r.Experts) / float64(max(1, r.EP))
	}
	return shared + mlp, 0
}

// embeddings is how many tables of the vocabulary there are.
func (r *Recipe) embeddings() float64 {
	if r.Model == "gpt.ptl" || r.Model == "palm.ptl" || r.Model == "gemma2.ptl" {
		return 1
	}
	return 2
}

// persistent is the bytes of parameters (2), gradients (4), and of master and moments
// (12), of the first stage (Rajbhandari et al., "ZeRO", 2020, section 3.1). Experts have as many
// replicas fewer as they have devices.
func (r *Recipe) persistent(shared, routed, embedding float64) float64 {
	pp := max(1, r.PP)
	layers := float64((r.Layers + pp - 1) / pp)
	n := layers*shared + embedding + float64(r.Front)
	if pp == 1 || r.Schedule == "zb_v" || r.Schedule == "dualpipe_v" { // the first device has the last stage as well
		n += embedding * (r.embeddings() - 1)
	}
	replicas := float64(max(1, r.DP) * max(1, r.CP))
	return n*r.element(replicas*float64(max(1, r.EP))) + layers*routed*r.element(replicas)
}

// element is the bytes of an element of a parameter that so many devices have.
func (r *Recipe) element(replicas float64) float64 {
	switch r.Zero {
	case 0:
		return 18
	case 3:
		return 18 / replicas
	}
	return 6 + 12/replicas
}

// activations is the bytes that wait for the backward phase on the first stage, where
// most microbatches are under way: as many as there are stages, and of an interleaved
// schedule (p-1)/(p·v) more (Korthikanti et al., 2022, section 4.2.3). Of a rematerialized
// block its input is kept, of one whose attention is rematerialized 34·s·b·h/t bytes with
// sequence parallelism. A block that rematerializes nothing keeps (10 + 24/t)·s·b·h (table 2).
func (r *Recipe) activations(act float64) float64 {
	pp, tp, micro := max(1, r.PP), float64(max(1, r.TP)), max(1, r.Micro)
	layers := float64((r.Layers+pp-1)/pp) * float64(min(pp, micro))
	if r.Chunks > 1 {
		layers *= 1 + float64(pp-1)/float64(pp*r.Chunks)
	}
	if r.Schedule == "dualpipe_v" { // 2p+1 of half a stage
		layers *= 1 + 1/float64(2*pp)
	}
	keep := act
	if r.SP {
		keep /= tp
	}
	switch {
	case r.Recompute == "Core" || r.Recompute == "" && r.SP:
		keep = 17 * act / tp
	case r.Recompute == "": // attention keeps no scores (Dao et al., "FlashAttention", 2022)
		keep = (5 + 12/tp) * act
	}
	return layers * keep
}

// block is the bytes of one block while it is computed and differentiated,
// (10 + 24/t)·s·b·h of activations (Korthikanti et al., 2022, equation 2) and their gradients. Of a block of
// experts 15·s·b·h are those of attention and norms, and each place has its input, three hidden
// activations and its output.
func (r *Recipe) block(act float64) float64 {
	tp := float64(max(1, r.TP))
	if r.Chosen == 0 {
		return 2 * (5 + 12/tp) * act
	}
	places := act * float64(r.Chosen) * capacity
	return 2 * (7.5*act + places*(2+3*float64(r.FFN)/float64(r.Embed)) + 2*act*float64(r.Chosen))
}

// working is the bytes of one block; of 8,192 rows of logits and their gradient; and of zero 3
// two layers' parameters and gradients as a whole.
func (r *Recipe) working(block, rows, layer float64) float64 {
	logits := 6 * min(rows, 8192) * float64(r.Vocab) / float64(max(1, r.TP))
	whole := 0.0
	if r.Zero == 3 {
		whole = 2 * (2 + 4) * layer
	}
	return max(block, logits) + whole
}
