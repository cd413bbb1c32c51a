package roll

import (
	"slices"
	"strconv"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// lists are the paths of lists of modules in f, in order; what is inside of another
// list is not among them.
func lists(f *ir.Func) []string {
	var out []string
	note := func(path string) {
		parts := strings.Split(path, ".")
		for i, s := range parts {
			if _, err := strconv.Atoi(s); err == nil && i > 0 {
				if l := strings.Join(parts[:i], "."); !slices.Contains(out, l) {
					out = append(out, l)
				}
				return
			}
		}
	}
	for _, a := range f.Args {
		if a.Role == ir.RoleParam {
			note(a.Path)
		}
	}
	return out
}

// updates is the module path of operations of the optimizer, before that of what
// they update.
const updates = "optimizer."

// sequence is what the modules of one list do in a function.
type sequence struct {
	f    *ir.Func
	list string
	n    int // modules, without those that are omitted
	// omitted are modules that the text lacks; torn is that it has something of them
	// that a stack does not say.
	omitted gap
	torn    bool
	// family is the module of what each has of its own, plus 1: of arguments and
	// gradients; names tells the arguments of one module apart.
	family table[int32]
	names  map[*ir.Value]string
	of     map[*ir.Value]*ir.Value // by gradient: the argument
	ways   []*way
	pos    opTable[place]
	users  readers
	yields map[*ir.Value][]string // paths of the results that a value is
	links  map[*way]*link         // of the group that was looked at last
	// patterns are the texts of the module's metadata that name modules of the list
	// one by one.
	patterns [][]string
	ruled    map[int][]byte // by number; made when needed
	loose    bool
	edit
}

// way is one way through the modules, in ascending order: a range of operations
// for each, empty where one does nothing.
type way struct {
	number   int
	segments [][]*ir.Op
	// loose are constants between modules that are of none, as that with which a sum
	// over modules begins.
	loose []*ir.Op
}

// place is where an operation is: in which way, nil where it is in none, of which module,
// and there.
type place struct {
	way           *way
	module, index int
}

// module is the module that a path is of.
func (s *sequence) module(path string) (int, bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(path, updates), s.list)
	if !ok || rest == "" || rest[0] != '.' {
		return 0, false
	}
	rest = rest[1:]
	digits, _, _ := strings.Cut(rest, ".")
	digits, _, _ = strings.Cut(digits, "/")
	i, err := strconv.Atoi(digits)
	return s.omitted.index(i), err == nil && i >= 0
}

// find looks for the modules of a list; nil where there are not several. With loose,
// constants between modules are of none.
func find(f *ir.Func, list string, meta []ir.Term, omitted gap, loose bool) *sequence {
	f.Renumber()
	values := count(f)
	s := &sequence{f: f, list: list, omitted: omitted, family: make([]int32, values), names: map[*ir.Value]string{}, of: map[*ir.Value]*ir.Value{}, pos: make([]place, values),
		yields: map[*ir.Value][]string{}, edit: newEdit(values), loose: loose}
	for _, t := range meta {
		s.named(t)
	}
	for _, a := range f.Args {
		if i, ok := s.module(a.Path); ok {
			s.family[a.Value.ID], s.names[a.Value] = int32(i+1), a.Role+" "+string(s.opened(nil, a.Path))
			s.n = max(s.n, i+1)
		}
	}
	if s.n < 2 || s.n > len(f.Args) {
		return nil
	}
	for _, r := range f.Results {
		s.yields[r.Value] = append(s.yields[r.Value], r.Path)
	}
	marks := make([]int, len(f.Ops)) // the module of each operation, or -1
	for p, o := range f.Ops {
		marks[p] = s.mark(o)
	}
	s.users = readersOf(f, values)
	for p := 0; p < len(marks); {
		if marks[p] < 0 || f.Ops[p].Run != nil {
			p++
			continue
		}
		p = s.way(marks, p)
	}
	return s
}

// named collects the patterns of a term.
func (s *sequence) named(t ir.Term) {
	for _, a := range t.Args {
		switch v := a.Val.(type) {
		case ir.Term:
			s.named(v)
		case ir.Terms:
			for _, x := range v {
				s.named(x)
			}
		default:
			if text := v.String(); strings.Contains(text, s.list+".") {
				s.patterns = append(s.patterns, strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\" ,()[]", r) }))
			}
		}
	}
}

// mark is the module that o is of: by its path, or by what it reads.
func (s *sequence) mark(o *ir.Op) int {
	if o.Name == op.Grad {
		for k, r := range o.Results {
			if i := s.family.get(o.Args[k+1]); i > 0 {
				s.family[r.ID], s.of[r] = i, o.Args[k+1]
			}
		}
		return -1
	}
	if i, ok := s.module(o.Scope); ok && i < s.n {
		return i
	}
	for _, a := range o.Args {
		if i := s.family.get(a); i > 0 {
			return int(i - 1)
		}
	}
	return -1
}

// way takes the modules that follow one another in ascending order from operation p
// on, and gives the place behind. What stands between two modules is of the former
// one; behind the last one, as many operations are as behind the one before it.
func (s *sequence) way(marks []int, p int) int {
	w := &way{number: len(s.ways), segments: make([][]*ir.Op, s.n)}
	last, begin, end := -1, p, p // the module that is open, its first operation, and what is behind its last marked one
	trail := 0
	for ; p < len(marks) && s.f.Ops[p].Name != op.Grad && s.f.Ops[p].Run == nil && (marks[p] < 0 || marks[p] >= last); p++ {
		switch m := marks[p]; {
		case m < 0:
			continue
		case m > last:
			if last >= 0 {
				w.segments[last] = s.f.Ops[begin:p]
				trail = p - end
			}
			last, begin = m, p
		}
		end = p + 1
	}
	if end += trail; end > p { // the next way begins at p
		end = p
	}
	w.segments[last] = s.f.Ops[begin:end]
	for i, ops := range w.segments {
		w.segments[i] = slices.Clone(ops)
		w.segments[i] = slices.DeleteFunc(w.segments[i], func(o *ir.Op) bool {
			loose := s.loose && len(o.Args) == 0 && s.mark(o) < 0
			if loose {
				w.loose = append(w.loose, o)
				s.torn = s.torn || s.omitted.count() > 0 && (i == s.omitted.from-1 || i == s.omitted.from)
			}
			return loose
		})
		for k, o := range w.segments[i] {
			s.pos.set(o, place{w, i, k})
		}
	}
	s.ways = append(s.ways, w)
	return end
}
