package profile

import "ptc/runtime/program"

// Version is that of the JSON form of a Report. Fields may be added within a
// version; none changes its name or meaning.
const Version = 1

// Ceilings are what a process can do with its threads, in units of 10⁹ a second;
// 0 is not known.
type Ceilings struct {
	Threads int     `json:"threads"`
	Flops   float64 `json:"gflops"`               // multiply-adds of f32
	Dot     float64 `json:"dot_gflops,omitempty"` // dot products of bf16
	Read    float64 `json:"read_gb_per_s"`
	Copy    float64 `json:"copy_gb_per_s"`
	Update  float64 `json:"update_gb_per_s"`
	Why     string  `json:"why,omitempty"` // they are not known

	// Device is what the ceilings are of, by its maker's figures, where they were not measured: then those
	// above are 0. A device has them for itself.
	Device     string  `json:"device,omitempty"`
	Arithmetic []Rate  `json:"arithmetic,omitempty"` // the first is that of all that no other is for
	Memory     float64 `json:"memory_gb_per_s,omitempty"`
}

// Rate is the arithmetic of products whose factors are of a dtype.
type Rate struct {
	DType  string  `json:"dtype"`
	GFlops float64 `json:"gflops"`
}

// Of are the ceilings of the kind of device that a plan is for.
func Of(r *program.Roof) Ceilings {
	c := Ceilings{Device: r.Device, Memory: r.Bytes / 1e9}
	for _, x := range r.Rates {
		c.Arithmetic = append(c.Arithmetic, Rate{x.DType, x.Flops / 1e9})
	}
	return c
}

// Bandwidth is the most that moved.
func (c *Ceilings) Bandwidth() float64 { return max(c.Read, c.Copy, c.Update, c.Memory) }

// peak is the most arithmetic that work could be.
func (c *Ceilings) peak(w Work) float64 {
	switch {
	case len(c.Arithmetic) > 0:
		for _, r := range c.Arithmetic {
			if r.DType == w.Factors {
				return r.GFlops
			}
		}
		return c.Arithmetic[0].GFlops
	case w.Dot:
		return max(c.Flops, c.Dot)
	}
	return c.Flops
}

// of is what one of n devices has that share the process.
func (c Ceilings) of(n int) Ceilings {
	if c.Device != "" {
		return c
	}
	f := 1 / float64(n)
	c.Threads = max(1, c.Threads/n)
	c.Flops, c.Dot, c.Read, c.Copy, c.Update = c.Flops*f, c.Dot*f, c.Read*f, c.Copy*f, c.Update*f
	return c
}

// Report is the profile of a run.
type Report struct {
	Version int    `json:"version"`
	Model   string `json:"model"`
	Layout  string `json:"layout"`
	Target  string `json:"target"`
	// Steps were profiled, after as many that warmed up.
	Steps  int `json:"steps"`
	WarmUp int `json:"warm_up_steps"`
	// ProfiledMs is the median time of a profiled step, and StepMs that of one
	// that ran as always, between them; 0 where there was none.
	ProfiledMs float64 `json:"profiled_step_ms"`
	StepMs     float64 `json:"step_ms"`
	Ranks      []Rank  `json:"ranks"`
}

// Rank is the profile of a device. Times are medians, in milliseconds of a step.
type Rank struct {
	Rank     int      `json:"rank"`
	On       string   `json:"on,omitempty"` // what it ran on, where its engine says that: "GPU 0 (NVIDIA H200)"
	Ceilings Ceilings `json:"ceilings"`
	StepMs   float64  `json:"step_ms"` // from the first instruction to the last
	KernelMs float64  `json:"kernel_ms"`
	// CommMs is that of communications, with the waiting for the other devices in
	// them, and WaitMs that for the end of what was begun before.
	CommMs         float64  `json:"communication_ms"`
	WaitMs         float64  `json:"wait_ms"`
	GapMs          float64  `json:"gap_ms"` // between instructions
	Launches       int      `json:"launches_per_step"`
	Communications int      `json:"communications_per_step"`
	Flops          int64    `json:"flops_per_step"` // of all kernels
	Bytes          int64    `json:"bytes_per_step"`
	Kernels        []Kernel `json:"kernels"` // the longest first; communications by kind and axes
}

// Kernel is a kernel function of a device and what its launches took.
type Kernel struct {
	Name     string  `json:"name"`
	Class    string  `json:"class"` // comm of a communication
	Launches int     `json:"launches_per_step"`
	Ms       float64 `json:"ms_per_step"`
	Share    float64 `json:"share_of_step"`
	Flops    int64   `json:"flops"` // of a launch, and so are the bytes
	Bytes    int64   `json:"bytes"`
	Rates
	Module string `json:"module"` // of the first call
	Source string `json:"source"`
	Calls  []Call `json:"calls"` // in the order of the program
}

// Call is a launch of the step.
type Call struct {
	Instruction int     `json:"instruction"` // of the step, with every run written out
	Module      string  `json:"module"`
	Source      string  `json:"source"`
	Ms          float64 `json:"ms"`
	Rates
}

// Rates are how fast work was done. Where the ceilings are not known, there is no
// share; nor of a communication.
type Rates struct {
	GFlops   float64 `json:"gflops"`
	GBytes   float64 `json:"gb_per_s"`
	Roofline float64 `json:"roofline_share,omitempty"`
	Bound    string  `json:"bound,omitempty"` // what the roofline is there: compute, memory
}

// Work is what a launch does.
type Work struct {
	Flops, Bytes int64
	Dot          bool   // its products are of bf16
	Factors      string // the dtype of what they multiply, as the plan says it
	Comm         bool
}

// Rates of a launch that took so many nanoseconds.
func (c *Ceilings) Rates(w Work, ns float64) Rates {
	if ns <= 0 {
		return Rates{}
	}
	r := Rates{GFlops: float64(w.Flops) / ns, GBytes: float64(w.Bytes) / ns}
	peak := c.peak(w)
	if w.Comm || peak <= 0 || c.Bandwidth() <= 0 || w.Flops+w.Bytes == 0 {
		return r
	}
	// min(peak, bandwidth · intensity) as times, which also holds without FLOP.
	compute, memory := float64(w.Flops)/peak, float64(w.Bytes)/c.Bandwidth()
	r.Roofline, r.Bound = max(compute, memory)/ns, "memory"
	if compute > memory {
		r.Bound = "compute"
	}
	return r
}
