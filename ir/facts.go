package ir

import "slices"

// Facts say for whom, where and when operations and functions are, never what
// they compute: passes give them to one another. They are fields of [Op], [Func]
// and [Arg]; in the text they stand among the attributes, each under a key of its
// own (see opFacts, funcFacts and argFacts).

// fact is a field of T as the text has it: under a key among the attributes. get
// is nil where it is not set. set reports whether it took the value: one of
// another form stays an attribute, which whoever knows the attributes refuses.
type fact[T any] struct {
	key string
	get func(*T) AttrVal
	set func(*T, AttrVal) bool
}

// opFacts, funcFacts and argFacts are in the order of their keys.
var (
	opFacts = []fact[Op]{
		{"ahead", func(o *Op) AttrVal {
			if o.Ahead == 0 {
				return nil
			}
			return Int(o.Ahead)
		}, func(o *Op, v AttrVal) bool {
			n, ok := v.(Int)
			if ok = ok && n != 0 && -MaxCount <= n && n <= MaxCount; ok {
				o.Ahead = int(n)
			}
			return ok
		}},
		{"at", func(o *Op) AttrVal {
			if o.At == nil {
				return nil
			}
			return Ints(o.At)
		}, func(o *Op, v AttrVal) bool {
			at, ok := v.(Ints)
			o.At = at
			return ok
		}},
		{"fn", func(o *Op) AttrVal {
			if o.Callee == nil {
				return nil
			}
			return Sym(o.Callee.Name)
		}, nil}, // the parser finds the function
		{"fn_first", func(o *Op) AttrVal {
			if o.First == nil {
				return nil
			}
			return Sym(o.First.Name)
		}, nil},
		{"memory", func(o *Op) AttrVal { return memoryVal(o.Memory) }, func(o *Op, v AttrVal) bool { return setWord(&o.Memory, memories, v) }},
		{"micro_spread", func(o *Op) AttrVal { return spreadVal(o.Spread, microPart) }, func(o *Op, v AttrVal) bool { return setSpreads(&o.Spread, v, microPart) }},
		{"microbatch", func(o *Op) AttrVal {
			if !o.Micro || o.Task != nil {
				return nil
			}
			return Name("each")
		}, func(o *Op, v AttrVal) bool {
			o.Micro = v == Name("each")
			return o.Micro
		}},
		{"phase", func(o *Op) AttrVal {
			if o.Phase == NoPhase {
				return nil
			}
			return Name(o.Phase.String())
		}, func(o *Op, v AttrVal) bool { return setWord(&o.Phase, phases, v) }},
		{"remat", func(o *Op) AttrVal { return flagVal(o.Remat) }, func(o *Op, v AttrVal) bool { return setFlag(&o.Remat, v) }},
		{"spread", func(o *Op) AttrVal { return spreadVal(o.Spread, instancePart) }, func(o *Op, v AttrVal) bool { return setSpreads(&o.Spread, v, instancePart) }},
		{"stage", func(o *Op) AttrVal { return indexVal(o.Stage) }, func(o *Op, v AttrVal) bool { return setIndex(&o.Stage, v) }},
		{"start", func(o *Op) AttrVal { return flagVal(o.Start) }, func(o *Op, v AttrVal) bool { return setFlag(&o.Start, v) }},
		{"wait", func(o *Op) AttrVal {
			switch o.Wait {
			case WaitUnset:
				return nil
			case WaitFirst:
				return waitFirst
			}
			return BoolVal(o.Wait == WaitAll)
		}, func(o *Op, v AttrVal) bool {
			if v == waitFirst {
				o.Wait = WaitFirst
				return true
			}
			b, ok := v.(BoolVal)
			if ok {
				o.Wait = Waits(bool(b))
			}
			return ok
		}},
	}
	funcFacts = []fact[Func]{
		{"class", func(f *Func) AttrVal {
			if f.Class == NoClass {
				return nil
			}
			return Name(f.Class.String())
		}, func(f *Func, v AttrVal) bool { return setWord(&f.Class, funcClasses, v) }},
		{"microbatches", func(f *Func) AttrVal {
			if f.Micro == 0 {
				return nil
			}
			return Int(f.Micro)
		}, func(f *Func, v AttrVal) bool {
			n, ok := v.(Int)
			if ok = ok && 0 < n && n <= MaxCount; ok {
				f.Micro = int(n)
			}
			return ok
		}},
		{"of", func(f *Func) AttrVal {
			if f.Of == "" {
				return nil
			}
			return Name(f.Of)
		}, func(f *Func, v AttrVal) bool {
			of, ok := v.(Name)
			f.Of = string(of)
			return ok
		}},
		{"stage", func(f *Func) AttrVal { return indexVal(f.Stage) }, func(f *Func, v AttrVal) bool { return setIndex(&f.Stage, v) }},
	}
	argFacts = []fact[Arg]{
		{"at", func(a *Arg) AttrVal {
			n, ok := a.At.Get()
			if !ok {
				return nil
			}
			return Int(n)
		}, func(a *Arg, v AttrVal) bool {
			n, ok := v.(Int)
			if ok = ok && n >= 0; ok {
				a.At = OffsetOf(int64(n))
			}
			return ok
		}},
		{"memory", func(a *Arg) AttrVal { return memoryVal(a.Memory) }, func(a *Arg, v AttrVal) bool { return setWord(&a.Memory, memories, v) }},
		{"micro_spread", func(a *Arg) AttrVal { return spreadVal([]Spread{a.Spread}, microPart) }, func(a *Arg, v AttrVal) bool { return setSpread(&a.Spread, v, microPart) }},
		{"spread", func(a *Arg) AttrVal { return spreadVal([]Spread{a.Spread}, instancePart) }, func(a *Arg, v AttrVal) bool { return setSpread(&a.Spread, v, instancePart) }},
	}
)

