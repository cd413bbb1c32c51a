package ir

import "slices"

// Facts say for whom, where and when operations and functions are, never what
// they compute: passes give them to one another. They are fields of [Op], [Func]
// and [Arg]; in the text they stand among the attributes, each under a key of its
// own (see opFacts, funcFacts and argFacts).

// FuncClass is what a function is for.
type FuncClass uint8

const (
	NoClass FuncClass = iota
	Entry             // what the runtime calls: its arguments and results have roles
	Kernel            // one launch; its arguments and results have the roles in and out
)

var funcClasses = []string{"", "entry", "kernel"}

func (c FuncClass) String() string { return funcClasses[c] }

// Phase is the part of a training step that an operation belongs to.
type Phase uint8

const (
	NoPhase Phase = iota
	Forward
	Backward
	Update
)

var phases = []string{"", "forward", "backward", "update"}

func (p Phase) String() string { return phases[p] }

// Memory is a kind of memory that values lie in.
type Memory uint8

const (
	Device Memory = iota // a device's own, which kernels read and write
	Host                 // the host's, beside it
	Disk                 // a file on the host's disk
)

var memories = []string{"device", "host", "disk"}

func (m Memory) String() string { return memories[m] }

// ParseMemory is the inverse of [Memory.String].
func ParseMemory(s string) (Memory, bool) {
	i := slices.Index(memories, s)
	return Memory(max(i, 0)), i >= 0
}

// Memories lists the kinds.
func Memories() []Memory { return []Memory{Device, Host, Disk} }

// Index is the number of a stage or of a microbatch, or none: the zero value.
type Index int32

// At is the index n.
func At(n int) Index { return Index(n + 1) }

// Get is the number, and whether there is one.
func (x Index) Get() (int, bool) { return int(x) - 1, x > 0 }

// Or is the number, or def where there is none.
func (x Index) Or(def int) int {
	if x > 0 {
		return int(x) - 1
	}
	return def
}

// Slot is where and when an operation runs.
type Slot struct {
	Stage Index // virtual stage; an operation without it runs on every stage that reads it
	Micro bool  // it runs once for each microbatch, not once a step
	Task  *Task // that it is in, where the function has tasks
	Phase Phase
	Remat bool // a forward operation rematerialized for the backward phase
	Run   *Run // that it is in, for each instance of a stack; nil where it runs once
	// Ahead is by how many turns of its run it is issued before the operations that
	// stand beside it, below 0 behind them; see [Stack].
	Ahead int
}

// Over is s, and what it does not say as under has it.
func (s Slot) Over(under Slot) Slot {
	if s.Stage == 0 {
		s.Stage = under.Stage
	}
	s.Micro = s.Micro || under.Micro
	if s.Task == nil {
		s.Task = under.Task
	}
	if s.Phase == NoPhase {
		s.Phase = under.Phase
	}
	s.Remat = s.Remat || under.Remat
	if s.Run == nil {
		s.Run = under.Run
	}
	return s
}

// Wait says of an operation at level planned whether it waits for all that were
// issued before it.
type Wait uint8

const (
	WaitUnset Wait = iota
	NoWait
	WaitAll
	// WaitFirst is of a call that is alone in its run: it waits for its first instance,
	// and the others run beside that one.
	WaitFirst
)

// waitFirst is how the text has WaitFirst.
const waitFirst = Name("first")

// Waits is the wait that the truth value stands for.
func Waits(wait bool) Wait {
	if wait {
		return WaitAll
	}
	return NoWait
}

// Offset is a place in a memory in bytes, or none: the zero value.
type Offset int64

// OffsetOf is the offset of n bytes.
func OffsetOf(n int64) Offset { return Offset(n + 1) }

// Get is the number of bytes, and whether there is one.
func (x Offset) Get() (int64, bool) { return int64(x) - 1, x > 0 }

// Bytes is the number of bytes, 0 where there is none.
func (x Offset) Bytes() int64 { return max(int64(x)-1, 0) }

// Spread says where the instances of a value are in memory: that of instance k of its
// stack, counted as the stack does, is Step·(k mod Ring) bytes behind the place of the
// value. The zero value has all in one place. Of two places that instances have in
// turns, the value may be in the second first: then Step is less than 0.
//
// That of microbatch m is MicroStep·(m mod MicroRing) bytes further on, where a task
// leaves it to another one. A ring of 1 is one place that all microbatches have, one
// after the other; where MicroRing is 0, no other task reads the value.
type Spread struct {
	Step      int64
	Ring      int
	MicroStep int64
	MicroRing int
}

// Of is the distance of instance k for microbatch m in bytes; each is 0 where there is
// one alone.
func (s Spread) Of(k, m int) (bytes int64) {
	if s.Ring > 0 {
		bytes = s.Step * int64(k%s.Ring)
	}
	if s.MicroRing > 0 {
		bytes += s.MicroStep * int64(m%s.MicroRing)
	}
	return bytes
}

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
