package auto

import (
	"slices"

	"ptc/ir/layout"
	"ptc/ir/pipeline"
)

// Mesh are the mesh axes of the layouts of a search, each with its use.
var Mesh = []string{"dp", "pp", "cp", "ep", "tp"}

// Kind is what stands behind a word of `allow`.
type Kind int

const (
	Sizes  Kind = iota // a number from 1 on: `<= N`, `>= N`, `= N`, `in (N, …)`
	Choice             // `in (word, …)` of the row's words
	Sets               // `in ((axis, …), …)`: sets of axes of tensors
	Orders             // `in ((dp, …), …)`: orders of the mesh axes, the first one outermost
)

// Word is a word of `allow`.
type Word struct {
	Name, What string
	Kind       Kind
	From       []string // the words of a Choice
}

// Words are those of `allow`, in the order in which messages name them.
var Words = []Word{
	{Name: "dp", What: "the replicas that share a batch"},
	{Name: "pp", What: "the devices of a pipeline"},
	{Name: "cp", What: "the devices that share a sequence"},
	{Name: "ep", What: "the devices that share the experts"},
	{Name: "tp", What: "the devices that share the axes of `tensor`"},
	{Name: "devices", What: "how many of the machine's devices are used"},
	{Name: "rows", What: "the rows of one microbatch on a device"},
	{Name: "chunks", What: "the stages of a pipeline on each device"},
	{Name: "schedule", What: "the schedule of a pipeline", Kind: Choice, From: pipeline.Names()},
	{Name: "zero", What: "the level of `zero`, 0 for none", Kind: Choice, From: []string{"0", "1", "2", "3"}},
	{Name: "sequence", What: "whether values between blocks are sharded along the sequence", Kind: Choice, From: []string{"off", "on"}},
	{Name: "recompute", What: "what the backward phase recomputes", Kind: Choice, From: []string{"none", "full", "auto"}},
	{Name: "offload", What: "what is kept in the memory of the host", Kind: Choice, From: append([]string{"none"}, layout.Offloaded...)},
	{Name: "stages", What: "how blocks are assigned to stages", Kind: Choice, From: []string{"even", "balanced"}},
	{Name: "tensor", What: "the axes that are sharded over `tp`", Kind: Sets},
	{Name: "placement", What: "the order of the mesh axes, the first one outermost", Kind: Orders},
}

// WordOf is a word of `allow`, or nil.
func WordOf(name string) *Word {
	i := slices.IndexFunc(Words, func(w Word) bool { return w.Name == name })
	if i < 0 {
		return nil
	}
	return &Words[i]
}

// Objective is a word of `minimize`.
type Objective struct{ Name, What string }

// Objectives are those of `minimize`; the first one where the source names none.
var Objectives = []Objective{
	{"step_time", "the time of one step"},
	{"cost", "the price of one step"},
	{"energy", "the energy of one step"},
	{"devices", "the number of devices"},
	{"memory", "the memory of the fullest device"},
}

// ObjectiveOf is an objective by its name, or nil.
func ObjectiveOf(name string) *Objective {
	i := slices.IndexFunc(Objectives, func(o Objective) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return &Objectives[i]
}

// ObjectiveNames are the words of `minimize`.
func ObjectiveNames() (out []string) {
	for _, o := range Objectives {
		out = append(out, o.Name)
	}
	return out
}

// WordNames are the words of `allow`.
func WordNames() (out []string) {
	for _, w := range Words {
		out = append(out, w.Name)
	}
	return out
}
