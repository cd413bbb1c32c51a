package train

import (
	"encoding/json"
	"fmt"
	"math"

	"ptc/runtime/comm"
	"ptc/runtime/exec"
	"ptc/runtime/metrics"
)

// watchNumbers lets a step that is not finite end before it changes anything,
// where the plan allows that: so the step can be run again to see where it
// begins. Adaptive loss scaling has to see gradients that overflow.
func (d *devices) watchNumbers() error {
	var stats []string
	if d.hasGradNorm() && !d.adaptsScale() {
		stats = []string{"grad_norm"}
	}
	_, err := d.training.StopBeforeUpdate(stats...)
	return err
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// watch looks at the numbers of a step, which ended before its update if stopped.
func (r *run) watch(m *metrics.Step, b *batch, stopped bool) error {
	loss := finite(m.Loss)
	if loss && (!r.dev.hasGradNorm() || finite(m.GradNorm)) {
		r.bad = 0
		return nil
	}
	scaled := loss && r.dev.adaptsScale()
	if scaled && m.LossScale >= 1 {
		return r.skipped(m)
	}
	r.bad++
	what := fmt.Sprintf("step %d: the loss is %g", m.Step, m.Loss)
	if r.dev.hasGradNorm() && !m.NoGradNorm {
		what += fmt.Sprintf(", and the norm of the gradients %g", m.GradNorm)
	}
	if r.o.OnNaN == NaNContinue || scaled && r.bad < maxUnscaled {
		if !r.warned {
			r.warn(what + "; further such steps are not told")
		}
		r.warned = true
		return nil
	}
	origin, err := r.origin(m.Step, b, stopped)
	if err != nil {
		return err
	}
	return r.everywhere(errorf(ExitFile, "%s%s", what, origin).
		hint("lower the learning rate, warm it up for longer or clip the gradients, if the data and the parameters are as they should be; --on-nan continue goes on"))
}

// skipped notes a step that changed nothing because the scaled loss overflowed.
// That is how the scale is found, and no divergence until a scale below 1 does not
// help either.
func (r *run) skipped(m *metrics.Step) error {
	r.bad = 0
	if r.skips++; r.skips == 1 {
		r.warn(fmt.Sprintf("step %d: gradients overflow, so the step is skipped and the scale of the loss is now %g; further such steps are not told", m.Step, m.LossScale))
	}
	return nil
}

// originBytes is what a process tells of the first tensor that is not finite.
const originBytes = 1024

// origin runs a step again that stopped before its update, and says which of its
// tensors is the first that is not finite.
func (r *run) origin(step int64, b *batch, stopped bool) (string, error) {
	if !stopped {
		path, err := r.notFinite()
		if err != nil || path == "" {
			return "", err
		}
		return fmt.Sprintf("; the step has changed the parameters, of which %s is not finite now", path), nil
	}
	if err := r.dev.feed(b, step); err != nil {
		return "", err
	}
	first, err := r.dev.training.FindNonFinite()
	if err != nil {
		return "", err
	}
	if r.end != nil {
		if first, err = r.firstOfAll(first); err != nil {
			return "", err
		}
	}
	if first == nil {
		return "; run once more, every tensor of the step was finite", nil
	}
	on := ""
	if r.plan.Mesh.Ranks() > 1 {
		on = fmt.Sprintf(", on rank %d", first.Rank)
	}
	return "; the first tensor that is not finite is " + first.String() + on, nil
}

// firstOfAll is the first of what all processes have found.
func (r *run) firstOfAll(mine *exec.NonFinite) (*exec.NonFinite, error) {
	text := make([]byte, originBytes)
	if mine != nil {
		m := *mine
		if n := originBytes / 2; len(m.What) > n { // JSON may take more bytes for some
			m.What = m.What[:n/2] + "…"
		}
		j, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		copy(text, j)
	}
	all, err := comm.Gather(r.end, text, "the first tensor that is not finite")
	if err != nil {
		return nil, err
	}
	var first *exec.NonFinite
	for ; len(all) > 0; all = all[originBytes:] {
		var n exec.NonFinite
		if all[0] == 0 || json.Unmarshal(trimZeros(all[:originBytes]), &n) != nil {
			continue
		}
		if first == nil || n.Compare(first) < 0 {
			first = &n
		}
	}
	return first, nil
}

func trimZeros(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}

// notFinite is the path of a trained parameter that is not finite on some process,
// "" if all are.
func (r *run) notFinite() (string, error) {
	path, err := r.dev.m.Finite()
	if err != nil || r.end == nil {
		return path, err
	}
	mine := make([]byte, originBytes)
	copy(mine, path)
	all, err := comm.Gather(r.end, mine, "whether the parameters are finite")
	if err != nil {
		return "", err
	}
	for ; len(all) > 0; all = all[originBytes:] {
		if all[0] != 0 {
			return string(trimZeros(all[:originBytes])), nil
		}
	}
	return "", nil
}

// maySave says whether the parameters may be written. Where they are not finite,
// or belong to a step that is not, a run that stops at such steps fails, and one
// that goes on warns.
func (r *run) maySave(otherwise string) (bool, error) {
	path, err := r.notFinite()
	if err != nil {
		return false, err
	}
	var why string
	switch {
	case path != "":
		why = fmt.Sprintf("after step %d the parameter %s is not finite", r.sum.Steps, path)
	case r.bad > 0:
		why = fmt.Sprintf("the loss or the gradients of step %d are not finite", r.sum.Steps)
	default:
		return true, nil
	}
	if r.o.OnNaN == NaNStop && path != "" {
		return false, r.everywhere(errorf(ExitFile, "%s, so it is not saved", why).
			hint("--on-nan continue saves it in spite of that"))
	}
	r.warn(why + ": " + otherwise)
	return false, nil
}

// diverged is the error of a run that went on to an end that is not finite.
func (r *run) diverged() error {
	if r.bad == 0 {
		return nil
	}
	return r.everywhere(errorf(ExitFile, "training has diverged: the loss or the gradients of the last step, %d, are not finite", r.sum.Steps))
}
