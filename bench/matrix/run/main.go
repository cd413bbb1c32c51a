// Command run runs the matrix of models and layouts and prints a line for each
// case. It exits with 1 if any is not what one device computes.
//
//	go run ./bench/matrix/run [-model gpt] [-target cpu] [-layout REGEXP] [-list]
//	go run ./bench/matrix/run -spec 'cp2 dp2 z3; tp2 fsdp2' -set layers=3
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"ptc/bench/matrix"
)

func main() {
	model := flag.String("model", "", "run this model alone")
	target := flag.String("target", "", "run this target alone: cpu or ref:f64")
	layout := flag.String("layout", "", "run the layouts whose names match the regular expression")
	spec := flag.String("spec", "", "run these layouts instead of the table's: words as in the table, separated by semicolons")
	set := flag.String("set", "", "with -spec: sizes that differ from the model's, separated by spaces")
	extra := flag.String("extra", "", "with -spec: more directives, in the language")
	root := flag.String("root", ".", "folder of the module")
	limit := flag.Duration("limit", 0, "start no case after this time, and say how many were left out")
	list := flag.Bool("list", false, "print the layouts in the language, and run nothing")
	flag.Parse()
	re, err := regexp.Compile(*layout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	s := selection{*model, *target, re, matrix.Layouts}
	if *spec != "" {
		s.layouts = nil
		for _, one := range strings.Split(*spec, ";") {
			s.layouts = append(s.layouts, matrix.Layout{Spec: strings.TrimSpace(one), Set: *set, Extra: *extra, Models: "mlp gpt llama moe"})
		}
	}
	if *list {
		s.list()
		return
	}
	if s.run(*root, *limit) {
		return
	}
	os.Exit(1)
}

// selection says which cases are meant.
type selection struct {
	model, target string
	layout        *regexp.Regexp
	layouts       []matrix.Layout
}

func (s selection) each(f func(matrix.Target, matrix.Model, matrix.Layout)) {
	for _, t := range matrix.Targets {
		for _, m := range matrix.Models {
			if s.target != "" && s.target != t.Name || s.model != "" && s.model != m.Name {
				continue
			}
			for _, l := range s.layouts {
				if l.For(m) && s.layout.MatchString(l.Name()) {
					f(t, m, l)
				}
			}
		}
	}
}

func (s selection) list() {
	s.target = matrix.Targets[0].Name
	s.each(func(_ matrix.Target, m matrix.Model, l matrix.Layout) {
		rules, err := l.Rules(m)
		if err != nil {
			rules = err.Error()
		}
		fmt.Printf("%s %s\n  %s\n", m.Name, l.Name(), strings.ReplaceAll(rules, "\n", "\n  "))
	})
}

// run prints a line for each case, then the failures again.
func (s selection) run(root string, limit time.Duration) bool {
	x := &matrix.Matrix{Root: root}
	var failed []string
	start := time.Now()
	cases, left := 0, 0
	s.each(func(t matrix.Target, m matrix.Model, l matrix.Layout) {
		if limit > 0 && time.Since(start) > limit {
			left++
			return
		}
		cases++
		r := x.Case(m, l, t)
		state := "ok  "
		if !r.OK() {
			state = "FAIL"
		}
		line := fmt.Sprintf("%s %-7s %-5s %-40s %s", state, t.Name, m.Name, l.Name(), r)
		fmt.Println(line)
		if !r.OK() {
			failed = append(failed, line)
		}
	})
	fmt.Printf("\n%d cases, %d failed, %d left out for lack of time\n", cases, len(failed), left)
	for _, f := range failed {
		fmt.Println(f)
	}
	return cases > 0 && len(failed) == 0 && left == 0
}
