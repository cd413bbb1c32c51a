package launch

import (
	"fmt"
	"slices"
)

// Run is a training run: model, batch, mesh and what training keeps where, in no software's
// terms. Counts that do not apply are 0, degrees of parallelism at least 1.
type Run struct {
	Model
	Mesh
	Precision
	Training
	// Batch is the number of sequences of a step, Micro that of a microbatch on one device.
	Batch, Micro int
	// Zero is the level of ZeRO, 0 for none.
	Zero int
	// Recompute is none, selective (attention alone) or full (every block).
	Recompute string
	// Offload lists what is in the memory of the host: optimizer, activations.
	Offload []string
	Origin
}

// Origin is where a run is from.
type Origin struct {
	// Kept are settings of the software Software that no layout has: they are written again
	// for it.
	Software string
	Kept     []string
	// From says by field from which settings its value is, for comments.
	From map[string]string
}

// Model is the model of a run: a decoder.
type Model struct {
	Layers, Embed, Heads, KV, Head, FFN, Vocab, Seq int
	Context                                         int    // positions that the model is made for
	Norm                                            string // rms or layer
	Act                                             string // silu, gelu, gelu_tanh, relu or squared_relu
	Gated                                           bool
	Bias                                            bool   // of all products
	QKVBias                                         bool   // of queries, keys and values
	QKNorm                                          bool   // a norm of each query and key
	Tied                                            bool   // the output is the embedding
	Positions                                       string // rope, learned or none
	Base                                            float64
	Stretch                                         float64 // of rope, as in Llama 3.1; 1 for none
	Window                                          int
	Eps, Std                                        float64
	Experts, Chosen                                 int
	Capacity                                        float64 // of an expert, in fair shares
}

// Mesh is how many devices each kind of parallelism takes.
type Mesh struct {
	TP, PP, CP, EP int
	// Replicas times Shards is data parallel: training state is sharded over Shards alone.
	// EP is a part of Shards.
	Replicas, Shards int
	Outer            bool   // replicas are farther apart than stages of the pipeline
	Sequence         bool   // the sequence is sharded over TP between blocks
	Schedule         string // of the pipeline, by the language's name
	Chunks           int    // stages on each device
	Rounds           int    // how often a step goes through the pipeline
	Stages           []int  // blocks of each stage, where they differ
	Ring             bool   // attention over CP by a ring; otherwise keys and values are gathered
	Zigzag           bool   // shards of the sequence from both ends
}

// Precision is the dtypes of a run, by the language's names.
type Precision struct {
	Compute, Params, Reduce string
	Products                string  // f8 or empty
	Scale                   float64 // of an f16 loss; 0: dynamic
}

// Training is what the optimizer does.
type Training struct {
	Optimizer         string // AdamW, SGD or Lion
	Decay             string // schedule of the learning rate: constant, linear or cosine
	LR, MinLR         float64
	Warmup, Steps     int
	DecaySteps        int
	Beta1, Beta2      float64
	AdamEps, Momentum float64
	WeightDecay, Clip float64
}

// NewRun is a run with the values that hold where no software says anything.
func NewRun() *Run {
	return &Run{
		Model:     Model{Norm: "layer", Act: "gelu", Positions: "rope", Base: 10000, Stretch: 1, Eps: 1e-5, Std: 0.02, Tied: true},
		Mesh:      Mesh{TP: 1, PP: 1, CP: 1, EP: 1, Replicas: 1, Shards: 1, Schedule: "1f1b", Chunks: 1, Rounds: 1},
		Precision: Precision{Compute: "f32", Params: "f32", Reduce: "f32"},
		Training: Training{Optimizer: "AdamW", Decay: "cosine", LR: 3e-4, Steps: 1000, DecaySteps: 1000,
			Beta1: 0.9, Beta2: 0.999, AdamEps: 1e-8, Momentum: 0.9, Clip: 1},
		Recompute: "none",
		Origin:    Origin{From: map[string]string{}},
	}
}

// DP is how many shards of the batch there are.
func (r *Run) DP() int { return r.Replicas * r.Shards }

