package train

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// trainKeys are the entries of a train block; those marked are required.
var trainKeys = map[string]bool{"loss": true, "optimizer": true, "data": true, "epochs": false, "eval_every": false, "freeze": false, "seed": false, "steps": false}

// Entries are the names of the entries of a train block: those that it needs come first.
func Entries() []string {
	names := slices.Sorted(maps.Keys(trainKeys))
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case trainKeys[a] == trainKeys[b]:
			return 0
		case trainKeys[a]:
			return -1
		}
		return 1
	})
	return names
}

// trainFile is where the train block is: the main file, or, where that has
// none, a file that it imports. So layouts can be in a file of their own.
func (l *Lowerer) trainFile() *source.File {
	has := func(g *source.File) *syntax.Train {
		for _, d := range g.Tree.Decls {
			if t, ok := d.(*syntax.Train); ok {
				return t
			}
		}
		return nil
	}
	if has(l.Prog.Main) != nil {
		return l.Prog.Main
	}
	home, first := l.Prog.Main, (*syntax.Train)(nil)
	for _, d := range l.Prog.Main.Tree.Decls {
		d, ok := d.(*syntax.Import)
		if !ok {
			continue
		}
		g := l.Prog.Main.Imports[source.ImportName(d).Name]
		if g == nil || g.Tree == nil || g == home {
			continue
		}
		t := has(g)
		if t != nil && first != nil {
			e := source.ErrorAt("E0502", d, "`%s` has a `train` block, and so has `%s`", g.Name, home.Name)
			e.Want = "one import with a `train` block, or one here"
			e.Note = []diag.Note{{Pos: first.At(), Msg: "the first one"}, {Pos: t.At(), Msg: "the second one"}}
			l.Errs.Add(e)
			return nil
		}
		if t != nil {
			home, first = g, t
		}
	}
	return home
}

