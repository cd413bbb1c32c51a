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

// Evaluation is the mean loss over windows of data.
type Evaluation struct {
	Loss       float64          `json:"loss"`
	Perplexity float64          `json:"perplexity"`
	Tokens     int64            `json:"tokens"` // that were predicted
	Windows    int64            `json:"windows"`
	Note       string           `json:"note,omitempty"`
	Files      []FileEvaluation `json:"files,omitempty"`
}

// FileEvaluation is that of one file.
type FileEvaluation struct {
	File       string  `json:"file"`
	Loss       float64 `json:"loss"`
	Perplexity float64 `json:"perplexity"`
	Tokens     int64   `json:"tokens"`
}

// Evaluate is the mean of the plan's validation loss over all windows of the data, in
// their order, on the devices of the plan. The plan has to be a decoded or validated
// one, and all devices are of this process. Errors are as those of Run.
func Evaluate(ctx context.Context, plan *program.Plan, o EvalOptions) (*Evaluation, error) {
	e := &evaluator{o: &o}
	if err := e.open(plan); err != nil {
		return nil, err
	}
	defer e.dev.close()
	out := &Evaluation{}
	src, err := e.source(o.Data)
	if err != nil {
		return nil, err
	}
	mean, err := e.mean(ctx, src)
	if err != nil {
		return nil, err
	}
	out.Loss, out.Perplexity, out.Windows, out.Tokens, out.Note = mean.loss, math.Exp(mean.loss), mean.windows, mean.windows*int64(e.window), mean.note
	if !o.PerFile {
		return out, nil
	}
	return out, e.perFile(ctx, out)
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
		m, err := e.mean(ctx, src)
		if err != nil {
			return err
		}
		out.Files = append(out.Files, FileEvaluation{f, m.loss, math.Exp(m.loss), m.windows * int64(e.window)})
	}
	if left > 0 {
		out.addNote(fmt.Sprintf("%d of %d files are shorter than a window of %d tokens and the one after, and have no loss by themselves", left, len(files), e.window))
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
	batch  batch
	one    batch // one window
	window int   // tokens in it
	size   int   // windows in a batch
	dealt  *bool // whether the loss is a mean over windows, once that is known
}

