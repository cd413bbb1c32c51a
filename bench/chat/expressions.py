"""Templates in Jinja, each of one thing, and the text that Jinja2 makes of them as transformers sets it up."""
import json
import re

from transformers.utils.chat_template_utils import _compile_jinja_template

VARS = {
    "m": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Ahoj, světe! 你好 <b>&\"'"},
          {"role": "assistant", "content": "  one\ntwo \n", "tool_calls": [{"name": "f", "args": {"x": 1, "y": [1.5, None, True]}}]}],
    "s": "Hello World", "e": "", "n": 7, "neg": -7, "f": 2.5, "t": True, "z": None, "l": [3, 1, 2], "d": {"b": 1, "a": "x", "items": 5},
    "w": " \t pad\n ", "nested": {"a": {"b": [{"c": "deep"}]}}, "lines": "a\nb\r\n\nc", "names": ["bob", "Al", "cy", "al"],
    "big": 1e16, "small": 0.00001, "u": "ÀÉß ﬁ İ", "people": [{"n": "x", "a": 3, "o": {"k": 1}}, {"n": "y", "a": 1, "o": {"k": 2}}, {"n": "z", "o": {"k": 3}}],
}

PIECES = r"""
{{ s }}|{{ e }}|{{ n }}|{{ f }}|{{ t }}|{{ z }}|{{ l }}|{{ d }}|{{ missing }}
{{ m }}
{{ big }} {{ small }} {{ 1.0 }} {{ 1e3 }} {{ 100000000000000000000.0 }} {{ 0.1 + 0.2 }} {{ 1_000 }} {{ 0x1f }} {{ 0b11 }} {{ 2.50 }} {{ 1e-7 }} {{ -0.0 }}
{{ 'a\tb\n\x41\u00e9\'"\\ \q' }} {{ "it's" }} {{ 'a' 'b' "c" }}
{{ ["it's", 'say "x"', "both '\"", "tab\t", "\u200b", "\x7f", "é"] }}
{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1 - - 1 }} {{ -n }} {{ +n }}
{{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 1 + 2 * 3 - 4 / 2 }} {{ (1 + 2) * 3 }} {{ (-1) ** 5 }} {{ 0 ** 0 }} {{ 1 ** 99 }}
{{ '%s is %d, %.2f%%' % ('x', 3, 2.5) }} {{ '%s' % none }} {{ '%5s|%-5s|%05d|%+d|%x|%r|%.2s' % ('a', 'b', -42, 7, 255, 'q', 'abc') }} {{ '%s-%s' | format('a', 1) }} {{ 'no' | format }} {{ '%f' % 1 }} {{ '%d' % 3.7 }}
{{ '%s' % (1, 2) }}
{{ '%s %s' % 1 }}
{{ '%d' % 'x' }}
{{ '%q' % 1 }}
{{ dict(*[{'a': 1}], **{'b': 2}) }} {{ range(*[1, 3]) | list }} {{ s.replace(*('l', 'L')) }} {{ dict(a=1, **{'a': 2}) }}
{{ 'a' * 3 }} {{ 2 * 'ab' }} {{ [1, 2] * 2 }} {{ (1,) * 2 }} {{ 'a' + 'b' }} {{ [1] + [2] }} {{ 'x' ~ 1 ~ none ~ missing ~ 1.5 }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' == 1 }} {{ none == missing }} {{ 2 >= 2 }} {{ 3 <= 2 }} {{ 1 != 2 }}
{{ 'lo' in s }} {{ 'x' not in s }} {{ 3 in l }} {{ 'b' in d }} {{ 1 in missing }} {{ 'a' in ['b'] }} {{ not 1 in [1] }} {{ 1 in (1, 2) }}
{{ 1 and 2 }} {{ 0 and 2 }} {{ 0 or 'x' }} {{ e or none }} {{ not e }} {{ not not s }} {{ none or missing or 'last' }}
{{ 'yes' if t else 'no' }} {{ 'yes' if e else 'no' }} {{ 'only' if e }} {{ 1 if e else 2 if e else 3 }}
{{ s[0] }} {{ s[-1] }} {{ s[1:4] }} {{ s[::-1] }} {{ s[:-3] }} {{ s[99:] }} {{ s[::2] }} {{ s[-3:] }} {{ l[::-1] }} {{ l[1:] }} {{ l[:1] }} {{ l[5:1] }} {{ l[-1] }} {{ l[5] }} {{ s[5:1:-1] }} {{ l[:-99:-1] }}
{{ d.a }} {{ d['a'] }} {{ d.items }}
{{ d['items'] }} {{ d.get('a') }} {{ d.get('q') }} {{ d.get('q', 'w') }} {{ d.keys() }} {{ d.values() }} {{ d.items() }} {{ d.keys() | list }} {{ d.q }} {{ d['q'] }}
{{ m[0].role }} {{ m[0]['role'] }} {{ m[-1].tool_calls[0].args.y[0] }} {{ m.0.role }} {{ nested.a.b[0].c }} {{ m[2]['tool_calls'][0]['args'] }}
{{ missing.x }}
{{ m[9].role }}
{{ m[0].nothing.more }}
{{ missing + 1 }}
{{ 'a' + 1 }}
{{ 1 + none }}
{{ none[0] }}|
{{ 1[0] }}|
{{ missing() }}
{{ s() }}
{{ 1 / 0 }}
{{ 1 % 0 }}
{{ [1] < 2 }}
{{ 'a' < 1 }}
{{ -s }}
{{ 1 in 2 }}
{{ 1 in 'a' }}
{{ l.append(1) }}
{{ d.update({'q': 1}) }}
{{ d.pop('a') }}
{{ s.nothing() }}
{{ {}.x }}|{{ {'a': 1, 'b': {'c': [1, (2, 3), {}]}} }}|{{ () }}|{{ (1,) }}|{{ (1, 2) }}|{{ [] }}|{{ {1: 2, true: 3, none: 4, 1.5: 5} }}
{{ 1, 2 }}|{{ [1, 2,] }}|{{ {'a': 1,} }}
{{ w.strip() }}|{{ w.lstrip() }}|{{ w.rstrip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'abcba'.lstrip('ab') }}|{{ '--a--'.rstrip('-') }}|{{ w.strip(none) }}
{{ 'a b  c'.split() }} {{ 'a,b,,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ ' a b c '.split(none, 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b c '.rsplit(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'ab'.split('ab') }} {{ 'a b c'.split(maxsplit=1) }}
{{ 'x</think>y'.split('</think>')[-1].lstrip('\n') }} {{ 'x</think>y'.split('</think>')[0].rstrip('\n').split('<think>')[-1] }}
{{ s.startswith('He') }} {{ s.endswith('ld') }} {{ s.startswith(('x', 'H')) }} {{ s.endswith(()) }}
{{ s.startswith(['x']) }}
{{ s.startswith(1) }}
{{ s.upper() }} {{ s.lower() }} {{ 'a bC d1e x-y it\'s'.title() }} {{ 'hELLO wORLD'.capitalize() }} {{ u.upper() }} {{ u.lower() }} {{ u.title() }} {{ u.capitalize() }}
{{ s.replace('l', 'L') }} {{ s.replace('l', '', 1) }} {{ 'aaa'.replace('', '-') }} {{ s.find('o') }} {{ s.rfind('o') }} {{ s.find('q') }} {{ s.index('W') }} {{ s.count('l') }} {{ '你好世'.find('世') }}
{{ s.index('q') }}
{{ ', '.join(['a', 'b']) }} {{ ''.join([]) }}
{{ ', '.join([1]) }}
{{ '12'.isdigit() }} {{ 'a1'.isalnum() }} {{ 'ab'.isalpha() }} {{ ' '.isspace() }} {{ ''.isdigit() }} {{ 'A'.isupper() }} {{ 'a1'.islower() }} {{ '1'.isupper() }}
{{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }} {{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('=') }} {{ '7'.zfill(3) }} {{ '-7'.zfill(4) }} {{ 'a'.ljust(3) }}| {{ 'a'.rjust(3, '.') }}
{{ lines.splitlines() }} {{ 'a\nb\n'.splitlines(true) }} {{ ''.splitlines() }}
{{ l.index(2) }} {{ l.count(3) }} {{ l.copy() }} {{ d.copy() }}
{{ s | upper }} {{ s | lower }} {{ s | length }} {{ l | length }} {{ d | length }} {{ 'a b-c (d) it\'s' | title }} {{ 'ABC dEF' | capitalize }} {{ n | string }} {{ 12 | lower }} {{ missing | upper }}|{{ missing | length }} {{ '你好' | length }}
{{ w | trim }}|{{ 'xax' | trim('x') }}|{{ m[1].content | trim }}|{{ 5 | trim }}
{{ 5 | length }}
{{ none | length }}
{{ missing | default('d') }} {{ e | default('d') }} {{ e | default('d', true) }} {{ z | default('d') }} {{ z | d('d', boolean=true) }} {{ missing | d }}|
{{ l | first }} {{ l | last }} {{ [] | first }}|{{ s | first }} {{ d | first }} {{ d | last }} {{ l | sort }} {{ l | sort(reverse=true) }} {{ names | sort }} {{ names | sort(case_sensitive=true) }} {{ names | unique | list }} {{ l | sum }} {{ l | min }} {{ l | max }} {{ [] | max }}|{{ names | max }}
{{ l | join }} {{ l | join('-') }} {{ [none, 1.5, 'x'] | join(', ') }} {{ people | join(', ', attribute='n') }} {{ s | join('.') }}
{{ people | map(attribute='n') | list }} {{ people | map(attribute='a', default=0) | list }} {{ people | map(attribute='o.k') | list }} {{ names | map('upper') | join(' ') }} {{ ['a,b', 'c'] | map('replace', ',', ';') | list }} {{ l | map('string') | list }}
{{ people | selectattr('a') | map(attribute='n') | list }} {{ people | selectattr('a', 'defined') | list | length }} {{ people | rejectattr('a', 'defined') | list }} {{ m | selectattr('role', 'equalto', 'user') | list | length }} {{ m | selectattr('role', '==', 'user') | map(attribute='content') | first }} {{ m | rejectattr('role', 'in', ['user', 'system']) | map(attribute='role') | list }}
{{ l | select('odd') | list }} {{ l | reject('odd') | list }} {{ l | select | list }} {{ [0, 1, none, 'a', ''] | select | list }} {{ l | select('gt', 1) | list }} {{ l | select('divisibleby', 2) | list }}
{% if [] | selectattr('x') %}a generator is true{% endif %}
{{ m | selectattr('role') | length }}
{{ [1] | select | last }}
{{ l | reverse | list }} {{ s | reverse }} {{ l | batch(2) | list }} {{ l | batch(2, 'x') | list }} {{ d | items | list }} {{ d | dictsort }} {{ {'b': 1, 'A': 2, 'c': 0} | dictsort }} {{ {'b': 1, 'A': 2} | dictsort(true) }} {{ {'b': 1, 'A': 2} | dictsort(by='value', reverse=true) }} {{ s | list }} {{ d | list }}
{{ '42' | int }} {{ '4.7' | int }} {{ 'x' | int }} {{ 'x' | int(5) }} {{ 3.9 | int }} {{ none | int }} {{ '0x1f' | int(base=16) }} {{ ' 5 ' | int }} {{ '1.5' | float }} {{ 'x' | float }} {{ 2 | float }} {{ true | int }} {{ -3 | abs }} {{ -2.5 | abs }} {{ (-3) | abs }}
{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ 2.1 | round(0, 'ceil') }} {{ 2.9 | round(method='floor') }} {{ 7 | round }} {{ 42.55 | round(1, 'floor') }}
{{ s | replace('l', 'L') }} {{ s | replace('l', 'L', 1) }} {{ 12 | replace(1, 3) }} {{ 'a<b>&"\'' | escape }} {{ '<' | e }} {{ '<' | safe }} {{ s | wordcount }}
{{ lines | indent }}|{{ lines | indent(2, true) }}|{{ lines | indent('> ', blank=true) }}|{{ 'x' | indent }}
{{ m | tojson }}
{{ m[2] | tojson(indent=2) }}
{{ [] | tojson(indent=2) }} {{ {} | tojson(indent=4) }} {{ [[], {}, [1]] | tojson(indent=1) }} {{ {'a': [1, {'b': 2}]} | tojson(indent=4) }} {{ {'a': 1} | tojson(indent=0) }}
{{ {'b': 1, 'a': {'d': 1, 'c': 2}} | tojson(sort_keys=true) }} {{ [1, 2.0, 1e16, 1e-5, true, none, 'é"\\/\n\t\u0001\x7f\u2028'] | tojson }} {{ 'é你𐍈' | tojson(ensure_ascii=true) }} {{ {'a': 1, 'b': [1, 2]} | tojson(separators=(',', ':')) }} {{ {1: 2, none: 3, true: 4, 1.5: 0} | tojson }} {{ (1, 2) | tojson }} {{ '<&>' | tojson }}
{{ missing | tojson }}
{{ d.items() | tojson }}
{{ l | nothing }}
{{ l is nothing }}
{{ s is string }} {{ n is string }} {{ n is number }} {{ t is number }} {{ t is integer }} {{ n is integer }} {{ f is float }} {{ t is boolean }} {{ z is none }} {{ missing is none }} {{ missing is defined }} {{ missing is undefined }} {{ s is defined }} {{ l is iterable }} {{ s is iterable }} {{ n is iterable }} {{ d is mapping }} {{ l is mapping }} {{ l is sequence }} {{ d is sequence }} {{ s is sequence }} {{ n is sequence }} {{ missing is iterable }} {{ d.keys() is sequence }}
{{ s is not string }} {{ n is odd }} {{ n is even }} {{ n is divisibleby 7 }} {{ n is divisibleby(2) }} {{ t is true }} {{ e is false }} {{ n is eq 7 }} {{ n is equalto 8 }} {{ n is gt 3 }} {{ n is in [7] }} {{ 'a' is in 'abc' }} {{ none is sameas none }} {{ 1 is sameas true }} {{ 'abc' is lower }} {{ 'ABC' is upper }} {{ range is callable }} {{ n is ne 7 }} {{ n is lessthan 9 }} {{ n is ge 7 }} {{ 'upper' is filter }} {{ 'odd' is test }}
{{ m[0].role is defined and m[0].content is string }} {{ not z is none }} {{ m[0].x is not defined }} {{ (z is none) | string }}
{{ range(3) | list }} {{ range(1, 4) | list }} {{ range(5, 0, -2) | list }} {{ range(3) }} {{ range(0, 6, 2) }} {{ range(0) | list }} {{ range(3)[1] }} {{ range(5) | length }}
{{ range(1000000) }}
{{ dict(a=1, b='x') }} {{ dict({'a': 1}, c=2) }} {{ dict([('k', 'v')]) }}
{{ raise_exception('no') }}
{% set x = 5 %}{{ x }}{% set x, y = 1, 'b' %}{{ x }}{{ y }}{% set (p, q) = l[:2] %}{{ p }}{{ q }}{% set z2 %} block {{ n }} {% endset %}[{{ z2 }}]{% set up | upper | trim %} abc {% endset %}[{{ up }}]
{% set a, b = [1, 2, 3] %}
{% set ns = namespace(found=false, k=1) %}{% for x in l %}{% set ns.found = true %}{% set ns.k = ns.k + x %}{% endfor %}{{ ns.found }} {{ ns.k }} {{ ns.q is defined }} {{ ns['k'] is defined }}
{% set ns = namespace(_x=1) %}
{% set ns = namespace() %}{% set ns._x = 1 %}
{% set d.a = 1 %}
{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.cycle('a', 'b') }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.depth }}{{ loop.changed(x > 1) }};{% endfor %}
{% for x in [] %}a{% else %}none{% endfor %}|{% for x in missing %}a{% else %}none{% endfor %}|{% for x in l if x > 1 %}{{ x }}{{ loop.index }}{{ loop.length }}{% else %}none{% endfor %}|{% for k, v in d.items() %}{{ k }}={{ v }},{% endfor %}|{% for k in d %}{{ k }}{% endfor %}|{% for c in 'héy' %}{{ c }}.{% endfor %}|{% for (a, b) in [(1, 2)] %}{{ a }}{{ b }}{% endfor %}|{% for a, in [(1,)] %}{{ a }}{% endfor %}
{% for x in 5 %}{% endfor %}
{% for x in none %}{% endfor %}
{% for a, b in [1] %}{% endfor %}
{% for a, b in [(1, 2, 3)] %}{% endfor %}
{% set x = 0 %}{% for i in l %}{% set x = i %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }}{% for i in l %}{{ x }}{% if loop.first %}{% set x = 1 %}{% endif %}{% endfor %}
{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for x in [[1, [2]], 3] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{{ loop.depth }}{% endif %}{% endfor %}
{% break %}
{% macro f(a, b='d', c=none) %}[{{ a }}{{ b }}{{ c }}{{ n }}]{% endmacro %}{{ f(1) }}{{ f(1, 2) }}{{ f(b=3, a=1) }}{{ f() }}{{ f(1, c=2) }}
{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{% endmacro %}{{ f(q=2) }}
{% macro f(a) %}{% endmacro %}{{ f(1, a=2) }}
{% macro fact(k) %}{{ 1 if k <= 1 else k * (fact(k - 1) | int) }}{% endmacro %}{{ fact(5) }}
{% macro f() %}{{ later }}{% endmacro %}{% set later = 3 %}{{ f() }}
{% macro f() %}<{{ caller() }}>{% endmacro %}{% call f() %}in {{ n }}{% endcall %}
{% macro f() %}<{{ caller(1, 2) }}>{% endmacro %}{% call(a, b) f() %}{{ a }}{{ b }}{% endcall %}
{% filter upper %}abc {{ s }}{% endfilter %}{% filter replace('a', 'b') | upper %}aaa{% endfilter %}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}{% with %}{% set q = 1 %}{% endwith %}{{ q is defined }}
{% if n > 5 %}a{% elif n > 3 %}b{% else %}c{% endif %}{% if n > 9 %}a{% elif n > 3 %}b{% else %}c{% endif %}{% if e %}a{% endif %}
{% raw %}{{ not this }} {% nor %} {# this #}{% endraw %}{{ n }}
{# a comment {{ n }} #}{{ n }}{#- trims -#}  x
a {%- if true -%}  b  {%- endif -%}  c {{- n -}} d
  {% if true %}  
  x
  {% endif %}
y
  {%+ if true %}
 x
{% endif +%}
y
a {# c #}
 {# d #}
b
{{ n }}
{{ n }}
   {{- n }}   {{ n -}}   
{%- for x in l %}
    {{ x }}
{%- endfor %}

{% for x in l -%}
    {{ x }}
{% endfor %}
{{ '{{' }} {{ '%}' }} {{ {'a': {'b': 1}}['a']['b'] }}
{% generation %}x{% endgeneration %}|{%- generation -%} y {%- endgeneration -%} z
{% for x in m %}{% if x.role == 'assistant' %}{% generation %}{{ x.content }}{% endgeneration %}{% else %}{{ x.role }}{% endif %}{% endfor %}
{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}
{{ n
{% if %}{% endif %}
{% if t %}
{% endif %}
{% for %}{% endfor %}
{% nothing %}
{{ 1 + }}
{{ (1 }}
{{ 1 ) }}
{{ 'a }}
{{ a b }}
{{ ! }}
{{ }}
{% set %}
{% set 1 = 2 %}
{% set true = 2 %}
{# open
{{ f(a=1, 2) }}
{% for x in l %}{{ x }}{% else %}{% else %}{% endfor %}
{{ strftime_now is defined }} {{ s is defined and s }} {{ loop is defined }} {{ namespace is defined }}
{{ s|upper|lower|title }} {{ (s|upper)[0] }} {{ -1|abs }} {{ [1,2]|first + 1 }} {{ s ~ '!' | upper }} {{ 'a' if s|length > 3 else 'b' }}
{{ not s == 'x' }} {{ not s in 'x' }} {{ 1 if not e else 2 }} {{ (1 == 1) == true }}
{{ true }} {{ True }} {{ none }} {{ None }} {{ false or False }}
{{ [1, 2][0] }} {{ {'a': 1}.a }} {{ 'abc'[1] }} {{ (1, 2)[1] }} {{ 'x'.upper() }} {{ ('a' ~ 'b').upper() }}
{{ m[1:] | length }} {{ (m | last).role }} {{ m[-1]['role'] != 'user' }} {{ m[1:][0]['role'] }} {{ (m[0] | list) }}
{{ (loop.index0 % 2 == 0) != (m[0].role == 'user') }}
"""


