package editors

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// rule is a rule of a TextMate grammar, as far as ours uses them: a match, or a begin and
// an end with rules between; or an inclusion of others. Expressions are those that RE2 has
// too: nothing looks ahead or behind, so that they mean the same in both.
type rule struct {
	Name          string
	Include       string
	Match         string
	Begin         string
	End           string
	Captures      map[string]struct{ Name string }
	BeginCaptures map[string]struct{ Name string }
	EndCaptures   map[string]struct{ Name string }
	Patterns      []*rule

	match, begin, end *regexp.Regexp
}

type textMate struct {
	Patterns   []*rule
	Repository map[string]*rule
}

func readTextMate(t *testing.T) *textMate {
	t.Helper()
	text, err := os.ReadFile("vscode/syntaxes/ptl.tmLanguage.json")
	if err != nil {
		t.Fatal(err)
	}
	g := &textMate{}
	if err := json.Unmarshal(text, g); err != nil {
		t.Fatal(err)
	}
	var compile func(rs []*rule)
	compile = func(rs []*rule) {
		for _, r := range rs {
			for _, e := range []struct {
				text string
				to   **regexp.Regexp
			}{{r.Match, &r.match}, {r.Begin, &r.begin}, {r.End, &r.end}} {
				if e.text != "" {
					*e.to = regexp.MustCompile(e.text)
				}
			}
			compile(r.Patterns)
		}
	}
	compile(g.Patterns)
	for _, r := range g.Repository {
		compile([]*rule{r})
	}
	return g
}

// found is a match in a line.
type found struct {
	at   []int // as of FindStringSubmatchIndex, from the start of the line
	rule *rule
	end  bool
}

// scopes gives each byte of a text the name of the innermost rule that has it.
func (g *textMate) scopes(lines []string) (out [][]string) {
	var open []*rule
	for _, line := range lines {
		names := make([]string, len(line)+1)
		for at := 0; at <= len(line); {
			rules := g.Patterns
			var top *rule
			if len(open) > 0 {
				top = open[len(open)-1]
				rules = top.Patterns
			}
			m := g.first(rules, top, line, at)
			if m == nil {
				fill(names, at, len(line), top)
				break
			}
			fill(names, at, m.at[0], top)
			switch {
			case m.end:
				fill(names, m.at[0], m.at[1], top)
				capture(names, m, m.rule.EndCaptures)
				open = open[:len(open)-1]
			case m.rule.begin != nil:
				fill(names, m.at[0], m.at[1], m.rule)
				capture(names, m, m.rule.BeginCaptures)
				open = append(open, m.rule)
			default:
				fill(names, m.at[0], m.at[1], m.rule)
				capture(names, m, m.rule.Captures)
			}
			if m.at[1] == at && !m.end && m.rule.begin == nil {
				at++ // an empty match moves on
			} else {
				at = m.at[1]
			}
			if at == len(line) && (len(open) == 0 || open[len(open)-1].End != "$") {
				break
			}
		}
		out = append(out, names)
	}
	return out
}

func fill(names []string, from, to int, r *rule) {
	if r != nil && r.Name != "" {
		for i := from; i < to; i++ {
			names[i] = r.Name
		}
	}
}

func capture(names []string, m *found, captures map[string]struct{ Name string }) {
	for k, c := range captures {
		if n, err := strconv.Atoi(k); err == nil && 2*n+1 < len(m.at) && m.at[2*n] >= 0 {
			fill(names, m.at[2*n], m.at[2*n+1], &rule{Name: c.Name})
		}
	}
}

// first is the earliest match from an offset; of several at one place the end of the rule
// around them, then the first rule.
func (g *textMate) first(rules []*rule, top *rule, line string, at int) (best *found) {
	try := func(r *rule, e *regexp.Regexp, end bool) {
		if e == nil || at > 0 && e.String()[0] == '^' {
			return
		}
		m := e.FindStringSubmatchIndex(line[at:])
		if m == nil || best != nil && m[0]+at >= best.at[0] {
			return
		}
		for i := range m {
			if m[i] >= 0 {
				m[i] += at
			}
		}
		best = &found{m, r, end}
	}
	if top != nil {
		try(top, top.end, true)
	}
	var walk func(rs []*rule)
	walk = func(rs []*rule) {
		for _, r := range rs {
			if r.Include != "" {
				in := g.Repository[r.Include[1:]]
				if in.begin != nil || in.match != nil {
					walk([]*rule{in})
				} else {
					walk(in.Patterns)
				}
				continue
			}
			try(r, r.match, false)
			try(r, r.begin, false)
		}
	}
	walk(rules)
	return best
}
