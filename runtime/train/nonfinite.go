package train

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"

	"ptc/runtime/comm"
	"ptc/runtime/exec"
	"ptc/runtime/metrics"
)

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// numbers watches whether the numbers of a run are finite.
type numbers struct {
	*job
	dev    *devices
	bad    int  // steps in a row that were not finite
	warned bool // of the first such step
	skips  int  // steps that were skipped because scaled gradients were not
}

// watch looks at the numbers of a step, which ended before its update if stopped.
func (n *numbers) watch(m *metrics.Step, b *batch, stopped bool) error {
	loss := finite(m.Loss)
	if loss && (!n.dev.hasGradNorm() || finite(m.GradNorm)) {
		n.bad = 0
		return nil
	}
	scaled := loss && n.dev.adaptsScale()
	if scaled && m.LossScale >= 1 {
		n.skipped(m)
		return nil
	}
	n.bad++
	what := fmt.Sprintf("step %d: the loss is %g", m.Step, m.Loss)
	if n.dev.hasGradNorm() && !m.NoGradNorm {
		what += fmt.Sprintf(", and the norm of the gradients is %g", m.GradNorm)
	}
	if n.o.OnNaN == NaNContinue || scaled && n.bad < maxUnscaled {
		if !n.warned {
			n.log.warn(what + "; ptc does not report further such steps")
		}
		n.warned = true
		return nil
	}
	origin, err := n.origin(m.Step, b, stopped)
	if err != nil {
		return err
	}
	return n.procs.everywhere(errorf(ExitFile, "%s%s", what, origin).
		hint("if the data and the parameters are right, lower the learning rate, warm it up for longer, or clip the gradients; --on-nan continue ignores such steps"))
}

// skipped notes a step that changed nothing because the scaled loss overflowed.
// That is how the scale is found, and no divergence until a scale below 1 does not
// help either.
func (n *numbers) skipped(m *metrics.Step) {
	n.bad = 0
	if n.skips++; n.skips == 1 {
		n.log.warn(fmt.Sprintf("step %d: the gradients overflow, so ptc skips the step and lowers the scale of the loss to %g; ptc does not report further such steps", m.Step, m.LossScale))
	}
}

// origin runs a step again that stopped before its update, and says which of its
// tensors is the first that is not finite.
func (n *numbers) origin(step int64, b *batch, stopped bool) (string, error) {
	if !stopped {
		path, err := n.notFinite()
		if err != nil || path == "" {
			return "", err
		}
		return fmt.Sprintf("; the step has changed the parameters, and %s is no longer finite", path), nil
	}
	if err := n.dev.feed(b, step); err != nil {
		return "", err
	}
	first, err := n.dev.training.FindNonFinite()
	if err != nil {
		return "", err
	}
	if n.procs.end != nil {
		if first, err = firstOfAll(n.procs.end, first); err != nil {
			return "", err
		}
	}
	if first == nil {
		return "; when ptc repeated the step, every tensor was finite", nil
	}
	on := ""
	if n.plan.Mesh.Ranks() > 1 {
		on = fmt.Sprintf(", on rank %d", first.Rank)
	}
	return "; the first tensor that is not finite is " + first.String() + on, nil
}

// notFinite is the path of a trained parameter that is not finite on some process,
// "" if all are.
func (n *numbers) notFinite() (string, error) {
	path, err := n.dev.m.Finite()
	if err != nil || n.procs.end == nil {
		return path, err
	}
	all, err := texts(n.procs.end, path, "whether the parameters are finite")
	return cmp.Or(all...), err
}

// maySave says whether the parameters after a step may be written. If they or the step are not finite, a run that
// stops at such steps fails, and one that goes on warns.
func (n *numbers) maySave(step int64, otherwise string) (bool, error) {
	path, err := n.notFinite()
	if err != nil {
		return false, err
	}
	var why string
	switch {
	case path != "":
		why = fmt.Sprintf("after step %d the parameter %s is not finite", step, path)
	case n.bad > 0:
		why = fmt.Sprintf("the loss or the gradients of step %d are not finite", step)
	default:
		return true, nil
	}
	if n.o.OnNaN == NaNStop && path != "" {
		return false, n.procs.everywhere(errorf(ExitFile, "%s, so ptc does not save it", why).
			hint("pass --on-nan continue to save it all the same"))
	}
	n.log.warn(why + ": " + otherwise)
	return false, nil
}

// diverged is the error of a run that went on to an end that is not finite.
func (n *numbers) diverged(step int64) error {
	if n.bad == 0 {
		return nil
	}
	return n.procs.everywhere(errorf(ExitFile, "training has diverged: the loss or the gradients of the last step, %d, are not finite", step))
}

// originBytes is what a process tells of the first tensor that is not finite.
const originBytes = 1024

// firstOfAll is the first of what all processes have found.
func firstOfAll(end comm.Device, mine *exec.NonFinite) (*exec.NonFinite, error) {
	text := ""
	if mine != nil {
		m := *mine
		if n := originBytes / 2; len(m.What) > n { // JSON may take more bytes for some
			m.What = m.What[:n/2] + "…"
		}
		j, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		text = string(j)
	}
	all, err := texts(end, text, "the first tensor that is not finite")
	if err != nil {
		return nil, err
	}
	var first *exec.NonFinite
	for _, text := range all {
		var n exec.NonFinite
		if text != "" && json.Unmarshal([]byte(text), &n) == nil && (first == nil || n.Compare(first) < 0) {
			first = &n
		}
	}
	return first, nil
}

// texts are what all processes have to say, shortened, by rank.
func texts(end comm.Device, mine, about string) (out []string, err error) {
	text := make([]byte, originBytes)
	copy(text, mine)
	all, err := comm.Gather(end, text, about)
	for ; len(all) > 0; all = all[originBytes:] {
		out = append(out, string(bytes.TrimRight(all[:originBytes], "\x00")))
	}
	return out, err
}