def cases():
    # A line that begins a group of several lines is not told apart: what has its own lines is joined here.
    several = ["  {% if true %}  \n  x\n  {% endif %}\ny\n", "  {%+ if true %}\n x\n{% endif +%}\ny\n", "a {# c #}\n {# d #}\nb\n",
               "{{ n }}\n{{ n }}\n   {{- n }}   {{ n -}}   \n", "{%- for x in l %}\n    {{ x }}\n{%- endfor %}\n\n",
               "{% for x in l -%}\n    {{ x }}\n{% endfor %}\n", "{% if t %}\n{% endif %}\n", "a\r\n{% if t %}\r\nb\r\n{% endif %}\r\n", "\n\n",
               "{% raw %}\n  x\n  {%- endraw %}\n  {% raw -%}  y {% endraw -%} z", "{% set x %}\n  a\n{% endset %}\n[{{ x }}]\n", " {% if t %} a {% endif %} ",
               "x\n\n  {%- if t -%}\n\n a \n\n{%- endif %}\n\nb", "{{- 'a' -}}\n\n{{- 'b' }}\n c", "  {{ n }}  \n  {% set a = 1 %}{{ a }}\n"]
    out = several
    for line in PIECES.strip("\n").split("\n"):
        out.append(line)
        out += re.findall(r"\{\{.*?\}\}(?= ?\{\{|\||$)", line)  # each alone, as one mistake refuses all
    return out


def vectors():
    got = []
    for source in dict.fromkeys(cases()):
        try:
            text = _compile_jinja_template(source).render(**VARS)
            if "<generator object" in text or "<built-in method" in text or " object at 0x" in text:
                text = None  # no two runs agree
        except Exception:
            text = None
        got.append({"source": source, "text": text})
    return {"vars": VARS, "cases": got}


if __name__ == "__main__":
    import sys
    json.dump(vectors(), open(sys.argv[1], "w"), ensure_ascii=False, separators=(",", ":"))
