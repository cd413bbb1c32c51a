package checkpoint

// Meta says what a checkpoint is of. A run that resumes compares the hashes.
type Meta struct {
	Step   int64    `json:"step"`             // steps that are done
	Seed   uint64   `json:"seed"`             // of the run
	Loss   *float64 `json:"loss,omitempty"`   // of the last of those steps; nil: not known
	Model  string   `json:"model_hash"`       // of the model's mathematics
	Source string   `json:"source_hash"`      // of the source text
	Data   string   `json:"data_fingerprint"` // of the data
	// Valid is the validation loss after them; nil: it was not measured before the save.
	Valid *float64 `json:"validation_loss,omitempty"`
	// Phases say what the steps were fed, from the first one on. None: of a program that did not
	// say, or before the first step.
	Phases []Phase `json:"phases,omitempty"`
	// Settings are the values of the plan's ports, such as a learning rate.
	Settings []Setting `json:"settings,omitempty"`
	// Patience is how long validation has got no better; nil where the run does not end by it.
	Patience *Patience `json:"patience,omitempty"`
}

// Patience is the state of what ends a run early.
type Patience struct {
	Best  *float64 `json:"best,omitempty"` // so far
	Since int64    `json:"since"`          // validations that were not better than that
	Step  int64    `json:"step"`           // after which the last one was
}

// Setting is the value of a port of the plan.
type Setting struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Phase is a number of steps in which a run was fed the same data in batches of one size.
type Phase struct {
	First    int64    `json:"first_step"`
	Batch    int64    `json:"batch"`            // examples in a step
	Examples int64    `json:"examples"`         // of all of its steps up to the checkpoint's
	Data     string   `json:"data_fingerprint"` // of the data
	Order    uint64   `json:"order_seed"`       // of the order of a mixture
	Sources  []Source `json:"sources,omitempty"`
}

// Source is one source of the data of a phase: the only one, or one of a mixture.
type Source struct {
	Kind     string            `json:"kind"`
	Data     string            `json:"data_fingerprint"`
	Seed     uint64            `json:"order_seed"`      // of the order of its examples
	Share    int64             `json:"share,omitempty"` // of 10,000 examples of a mixture
	Examples int64             `json:"examples"`        // that it gave in the phase
	Facts    map[string]string `json:"facts,omitempty"` // what its fingerprint is of
}

// Error says which checkpoint cannot be read or written, and why.
type Error struct {
	Dir string
	Msg string
	Err error
}

func (e *Error) Error() string {
	s := "checkpoint " + e.Dir + ": " + e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
