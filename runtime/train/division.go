package train

import (
	"encoding/binary"
	"slices"

	"ptc/runtime/checkpoint"
	"ptc/runtime/program"
)

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
		return nil, &Error{Code: ExitFile, Msg: "the plan cannot be run", Err: err}
	}
	tensors, err := planTensors(plan)
	if err != nil {
		return nil, err
	}
	return divide(plan, tensors).Bytes(), nil
}
