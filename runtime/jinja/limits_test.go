package jinja

import (
	"strings"
	"testing"
	"time"
)

// TestLimits: a hostile template is an error, in little time and memory.
func TestLimits(t *testing.T) {
	deep := strings.Repeat
	for name, src := range map[string]string{
		"size":          deep("x", maxSource+1),
		"brackets":      "{{ " + deep("(", 5000) + "1" + deep(")", 5000) + " }}",
		"lists":         "{{ " + deep("[", 5000) + deep("]", 5000) + " }}",
		"not":           "{{ " + deep("not ", 50000) + "1 }}",
		"signs":         "{{ " + deep("-", 50000) + "1 }}",
		"conditions":    "{{ " + deep("1 if 1 else ", 50000) + "1 }}",
		"statements":    deep("{% if 1 %}", 50000),
		"loops":         deep("{% for x in range(1000) %}", 6) + "{{ x }}" + deep("{% endfor %}", 6),
		"empty loops":   deep("{% for x in range(99999) %}", 4) + deep("{% endfor %}", 4),
		"doubled text":  "{% set n = namespace(s='x') %}{% for x in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
		"added text":    "{% set n = namespace(s='x') %}{% for x in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}",
		"repeated":      "{{ 'x' * 10000000000 }}",
		"lists doubled": "{% set n = namespace(s=[1]) %}{% for x in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}",
		"list repeated": "{{ [1] * 10000000000 }}",
		"nested lists":  "{% set n = namespace(s=[1]) %}{% for x in range(9999) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s }}",
		"nested JSON":   "{% set n = namespace(s=[1]) %}{% for x in range(90) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s | tojson }}",
		"compared":      "{% set n = namespace(a=[1], b=[1]) %}{% for x in range(60) %}{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}",
		"replaced":      "{% set n = namespace(s='aaaaaaaa') %}{% for x in range(99) %}{% set n.s = n.s.replace('a', 'aaaaaaaa') %}{% endfor %}",
		"joined":        "{% set n = namespace(s='aaaaaaaa') %}{% for x in range(99) %}{% set n.s = n.s | join(n.s) %}{% endfor %}",
		"indented":      "{% set n = namespace(s='a\\n') %}{% for x in range(99) %}{% set n.s = n.s ~ n.s | indent(999999) %}{% endfor %}",
		"filled":        "{{ 'a'.ljust(10000000000) }}",
		"zeros":         "{{ 'a'.zfill(10000000000) }}",
		"JSON indented": "{% set n = namespace(s=[1]) %}{% for x in range(60) %}{% set n.s = [n.s] %}{% endfor %}{% for x in range(99999) %}{{ n.s | tojson(indent=64) }}{% endfor %}",
		"recursion":     "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
		"two macros":    "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}",
		"a caller":      "{% macro f() %}{% call f() %}{% endcall %}{% endmacro %}{{ f() }}",
		"a loop":        "{% set n = namespace(s=[]) %}{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
		"output":        "{% for x in range(99999) %}{{ 'x' * 9999 }}{% endfor %}",
		"text":          "{% for x in range(99999) %}" + deep("x", 9999) + "{% endfor %}",
		"powers":        "{{ 9 ** 999999999 }}",
		"formats":       "{{ '%999999999d' % 1 }}",
		"range":         "{{ range(0, 9223372036854775807, 92233720368547758) | list }}{{ range(9223372036854775807) }}",
	} {
		start := time.Now()
		tmpl, err := Parse(src)
		if err == nil {
			_, err = tmpl.Render(nil, time.Time{})
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s: %v", name, d)
		}
	}
}

// TestErrors: an error names the line, and raise_exception is told apart.
func TestErrors(t *testing.T) {
	tmpl, err := Parse("a\n{% if x %}\n{{ raise_exception('no ' ~ x) }}\n{% endif %}")
	if err != nil {
		t.Fatal(err)
	}
	_, err = tmpl.Render(map[string]Value{"x": "way"}, time.Time{})
	if e, ok := err.(*Error); !ok || !e.Raised || e.Line != 3 || e.Msg != "no way" {
		t.Errorf("%#v", err)
	}
	if _, err := Parse("\n\n{{ 1 + }}"); err == nil || err.(*Error).Line != 3 {
		t.Error(err)
	}
	if _, err := Parse("{{ x | nothing }}"); err == nil || !strings.Contains(err.Error(), "the filter nothing is not known here") {
		t.Error(err)
	}
	tmpl, err = Parse("{% macro f() %}{% generation %}x{% endgeneration %}{% endmacro %}{{ f() }}")
	if err == nil {
		_, err = tmpl.Render(nil, time.Time{})
	}
	if err == nil || !strings.Contains(err.Error(), "its place in the text is not known") {
		t.Error(err)
	}
}

// TestDate: a date is that of the call, and an error where none is given.
func TestDate(t *testing.T) {
	tmpl, err := Parse("{{ strftime_now('%d %b %Y|%-d.%-m.|%A %B %y %H:%M:%S|%j|%%|%F|%e') }}")
	if err != nil {
		t.Fatal(err)
	}
	if !tmpl.Dated() {
		t.Error("not dated")
	}
	r, err := tmpl.Render(nil, time.Date(2026, 7, 6, 5, 4, 3, 0, time.UTC))
	if want := "06 Jul 2026|6.7.|Monday July 26 05:04:03|187|%|2026-07-06| 6"; err != nil || r.Text != want {
		t.Errorf("%q, %v, want %q", r.Text, err, want)
	}
	if _, err := tmpl.Render(nil, time.Time{}); err == nil || !strings.Contains(err.Error(), "name a date") {
		t.Error(err)
	}
}

// FuzzTemplate: no template leads to more than an error, and what a template is given
// stays as it is.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{% for m in messages %}{{ m.role | upper }}{% endfor %}", "{{ messages[::-1] | tojson(indent=2) }}",
		"{%- set n = namespace(a=1) -%}{% set n.a = n.a + 1 %}{{ n.a ~ 'x' * 3 }}", "{% macro f(a, b=1) %}{{ a % b }}{% endmacro %}{{ f(*[1]) }}",
		"{% generation %}{{ messages | map(attribute='role') | join }}{% endgeneration %}", "{{ '%s' % messages }}{# #}{% raw %}{{{% endraw %}"} {
		f.Add(s)
	}
	const given = `[{"role":"user","content":"héy","n":[1,2.5,null,{"a":"b"}]}]`
	messages, err := FromJSON([]byte(given))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src string) {
		tmpl, err := Parse(src)
		if err != nil {
			return
		}
		r, err := tmpl.Render(map[string]Value{"messages": messages}, time.Time{})
		if again, err2 := tmpl.Render(map[string]Value{"messages": messages}, time.Time{}); (err == nil) != (err2 == nil) || again.Text != r.Text {
			t.Fatalf("%q and %q", r.Text, again.Text)
		}
		fresh, _ := FromJSON([]byte(given))
		if !Equal(fresh, messages) {
			t.Fatal("the messages have changed")
		}
	})
}
