package lang

import (
	"fmt"
	"sort"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
)

// training is a train block, resolved.
type training struct {
	node    *syntax.Train
	model   moduleRef
	entries map[string]*syntax.Entry
	data    *dataSource
	freeze  []string // patterns of parameters that are not trained
}

// trainKeys are the entries of a train block; those marked are required.
var trainKeys = map[string]bool{"loss": true, "optimizer": true, "data": true, "eval_every": false, "freeze": false, "seed": false, "steps": false}

// trainFile is where the train block is: the main file, or, where that has
// none, a file that it imports. So layouts can be in a file of their own.
func (l *lowerer) trainFile() *file {
	has := func(g *file) *syntax.Train {
		for _, d := range g.tree.Decls {
			if t, ok := d.(*syntax.Train); ok {
				return t
			}
		}
		return nil
	}
	if has(l.prog.main) != nil {
		return l.prog.main
	}
	home, first := l.prog.main, (*syntax.Train)(nil)
	for _, d := range l.prog.main.tree.Decls {
		d, ok := d.(*syntax.Import)
		if !ok {
			continue
		}
		g := l.prog.main.imports[importName(d).Name]
		if g == nil || g.std || g.tree == nil || g == home {
			continue
		}
		t := has(g)
		if t != nil && first != nil {
			e := at("E0502", d, "`%s` has a `train` block, and so has `%s`", g.name, home.name)
			e.Want = "one import with a `train` block, or one here"
			e.Note = []diag.Note{{Pos: first.At(), Msg: "the first one"}, {Pos: t.At(), Msg: "the second one"}}
			l.errs.add(e)
			return nil
		}
		if t != nil {
			home, first = g, t
		}
	}
	return home
}

// trainBlock finds the one train block and its model.
func (l *lowerer) trainBlock() *training {
	if l.home = l.trainFile(); l.home == nil {
		return nil
	}
	var t *training
	var models []*syntax.Module
	for _, d := range l.home.tree.Decls {
		switch d := d.(type) {
		case *syntax.Train:
			if t != nil {
				e := at("E0502", d, "a second `train` block")
				e.Note = []diag.Note{{Pos: t.node.At(), Msg: "the first one"}}
				l.errs.add(e)
				continue
			}
			t = &training{node: d, entries: map[string]*syntax.Entry{}}
		case *syntax.Module:
			if d.Kind == "model" {
				models = append(models, d)
			}
		}
	}
	if t == nil {
		l.noTrain(models)
		return nil
	}
	f := l.trainFrame()
	m, ok := f.lookup(t.node.Model, t.node.Model.Name).(moduleRef)
	if !ok || m.decl.Kind != "model" {
		var names []string
		for _, d := range models {
			names = append(names, d.Name.Name)
		}
		f.wants("E0502", t.node.Model, diag.OneOf(names), diag.DidYouMean(t.node.Model.Name, names), "`%s` is not a model of this file", t.node.Model.Name)
		return nil
	}
	t.model = m
	return l.trainEntries(f, t)
}

func (l *lowerer) noTrain(models []*syntax.Module) {
	e := &diag.Error{Code: "E0501", Pos: diag.Pos{File: l.prog.main.name, Line: 1, Col: 1},
		Msg: "the file has no `train` block, so there is nothing to compile"}
	e.Hint = "add `train Model { loss = …  optimizer = …  data = … }`, or import a file that has one"
	if len(models) > 0 {
		e.Pos, e.Len = models[0].Name.At(), models[0].Name.Len()
		e.Msg = "the model `" + models[0].Name.Name + "` has no `train` block, so there is nothing to compile"
		e.Hint = "add `train " + models[0].Name.Name + " { loss = …  optimizer = …  data = … }`"
	}
	l.errs.add(e)
}

