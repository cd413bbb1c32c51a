package tile

import (
	"math/rand"
	"regexp"
	"strings"
	"testing"
)

// word is a piece of text that a mutant may exchange for another of its kind.
var word = regexp.MustCompile(`%\d+|\d+|[A-Za-z_]\w*|.|\n`)

// kindOf groups words that may stand in each other's places.
func kindOf(w string) byte {
	switch c := w[0]; {
	case c == '%':
		return c
	case c >= '0' && c <= '9':
		return '0'
	case len(w) > 1:
		return 'w'
	case c >= 'a' && c <= 'z':
		return 'a'
	}
	return w[0]
}

// Programs of which words are exchanged for others of their kind are refused or sound,
// never a panic. A fuzzer alone makes little that is text at all, so that it reaches
// little of the verifier.
func TestMutatedText(t *testing.T) {
	accepted, refused, unread := 0, 0, 0
	for _, text := range programs(t) {
		words := word.FindAllString(text, -1)
		kinds := map[byte][]int{}
		var names []int
		for i, w := range words {
			if k := kindOf(w); k == '%' || k == '0' || k == 'w' || k == 'a' {
				names = append(names, i)
			}
			kinds[kindOf(w)] = append(kinds[kindOf(w)], i)
		}
		for seed := range 600 {
			r := rand.New(rand.NewSource(int64(seed)))
			mutant := append([]string(nil), words...)
			for range 1 + r.Intn(2) {
				i := names[r.Intn(len(names))]
				same := kinds[kindOf(words[i])]
				mutant[i] = words[same[r.Intn(len(same))]]
			}
			p, err := Parse(strings.Join(mutant, ""))
			if err != nil {
				unread++
				continue
			}
			if Verify(p) != nil {
				refused++
				continue
			}
			accepted++
			if _, err := Parse(p.String()); err != nil {
				t.Fatalf("%v\n%s", err, p)
			}
		}
	}
	if refused < 200 || accepted < 200 {
		t.Errorf("%d not read, %d refused, %d accepted: the mutants reach too little", unread, refused, accepted)
	}
}
