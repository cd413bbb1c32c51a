package layout

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
)

// fill gives the fields of a rule random values.
func fill(rule Rule, r *rand.Rand) {
	for _, f := range rule.fields() {
		pick := func() string {
			from := f.from
			if from == nil {
				from = []string{"a", "b.0.w_é", "Block", "ψ"}
			}
			return from[r.Intn(len(from))]
		}
		list := func() (out []string) {
			if f.empty {
				out = []string{}
			}
			for n := r.Intn(3); n > 0 || f.required && len(out) == 0; n-- {
				out = append(out, pick())
			}
			return out
		}
		number := func() int64 {
			most := f.most
			if most == 0 {
				most = 1 << 40
			}
			n := f.least + r.Int63n(most-f.least+1)
			if !f.required && r.Intn(3) == 0 {
				n = min(f.least-1, 0)
			}
			return n
		}
		switch v := f.at.(type) {
		case *[]string:
			*v = list()
		case *paths:
			*v = list()
		case *word:
			if *v = ""; f.required || r.Intn(2) == 0 {
				*v = word(pick())
			}
		case *axis:
			*v = axis(pick())
		case *string:
			*v = pick()
		case *int:
			*v = int(number())
		case *int64:
			*v = number()
		case *[]int:
			*v = nil
			for range r.Intn(3) {
				*v = append(*v, 1+r.Intn(9))
			}
		case *ir.DType:
			*v, _ = ir.ParseDType(pick())
		case *Scale:
			*v = []Scale{{}, {Dynamic: true}, {Static: 1024}, {Static: 0.5}, {Static: 0x1p60}}[r.Intn(5)]
		default:
			panic("a field of another type")
		}
	}
}

// each calls fn with random rules of every row.
func each(t *testing.T, fn func(row Row, r Rule)) {
	x := rand.New(rand.NewSource(1))
	for _, row := range Table {
		for i := 0; i < 50 && row.New != nil; i++ {
			r := row.New()
			fill(r, x)
			if i%2 == 0 && row.Form == InRules {
				r.Place(diag.Pos{File: "a:b.ptl", Line: 1 + i, Col: 3})
			}
			fn(row, r)
		}
	}
}

// A rule is its term, and the term's text.
func TestRoundTrip(t *testing.T) {
	each(t, func(row Row, r Rule) {
		m := &ir.Module{Level: ir.Global, Name: "t"}
		term := Encode(r)
		if m.Meta = []ir.Term{term}; row.Form == InRules {
			m.Meta = []ir.Term{{Head: "layout", Args: ir.A("name", ir.Str("l"), "rules", ir.Terms{term})}}
		}
		if errs := Check(m); len(errs) > 0 {
			t.Fatalf("%s: %v", term, errs)
		}
		again, errs := ir.Parse("t.ptir", []byte(ir.Print(m)))
		if len(errs) > 0 {
			t.Fatalf("%s: %v", term, errs)
		}
		var back Rule
		if row.Form == InRules {
			back = Of(again).Rules[0]
		} else {
			back, _ = decode(again.Meta[0])
		}
		if Encode(back).String() != term.String() || back.Where() != r.Where() {
			t.Errorf("%s\nis then %s", term, Encode(back))
		}
	})
}

// No argument of another kind, and none that is left out or too much, makes
// reading panic; what Check does not report is read.
func TestDamaged(t *testing.T) {
	values := []ir.AttrVal{ir.Int(-3), ir.Int(1 << 62), ir.Float(0.5), ir.BoolVal(true), ir.Str(""), ir.Str("x:1:y"), ir.Name("no"), ir.Names{}, ir.Names{"a", "b"},
		ir.Ints{0}, ir.Sizes{{Name: "a", N: 1}}, ir.Pairs{}, ir.Sym("f"), ir.Terms{}, ir.Term{Head: "zero"}}
	found, rules := 0, 0
	each(t, func(row Row, r Rule) {
		term := Encode(r)
		var damaged []ir.Term
		for _, a := range append(slices.Clone(term.Args), ir.Attr{Key: "colour"}, ir.Attr{Key: "at"}) {
			for _, v := range append(values, nil) {
				damaged = append(damaged, ir.Term{Head: term.Head, Args: term.Args.With(a.Key, v)})
			}
		}
		for _, d := range damaged {
			m := &ir.Module{Meta: []ir.Term{{Head: "layout", Args: ir.A("rules", ir.Terms{d})}}}
			errs := Check(m)
			if l := Of(m); (len(l.Rules) == 0) != (len(errs) > 0) && row.Form == InRules {
				t.Fatalf("%s: %v, and %d rules", d, errs, len(l.Rules))
			}
			if rules++; len(errs) > 0 {
				found++
			}
		}
	})
	if found*2 < rules {
		t.Errorf("%d mistakes found in %d terms", found, rules)
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`layout(name="l", rules=[zero(level=4, over=(dp))])`:                                                  "a whole number from 1 to 3",
		`layout(name="l", rules=[zero(at="m.ptl:3:1", level=1)])`:                                             "m.ptl:3:1",
		`layout(name="l", rules=[shard(axis=(a), over=(dp))])`:                                                "shard: there is no `axes`",
		`layout(name="l", rules=[shard(axes=(a), over=(dp), betwen=(B))])`:                                    "did you mean `between`?",
		`layout(name="l", rules=[shrad(axes=(a))])`:                                                           "did you mean `shard`?",
		`layout(name="l", rules=[precision(compute=bf16)])`:                                                   "layout: no directive `precision`",
		`layout(name="l", rules=[forbid(collectives=(gather))])`:                                              "`collectives` is (gather)",
		`layout(name="l", rules=[pipeline(blocks="b", over=(a, b))])`:                                         "one mesh axis: (a)",
		`layout(name="l", rules=[pipeline(blocks="b", over=(a), schedule="1f2b", microbatches=1, chunks=1)])`: "expected one of 1f1b, breadth_first, ",
		`layout(name="l", rules=[offload(what=(optimizer), to=gpu)])`:                                         "expected one of disk, host",
		`layout(name="l", rules=[device(at="here", memory=3)])`:                                               "`at` is \"here\"",
		`layout(name="l", rules=[bucket()])`:                                                                  "there is no `bytes`",
		`layout(name="l", rule=[bucket(bytes=1)])`:                                                            "layout: `rule` is",
		`layout(name=l)`: "layout: `name` is l",
		"layout(name=\"l\")\nmeta layout(name=\"m\")": "a second `layout`",
		`instances(Block=3)`:                          "instances: `Block` is 3",
		`precision(compute=i8)`:                       "not a float dtype",
	} {
		m, errs := ir.Parse("t.ptir", []byte("ptir 1 global \"t\"\nmeta "+text+"\n"))
		if len(errs) == 0 {
			errs = Check(m)
		}
		if len(errs) != 1 || !strings.Contains(diag.Plain.Render(errs, nil), want) {
			t.Errorf("%s: expected %q, found\n%s", text, want, diag.Plain.Render(errs, nil))
		}
	}
}