func (e *evaluator) open(plan *program.Plan) (err error) {
	if e.plan, err = plan.Expanded(); err != nil {
		return &Error{Code: ExitFile, Msg: "the plan cannot be run", Err: err}
	}
	if e.fields, err = dataFields(e.plan); err != nil {
		return err
	}
	if len(e.fields) == 0 || e.plan.Data.Kind == "" {
		return errorf(ExitFile, "the plan reads no data, so that there is nothing to evaluate")
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
	r := &run{plan: e.plan, o: e.o.Options, log: warner{e.o.Warn}, tensors: tensors, seed: planSeed(e.plan)}
	if r.dev, err = openDevices(e.plan, e.fields, &r.o, r.seed, r.warn); err != nil {
		return err
	}
	e.dev = r.dev
	err = r.dev.m.Initialize(r.seed) // for what the file may lack
	if err == nil {
		err = r.loadParams()
	}
	if err == nil && !e.dev.hasEval() {
		err = errorf(ExitFile, "the plan has no program eval: it does not validate")
	}
	if err != nil {
		e.dev.close()
	}
	return err
}

// warner is a sink of which warnings alone are told.
type warner struct{ warn func(string) }

func (w warner) Tell(e metrics.Event) {
	if x, ok := e.(*metrics.Warning); ok && w.warn != nil {
		w.warn(x.Message)
	}
}

func (warner) Close() error { return nil }

// windows are examples, one by one.
type windows struct {
	count int64
	fill  func(i int64, dst []data.View) error
}

// source opens the data of patterns, in the order of the files, or what is held out.
func (e *evaluator) source(patterns []string) (*windows, error) {
	b := data.Batch{Size: 1, Vocab: vocabulary(e.plan), Folder: e.o.Folder, Vars: e.o.Vars}
	for _, f := range e.fields {
		f.Shape = append([]int{1}, f.Shape[1:]...)
		b.Fields = append(b.Fields, f)
	}
	opts := dataOptions(e.plan.Data.Options, e.o.Options.Data)
	if len(patterns) > 0 {
		given := func(o data.Option) bool { return slices.Contains(ofFiles, o.Key) }
		if !slices.ContainsFunc(opts, func(o data.Option) bool { return o.Key == "files" || o.Key == "" }) {
			return nil, errorf(ExitUsage, "the plan's data, %s, is not of files", e.plan.Data.Kind)
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
	if len(patterns) > 0 {
		return &windows{src.Tokens() / int64(e.window), func(i int64, dst []data.View) error { return src.Fill(i+1, dst) }}, nil
	}
	if src.ValidationBatches() == 0 {
		return nil, errorf(ExitUsage, "the plan's data holds nothing out for validation").hint("pass --data FILES")
	}
	return &windows{int64(src.ValidationBatches()), func(i int64, dst []data.View) error { return src.Validation(int(i), dst) }}, nil
}

// ofFiles are the options of a source that say which files, and in which order.
var ofFiles = []string{"", "files", "exclude", "valid", "shuffle", "limit"}

// meanLoss is the mean over windows, with what is to be said of it.
type meanLoss struct {
	loss    float64
	windows int64
	note    string
}

// mean goes through all windows, a batch at a time. The last ones need not fill a
// batch: the rest of it is the last window, again and again, of which the loss is
// known, and is subtracted. With r windows of a batch of B
//
//	B·L(w₁ … wᵣ, w, …, w) = ℓ₁ + … + ℓᵣ + (B−r)·ℓ    where L(w, …, w) = ℓ
//
// as long as the loss of a batch is the mean of those of its windows, which is tried.
func (e *evaluator) mean(ctx context.Context, src *windows) (m meanLoss, err error) {
	n, size := src.count, int64(e.size)
	if n == 0 {
		return m, errorf(ExitFile, "the data has no window of %d tokens and the one after", e.window)
	}
	dealt, err := e.isMean(src)
	if err != nil {
		return m, err
	}
	sum := 0.0
	for first := int64(0); first+size <= n; first += size {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		loss, err := e.loss(src, func(row int64) int64 { return first + row })
		if err != nil {
			return m, err
		}
		sum += float64(size) * loss
		m.windows += size
	}
	rest, last := n%size, n-1
	switch {
	case rest == 0:
	case dealt:
		known, err := e.loss(src, func(int64) int64 { return last })
		if err != nil {
			return m, err
		}
		mixed, err := e.loss(src, func(row int64) int64 { return min(n-rest+row, last) })
		if err != nil {
			return m, err
		}
		sum += float64(size)*mixed - float64(size-rest)*known
		m.windows += rest
	case m.windows == 0:
		return m, errorf(ExitFile, "the data has %d windows, the plan takes %d at once, and its loss is not the mean over them", n, size).
			hint("compile with a smaller batch")
	}
	if !dealt {
		m.note = fmt.Sprintf("the loss of a batch is not the mean over its windows: it depends on which are together, and %d windows that fill no batch are left out", rest)
	}
	m.loss = sum / float64(m.windows)
	return m, nil
}

// closeEnough bounds by how much the mean of losses may differ from the loss of a batch
// that has the same windows: both are sums of a batch in another order, in f32.
const closeEnough = 1e-4

// isMean tries whether the loss of a batch of two kinds of windows is the mean.
func (e *evaluator) isMean(src *windows) (bool, error) {
	if e.dealt != nil {
		return *e.dealt, nil
	}
	if e.size == 1 || src.count == 1 {
		return true, nil
	}
	half := int64(e.size) / 2
	a, err := e.loss(src, func(int64) int64 { return 0 })
	if err != nil {
		return false, err
	}
	b, err := e.loss(src, func(int64) int64 { return 1 })
	if err != nil {
		return false, err
	}
	both, err := e.loss(src, func(row int64) int64 {
		if row < half {
			return 0
		}
		return 1
	})
	if err != nil {
		return false, err
	}
	want := (float64(half)*a + float64(int64(e.size)-half)*b) / float64(e.size)
	ok := math.Abs(both-want) <= closeEnough*max(1, math.Abs(want))
	e.dealt = &ok
	return ok, nil
}

// loss is that of a batch whose rows are the windows that of says.
func (e *evaluator) loss(src *windows, of func(row int64) int64) (float64, error) {
	before := int64(-1)
	for row := range int64(e.size) {
		if w := of(row); w != before {
			if err := src.fill(w, e.one.views); err != nil {
				return 0, dataError(err)
			}
			before = w
		}
		for i, x := range e.one.bytes {
			copy(e.batch.bytes[i][row*int64(len(x)):], x)
		}
	}
	return e.dev.eval(&e.batch)
}