// Devices is how many devices the mesh has.
func (r *Run) Devices() int { return r.TP * r.PP * r.CP * r.DP() }

// Microbatches is how many microbatches each device processes in a step.
func (r *Run) Microbatches() int { return max(1, r.Batch/max(1, r.Micro*r.DP())) }

// Virtual is how many stages the pipeline has.
func (r *Run) Virtual() int { return r.PP * r.Chunks }

// normal removes what has no meaning in this run, so that equal runs are equal records.
func (r *Run) normal() {
	if r.PP == 1 {
		r.Schedule, r.Chunks, r.Stages, r.Rounds = "1f1b", 1, nil, 1
	}
	if r.Schedule == "interleaved" && r.Chunks == 1 {
		r.Schedule = "1f1b"
	}
	if len(r.Stages) > 0 && !slices.ContainsFunc(r.Stages, func(n int) bool { return n != r.Stages[0] }) {
		r.Stages = nil
	}
	if r.PP == 1 || r.DP() == 1 {
		r.Outer = false
	}
	if r.TP == 1 {
		r.Sequence = false
	}
	if r.CP == 1 {
		r.Ring, r.Zigzag = false, false
	}
	if r.Shards*r.CP == 1 {
		r.Zero = 0
	}
	if r.Zero == 0 {
		r.Replicas, r.Shards = 1, r.DP()
	}
	if r.Experts == 0 {
		r.Chosen, r.Capacity = 0, 0
	}
	if r.Positions != "rope" {
		r.Base, r.Stretch = 10000, 1
	}
	if r.Bias {
		r.QKVBias = true
	}
}

// falls sets to which share of the rate its schedule falls; to all of it, it is constant.
func (r *Run) falls(share float64) {
	r.MinLR = rounded(r.LR * share)
	if share == 1 {
		r.Decay = "constant"
	}
}

// gathersComputed reports whether parameters have the dtypes of frameworks with f32 masters:
// gathered in the dtype in which the model computes, and otherwise cast where they are used.
func (r *Run) gathersComputed() bool {
	return r.Zero > 0 && r.Params == r.Compute || r.Zero == 0 && r.Params == "f32"
}

// from notes which settings a field is from.
func (r *Run) from(field, format string, args ...any) { r.From[field] = fmt.Sprintf(format, args...) }

// Note is what became of a setting that is not simply translated.
type Note struct {
	Setting string // as the user wrote it; empty for a default
	Text    string
}

func (n Note) String() string {
	if n.Setting == "" {
		return n.Text
	}
	return n.Setting + ": " + n.Text
}

// What a mesh and a model may have at most.
const (
	MaxDevices = 1 << 24
	maxLayers  = 10000
)

// Input is a configuration of another software.
type Input struct {
	Devices int
	Files   []File
	Args    []string // a command line
	HF      []byte   // config.json of the model; nil for none
}

// File is a file of an input.
type File struct {
	Name string
	Text []byte
}

// MaxInput bounds the bytes of an input.
const MaxInput = 1 << 20

// Software is one that runs can be read from and written for.
type Software struct {
	Name, Title string
	From        func(in Input) (*Run, []Note, error)
	To          func(r *Run) (string, []Note, error)
}

// All lists the software, by name.
func All() []Software {
	return []Software{
		{"deepspeed", "DeepSpeed", fromDeepSpeed, toDeepSpeed},
		{"maxtext", "MaxText", fromMaxText, toMaxText},
		{"megatron", "Megatron-LM", fromMegatron, toMegatron},
		{"megatron-bridge", "Megatron-Bridge", fromBridge, toBridge},
		{"torchtitan", "torchtitan", fromTorchtitan, toTorchtitan},
	}
}

// Named is the software of a name.
func Named(name string) (Software, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s Software) bool { return s.Name == name })
	if i < 0 {
		return Software{}, false
	}
	return all[i], true
}

// Names lists the names of the software.
func Names() (out []string) {
	for _, s := range All() {
		out = append(out, s.Name)
	}
	return out
}
