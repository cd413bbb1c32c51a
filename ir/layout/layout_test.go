package layout

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
)

// random is a codec that fills the fields of a rule.
type random struct{ r *rand.Rand }

func (x random) pick(from []string) string {
	if from == nil {
		from = []string{"a", "b.0.w_é", "Block", "ψ"}
	}
	return from[x.r.Intn(len(from))]
}

func (x random) names(_ string, v *[]string, l list) {
	n := x.r.Intn(3)
	if l.some {
		n++
	}
	if *v = nil; l.always {
		*v = []string{}
	}
	for range n {
		*v = append(*v, x.pick(l.from))
	}
}
func (x random) mesh(key string, v *[]string, l list) { x.names(key, v, l) }
func (x random) axis(_ string, v *string)             { *v = x.pick(nil) }
func (x random) paths(key string, v *[]string)        { x.names(key, v, list{}) }
func (x random) text(_ string, v *string)             { *v = x.pick(nil) }
func (x random) word(_ string, v *string, l list) {
	if *v = ""; l.some || x.r.Intn(2) == 0 {
		*v = x.pick(l.from)
	}
}
func (x random) integer(_ string, _ int64, s span) int64 {
	if s.optional && x.r.Intn(3) == 0 {
		return s.unsaid
	}
	most := s.most
	if most == 0 {
		most = 1 << 40
	}
	return s.least + x.r.Int63n(most-s.least+1)
}
func (x random) counts(_ string, v *[]int) {
	*v = nil
	for range x.r.Intn(3) {
		*v = append(*v, 1+x.r.Intn(9))
	}
}
func (x random) dtype(_ string, v *ir.DType, from []ir.DType) { *v = from[x.r.Intn(len(from))] }
func (x random) scale(_ string, v *Scale) {
	*v = []Scale{{}, {Dynamic: true}, {Static: 1024}, {Static: 0.5}, {Static: 0x1p60}}[x.r.Intn(5)]
}

// each calls fn with random rules of every row.
func each(t *testing.T, fn func(row Row, r Rule)) {
	x := random{rand.New(rand.NewSource(1))}
	for _, row := range Table {
		for i := 0; i < 50 && row.New != nil; i++ {
			r := row.New()
			r.fields(x)
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
		`layout(name="l", rules=[zero(level=4, over=(dp))])`:               "a whole number from 1 to 3",
		`layout(name="l", rules=[zero(at="m.ptl:3:1", level=1)])`:          "m.ptl:3:1",
		`layout(name="l", rules=[shard(axis=(a), over=(dp))])`:             "shard: there is no `axes`",
		`layout(name="l", rules=[shard(axes=(a), over=(dp), betwen=(B))])`: "did you mean `between`?",
		`layout(name="l", rules=[shrad(axes=(a))])`:                        "did you mean `shard`?",
		`layout(name="l", rules=[precision(compute=bf16)])`:                "`precision` is no rule of a layout",
		`layout(name="l", rules=[forbid(collectives=(gather))])`:           "`collectives` is (gather)",
		`layout(name="l", rules=[pipeline(blocks="b", over=(a, b))])`:      "one mesh axis: (a)",
		`layout(name="l", rules=[offload(what=(optimizer), to=gpu)])`:      "expected one of disk, host",
		`layout(name="l", rules=[device(at="here", memory=3)])`:            "`at` is \"here\"",
		`layout(name="l", rules=[bucket()])`:                               "there is no `bytes`",
		`layout(name="l", rule=[bucket(bytes=1)])`:                         "layout: `rule` is",
		`layout(name=l)`: "layout: `name` is l",
		"layout(name=\"l\")\nmeta layout(name=\"m\")": "a second `layout`",
		`instances(Block=3)`:                          "instances: `Block` is 3",
		`precision(compute=i8)`:                       "not a float dtype",
	} {
		m, errs := ir.Parse("t.ptir", []byte("ptir 1 global \"t\"\nmeta "+text+"\n"))
		if len(errs) == 0 {
			errs = Check(m)
		}
		if len(errs) != 1 || !strings.Contains(diag.Render(errs, nil), want) {
			t.Errorf("%s: expected %q, found\n%s", text, want, diag.Render(errs, nil))
		}
	}
}

func TestRename(t *testing.T) {
	m := &ir.Module{}
	l := &Layout{Name: "l", Rules: []Rule{
		&Shard{Axes: []string{"heads"}, Over: []string{"dp", "tp"}}, &Replicate{Of: []string{"tp"}, Over: []string{"tp"}},
		&Zero{Level: 1, Over: []string{"dp"}, Prefetch: Unsaid}, &Pipeline{Blocks: "b", Over: "tp", Schedule: "1f1b", Microbatches: 1, Chunks: 1}}}
	term, _ := l.Terms()
	m.SetMeta(term)
	before := m.Clone()
	Rename(m, "tp", "tp_kv", "tp_group")
	want := `layout(name="l", rules=[shard(axes=(heads), over=(dp, tp_kv, tp_group)), replicate(of=(tp), over=(tp_kv, tp_group)), zero(level=1, over=(dp)), ` +
		`pipeline(blocks="b", chunks=1, microbatches=1, over=(tp), schedule="1f1b")])`
	if got := m.Meta[0].String(); got != want {
		t.Errorf("%s\nexpected %s", got, want)
	}
	if before.Meta[0].String() != term.String() {
		t.Errorf("a copy has changed: %s", before.Meta[0])
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"blocks.*", "blocks.0", true}, {"blocks.*", "blocks", false}, {"blocks.*", "blocks.0.mlp", false},
		{"**.mlp", "blocks.0.mlp", true}, {"**.mlp", "mlp", true}, {"**", "a.b", true}, {"a.**.c", "a.c", true},
		{"a.**.c", "a.b.b.c", true}, {"a.**.c", "a.b", false}, {"mlp", "mlp", true}, {"mlp", "mlq", false},
		{"a*.b?", "ab.bc", true}, {"**.**", "a", true}, {"**.a.**.b", "a.x.a.b", true}, {"[", "[", true}, {"[", "a", false}, {"a.b", "a", false},
	} {
		if got := Match(strings.Split(c.pattern, "."), strings.Split(c.path, ".")); got != c.want {
			t.Errorf("%s of %s: %v", c.path, c.pattern, got)
		}
	}
}
