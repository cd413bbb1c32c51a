package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"

	"ptc/runtime/program"
)

// renaming is how plans may differ: words of the base have others in the next build, and parts of a plan are
// not compared. None of either: plans are compared byte by byte.
type renaming struct {
	words map[string]string
	parts []string // fields of program.Plan
}

var word = regexp.MustCompile(`\w+`)

// parseRenaming reads old=new,… and names of parts.
func parseRenaming(words, parts string) (r renaming, err error) {
	if words != "" {
		r.words = map[string]string{}
		for pair := range strings.SplitSeq(words, ",") {
			from, to, ok := strings.Cut(pair, "=")
			if !ok || word.FindString(from) != from {
				return r, fmt.Errorf("-words has %q where it wants old=new", pair)
			}
			r.words[from] = to
		}
	}
	if parts != "" {
		r.parts = strings.Split(parts, ",")
	}
	return r, nil
}

// strict reports whether plans are compared byte by byte.
func (r renaming) strict() bool { return len(r.words) == 0 && len(r.parts) == 0 }

// text is a text of either build in the words of the next one.
func (r renaming) text(s string) string {
	if len(r.words) == 0 {
		return s
	}
	return word.ReplaceAllStringFunc(s, func(w string) string {
		if to, ok := r.words[w]; ok {
			return to
		}
		return w
	})
}

// plan is what is compared of a plan's file.
func (r renaming) plan(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil || r.strict() {
		return data, err
	}
	p, err := program.Decode(data)
	if err != nil {
		return nil, err
	}
	for _, part := range r.parts {
		f := reflect.ValueOf(p).Elem().FieldByName(part)
		if !f.IsValid() {
			return nil, fmt.Errorf("a plan has no part %q: -except takes fields of program.Plan, such as Remarks", part)
		}
		f.SetZero()
	}
	// Code is in base64, in which a word is as good as never found.
	data, err = json.Marshal(p)
	return []byte(r.text(string(data))), err
}