// Block finds the one train block and its model.
func (l *Lowerer) Block() *Block {
	if l.home = l.trainFile(); l.home == nil {
		return nil
	}
	var t *Block
	var models []*syntax.Module
	for _, d := range l.home.Tree.Decls {
		switch d := d.(type) {
		case *syntax.Train:
			if t != nil {
				l.Errs.Add(source.Conflict("E0502", d, t.Node.At(), "the first one", "", "", "a second `train` block"))
				continue
			}
			t = &Block{Node: d, entries: map[string]*syntax.Entry{}}
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
	f := l.Frame()
	m, ok := f.Lookup(t.Node.Model, t.Node.Model.Name).(value.ModuleRef)
	if !ok {
		m, ok = l.imported(t.Node.Model.Name)
	}
	if !ok || m.Decl.Kind != "model" {
		var names []string
		for _, d := range models {
			names = append(names, d.Name.Name)
		}
		f.Wants("E0502", t.Node.Model, diag.OneOf(names), diag.DidYouMean(t.Node.Model.Name, names), "`%s` is not a model of this file", t.Node.Model.Name)
		return nil
	}
	t.Model = m
	for _, x := range t.Node.Loras {
		l.Lora.Adapters = append(l.Lora.Adapters, f.ReadAdapters(x))
	}
	return l.trainEntries(f, t)
}

// imported is the model of that name in a file that the train block's imports.
func (l *Lowerer) imported(name string) (value.ModuleRef, bool) {
	for _, d := range l.home.Tree.Decls {
		d, ok := d.(*syntax.Import)
		if !ok {
			continue
		}
		if g := l.home.Imports[source.ImportName(d).Name]; g != nil && g.Modules[name] != nil {
			return value.ModuleRef{Decl: g.Modules[name], File: g}, true
		}
	}
	return value.ModuleRef{}, false
}

func (l *Lowerer) noTrain(models []*syntax.Module) {
	e := &diag.Error{Code: "E0501", Pos: diag.Pos{File: l.Prog.Main.Name, Line: 1, Col: 1},
		Msg: "the file has no `train` block: there is nothing to compile"}
	e.Hint = "add `train Model { loss = …  optimizer = …  data = … }`, or import a file that has one"
	if len(models) > 0 {
		e.Pos, e.Len = models[0].Name.At(), models[0].Name.Len()
		e.Msg = "the model `" + models[0].Name.Name + "` has no `train` block: there is nothing to compile"
		e.Hint = "add `train " + models[0].Name.Name + " { loss = …  optimizer = …  data = … }`"
	}
	l.Errs.Add(e)
}

func (l *Lowerer) trainEntries(f *eval.Frame, t *Block) *Block {
	names := slices.Sorted(maps.Keys(trainKeys))
	misspelt := map[string]bool{} // entries that a slip stands for
	for _, e := range t.Node.Entries {
		k := e.Key.Name
		if _, known := trainKeys[k]; !known {
			near, _ := diag.Nearest(k, names)
			misspelt[near] = true
			f.Wants("E0503", e.Key, diag.OneOf(names), diag.DidYouMean(k, names), "`train` has no entry `%s`", k)
			continue
		}
		if old := t.entries[k]; old != nil {
			l.Errs.Add(source.Twice(e.Key, old))
			continue
		}
		t.entries[k] = e
	}
	t.readMetrics(f, &l.Errs)
	var missing []string
	for _, k := range names {
		if trainKeys[k] && t.entries[k] == nil && !misspelt[k] {
			missing = append(missing, k)
		}
	}
	if len(missing) > 0 {
		f.Wants("E0504", t.Node.Model, "`"+missing[0]+" = …`", "", "`train %s` lacks %s", t.Node.Model.Name, strings.Join(missing, ", "))
	}
	return t
}

// Train builds @step and @eval, and the metadata of training.
func (l *Lowerer) Train(t *Block) {
	f := l.Frame()
	if e := t.entries["data"]; e != nil {
		t.Data = dataOf(f, e.Value)
	}
	attrs := l.runAttrs(f, t)
	if t.Data == nil || t.entries["loss"] == nil {
		return
	}
	opts := optimizersOf(f, t)
	if e := t.entries["freeze"]; e != nil {
		t.freeze = patterns(f, e.Value)
	}
	step := eval.NewBuilder("step", true)
	first := l.forward(step, t)
	if l.Stopped {
		return
	}
	if len(opts) > 0 && first != nil {
		l.update(step, opts, t, first)
		attrs = append(attrs, namesOf(opts))
	}
	if len(l.Errs.List) > 0 || l.Stopped {
		return
	}
	l.finishFunc(step, first.fields)
	valid := eval.NewBuilder("eval", false)
	valid.Order = step.Order
	second := l.forward(valid, t)
	if second == nil || l.Stopped || !l.trainedToo(t, step, valid) {
		return
	}
	valid.Func.Results = append([]ir.Result{{Value: second.loss, Role: ir.RoleLoss}}, statsOf(second.metrics)...)
	l.averages(valid, t, second)
	l.finishFunc(valid, second.fields)
	l.meta(t, attrs)
}

// meta adds what the module says of training.
func (l *Lowerer) meta(t *Block, attrs []ir.Attr) {
	l.Mod.Meta = append(l.Mod.Meta, eval.Term("train", attrs), t.Data.Term)
	if len(l.Lora.Adapters) == 0 {
		return
	}
	var list ir.Terms
	for _, a := range l.Lora.Adapters {
		list = append(list, ir.Term{Head: "lora", Args: ir.A("on", ir.Str(strings.Join(a.On, ", ")), "rank", ir.Int(a.Rank), "scale", ir.Float(a.Scale))})
	}
	l.Mod.Meta = append(l.Mod.Meta, ir.Term{Head: "adapters", Args: ir.A("rules", list)})
}

// See evaluates the loss, and nothing that follows it, for what reads parameters.
func (l *Lowerer) See(t *Block) {
	f := l.Frame()
	if e := t.entries["data"]; e != nil {
		t.Data = dataOf(f, e.Value)
	}
	if t.Data == nil || t.entries["loss"] == nil {
		return
	}
	for _, training := range []bool{true, false} {
		if l.forward(eval.NewBuilder("step", training), t) == nil || l.Stopped {
			return
		}
	}
	l.Lora.Contractions = f.SeeProducts()
}

// runAttrs are the numbers of a train block: epochs, eval_every, steps and seed, and those
// of its `stop` block.
func (l *Lowerer) runAttrs(f *eval.Frame, t *Block) []ir.Attr {
	var out []ir.Attr
	for _, k := range []string{"epochs", "eval_every", "seed", "steps"} {
		e := t.entries[k]
		if e == nil {
			continue
		}
		least := 1
		if k == "seed" {
			least = 0
		}
		if n, ok := l.whole(f, k, e.Value, least); ok {
			out = append(out, ir.Attr{Key: k, Val: ir.Int(n)})
		}
	}
	if e, s := t.entries["epochs"], t.entries["steps"]; e != nil && s != nil {
		l.Errs.Add(source.Conflict("E0516", e.Key, s.Key.At(), "the steps", "one of the two", "", "`train` has both `epochs` and `steps`"))
	}
	if e := t.entries["epochs"]; e != nil && t.Data != nil && strings.HasPrefix(t.Data.Term.Args.Text("kind"), "synthetic") {
		f.Wants("E0516", e.Key, "`steps = …`", "", "synthetic data has no end, so it has no epochs")
	}
	if stop := l.stopAttrs(f, t); stop != nil {
		out = append(out, ir.Attr{Key: "stop", Val: ir.Terms{{Head: "stop", Args: stop}}})
	}
	return out
}

// whole is a whole number of an entry, of at least so much.
func (l *Lowerer) whole(f *eval.Frame, key string, x syntax.Expr, least int) (int, bool) {
	c, ok := runNumber(f, key, x)
	if !ok {
		return 0, false
	}
	n, ok := c.Int()
	if !ok || n < least || n > source.MaxSize {
		f.Wants("E0216", x, fmt.Sprintf("a whole number from %d to %d", least, source.MaxSize), "", "`%s` is %s", key, value.FormatNumber(c))
		return 0, false
	}
	return n, true
}

// runNumber is the number of one of these entries. A run is told its seed in any case, so
// that the config's entry `seed` may be a port.
func runNumber(f *eval.Frame, key string, x syntax.Expr) (value.Number, bool) {
	if key == "seed" {
		if t, ok := f.Symbolic(x).(value.Traced); ok && t.X.Name == key && f.Between(x, t, -1, source.MaxSize+1) {
			return t.Number, true
		}
	}
	return f.Number(x)
}

// forward emits the forward pass in fb, with the metrics; nil where something is wrong.
func (l *Lowerer) forward(fb *eval.Builder, t *Block) *forward {
	l.Builder = fb
	defer func() { l.Builder = nil }()
	f := l.Frame()
	f.Scope = "loss"
	f.Vars[t.Model.Decl.Name.Name] = l.Model.Root
	out := &forward{}
	for _, d := range t.Data.Fields {
		v := fb.Func.NewValue(d.Type, nil)
		out.fields = append(out.fields, &ir.Arg{Value: v, Role: ir.RoleData, Path: d.Name, Pos: t.entries["data"].At()})
		f.Vars[d.Name] = value.Tensor{V: v}
		f.Saw(d.Type)
	}
	x := t.entries["loss"].Value
	v := f.Expr(x)
	w, ok := v.(value.Tensor)
	switch {
	case !ok:
		f.NotA(x, v, "a tensor: the mean of something")
		return nil
	case w.V.Type.Rank() != 0 || w.V.Type.DType != ir.F32:
		if len(l.Errs.List) > 0 {
			return nil // what is wrong already may be why
		}
		f.Wants("E0505", x, "f32[], a single number", "`mean(…)` averages over all axes", "the loss is %s", w.V.Type)
		return nil
	}
	out.loss = w.V
	if out.metrics, ok = l.metrics(f, fb, t, w.V); !ok {
		return nil
	}
	return out
}

// statsOf are the metrics as results.
func statsOf(list []measured) (out []ir.Result) {
	for _, m := range list {
		out = append(out, ir.Result{Value: m.value, Role: ir.RoleStat, Path: m.statPath()})
	}
	return out
}

// trainedToo reports parameters that validation reads and a step does not: nothing
// trains them, and a step has no place for them.
func (l *Lowerer) trainedToo(t *Block, step, valid *eval.Builder) bool {
	for _, p := range l.Model.Params {
		if valid.Values[p] == nil || step.Values[p] != nil {
			continue
		}
		l.Errs.Add(source.Conflict("E0512", t.entries["loss"].Value, p.Pos, "the parameter", "a parameter that is read in training, or in both",
			"look for a condition on `training` that chooses otherwise", "the loss reads the parameter `%s` only in validation", p.Path))
		return false
	}
	return true
}

// finishFunc places the arguments that are used, in their canonical order, and
// adds the function to the module.
func (l *Lowerer) finishFunc(fb *eval.Builder, fields []*ir.Arg) {
	used := fb.Func.Uses()
	var args []*ir.Arg
	for _, p := range fb.Order {
		args = append(args, &ir.Arg{Value: fb.Param(p), Role: ir.RoleParam, Path: p.Path, Attrs: ir.A("init", p.Init), Pos: p.Pos})
	}
	args = append(args, fb.Func.Args...) // states
	for _, a := range fields {
		if used[a.Value] > 0 {
			args = append(args, a)
		}
	}
	if fb.Training {
		args = append(args, &ir.Arg{Value: fb.Step, Role: ir.RoleStep}, &ir.Arg{Value: fb.Seed, Role: ir.RoleSeed})
	}
	for _, a := range fb.Settings {
		if used[a.Value] > 0 {
			args = append(args, a)
		}
	}
	fb.Func.Args = args
	fb.DropSpare()
	fb.Func.Renumber()
	l.Mod.Funcs = append(l.Mod.Funcs, fb.Func)
	l.Built = append(l.Built, fb)
}

// source evaluates the data entry of a train block.
func dataOf(f *eval.Frame, x syntax.Expr) *value.Data {
	v := f.Expr(x)
	d, ok := v.(*value.Data)
	if !ok {
		notSource(f, x, v)
	} else if d.Weight != 0 {
		f.Wants("E0509", x, "a source, or `data.mix(…)` of several", "", "found a source with a weight")
	}
	return d
}

func notSource(f *eval.Frame, x syntax.Expr, v value.Value) {
	switch v := v.(type) {
	case value.Unknown:
	case value.Word:
		f.Undefined(v)
	default:
		f.Wants("E0509", x, "a source, such as `data.text(…)`", "", "found %s", v.What())
	}
}