func (l *lowerer) trainEntries(f *frame, t *training) *training {
	var names []string
	for k := range trainKeys {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, e := range t.node.Entries {
		k := e.Key.Name
		if _, known := trainKeys[k]; !known {
			f.wants("E0503", e.Key, diag.OneOf(names), diag.DidYouMean(k, names), "`train` has no entry `%s`", k)
			continue
		}
		if old := t.entries[k]; old != nil {
			l.errs.add(twice(e.Key, old))
			continue
		}
		t.entries[k] = e
	}
	var missing []string
	for _, k := range names {
		if trainKeys[k] && t.entries[k] == nil {
			missing = append(missing, k)
		}
	}
	if len(missing) > 0 {
		f.wants("E0504", t.node.Model, "`"+missing[0]+" = …`", "", "`train %s` does not say its %s", t.node.Model.Name, strings.Join(missing, ", "))
	}
	return t
}

// train builds @step and @eval, and the metadata of training.
func (l *lowerer) train(t *training) {
	f := l.trainFrame()
	if e := t.entries["data"]; e != nil {
		t.data = dataOf(f, e.Value)
	}
	attrs := l.runAttrs(f, t)
	if t.data == nil || t.entries["loss"] == nil {
		return
	}
	opt := optimizerOf(f, t)
	if e := t.entries["freeze"]; e != nil {
		t.freeze = patterns(f, e.Value)
	}
	step := newFunc("step", true)
	loss, fields := l.loss(step, t)
	if l.stopped {
		return
	}
	if opt != nil && loss != nil {
		l.update(step, opt, t, loss)
		attrs = append(attrs, ir.Attr{Key: "optimizer", Val: attr(word{name: opt.decl.Name.Name})})
	}
	if len(l.errs.list) > 0 || l.stopped {
		return
	}
	l.finishFunc(step, fields)
	eval := newFunc("eval", false)
	eval.order = step.order
	loss, fields = l.loss(eval, t)
	if loss == nil || l.stopped || !l.trainedToo(t, step, eval) {
		return
	}
	eval.f.Results = []ir.Result{{Value: loss, Role: ir.RoleLoss}}
	l.finishFunc(eval, fields)
	l.mod.Meta = append(l.mod.Meta, term("train", attrs), t.data.term)
}

// runAttrs are the numbers of a train block: eval_every, steps and seed.
func (l *lowerer) runAttrs(f *frame, t *training) []ir.Attr {
	var out []ir.Attr
	for _, k := range []string{"eval_every", "seed", "steps"} {
		e := t.entries[k]
		if e == nil {
			continue
		}
		c, ok := f.number(e.Value)
		if !ok {
			continue
		}
		n, ok := c.int()
		least := map[string]int{"eval_every": 1, "seed": 0, "steps": 1}[k]
		if !ok || n < least || n > maxSize {
			f.wants("E0216", e.Value, fmt.Sprintf("a whole number from %d to %d", least, maxSize), "", "`%s` is %s", k, formatNumber(c))
			continue
		}
		out = append(out, ir.Attr{Key: k, Val: ir.Int(n)})
	}
	return out
}

// loss emits the forward pass in fb; fields are the arguments of the batch.
func (l *lowerer) loss(fb *funcBuilder, t *training) (*ir.Value, []*ir.Arg) {
	l.fb = fb
	defer func() { l.fb = nil }()
	f := l.trainFrame()
	f.scope = "loss"
	f.vars[t.model.decl.Name.Name] = l.model
	var fields []*ir.Arg
	for _, d := range t.data.fields {
		v := fb.f.NewValue(d.typ, nil)
		fields = append(fields, &ir.Arg{Value: v, Role: ir.RoleData, Path: d.name, Pos: t.entries["data"].At()})
		f.vars[d.name] = tensor{v}
		f.saw(d.typ)
	}
	x := t.entries["loss"].Value
	v := f.expr(x)
	w, ok := v.(tensor)
	switch {
	case !ok:
		f.notA(x, v, "a tensor: the mean of something")
		return nil, nil
	case w.v.Type.Rank() != 0 || w.v.Type.DType != ir.F32:
		if len(l.errs.list) > 0 {
			return nil, nil // what is wrong already may be why
		}
		f.wants("E0505", x, "f32[], a single number", "`mean(…)` averages over all axes", "the loss is %s", w.v.Type)
		return nil, nil
	}
	return w.v, fields
}

// trainedToo reports parameters that validation reads and a step does not: nothing
// trains them, and a step has no place for them.
func (l *lowerer) trainedToo(t *training, step, eval *funcBuilder) bool {
	for _, p := range l.params {
		if eval.values[p] == nil || step.values[p] != nil {
			continue
		}
		e := at("E0512", t.entries["loss"].Value, "the loss reads the parameter `%s` in validation alone", p.path)
		e.Want = "a parameter that is read in training, or in both"
		e.Note = []diag.Note{{Pos: p.pos, Msg: "the parameter"}}
		e.Hint = "look for a condition on `training` that chooses otherwise"
		l.errs.add(e)
		return false
	}
	return true
}

// finishFunc places the arguments that are used, in their canonical order, and
// adds the function to the module.
func (l *lowerer) finishFunc(fb *funcBuilder, fields []*ir.Arg) {
	used := fb.f.Uses()
	var args []*ir.Arg
	for _, p := range fb.order {
		args = append(args, &ir.Arg{Value: fb.param(p), Role: ir.RoleParam, Path: p.path, Attrs: ir.A("init", p.init), Pos: p.pos})
	}
	args = append(args, fb.f.Args...) // states
	for _, a := range fields {
		if used[a.Value] > 0 {
			args = append(args, a)
		}
	}
	if fb.training {
		args = append(args, &ir.Arg{Value: fb.step, Role: ir.RoleStep}, &ir.Arg{Value: fb.seed, Role: ir.RoleSeed})
	}
	fb.f.Args = args
	l.mod.Funcs = append(l.mod.Funcs, renumber(fb.f))
}

// source evaluates the data entry of a train block.
func dataOf(f *frame, x syntax.Expr) *dataSource {
	v := f.expr(x)
	d, ok := v.(*dataSource)
	if !ok {
		notSource(f, x, v)
	}
	return d
}

func notSource(f *frame, x syntax.Expr, v value) {
	switch v := v.(type) {
	case unknown:
	case word:
		f.undefined(v)
	default:
		f.wants("E0509", x, "a source, such as `data.text(…)`", "", "found %s", v.what())
	}
}

// lowerer makes the functions of a train block.
type lowerer struct {
	*interp
	mod      *ir.Module
	home     *file // of the train block
	warnings []string
	remarks  []string
}

// trainFrame is a frame of the file with the train block.
func (l *lowerer) trainFrame() *frame { return l.frame(l.home) }
