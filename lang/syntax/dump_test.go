package syntax

import (
	"fmt"
	"math"
	"reflect"
	"strings"
)

// dump writes a tree without positions: `Binary(+ Name(a) Int(1))`, with
// declarations, members, statements and directives on lines of their own.
func dump(n Node) string {
	var b strings.Builder
	dumpNode(&b, n, 0)
	return b.String() + "\n"
}

func dumpNode(b *strings.Builder, n Node, depth int) {
	if n == nil || reflect.ValueOf(n).IsNil() {
		b.WriteByte('-')
		return
	}
	if id, ok := n.(*Ident); ok {
		b.WriteString(id.Name)
		return
	}
	v := reflect.ValueOf(n).Elem()
	b.WriteString(v.Type().Name() + "(")
	for i, first := 0, true; i < v.NumField(); i++ {
		f := v.Type().Field(i)
		if f.Anonymous || f.Type == reflect.TypeFor[Pos]() || v.Field(i).IsZero() && f.Name == "Doc" {
			continue
		}
		if !first {
			b.WriteByte(' ')
		}
		first = false
		dumpValue(b, v.Field(i), depth)
	}
	b.WriteByte(')')
}

func dumpValue(b *strings.Builder, v reflect.Value, depth int) {
	switch x := v.Interface().(type) {
	case Node:
		dumpNode(b, x, depth)
		return
	case string:
		if strings.ContainsAny(x, " \n()\"") || x == "" {
			fmt.Fprintf(b, "%q", x)
			return
		}
	case Text:
		fmt.Fprintf(b, "%q", string(x))
		return
	case float64:
		if !math.IsInf(x, 0) && x == math.Trunc(x) {
			fmt.Fprintf(b, "%.1f", x)
			return
		}
	}
	if v.Kind() != reflect.Slice {
		if v.IsZero() && v.Kind() == reflect.Interface {
			b.WriteByte('-')
			return
		}
		fmt.Fprint(b, v.Interface())
		return
	}
	b.WriteByte('[')
	for i := range v.Len() {
		switch v.Index(i).Interface().(type) {
		case Decl, Member, Stmt, Directive, AutoItem:
			b.WriteString("\n" + strings.Repeat("  ", depth+1))
			dumpValue(b, v.Index(i), depth+1)
		default:
			if i > 0 {
				b.WriteByte(' ')
			}
			dumpValue(b, v.Index(i), depth)
		}
	}
	b.WriteByte(']')
}
