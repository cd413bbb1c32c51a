package train

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"ptc/runtime/checkpoint"
	"ptc/runtime/metrics"
	"ptc/runtime/program"
)

// A layout's precision adds states: copies of parameters in more bits, and the
// scale of the loss. A checkpoint of another precision has others; what follows
// brings them together, so that a run can go on under any layout.

// state is the tensors of a plan that live between steps.
type state struct {
	tensors []checkpoint.Tensor
	of      map[string]string // parameters by their copies in more bits
}

// copiesOf gives, by the path of a copy, the parameter.
func copiesOf(plan *program.Plan) map[string]string {
	of := map[string]string{}
	for _, d := range plan.Devices {
		for _, t := range d.Tensors {
			if t.Of != "" {
				of[t.Path] = t.Of
			}
		}
	}
	return of
}

func isScale(name string) bool { return strings.HasPrefix(name, "loss_scale/") }

// ofModel are the tensors that the model has in any precision.
func (s *state) ofModel() []checkpoint.Tensor {
	return slices.DeleteFunc(slices.Clone(s.tensors), func(t checkpoint.Tensor) bool { return s.of[t.Name] != "" || isScale(t.Name) })
}

// sources gives for each tensor of the plan the one of a checkpoint from which it
// goes on, without a name where there is none: the one of its name; for a copy
// that the checkpoint lacks, the parameter; for a parameter of which it has a copy
// that the plan lacks, that copy. rest are those that no tensor needs and no
// precision explains.
func (s *state) sources(have []checkpoint.Tensor) (from, rest []checkpoint.Tensor) {
	find := func(in []checkpoint.Tensor, name string) *checkpoint.Tensor {
		i, ok := slices.BinarySearchFunc(in, name, func(t checkpoint.Tensor, name string) int { return strings.Compare(t.Name, name) })
		if !ok {
			return nil
		}
		return &in[i]
	}
	wider := map[string]checkpoint.Tensor{}
	for _, h := range have {
		if find(s.tensors, h.Name) != nil || isScale(h.Name) {
			continue
		}
		param, state, _ := strings.Cut(h.Name, "/")
		if strings.TrimRight(state, "_") == "master" && find(s.tensors, param) != nil {
			wider[param] = h
			continue
		}
		rest = append(rest, h)
	}
	for _, t := range s.tensors {
		src := find(have, t.Name)
		if src == nil {
			src = find(have, s.of[t.Name])
		}
		w, ok := wider[t.Name]
		switch {
		case ok:
			from = append(from, w)
		case src != nil:
			from = append(from, *src)
		default:
			from = append(from, checkpoint.Tensor{})
		}
	}
	return from, rest
}

// differs says in which way a checkpoint's tensors are not those of the plan, or
// "".
func (s *state) differs(have []checkpoint.Tensor) string {
	from, rest := s.sources(have)
	var want []checkpoint.Tensor
	for i, t := range s.tensors {
		switch {
		case from[i].Name != "":
			src := from[i]
			src.Name = t.Name
			want, rest = append(want, t), append(rest, src)
		case !isScale(t.Name):
			want = append(want, t)
		}
	}
	slices.SortFunc(rest, func(a, b checkpoint.Tensor) int { return strings.Compare(a.Name, b.Name) })
	return compare(want, rest)
}

// divide says which process of a plan, each with one device, writes which slice of its tensors. The plan has its
// runs written out.
func divide(plan *program.Plan, tensors []checkpoint.Tensor) *checkpoint.Division {
	type holder struct{ device, buffer int }
	holders := map[string][]holder{}
	for i := range plan.Devices {
		for _, t := range plan.Devices[i].Tensors {
			holders[t.Path] = append(holders[t.Path], holder{i, t.Buffer})
		}
	}
	return checkpoint.Divide(tensors, plan.Mesh.Ranks(), func(tensor int) []checkpoint.Box {
		var boxes []checkpoint.Box
		at := map[string]int{} // boxes by where they begin
		var key []byte
		for _, h := range holders[tensors[tensor].Name] {
			d := &plan.Devices[h.device]
			for _, rank := range plan.RanksOf(d) {
				lo, hi := plan.Mesh.Box(rank, d.Buffers[h.buffer].Axes)
				key = key[:0]
				for _, x := range lo {
					key = binary.AppendVarint(key, int64(x))
				}
				i, ok := at[string(key)]
				if !ok {
					i = len(boxes)
					at[string(key)] = i
					boxes = append(boxes, checkpoint.Box{Slice: boxOf(lo, hi)})
				}
				if b := &boxes[i]; !slices.Contains(b.Ranks[max(0, len(b.Ranks)-1):], rank) { // a device may have it twice
					b.Ranks = append(b.Ranks, rank)
				}
			}
		}
		return boxes
	})
}

// Shares is how many bytes of the tensors each process writes of a checkpoint, by rank, where each device of the
// plan has a process.
func Shares(plan *program.Plan) ([]int64, error) {
	plan, err := plan.Expanded()
	if err != nil {
		return nil, &Error{Code: ExitFile, Msg: "ptc cannot run the plan", Err: err}
	}
	tensors, err := planTensors(plan)
	if err != nil {
		return nil, err
	}
	return divide(plan, tensors).Bytes(), nil
}

// settingsOf are the values of the plan's ports.
func settingsOf(plan *program.Plan) (out []metrics.Setting) {
	for _, s := range plan.Settings {
		if s.Is == "" {
			out = append(out, metrics.Setting{Name: s.Name, Value: s.Value})
		}
	}
	return out
}

// keptSettings are those values as a checkpoint has them.
func keptSettings(plan *program.Plan) (out []checkpoint.Setting) {
	for _, s := range settingsOf(plan) {
		out = append(out, checkpoint.Setting(s))
	}
	return out
}

func settingText(name string, value float64) string {
	return name + "=" + strconv.FormatFloat(value, 'g', -1, 64)
}

// settingsDiffer says which ports have another value now than in a checkpoint; empty
// where none has, as far as both know it.
func settingsDiffer(had, have []checkpoint.Setting) string {
	var old, now []string
	for _, s := range have {
		i := slices.IndexFunc(had, func(t checkpoint.Setting) bool { return t.Name == s.Name })
		if i >= 0 && had[i].Value != s.Value {
			old, now = append(old, settingText(s.Name, had[i].Value)), append(now, settingText(s.Name, s.Value))
		}
	}
	if len(old) == 0 {
		return ""
	}
	return strings.Join(old, ", ") + ", and this one has " + strings.Join(now, ", ")
}
