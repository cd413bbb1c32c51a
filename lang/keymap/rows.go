package keymap

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ptc/internal/diag"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// open matches an open number in a name: {i}, {2i}, {2i+1}.
var open = regexp.MustCompile(`\{(\d{0,4})([A-Za-z_]\w*)(?:\+(\d{1,4}))?\}`)

// fill is the name with numbers in place of what is open.
func fill(name string, at map[string]int) string {
	return open.ReplaceAllStringFunc(name, func(s string) string {
		m := open.FindStringSubmatch(s)
		times, plus := 1, 0
		if m[1] != "" {
			times, _ = strconv.Atoi(m[1]) // four digits
		}
		if m[3] != "" {
			plus, _ = strconv.Atoi(m[3])
		}
		return strconv.Itoa(times*at[m[2]] + plus)
	})
}

// variables are the open numbers of a name, each once.
func variables(name string) (out []string) {
	for _, m := range open.FindAllStringSubmatch(name, -1) {
		if !slices.Contains(out, m[2]) {
			out = append(out, m[2])
		}
	}
	return out
}

// row resolves the row of a tensor, or of as many as its open numbers make.
func (l *lowerer) row(r *syntax.TensorRow) {
	pieces := r.Pieces()
	first := pieces[0]
	bindings := l.matches(first, l.params)
	if len(bindings) == 0 {
		if len(l.matches(first, l.absent)) == 0 {
			l.unknown(first)
		}
		return // there is no such parameter under this config, hence no tensor
	}
	if !l.shared(r) {
		return
	}
	over := 0
	if r.Over != nil {
		c, ok := l.Number(r.Over)
		if !ok {
			return
		}
		if over, ok = c.Int(); !ok || over < 0 || over > source.MaxRank {
			l.Wants("E0717", r.Over, "the number of a dimension of the tensor, from 0", "", "`over` is %s", value.FormatNumber(c))
			return
		}
	}
	for _, at := range bindings {
		l.tensors(r, first, at, over)
	}
}

// shared reports open numbers that name and paths do not share.
func (l *lowerer) shared(r *syntax.TensorRow) bool {
	names := variables(string(r.Tensor))
	for _, p := range r.Pieces() {
		var have []string
		for _, x := range p.Path.Parts {
			if x.Var != "" {
				have = append(have, x.Var)
			}
		}
		for _, h := range p.Held {
			have = append(have, h.Var.Name)
		}
		for _, v := range have {
			if !slices.Contains(names, v) {
				l.Wants("E0711", p, "`{"+v+"}` in the name as well", "", "the path has the open number `%s`, and the name %q does not", v, string(r.Tensor))
				return false
			}
		}
		for _, v := range names {
			if !slices.Contains(have, v) {
				l.Wants("E0711", p, "`{"+v+"}` in the path, or `[axis = "+v+"]`", "", "the open number `%s` is in the name %q, but not in the path", v, string(r.Tensor))
				return false
			}
		}
	}
	return true
}

// matches are the numbers for which the path of a piece is of one of the parameters,
// in the order of the parameters.
func (l *lowerer) matches(p *syntax.Piece, in map[string]*value.Param) (out []map[string]int) {
	if closed(p.Path) {
		if in[p.Path.String()] != nil {
			return []map[string]int{{}}
		}
		return nil
	}
	list := l.order
	if len(in) == 0 || in[firstOf(in)].Absent != nil {
		list = nil
		for _, k := range slices.Sorted(maps.Keys(in)) {
			list = append(list, in[k])
		}
	}
	for _, q := range list {
		if at, ok := match(p.Path, q.Path); ok {
			out = append(out, at)
		}
	}
	return out
}

func firstOf(m map[string]*value.Param) string { return slices.Min(slices.Collect(maps.Keys(m))) }

func closed(p *syntax.OpenPath) bool {
	return !slices.ContainsFunc(p.Parts, func(x *syntax.PathPart) bool { return x.Var != "" })
}

