package train

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/lang/eval"
	"ptc/lang/value"
)

// trained are the parameters that fb reads and `freeze` leaves to the optimizer, in
// their order. The others are arguments that no step changes: they have no
// gradient, no state and no result.
func (l *Lowerer) trained(f *eval.Frame, fb *eval.Builder, t *Block) []*value.Param {
	var out []*value.Param
	for _, p := range l.Model.Params {
		if !fb.Reads(p) {
			continue
		}
		frozen := t.frozen(p)
		if p.Like != nil && frozen != t.frozen(p.Like) {
			l.Irregularly(p.Path)
			return nil
		}
		if !frozen {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		f.Wants("E0510", t.entries["freeze"].Value, "patterns that leave at least one parameter that the loss reads", "",
			"`freeze` leaves nothing to train: it has all %s that the loss reads", value.Count(len(fb.Order), "parameter"))
	}
	return out
}

// frozen is whether no step changes p: as `freeze` says, or, where that says nothing and
// there are adapters, all but these. Parts of adapters are trained in any case.
func (t *Block) frozen(p *value.Param) bool {
	switch {
	case p.Adapts != nil:
		return false
	case t.entries["freeze"] == nil:
		return len(t.Node.Loras) > 0
	}
	return value.MatchesAny(t.freeze, p.Path)
}

// warnUnreached warns of parameters whose gradient is zero wherever the loss is
// evaluated, since each path from them to the loss has an operation without a
// gradient on it. That is allowed, and rarely what was meant: an optimizer moves
// parameters by decay and by what its states hold as well.
func (l *Lowerer) warnUnreached(fb *eval.Builder, loss *ir.Value, trained []*value.Param) {
	reached := map[*ir.Value]bool{loss: true}
	for i := len(fb.Func.Ops) - 1; i >= 0; i-- {
		o := fb.Func.Ops[i]
		on := false
		for _, r := range o.Results {
			on = on || reached[r]
		}
		if !on || op.Of(o).Grad == nil {
			continue
		}
		for _, a := range o.Args {
			reached[a] = true
		}
	}
	if list := fb.Differs(func(o *ir.Op) bool {
		return slices.ContainsFunc(o.Results, func(r *ir.Value) bool { return reached[r] })
	}); list != "" {
		l.Irregularly(list)
		return
	}
	var paths []string
	for _, p := range trained {
		q := p
		if p.Like != nil {
			q = p.Like
		}
		if !reached[fb.Values[q]] {
			paths = append(paths, p.Path)
		}
	}
	if len(paths) == 0 {
		return
	}
	them, theirs := "parameter "+l.briefly(paths)[0], "its gradient is"
	if len(paths) > 1 {
		them, theirs = "parameters "+strings.Join(l.briefly(paths), ", "), "their gradients are"
	}
	l.Warnings = append(l.Warnings, fmt.Sprintf("the loss reads %s only through `stop_gradient` or what has no gradient, so that %s always zero. "+
		"The optimizer keeps states for what `freeze` in `train` does not name, and weight decay applies to it", them, theirs))
}

// briefly quotes paths, those that differ in the number of one module alone
// together: as a pattern, `blocks.*.w`, where they are all that it matches in the
// model, else with their numbers, `blocks.{0,2..5}.w`.
func (l *Lowerer) briefly(paths []string) (out []string) {
	all, numbers := map[string]int{}, map[string][]int{}
	for _, p := range l.Model.Params {
		s, _ := shapeOf(p.Path)
		all[s]++
	}
	shapes, first := make([]string, len(paths)), map[string]int{}
	for i, p := range paths {
		s, n := shapeOf(p)
		if _, known := first[s]; !known {
			first[s] = i
		}
		shapes[i], numbers[s] = s, append(numbers[s], n...)
	}
	for i, s := range shapes {
		n := len(numbers[s])
		if n > 0 && first[s] != i {
			continue
		}
		if n > 0 && n < all[s] {
			s = strings.Replace(s, "*", ranges(numbers[s]), 1)
		}
		out = append(out, "`"+s+"`")
	}
	return out
}

// shapeOf is a path without its one number, and that; a path with none or with
// several is itself.
func shapeOf(path string) (string, []int) {
	begin, end := -1, 0 // of the number
	for i := 0; i < len(path); {
		j := i
		for j < len(path) && '0' <= path[j] && path[j] <= '9' {
			j++
		}
		if whole := j == len(path) || path[j] == '.'; whole && j > i && begin >= 0 {
			return path, nil
		} else if whole && j > i {
			begin, end = i, j
		}
		next := strings.IndexByte(path[j:], '.')
		if next < 0 {
			break
		}
		i = j + next + 1
	}
	if begin < 0 {
		return path, nil
	}
	k, err := strconv.Atoi(path[begin:end])
	if err != nil {
		return path, nil
	}
	return path[:begin] + "*" + path[end:], []int{k}
}

// ranges writes ascending numbers: `3`, or `{0,2..5}`.
func ranges(ns []int) string {
	var parts []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if s := strconv.Itoa(ns[i]); j > i {
			parts = append(parts, s+".."+strconv.Itoa(ns[j]))
		} else {
			parts = append(parts, s)
		}
		i = j + 1
	}
	if len(ns) == 1 {
		return parts[0]
	}
	return "{" + strings.Join(parts, ",") + "}"
}
