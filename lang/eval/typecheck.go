package eval

import (
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// typeCheck checks values against written types, which f resolves. Mistakes of who are
// reported in from, at a node.
type typeCheck struct {
	f, from *Frame
	at      syntax.Node
	who     string
}

// has checks a value against a written type. The axes must be the same set: their order
// in the type of an argument or result says nothing. Without a dtype, any float fits.
func (c typeCheck) has(v value.Value, t syntax.Type) bool {
	if value.IsUnknown(v) {
		return true
	}
	switch t := t.(type) {
	case *syntax.NamedType:
		return c.named(v, t)
	case *syntax.TupleType:
		u, ok := v.(value.Tuple)
		if !ok || len(u) != len(t.Elems) {
			return c.differs(v, value.Count(len(t.Elems), "value"))
		}
		for i, e := range t.Elems {
			if !c.has(u[i], e) {
				return false
			}
		}
	case *syntax.TensorType:
		return c.tensor(v, t)
	case *syntax.LikeType:
		p, ok := c.f.read(t.Of, c.f.Lookup(t.Of, t.Of.Name)).(value.Tensor)
		u, isTensor := v.(value.Tensor)
		if ok && (!isTensor || Missing(u.V.Type, p.V.Type) != "" || Missing(p.V.Type, u.V.Type) != "") {
			return c.differs(v, p.V.Type.String())
		}
	}
	return true
}

// differs reports a value of another type.
func (c typeCheck) differs(v value.Value, want string) bool {
	c.from.Wants("E0208", c.at, want, "", "%s is %s", ticked(c.who), v.What())
	return false
}

func (c typeCheck) named(v value.Value, t *syntax.NamedType) bool {
	want := t.Name
	switch d, isDType := ir.ParseDType(t.Name); {
	case t.Name == "axis":
		return true
	case t.Name == "number":
		if _, ok := value.NumberOf(v); ok {
			return true
		}
		want = "a number known at compile time"
	case t.Name == "string":
		if _, ok := v.(value.Text); ok {
			return true
		}
		want = "a string in quotes"
	case !isDType:
		names := append([]string{"axis", "number", "string"}, dtypeNames...)
		c.f.Wants("E0208", t, "`axis`, `number`, `string`, a dtype, or axes in brackets", diag.DidYouMean(t.Name, names), "unknown type `%s`", t.Name)
		return false
	default:
		if fitsScalar(v, d) {
			return true
		}
		if want = "a scalar of " + t.Name; d == ir.Bool {
			want = "true or false"
		}
	}
	if w, isWord := v.(value.Word); isWord && t.Name != "string" {
		c.from.Undefined(w)
		return false
	}
	return c.differs(v, want)
}

func (c typeCheck) tensor(v value.Value, t *syntax.TensorType) bool {
	refs, ok := c.f.typeAxes(t.Axes)
	if !ok {
		return false
	}
	d, ok := c.f.DTypeOf(t.DType, ir.F32)
	if !ok {
		return false
	}
	want := writtenType(t, refs)
	u, ok := v.(value.Tensor)
	if !ok {
		if _, isNumber := value.NumberOf(v); isNumber && len(refs) == 0 {
			return true
		}
		if w, isWord := v.(value.Word); isWord {
			c.from.Undefined(w)
			return false
		}
		return c.differs(v, "a tensor "+want)
	}
	got := u.V.Type
	bad := ""
	declared := ir.Type{}
	for _, r := range refs {
		declared.Axes = append(declared.Axes, ir.Axis{Name: r.name})
		if i := got.Index(r.name); i >= 0 && r.size != 0 && got.Axes[i].Size != r.size {
			bad = ", where `" + r.name + "` has another size"
		}
	}
	if m := Missing(got, declared); m != "" {
		bad = ", which lacks axis `" + m + "`"
	} else if m := Missing(declared, got); m != "" {
		bad = ", which has an axis `" + m + "` too many"
	} else if t.DType != nil && got.DType != d {
		bad = ", not " + d.String()
	} else if t.DType == nil && !got.DType.IsFloat() {
		bad = ", not of a float dtype"
	}
	if bad != "" {
		c.from.Report(source.Conflict("E0208", c.at, t.At(), "declared here", want, "", "%s is %s%s", ticked(c.who), got, bad))
	}
	return bad == ""
}

// ticked puts a plain name in backquotes.
func ticked(who string) string {
	if strings.ContainsAny(who, " `") {
		return who
	}
	return "`" + who + "`"
}

// fitsScalar is whether v can be a scalar of dtype d.
func fitsScalar(v value.Value, d ir.DType) bool {
	switch u := v.(type) {
	case value.Number, value.Traced:
		return d != ir.Bool
	case value.Truth:
		return d == ir.Bool
	case value.Tensor:
		return u.V.Type.DType == d && u.V.Type.Rank() == 0
	}
	return false
}