// spreadPart is one of the two pairs of a spread, which the text has under a key each.
type spreadPart func(s *Spread) (step *int64, ring *int)

func instancePart(s *Spread) (*int64, *int) { return &s.Step, &s.Ring }
func microPart(s *Spread) (*int64, *int)    { return &s.MicroStep, &s.MicroRing }

// spreadVal is the step and the ring of each result, in turn; nil where all are 0.
func spreadVal(spreads []Spread, part spreadPart) AttrVal {
	out, any := Ints{}, false
	for _, s := range spreads {
		step, ring := part(&s)
		out = append(out, *step, int64(*ring))
		any = any || *step != 0 || *ring != 0
	}
	if !any {
		return nil
	}
	return out
}

// setSpreads sets a part of the spreads of results.
func setSpreads(spreads *[]Spread, v AttrVal, part spreadPart) bool {
	ns, ok := v.(Ints)
	if !ok || len(ns) == 0 || len(ns)%2 != 0 || *spreads != nil && len(*spreads) != len(ns)/2 {
		return false
	}
	for i := 1; i < len(ns); i += 2 {
		if ns[i] < 0 || ns[i] > MaxCount {
			return false
		}
	}
	if *spreads == nil {
		*spreads = make([]Spread, len(ns)/2)
	}
	for i := range *spreads {
		step, ring := part(&(*spreads)[i])
		*step, *ring = ns[2*i], int(ns[2*i+1])
	}
	return true
}

func setSpread(s *Spread, v AttrVal, part spreadPart) bool {
	all := []Spread{*s}
	if ns, ok := v.(Ints); !ok || len(ns) != 2 || !setSpreads(&all, v, part) {
		return false
	}
	*s = all[0]
	return true
}

func memoryVal(m Memory) AttrVal {
	if m == Device {
		return nil
	}
	return Name(m.String())
}

func indexVal(x Index) AttrVal {
	n, ok := x.Get()
	if !ok {
		return nil
	}
	return Int(n)
}

func flagVal(b bool) AttrVal {
	if !b {
		return nil
	}
	return BoolVal(true)
}

// setWord sets a field to the number of a word, of which the first is not written.
func setWord[E ~uint8](field *E, words []string, v AttrVal) bool {
	n, ok := v.(Name)
	i := slices.Index(words, string(n))
	if !ok || i < 1 {
		return false
	}
	*field = E(i)
	return true
}

func setIndex(x *Index, v AttrVal) bool {
	n, ok := v.(Int)
	if !ok || n < 0 || n >= MaxID {
		return false
	}
	*x = At(int(n))
	return true
}

func setFlag(b *bool, v AttrVal) bool {
	x, ok := v.(BoolVal)
	*b = bool(x)
	return ok && bool(x)
}

// take sets the facts of x that are among the attributes; the others are left.
func take[T any](x *T, as Attrs, facts []fact[T]) Attrs {
	left := as[:0]
	for _, a := range as {
		i := slices.IndexFunc(facts, func(f fact[T]) bool { return f.key == a.Key })
		if i < 0 || facts[i].set == nil || !facts[i].set(x, a.Val) {
			left = append(left, a)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return left
}

// written are the attributes of x and its facts, as they stand in the text.
func written[T any](x *T, as Attrs, facts []fact[T]) Attrs {
	var out Attrs
	for _, f := range facts {
		v := f.get(x)
		if v == nil {
			continue
		}
		if out == nil {
			out = make(Attrs, 0, len(as)+len(facts))
		}
		for len(as) > 0 && as[0].Key < f.key {
			out, as = append(out, as[0]), as[1:]
		}
		out = append(out, Attr{f.key, v})
	}
	if out == nil {
		return as
	}
	return append(out, as...)
}
