package explain

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// template is a path whose numbers are replaced by a star: blocks.*.attn.
func template(path string) string {
	parts := strings.Split(path, ".")
	for i, p := range parts {
		if isNumber(p) {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}

func isNumber(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != "" && len(s) < 10
}

// fold writes paths of one template as one: blocks.0..31.attn where each number
// from 0 to 31 occurs, blocks.{0,2,5}.attn for a few, else blocks.*.attn.
func fold(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	parts := strings.Split(paths[0], ".")
	for i, p := range parts {
		if !isNumber(p) {
			continue
		}
		seen := map[int]bool{}
		for _, path := range paths {
			n, _ := strconv.Atoi(strings.Split(path, ".")[i])
			seen[n] = true
		}
		parts[i] = numbers(seen)
	}
	return strings.Join(parts, ".")
}

// fewNumbers is how many numbers without a range are listed.
const fewNumbers = 4

func numbers(seen map[int]bool) string {
	all := make([]int, 0, len(seen))
	for n := range seen {
		all = append(all, n)
	}
	sort.Ints(all)
	first, last := all[0], all[len(all)-1]
	switch {
	case first == last:
		return strconv.Itoa(first)
	case last-first == len(all)-1:
		return fmt.Sprintf("%d..%d", first, last)
	case len(all) > fewNumbers:
		return "*"
	}
	return "{" + strings.ReplaceAll(strings.Trim(fmt.Sprint(all), "[]"), " ", ",") + "}"
}

// folded groups what has one key, in the order in which keys first occur.
type folded[K comparable, V any] struct {
	keys  []K
	items map[K][]V
}

func (f *folded[K, V]) add(k K, v V) {
	if f.items == nil {
		f.items = map[K][]V{}
	}
	if _, ok := f.items[k]; !ok {
		f.keys = append(f.keys, k)
	}
	f.items[k] = append(f.items[k], v)
}

// withoutValues replaces the numbers of values, which are the IR's and mean
// nothing to a reader of a plan, so that lines that differ in them alone are
// alike: "all_gather for %12" is "all_gather for %".
func withoutValues(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		b.WriteByte(text[i])
		if text[i] == '%' {
			for i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9' {
				i++
			}
		}
	}
	return b.String()
}
