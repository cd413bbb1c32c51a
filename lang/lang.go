package lang

import (
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/auto"
	_ "ptc/lang/builtin" // the functions of the language
	"ptc/lang/directive"
	"ptc/lang/eval"
	"ptc/lang/keymap"
	"ptc/lang/source"
	"ptc/stdlib"
)

// Program is a main file and everything it imports, parsed.
type Program struct{ *source.Program }

type (
	// Importer reads a user's file, Library one of the standard library.
	Importer = source.Importer
	Library  = source.Library
	// Override sets a config entry, as --set key=value does.
	Override = eval.Override
	// Seen is what a node of a program evaluated to.
	Seen = eval.Seen
)

// ErrOutside is a file outside the folder that imports may come from.
var ErrOutside = source.ErrOutside

// Load parses the main file and, through read, what it imports. The Program is
// never nil: with errors it serves to show their sources.
func Load(name string, src []byte, read Importer) (*Program, diag.List) {
	return LoadWith(name, src, read, stdlib.Read)
}

// LoadWith is Load with another text of the standard library, such as that of
// the release that a plan was made by.
func LoadWith(name string, src []byte, read Importer, library Library) (*Program, diag.List) {
	p, errs := source.Load(name, src, read, library)
	return &Program{p}, errs
}

// LoadPart is Load for texts that somebody is still writing: with errors of syntax the
// program has what is left without them, and can be lowered to be watched.
func LoadPart(name string, src []byte, read Importer) (*Program, diag.List) {
	p, errs := source.LoadPart(name, src, read, stdlib.Read)
	return &Program{p}, errs
}

// Options say what a program is lowered to.
type Options struct {
	Set []eval.Override // config entries to replace
	// Layout is the layout's name; empty for the first one of the main file,
	// or one device where there is none.
	Layout string
	// Auto asks what an auto layout says, for [Result.Auto], in place of a layout: that of
	// the name Layout, or the only one of the main file. The module then has no layout.
	Auto bool
	// Compute, where not empty, replaces the dtype in which the layout
	// computes: f32, bf16 or f16.
	Compute string
	// Ports are entries of the config that a plan is told when it runs; see [eval.Ports].
	// Those that cannot be are in Result.Static.
	Ports []string
	// Omit leaves out instances of repeated modules that do what the one before them
	// does: [Result.Omitted] says which.
	Omit bool
	// Watch, where it is not nil, is told what every expression evaluates to, and ends
	// the lowering by returning false: without a result then, and without an error.
	Watch func(Seen) bool
	// Sample asks for @sample, the forward phase from tokens to logits, in place of
	// @step and @eval. It is for one device: of the layout, the precision alone holds.
	Sample bool
}

// Result is a lowered program.
type Result struct {
	Module  *ir.Module   // at Global: @step and @eval, or @sample
	Layout  string       // the layout's name
	Layouts []string     // all ordinary ones of the main file, in order
	Auto    *auto.Layout // with Options.Auto
	Config  []ir.Attr    // resolved entries, in the order of the files
	// Params counts the parameters, Elems their elements.
	Params, Elems int
	// Unused are the paths of declared parameters that the loss does not read.
	// They are left out of the module.
	Unused []string
	// Warnings are about what is allowed and probably not meant.
	Warnings []string
	// Remarks are decisions that the source does not show.
	Remarks []string
	// Names are the blocks of names of the model, resolved.
	Names []keymap.Map
	// Settings are the entries of the config that are ports or computed of some, Guards the
	// comparisons of theirs that decided something, and Static the ports that are none.
	Settings []eval.Setting
	Guards   []eval.Guard
	Static   []eval.Static
	// Omitted says what the functions of the module lack.
	Omitted []Omitted
}

// Omitted is what a function lacks of a repeated module: the instances From to To−1 of
// the list, which do what From−1 does and have no parameters, operations or results.
type Omitted struct {
	Func string
	eval.Omitted
}

// Config is the config with overrides, as [Result.Config], and nothing else of the program.
func (p *Program) Config(set []Override) ([]ir.Attr, diag.List) {
	if p.Main == nil || p.Main.Tree == nil {
		return nil, diag.List{{Code: "E0501", Msg: "nothing was parsed"}}
	}
	in := eval.New(p.Program, set)
	return in.Config.Attrs(), in.Errs.List
}

// Auto is what an auto layout says, checked against the program: that of a name, or the only
// one of the main file where the name is empty.
func (p *Program) Auto(name string, set []Override) (*auto.Layout, diag.List) {
	r, errs := p.Lower(Options{Set: set, Layout: name, Auto: true, Omit: true})
	if r == nil {
		return nil, errs
	}
	return r.Auto, nil
}

// maxIrregular is after how many lists of which instances turned out to differ all
// lists are written.
const maxIrregular = 3

// Lower resolves the program to a module, or to the list of its mistakes. Where ports turn
// out to be none, it is lowered again without them.
func (p *Program) Lower(o Options) (*Result, diag.List) {
	if p.Main == nil || p.Main.Tree == nil {
		return nil, diag.List{{Code: "E0501", Msg: "nothing was parsed"}}
	}
	if len(o.Ports) == 0 {
		return p.lower(o, nil)
	}
	ports := &eval.Ports{Names: o.Ports}
	for {
		r, errs := p.lower(o, ports)
		if ports.Again() {
			continue
		}
		if r != nil {
			r.Guards, r.Static = ports.Guards(), ports.Static()
		}
		return r, errs
	}
}

func (p *Program) lower(o Options, ports *eval.Ports) (*Result, diag.List) {
	return evaluated(p, o, ports, func(in *eval.Interp) *Result {
		checkSweep(in)
		y := directive.Choose(in, o.Layout, o.Auto)
		m := modelOf(in, o)
		if m == nil {
			return nil
		}
		return m.place(y, m.mod)
	})
}

// evaluated is what lower makes of the program: with instances of repeated modules omitted if the options say so and they are
// regular, and with all of them otherwise, where mistakes are found too.
func evaluated[T any](p *Program, o Options, ports *eval.Ports, lower func(in *eval.Interp) *T) (*T, diag.List) {
	irregular := map[string]bool{}
	for o.Omit && len(irregular) < maxIrregular {
		in := eval.NewWatched(p.Program, o.Set, ports, o.Watch)
		in.Omits = func(list string) bool { return !irregular[list] }
		in, r := lowerTwice(in, o, ports, lower)
		if in.Irregular == "" && len(in.Errs.List) == 0 {
			return r, nil
		}
		if in.Irregular == "" {
			break // mistakes are found in what is written
		}
		irregular[in.Irregular] = true
	}
	in, r := lowerTwice(eval.NewWatched(p.Program, o.Set, ports, o.Watch), o, ports, lower)
	if len(in.Errs.List) > 0 {
		return nil, in.Errs.List.Sort()
	}
	return r, nil
}

// lowerTwice lowers with in, and where the program asks for adapters, which depend on
// how products read parameters, once more with what that has shown.
func lowerTwice[T any](in *eval.Interp, o Options, ports *eval.Ports, lower func(in *eval.Interp) *T) (*eval.Interp, *T) {
	once := func(in *eval.Interp) *T {
		if len(in.Errs.List) > 0 {
			return nil
		}
		return lower(in)
	}
	in.Lora.Products = map[string]eval.Contraction{}
	r := once(in)
	if in.Lora.Contractions == nil || len(in.Errs.List) > 0 || in.Stopped {
		return in, r
	}
	again := eval.NewWatched(in.Prog, o.Set, ports, o.Watch)
	again.Omits, again.Lora.Contractions = in.Omits, in.Lora.Contractions
	return again, once(again)
}
