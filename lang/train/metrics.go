package train

import (
	"slices"

	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// forward is what the forward pass of a function computes.
type forward struct {
	loss    *ir.Value
	metrics []measured
	fields  []*ir.Arg // of the batch
}

// metrics emits the metrics of the train block behind the loss, in its frame. A call of the
// model that the loss makes as well is not made again.
func (l *Lowerer) metrics(f *eval.Frame, fb *eval.Builder, t *Block, loss *ir.Value) (out []measured, ok bool) {
	read := map[*value.Param]bool{}
	for p := range fb.Values {
		read[p] = true
	}
	behind := len(fb.Func.Ops)
	fb.Shares = true
	defer func() { fb.Shares = false }()
	ok = true
	for _, e := range t.metrics {
		v := l.metric(f, e, read)
		if l.Stopped {
			return nil, false
		}
		if ok = ok && v != nil; v != nil {
			out = append(out, measured{e.Key.Name, v})
		}
	}
	lossLast(fb.Func, loss, behind)
	return out, ok
}

// metric emits one; nil where something is wrong. The loss reads the parameters of read.
func (l *Lowerer) metric(f *eval.Frame, e *syntax.Entry, read map[*value.Param]bool) *ir.Value {
	fb := l.Builder
	f.Scope = ir.MetricPath(e.Key.Name)
	v := f.Expr(e.Value)
	if _, ok := value.NumberOf(v); ok {
		v = f.Scalar(e.Value, v, ir.F32)
	}
	w, ok := v.(value.Tensor)
	switch {
	case value.IsUnknown(v):
		return nil
	case !ok:
		f.NotA(e.Value, v, "a tensor: the mean of something")
		return nil
	case w.V.Type.Rank() != 0:
		f.Wants("E0514", e.Value, "a single number", "`mean(…)` averages over all axes", "the metric `%s` is %s", e.Key.Name, w.V.Type)
		return nil
	}
	for _, p := range l.Model.Params {
		if fb.Values[p] != nil && !read[p] {
			l.Errs.Add(source.Conflict("E0514", e.Value, p.Pos, "the parameter", "a metric of trained parameters", "",
				"the metric `%s` reads the parameter `%s`, which the loss does not read", e.Key.Name, p.Path))
			return nil
		}
	}
	fb.Ops.Scope, fb.Ops.Pos = f.Scope, e.Value.At()
	return fb.Ops.Cast(w.V, ir.F32)
}

// lossLast moves what the metrics compute, from operation number behind on, before the
// operation that ends the forward phase, which makes the loss.
func lossLast(f *ir.Func, loss *ir.Value, behind int) {
	at := slices.Index(f.Ops, loss.Def)
	if at < 0 || behind == len(f.Ops) {
		return
	}
	ops := slices.Clone(f.Ops[:at])
	late := map[*ir.Value]bool{loss: true}
	rest := []*ir.Op{loss.Def}
	for _, o := range f.Ops[at+1:] {
		if !slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return late[v] }) {
			ops = append(ops, o)
			continue
		}
		for _, r := range o.Results {
			late[r] = true
		}
		rest = append(rest, o)
	}
	f.Ops = append(ops, rest...)
}

// readMetrics checks the names of the metrics.
func (t *Block) readMetrics(f *eval.Frame, errs *source.Reporter) {
	said := map[string]int{}
	for _, m := range t.Node.Metrics {
		for _, e := range m.Entries {
			k := e.Key.Name
			if i, ok := said[k]; ok {
				errs.Add(source.Twice(e.Key, t.metrics[i]))
				continue
			}
			if k == ir.RoleLoss {
				f.Wants("E0514", e.Key, "another name", "the loss is always reported", "a metric is called `%s`", k)
				continue
			}
			said[k] = len(t.metrics)
			t.metrics = append(t.metrics, e)
		}
	}
}
