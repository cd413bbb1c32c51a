package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"ptc/runtime/data"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
)

// EvalOptions say what Evaluate computes the loss of.
type EvalOptions struct {
	// Options of the run: Init, and how the plan is run. Nothing is trained or saved.
	Options
	// Data are patterns of files; none: what the plan's data holds out for validation.
	Data []string
	// PerFile asks for the loss of each file as well.
	PerFile bool
	// Warn is told what the user should know.
	Warn func(string)
}

// Evaluation is the average loss over windows of data.
type Evaluation struct {
	Loss       float64            `json:"loss"`
	Perplexity float64            `json:"perplexity"`
	Tokens     int64              `json:"tokens"` // of the windows
	Windows    int64              `json:"windows"`
	Weight     float64            `json:"weight,omitempty"` // by which the loss is divided, such as the number of targets that count
	Metrics    map[string]float64 `json:"metrics,omitempty"`
	Note       string             `json:"note,omitempty"`
	Files      []FileEvaluation   `json:"files,omitempty"`
}

// FileEvaluation is that of one file.
type FileEvaluation struct {
	File       string  `json:"file"`
	Loss       float64 `json:"loss"`
	Perplexity float64 `json:"perplexity"`
	Tokens     int64   `json:"tokens"`
	Weight     float64 `json:"weight,omitempty"`

	Metrics map[string]float64 `json:"metrics,omitempty"`
}

// Evaluate averages the plan's validation loss and its metrics over all windows of the data,
// in their order, on the devices of the plan. The plan has to be a decoded or validated
// one, and all devices are of this process. Errors are as those of Run.
func Evaluate(ctx context.Context, plan *program.Plan, o EvalOptions) (*Evaluation, error) {
	e := &evaluator{o: &o}
	if err := e.open(plan); err != nil {
		return nil, err
	}
	defer e.dev.close()
	src, err := e.source(o.Data)
	if err != nil {
		return nil, err
	}
	defer closeData(e.src)
	s, err := e.scores(ctx, src)
	if err != nil {
		return nil, err
	}
	out := &Evaluation{Loss: s.loss, Perplexity: math.Exp(s.loss), Weight: s.weight, Metrics: figures(s.metrics),
		Windows: s.windows, Tokens: s.windows * int64(e.window), Note: s.note}
	if !o.PerFile {
		return out, nil
	}
	return out, e.perFile(ctx, out)
}

func figures(list []metrics.Figure) map[string]float64 {
	if len(list) == 0 {
		return nil
	}
	out := map[string]float64{}
	for _, f := range list {
		out[f.Name] = f.Value
	}
	return out
}

// perFile adds the loss of each file. One that is shorter than a window has none by
// itself, though with the others it counts.
func (e *evaluator) perFile(ctx context.Context, out *Evaluation) error {
	files, err := data.Files(e.o.Data, nil, e.o.Vars)
	if err != nil {
		return dataError(err)
	}
	left := 0
	for _, f := range files {
		src, err := e.source([]string{f})
		if d := (*data.Error)(nil); errors.As(err, &d) && d.Short {
			left++
			continue
		}
		if err != nil {
			return err
		}
		m, err := e.scores(ctx, src)
		if err != nil {
			return err
		}
		out.Files = append(out.Files, FileEvaluation{f, m.loss, math.Exp(m.loss), m.windows * int64(e.window), m.weight, figures(m.metrics)})
	}
	if left > 0 {
		out.addNote(fmt.Sprintf("%d of %d files are too short for one window of %d tokens and its last target, so they have no loss of their own", left, len(files), e.window))
	}
	return nil
}

func (x *Evaluation) addNote(note string) {
	if x.Note != "" {
		note = x.Note + "; " + note
	}
	x.Note = note
}

// evaluator has the devices, and a batch that it fills window by window.
type evaluator struct {
	o      *EvalOptions
	plan   *program.Plan
	dev    *devices
	fields []data.Field
	src    data.Source // that was opened last
	batch  batch
	one    batch // one window
	window int   // tokens in it
	size   int   // windows in a batch
}

func (e *evaluator) open(plan *program.Plan) (err error) {
	if e.plan, err = plan.Expanded(); err != nil {
		return &Error{Code: ExitFile, Msg: "ptc cannot run the plan", Err: err}
	}
	if e.fields, err = dataFields(e.plan); err != nil {
		return err
	}
	if len(e.fields) == 0 || e.plan.Data.Kind == "" {
		return errorf(ExitFile, "the plan reads no data, so there is nothing to evaluate")
	}
	var single []data.Field
	for _, f := range e.fields {
		f.Shape = append([]int{1}, f.Shape[1:]...)
		single = append(single, f)
		if len(f.Shape) == 2 {
			e.window = max(e.window, f.Shape[1])
		}
	}
	e.window = max(e.window, 1)
	e.size, e.batch, e.one = e.fields[0].Shape[0], newBatch(e.fields, nil), newBatch(single, nil)
	tensors, err := planTensors(e.plan)
	if err != nil {
		return err
	}
	job := &job{procs: new(processes), plan: e.plan, o: e.o.Options, tensors: tensors, log: &log{warner{e.o.Warn}}}
	seed := planSeed(e.plan)
	if e.dev, err = openDevices(e.plan, e.fields, &job.o, seed, job.log.warn); err != nil {
		return err
	}
	err = e.dev.m.Initialize(seed) // for what the file may lack
	if err == nil {
		err = e.init(job)
	}
	if err == nil && !e.dev.hasEval() {
		err = errorf(ExitFile, "the plan has no program `eval`, so it cannot validate")
	}
	if err != nil {
		e.dev.close()
	}
	return err
}

