package report

import "ptc/runtime/program"

// Forecast is a step of the plan on a machine, as a simulation predicts it. Package foresight/forecast fills it in, with
// texts in the words of `ptc simulate`: the runtime lies below the simulation and cannot ask it.
type Forecast struct {
	Machine string          `json:"machine"` // h100:128x8
	StepS   float64         `json:"step_s"`
	Step    string          `json:"step"` // in words
	Fits    bool            `json:"fits"`
	Memory  string          `json:"memory"` // "11.9 GiB of 77.6 GiB"
	Advice  []string        `json:"advice"` // what would make it fit, where it does not
	Figures []Figure        `json:"figures"`
	Causes  []ForecastCause `json:"causes"` // in the order of the waterfall
	Bound   ForecastPlace   `json:"bound"`  // what takes the most of the step
	Places  []ForecastPlace `json:"places"`
	Timing  *Timing         `json:"timing,omitempty"` // of a pipeline
	// Roof is what the machine's device does at most; the page uses it if the plan knows none.
	Roof *program.Roof `json:"-"`
}

// Figure is a figure in words.
type Figure struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ForecastCause is the part of the step that has one cause. Its bar in the waterfall begins where the one before ends.
type ForecastCause struct {
	Name  string  `json:"name"` // compute.gemm
	Kind  string  `json:"kind"` // compute, comm, copy, bubble, wait or host
	Time  string  `json:"time"`
	Begin float64 `json:"begin"` // as a share of the step, as is the next
	Share float64 `json:"share"`
}

// ForecastPlace is time that has one cause and comes from one place in the source.
type ForecastPlace struct {
	Cause  string  `json:"cause"`
	What   string  `json:"what"`   // a kernel, or a kind of exchange
	Source string  `json:"source"` // or the rule of the layout
	Limit  string  `json:"limit"`  // of a kernel: compute, memory, launch
	Time   string  `json:"time"`
	Share  float64 `json:"share"` // of the step
}

// Timing is the timeline of a pipeline in true time. Times are in nanoseconds from the start of the step.
type Timing struct {
	Tasks []string    `json:"tasks"` // names that slots refer to
	Rows  []TimingRow `json:"rows"`
	End   int64       `json:"end"`
}

// TimingRow is the step of one class of devices.
type TimingRow struct {
	Device  string       `json:"device"` // coordinates, and a rank if several classes have them
	Slots   []TimingSlot `json:"slots"`
	Idle    [][2]int64   `json:"idle"`          // waits within a slot that are long enough to be seen: begin, end
	Idles   float64      `json:"idle_share"`    // of the step
	Exposed float64      `json:"exposed_share"` // of the step: communication that no work hides
}

// TimingSlot is one turn of a task: the number of its name, its microbatch, begin, end, and the exposed communication in it.
type TimingSlot [5]int64

// OfForecast reads a plan for which there is a forecast; nil is none. The machine's roof counts if the plan has none.
func OfForecast(p *program.Plan, f *Forecast) *Document {
	if f == nil {
		return Of(p)
	}
	d := Of(under(p, f.Roof))
	d.Report.Forecast = f
	return d
}

// under is the plan under a roof, its own if it has one.
func under(p *program.Plan, roof *program.Roof) *program.Plan {
	if p.Roof != nil || roof == nil {
		return p
	}
	q := *p
	q.Roof = roof
	return &q
}