// match is the numbers that make the path of p.
func match(p *syntax.OpenPath, path string) (map[string]int, bool) {
	parts := strings.Split(path, ".")
	if len(parts) != len(p.Parts) {
		return nil, false
	}
	at := map[string]int{}
	for i, x := range p.Parts {
		if x.Var == "" {
			if x.Name != parts[i] {
				return nil, false
			}
			continue
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return nil, false
		}
		if old, twice := at[x.Var]; twice && old != n {
			return nil, false
		}
		at[x.Var] = n
	}
	return at, true
}

// unknown reports a path of no parameter.
func (l *lowerer) unknown(p *syntax.Piece) {
	var known []string
	seen := map[string]bool{}
	for _, q := range l.order {
		if s := value.Starred(q.Path); !seen[s] {
			seen[s] = true
			known = append(known, s)
		}
	}
	text := p.Path.String()
	near := diag.DidYouMean(regexp.MustCompile(`\{\w+\}`).ReplaceAllString(text, "*"), known)
	l.Wants("E0712", p.Path, "the path of a parameter, with `{i}` for a number", near, "the model has no parameter `%s`", text)
}

// tensors adds the tensors of a row with these numbers: one, or one for each position
// of the axes that are held.
func (l *lowerer) tensors(r *syntax.TensorRow, first *syntax.Piece, at map[string]int, over int) {
	p := l.params[pathAt(first.Path, at)]
	for _, h := range first.Held {
		if _, bound := at[h.Var.Name]; bound {
			continue
		}
		i := p.Type.Index(h.Axis.Name)
		if i < 0 {
			l.Wants("E0713", h.Axis, diag.OneOf(p.Type.Names()), diag.DidYouMean(h.Axis.Name, p.Type.Names()), "the parameter `%s` has no axis `%s`", p.Path, h.Axis.Name)
			return
		}
		for k := range p.Type.Axes[i].Size {
			if len(l.Interp.Errs.List) > 0 {
				return
			}
			next := maps.Clone(at)
			next[h.Var.Name] = k
			l.tensors(r, first, next, over)
		}
		return
	}
	t := Tensor{Name: fill(string(r.Tensor), at), Over: over}
	if old := l.rows[t.Name]; old != nil {
		l.Interp.Errs.Add(source.Conflict("E0714", r, old.At(), "the other one", "", "", "the tensor %q is in two rows", t.Name))
		return
	}
	l.rows[t.Name] = r
	for _, x := range r.Pieces() {
		q := l.params[pathAt(x.Path, at)]
		if q == nil {
			l.unknown(x)
			return
		}
		piece, ok := l.piece(x, q, at)
		if !ok {
			return
		}
		if len(t.Pieces) > 0 && !fits(t.Pieces[0].Shape, piece.Shape, over) {
			l.Wants("E0717", x, "sizes that differ only along dimension "+strconv.Itoa(over), "", "a piece of shape %v cannot follow one of shape %v", piece.Shape, t.Pieces[0].Shape)
			return
		}
		if over >= len(piece.Shape) && (over > 0 || len(r.Concat) > 0) {
			l.Wants("E0717", r.Over, "the number of a dimension of the tensor, from 0", "", "`over` is %d, and the pieces have %s", over, value.Count(len(piece.Shape), "dimension"))
			return
		}
		t.Pieces = append(t.Pieces, piece)
		l.used[q.Path] = append(l.used[q.Path], held{piece, x})
	}
	l.out.Tensors = append(l.out.Tensors, t)
}

// fits is whether shapes differ in one dimension alone.
func fits(a, b []int64, over int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if i != over && a[i] != b[i] {
			return false
		}
	}
	return true
}

func pathAt(p *syntax.OpenPath, at map[string]int) string {
	parts := make([]string, len(p.Parts))
	for i, x := range p.Parts {
		if parts[i] = x.Name; x.Var != "" {
			parts[i] = strconv.Itoa(at[x.Var])
		}
	}
	return strings.Join(parts, ".")
}