// init loads the parameters.
func (e *evaluator) init(j *job) error {
	v, err := openInit(j.procs, j.o.Init)
	if err != nil {
		return err
	}
	defer v.Close() // was only read
	return loadParams(j, e.dev, v)
}

// warner is a sink of which warnings alone are told.
type warner struct{ warn func(string) }

func (w warner) Tell(e metrics.Event) {
	if x, ok := e.(*metrics.Warning); ok && w.warn != nil {
		w.warn(x.Message)
	}
}

func (warner) Close() error { return nil }

// source opens the data of patterns, in the order of the files, or what is held out.
func (e *evaluator) source(patterns []string) (*windows, error) {
	b := data.Batch{Size: e.size, Vocab: vocabulary(e.plan), Folder: e.o.Folder, Vars: e.o.Vars, Fields: e.fields}
	if len(patterns) > 0 {
		b.Size, b.Fields = 1, nil
		for _, f := range e.fields {
			f.Shape = append([]int{1}, f.Shape[1:]...)
			b.Fields = append(b.Fields, f)
		}
	}
	opts := dataOptions(e.plan.Data.Options, e.o.Options.Data)
	if len(patterns) > 0 {
		given := func(o data.Option) bool { return slices.Contains(ofFiles, o.Key) }
		if !slices.ContainsFunc(opts, func(o data.Option) bool { return o.Key == "files" || o.Key == "" }) {
			return nil, errorf(ExitUsage, "the plan's data, %s, does not come from files", e.plan.Data.Kind)
		}
		opts = slices.DeleteFunc(slices.Clone(opts), given)
		for _, p := range patterns {
			opts = append(opts, data.Option{Key: "files", Value: p})
		}
		opts = append(opts, data.Option{Key: "valid", Value: "0"}, data.Option{Key: "shuffle", Value: "false"})
		if e.plan.Data.Kind == "text" {
			opts = append(opts, data.Option{Key: "limit", Value: "1024GiB"})
		}
	}
	src, err := data.Open(e.plan.Data.Kind, opts, b)
	if err != nil {
		return nil, dataError(err)
	}
	e.src = src
	if len(patterns) > 0 {
		return &windows{src.Tokens() / int64(e.window), func(number func(row int) int64) (*batch, error) {
			return e.oneByOne(number, func(i int64) error { return src.Fill(i+1, e.one.views) })
		}}, nil
	}
	if src.Held() == 0 {
		return nil, errorf(ExitUsage, "the plan's data holds out nothing for validation").hint("pass --data FILES")
	}
	return &windows{src.Held(), func(number func(row int) int64) (*batch, error) {
		if err := src.HeldOut(number, e.batch.views); err != nil {
			return nil, dataError(err)
		}
		return &e.batch, nil
	}}, nil
}

// ofFiles are the options of a source that say which files, and in which order.
var ofFiles = []string{"", "files", "exclude", "valid", "shuffle", "limit"}

// scores are the averages over all windows.
func (e *evaluator) scores(ctx context.Context, src *windows) (*scores, error) {
	if src.count == 0 {
		return nil, errorf(ExitFile, "the data is too short for one window of %d tokens and its last target", e.window)
	}
	v := averager{dev: e.dev, averages: averagesOf(e.plan), size: int64(e.size), stopped: func() (bool, error) { return ctx.Err() != nil, ctx.Err() }}
	if why := meanOfMeans(&v.averages[0]); why != "" && src.count < v.size {
		return nil, errorf(ExitFile, "the data has %d windows, but the plan takes %d at once, and %s", src.count, v.size, why).
			hint("compile with a smaller batch")
	}
	return v.average(src)
}

// oneByOne is a batch whose rows are copies of single windows.
func (e *evaluator) oneByOne(number func(row int) int64, fill func(i int64) error) (*batch, error) {
	before := int64(-1)
	for row := range e.size {
		if w := number(row); w != before {
			if err := fill(w); err != nil {
				return nil, dataError(err)
			}
			before = w
		}
		for i, x := range e.one.bytes {
			copy(e.batch.bytes[i][row*len(x):], x)
		}
	}
	return &e.batch, nil
}
