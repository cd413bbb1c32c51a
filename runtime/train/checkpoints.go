package train

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"

	"ptc/runtime/checkpoint"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/program"
	"ptc/runtime/storage"
)

// modelHash is of what a layout cannot change about the state of a model: the
// names, shapes and axes of its tensors.
func modelHash(tensors []checkpoint.Tensor) string {
	h := sha256.New()
	fmt.Fprintf(h, "model 1\n")
	for _, t := range tensors {
		fmt.Fprintf(h, "%q %d %q\n", t.Name, t.Shape, t.Axes)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// sourceHash is of what the model was compiled from. The layout, which changes
// no result, is not part of it.
func sourceHash(plan *program.Plan) string {
	h := sha256.New()
	fmt.Fprintf(h, "source 1\n")
	for _, s := range plan.Sources {
		fmt.Fprintf(h, "%q %x\n", s.Name, sha256.Sum256([]byte(s.Text)))
	}
	for _, kv := range plan.Config {
		fmt.Fprintf(h, "%q %q\n", kv.Key, kv.Value)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// keeper saves and loads the checkpoints of a run.
type keeper struct {
	state
	store     checkpoint.Store
	order     []int // of the tensors, in which they are copied out and written
	meta      checkpoint.Meta
	fed       fed
	validStep int64 // of the validation loss in meta
	saved     int64 // step of the checkpoint saved last, or gone on from; -1: none

	// Where several processes have the devices: who they are, what each writes, and how many bytes all on this
	// host write.
	peers    *checkpoint.Peers
	division *checkpoint.Division
	onHost   int64

	held func(step int64, when string) error // for tests, see Options
}

func newKeeper(j *job) *keeper {
	k := &keeper{
		state: state{j.tensors, copiesOf(j.plan)},
		store: checkpoint.Store{Dir: j.o.Checkpoint, Keep: j.o.Keep, KeepBest: j.o.KeepBest, Overwrite: j.o.Overwrite, Warn: j.log.warn},
		order: checkpoint.Order(j.tensors),
		saved: -1,
		held:  j.o.held,
	}
	k.meta = checkpoint.Meta{Model: modelHash(k.ofModel()), Source: sourceHash(j.plan), Settings: keptSettings(j.plan)}
	for _, t := range j.tensors {
		k.onHost += t.Bytes()
	}
	return k
}

// join readies the keeper for what several processes do together.
func (k *keeper) join(p *processes, plan *program.Plan) error {
	k.peers = p.peers()
	hostmates, err := p.onMyHost()
	if err != nil {
		return err
	}
	k.division, k.onHost = divide(plan, k.tensors), 0
	for _, x := range k.division.Pieces(k.peers.Rank) {
		k.onHost += x.Bytes * int64(hostmates)
	}
	return nil
}

// prepare makes the folder and locks it, so that what could keep checkpoints from
// being saved there is found out before the first step. A run that starts from the
// first step does not go into a folder that has checkpoints, unless it was told to
// replace them: else a second start of the same command would undo the first one.
// With ifAny both are as they should be.
func (k *keeper) prepare(resume, ifAny bool) error {
	if resume && !ifAny { // no folder is made where nothing can be resumed
		if entries, err := k.store.List(); err == nil && len(entries) == 0 {
			return k.nothing(k.store.Dir)
		}
	}
	mayStart := resume || ifAny || k.store.Overwrite
	if storage.Remote(k.store.Dir) && !mayStart { // whose lock would be taken from a run that lives
		if err := k.empty(); err != nil {
			return err
		}
	}
	if err := k.store.Lock(); err != nil {
		e := &Error{Code: ExitFile, Msg: "ptc cannot save checkpoints", Err: err}
		var held *checkpoint.HeldError
		if errors.As(err, &held) {
			return e.hint("wait until it has ended, or pass another folder")
		}
		return e
	}
	if mayStart {
		return nil
	}
	return k.empty()
}

// empty refuses a folder that has checkpoints.
func (k *keeper) empty() error {
	entries, err := k.store.List()
	if err != nil {
		return checkpointError(err)
	}
	if len(entries) > 0 {
		return errorf(ExitFile, "%s already has checkpoints, the latest of step %d, but this run would start from the first step", k.store.Dir, entries[0].Step).
			hint("pass --resume to continue from them, --overwrite to replace them, or another folder")
	}
	return nil
}

// any says whether the folder has a checkpoint.
func (k *keeper) any() (bool, error) {
	entries, err := k.store.List()
	if err != nil {
		return false, checkpointError(err)
	}
	return len(entries) > 0, nil
}

// close lets other runs save into the folder.
func (k *keeper) close() { k.store.Unlock() }

func (k *keeper) nothing(in string) error {
	return errorf(ExitFile, "%s has no checkpoint to resume from", in).
		hint("without --resume, the run starts from the first step")
}

// latest opens the checkpoint to go on from, the latest at from or else in the folder,
// and checks that it is of this model. seed is what the user asked for, nil if nothing.
func (k *keeper) latest(from string, seed *uint64) (*checkpoint.Checkpoint, error) {
	c, err := checkpoint.OpenWith(k.peers, cmp.Or(from, k.store.Dir), k.store.Warn)
	if errors.Is(err, checkpoint.ErrNone) {
		return nil, k.nothing(cmp.Or(from, k.store.Dir))
	}
	if err != nil {
		return nil, checkpointError(err)
	}
	if err := k.match(c, seed); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (k *keeper) match(c *checkpoint.Checkpoint, seed *uint64) error {
	if diff := k.differs(c.Tensors()); diff != "" {
		return errorf(ExitFile, "checkpoint %s does not match this model: %s", c.Dir, diff)
	}
	from, _ := k.sources(c.Tensors())
	for i, t := range from {
		if want := k.tensors[i]; t.Name != "" && !slices.Equal(t.Axes, want.Axes) {
			return errorf(ExitFile, "checkpoint %s does not match this model: the axes of %s are %v, not %v", c.Dir, t.Name, t.Axes, want.Axes)
		}
	}
	if c.Meta.Model != k.meta.Model {
		return errorf(ExitFile, "checkpoint %s does not match this model: the tensors are equal, but the hashes of the model differ", c.Dir)
	}
	if seed != nil && *seed != c.Meta.Seed {
		return errorf(ExitFile, "checkpoint %s comes from a run with seed %d, not %d", c.Dir, c.Meta.Seed, *seed).
			hint("drop --seed to continue with the seed of the checkpoint")
	}
	switch differ := settingsDiffer(c.Meta.Settings, k.meta.Settings); {
	case differ != "":
		k.store.Warn(fmt.Sprintf("checkpoint %s comes from a run with %s; this run continues with the new values", c.Dir, differ))
	case c.Meta.Source != k.meta.Source:
		k.store.Warn(fmt.Sprintf("the source or configuration of the model has changed since checkpoint %s; this run continues with the new one", c.Dir))
	}
	return nil
}

// load gives every tensor the value that the checkpoint has for it.
func (k *keeper) load(c *checkpoint.Checkpoint, dev *devices) error {
	from, _ := k.sources(c.Tensors())
	if slices.ContainsFunc(from, func(t checkpoint.Tensor) bool { return t.Name == "" }) {
		if err := dev.m.Initialize(c.Meta.Seed); err != nil { // a scale that is new
			return err
		}
	}
	for i, t := range k.tensors {
		if from[i].Name == "" {
			continue
		}
		err := dev.load(t, from[i].DType, func(box safetensors.Slice, dst []byte) error {
			return c.Read(from[i].Name, box, dst)
		})
		if err != nil {
			return checkpointError(err)
		}
		if from[i].DType != t.DType && len(dev.copies(t)) == 0 {
			k.store.Warn(fmt.Sprintf("checkpoint %s has %s as %s, but this plan has %s", c.Dir, t.Name, from[i].DType.Safetensors(), t.DType.Safetensors()))
		}
	}
	k.saved = c.Meta.Step
	return nil
}

// best is the lowest validation loss on the data of a checkpoint that is there, or infinity.
func (k *keeper) best(data string) float64 {
	entries, err := k.store.List()
	if err != nil {
		return math.Inf(1) // what cannot be listed will not be kept either
	}
	if e, ok := checkpoint.BestOn(data, entries); ok {
		return *e.Valid
	}
	return math.Inf(1)
}

// validated notes the validation loss after a step, for a save of that step.
func (k *keeper) validated(step int64, loss float64) {
	k.validStep = step
	if k.meta.Valid = nil; finite(loss) {
		k.meta.Valid = &loss
	}
}

// metaOf is what a checkpoint says of itself.
func (k *keeper) metaOf(step int64, loss float64) checkpoint.Meta {
	meta := k.meta
	meta.Step, meta.Loss = step, nil
	meta.Phases, meta.Data = k.fed.until(step)
	if finite(loss) {
		meta.Loss = &loss
	}
	if k.validStep != step {
		meta.Valid = nil
	}
	k.saved, k.meta.Valid = step, nil
	return meta
}

// write writes a checkpoint of the tensors that read gives, in order.
func (k *keeper) write(meta checkpoint.Meta, read func(i int) ([]byte, error)) (dir string, err error) {
	if err := k.hold(meta.Step, "begin"); err != nil {
		return "", saveError(err)
	}
	w, err := k.store.Begin(meta, k.tensors)
	if err != nil {
		return "", saveError(err)
	}
	defer w.Abort()
	for _, i := range k.order {
		data, err := read(i)
		if err != nil {
			return "", err
		}
		if err := w.Write(k.tensors[i].Name, checkpoint.Slice{}, data); err != nil {
			return "", saveError(err)
		}
	}
	if err := k.hold(meta.Step, "commit"); err != nil {
		return "", saveError(err)
	}
	if dir, err = w.Commit(); err != nil {
		return "", saveError(err)
	}
	return dir, nil
}

// hold lets a test stop a save.
func (k *keeper) hold(step int64, when string) error {
	if k.held == nil {
		return nil
	}
	return k.held(step, when)
}
