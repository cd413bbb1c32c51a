package verify

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"ptc/internal/diag"
	"ptc/ir"
)

// attrs checks that attributes are sorted, distinct and can be printed.
func (c *checker) attrs(where site, pos diag.Pos, as ir.Attrs) {
	if msg := badAttrs(as, 0); msg != "" {
		c.add(codeName, pos, where.String(), msg, "", "")
	}
}

func badAttrs(as ir.Attrs, depth int) string {
	for i, a := range as {
		switch {
		case !ir.IsIdent(a.Key):
			return fmt.Sprintf("%q cannot name an attribute", a.Key)
		case i > 0 && as[i-1].Key >= a.Key:
			return "attributes `" + as[i-1].Key + "` and `" + a.Key + "` are not sorted or the same"
		case a.Val == nil:
			return "attribute `" + a.Key + "` has no value"
		}
		if msg := badValue(a.Val, depth); msg != "" {
			return "attribute `" + a.Key + "`: " + msg
		}
	}
	return ""
}

// badValue says why the text of v would not read back as v, or is empty.
func badValue(v ir.AttrVal, depth int) string {
	var names []string
	switch v := v.(type) {
	case ir.Name:
		return badName(string(v))
	case ir.Sym:
		names = []string{string(v)}
	case ir.Names:
		names = v
	case ir.Sizes:
		return badSizes(v)
	case ir.Pairs:
		if len(v) > ir.MaxRank {
			return fmt.Sprintf("%d pairs", len(v))
		}
		for _, p := range v {
			names = append(names, p.From, p.To)
		}
	case ir.Term:
		if depth >= ir.MaxNesting {
			return "terms are nested too deeply"
		}
		if !ir.IsIdent(v.Head) {
			return fmt.Sprintf("%q cannot name a term", v.Head)
		}
		return badAttrs(v.Args, depth+1)
	case ir.Terms:
		for _, t := range v {
			if msg := badValue(t, depth+1); msg != "" {
				return msg
			}
		}
	}
	for _, n := range names {
		if !ir.IsIdent(n) {
			return fmt.Sprintf("%q is not an identifier", n)
		}
	}
	return ""
}

func badSizes(v ir.Sizes) string {
	if len(v) > ir.MaxRank {
		return fmt.Sprintf("%d axes", len(v))
	}
	elems := 1
	for i, s := range v {
		if !ir.IsIdent(s.Name) {
			return fmt.Sprintf("%q is not an identifier", s.Name)
		}
		if s.N < 1 || s.N > ir.MaxElems/elems {
			return fmt.Sprintf("axis `%s` has size %d", s.Name, s.N)
		}
		elems *= s.N
		if slices.ContainsFunc(v[:i], func(u ir.SizeOf) bool { return u.Name == s.Name }) {
			return "axis `" + s.Name + "` is given twice"
		}
	}
	return ""
}

// badName says why the parser would not take s for a name: it is a number, a
// truth value, or needs quotes.
func badName(s string) string {
	if ir.IsIdent(s) && s != "true" && s != "false" && s != "inf" && s != "nan" {
		return ""
	}
	if ir.IsIdent("_"+s) && s != "" && s[0] >= '0' && s[0] <= '9' { // such as 1f1b
		if _, err := strconv.ParseFloat(s, 64); errors.Is(err, strconv.ErrSyntax) {
			return ""
		}
	}
	return fmt.Sprintf("%q is not a bare name; write it as a string", s)
}
