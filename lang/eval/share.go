package eval

import (
	"maps"

	"ptc/lang/syntax"
	"ptc/lang/value"
)

// call is a call of a function of the model, with its arguments.
type call struct {
	fn     *syntax.Fn
	args   map[string]value.Value
	result value.Value
}

// made is the result of the same call before, where calls are shared; nil where there is
// none. So a metric reads the logits that the loss was computed from, with the same
// dropout, and costs no second forward pass. Calls within the loss are not shared: two of
// them draw other random numbers.
func (fb *Builder) made(fn *syntax.Fn, args map[string]value.Value) value.Value {
	if !fb.Shares {
		return nil
	}
	for _, c := range fb.calls {
		if c.fn == fn && maps.EqualFunc(c.args, args, sameValue) {
			return c.result
		}
	}
	return nil
}

func (fb *Builder) make(fn *syntax.Fn, args map[string]value.Value, result value.Value) {
	fb.calls = append(fb.calls, call{fn, args, result})
}

// sameValue reports whether two values are known to be the same.
func sameValue(a, b value.Value) bool {
	switch a := a.(type) {
	case value.Tensor:
		b, ok := b.(value.Tensor)
		return ok && a.V == b.V
	case value.Number:
		b, ok := b.(value.Number)
		return ok && a.V == b.V
	case value.Truth:
		return a == b
	case value.Text:
		return a == b
	}
	return false
}
