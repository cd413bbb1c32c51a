package train

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint"
	"ptc/runtime/data"
	"ptc/runtime/program"
)

// feed gives the batches of a run: while a step runs, another goroutine fills
// the batch of the next one. What a step is fed depends on its number alone, so
// that which of the two is ready first changes nothing.
type feed struct {
	src    data.Source // nil where the model takes no data
	fields []data.Field
	batch  [2]batch // of even and of odd steps
	valid  batch

	ask  chan int64
	done chan error
	last int64

	once  bool         // it can be read once
	share *sharing     // nil: every process reads for itself
	warn  func(string) // nil: nobody is told
}

// openFeed opens the plan's data for the fields that its programs read: for one
// rank alone, or, with -1, for all. It goes on behind what a run was fed before the
// checkpoint, if there is one. Of data that can be read once the root of p reads all, for all.
func openFeed(plan *program.Plan, o *Options, seed uint64, rank int, c *checkpoint.Checkpoint, p *processes) (*feed, error) {
	fields, err := dataFields(plan)
	if err != nil {
		return nil, err
	}
	f := &feed{fields: fields}
	if len(fields) == 0 {
		return f, nil
	}
	if plan.Data.Kind == "" {
		return nil, errorf(ExitFile, "the plan reads the field %s, but names no data", fields[0])
	}
	b := data.Batch{Size: fields[0].Shape[0], Vocab: vocabulary(plan), Seed: seed, Fields: fields, Folder: o.Folder, Vars: o.Vars}
	if c != nil {
		if b.Past, err = pastOf(c, b.Size); err != nil {
			return nil, err
		}
	}
	if f.once = data.OneReader(plan.Data.Kind); f.once && p.end != nil {
		rank = -1
		if f.share, err = openSharing(p, o); err != nil {
			return nil, err
		}
	}
	f.src, err = f.share.open(func() (data.Source, error) {
		return data.Open(plan.Data.Kind, dataOptions(plan.Data.Options, o.Data), b)
	})
	if err != nil {
		return nil, err
	}
	boxes := dataBoxes(plan, fields, rank)
	f.batch[0], f.batch[1], f.valid = newBatch(fields, boxes), newBatch(fields, boxes), newBatch(fields, boxes)
	if f.share != nil {
		for _, b := range []*batch{&f.batch[0], &f.batch[1], &f.valid} {
			if err := f.share.batches(b); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// dataBoxes are the parts of the fields that a rank reads, without bounds where
// it reads nothing; nil for whole fields, which serve every program where two
// read other parts.
func dataBoxes(plan *program.Plan, fields []data.Field, rank int) []data.View {
	if rank < 0 {
		return nil
	}
	boxes := make([]data.View, len(fields))
	for i := range plan.Devices {
		d := &plan.Devices[i]
		if !plan.HasRank(d, rank) {
			continue
		}
		for _, p := range d.Ports {
			if p.Role != program.RoleData {
				continue
			}
			lo, hi := plan.Mesh.Box(rank, d.Buffers[p.Buffer].Axes)
			b := &boxes[slices.IndexFunc(fields, func(f data.Field) bool { return f.Name == p.Path })]
			if b.Hi != nil && !(slices.Equal(b.Lo, lo) && slices.Equal(b.Hi, hi)) {
				return nil
			}
			b.Lo, b.Hi = lo, hi
		}
	}
	return boxes
}

// dataOptions puts the given options in the place of the plan's of their keys.
func dataOptions(plan []program.KV, given []data.Option) []data.Option {
	var opts []data.Option
	for _, kv := range plan {
		if !slices.ContainsFunc(given, func(o data.Option) bool { return o.Key == kv.Key }) {
			opts = append(opts, data.Option{Key: kv.Key, Value: kv.Value})
		}
	}
	return append(opts, given...)
}

// dataFields lists what the programs read of a batch, in the order of the ports
// of the first device that reads it.
func dataFields(plan *program.Plan) ([]data.Field, error) {
	var fields []data.Field
	for i := range plan.Devices {
		d := &plan.Devices[i]
		for _, p := range d.Ports {
			if p.Role != program.RoleData || slices.ContainsFunc(fields, func(f data.Field) bool { return f.Name == p.Path }) {
				continue
			}
			f := data.Field{Name: p.Path}
			b := &d.Buffers[p.Buffer]
			if f.DType, _ = dtype.Parse(b.DType); f.DType != dtype.I32 && f.DType != dtype.F32 {
				return nil, errorf(ExitFile, "the plan reads the field %s as %s, but data is i32 or f32", p.Path, b.DType)
			}
			for _, a := range b.Axes {
				f.Shape = append(f.Shape, a.Global)
			}
			if len(f.Shape) == 0 || slices.Min(f.Shape) < 1 {
				return nil, errorf(ExitFile, "the plan reads the field %s, which has no batch axis", f)
			}
			fields = append(fields, f)
		}
	}
	return fields, nil
}

// vocabulary is the size of the axis vocab of the parameters: tokens that index
// it must be below. 0 if no parameter has it.
func vocabulary(plan *program.Plan) int {
	for i := range plan.Devices {
		d := &plan.Devices[i]
		for _, t := range d.Tensors {
			for _, a := range d.Buffers[t.Buffer].Axes {
				if a.Name == "vocab" {
					return a.Global
				}
			}
		}
	}
	return 0
}

// start begins to fill the batches of the steps from first to last.
func (f *feed) start(first, last int64) {
	if f.src == nil || first > last || f.share.listens() {
		return
	}
	f.last = last
	f.ask, f.done = make(chan int64), make(chan error)
	go func() {
		for step := range f.ask {
			f.done <- f.src.Fill(step, f.batch[step&1].views)
		}
		close(f.done)
	}()
	f.ask <- first
}

// next gives the batch of a step, which stays as it is until the next call.
// Steps are asked for in order. It is errNoData where the data has ended before, and errStopped where ctx
// has ended a wait for what can be read once.
func (f *feed) next(ctx context.Context, step int64) (*batch, error) {
	if f.src == nil {
		return &f.valid, nil
	}
	if !f.once { // it comes, or fails
		if err := <-f.done; err != nil {
			return nil, dataError(err)
		}
		if step < f.last {
			f.ask <- step + 1
		}
		return &f.batch[step&1], nil
	}
	tell := waitTold
	told := func(d time.Duration) {
		if d >= tell && f.warn != nil {
			f.warn(fmt.Sprintf("step %d has waited %v for data", step, d.Round(time.Second)))
			tell *= 2
		}
	}
	if err := f.share.await(ctx, f.done, told); err != nil {
		return nil, err
	}
	if step < f.last && !f.share.listens() {
		f.ask <- step + 1
	}
	b := &f.batch[step&1]
	return b, b.send()
}

// stop waits for the goroutine to end.
func (f *feed) stop() {
	closeData(f.src)
	if f.ask == nil {
		return
	}
	close(f.ask)
	for range f.done { // a batch that was asked for and is not wanted any more
	}
	f.ask = nil
}

// size is how many examples a batch has.
func (f *feed) size() int64 {
	if len(f.fields) == 0 {
		return 1
	}
	return int64(f.fields[0].Shape[0])
}

// examples is how many the data has to train on, 0 where it has no end.
func (f *feed) examples() int64 {
	if f.src == nil {
		return 0
	}
	return f.src.Examples()
}

// heldOut are the first windows that are held out, n at most.
func (f *feed) heldOut(n int64) *windows {
	if f.src == nil {
		return &windows{}
	}
	return &windows{min(n, f.src.Held()), func(number func(row int) int64) (*batch, error) {
		done := make(chan error, 1)
		if !f.share.listens() {
			done <- f.src.HeldOut(number, f.valid.views)
		}
		if err := f.share.await(context.Background(), done, func(time.Duration) {}); err != nil {
			return nil, err
		}
		return &f.valid, f.valid.send()
	}}
}

func (f *feed) describe() string {
	if f.src == nil {
		return ""
	}
	return f.src.Describe()
}

func (f *feed) fingerprint() string {
	if f.src == nil {
		return ""
	}
	return f.src.Fingerprint()
}

// phase is that of a feed from a step on, with nothing fed yet.
func (f *feed) phase(first int64) (checkpoint.Phase, data.Recipe) {
	r := f.src.Recipe()
	p := checkpoint.Phase{First: first, Batch: int64(f.fields[0].Shape[0]), Data: f.fingerprint(), Order: r.Order}
	for _, part := range r.Parts {
		s := checkpoint.Source{Kind: part.Kind, Data: part.Print, Seed: part.Seed, Share: part.Places, Facts: map[string]string{}}
		for _, fact := range part.Facts {
			s.Facts[fact.Name] = fact.Value
		}
		p.Sources = append(p.Sources, s)
	}
	return p, r
}

// counted is how many examples of the data in hand a run was fed before a checkpoint, since
// it is fed of that data.
func (f *feed) counted(c *checkpoint.Checkpoint) int64 {
	if c == nil {
		return 0
	}
	phases := phasesOf(c, int(f.size()))
	if len(phases) == 0 {
		return 0
	}
	if before := phases[len(phases)-1]; len(before.Sources) == 0 { // of a program that did not say more
		if before.Data != f.fingerprint() {
			return 0
		}
		return before.Examples
	}
	recipe := f.src.Recipe()
	return data.Counted(fedIn(phases), &recipe)
}

// endOfEpochs is the last step of a run that goes through its data n times: the one with which every example was
// fed that often, before the checkpoint c or from the step first on. Of the examples in the last batch some may be
// of the next epoch.
func (f *feed) endOfEpochs(n, first int64, c *checkpoint.Checkpoint) (int64, error) {
	examples := f.examples()
	if examples == 0 {
		return 0, errorf(ExitUsage, "the data has no end, so it has no epochs: %s", f.describe()).hint("pass --steps N")
	}
	tooMany := errorf(ExitUsage, "the epochs have more steps than the 31 bits of a step's number can count")
	if examples > math.MaxInt64/2/n {
		return 0, tooMany
	}
	left := max(0, n*examples-f.counted(c))
	last := first - 1 + (left+f.size()-1)/f.size()
	if last > math.MaxInt32 {
		return 0, tooMany
	}
	return last, nil
}
