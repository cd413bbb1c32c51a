package explain

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"ptc/internal/openpath"
)

// place is a path or a text with paths; with an open number, one of each of count
// instances.
type place struct {
	path  string
	count int
}

// template is a path whose numbers are replaced by a star: blocks.*.attn.
func template(path string) string {
	parts := strings.Split(path, ".")
	for i, p := range parts {
		if _, open := openpath.Parse(p); open || isNumber(p) {
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

// progression is the numbers from, from+step, … of which there are count.
type progression struct{ from, step, count int }

func (p progression) last() int { return p.from + p.step*(p.count-1) }

// fold writes paths of one template as one: blocks.0..31.attn where each number
// from 0 to 31 occurs, blocks.{0,2,5}.attn for a few, else blocks.*.attn.
func fold(places []place) string {
	if len(places) == 0 {
		return ""
	}
	split := make([][]string, len(places))
	for i, x := range places {
		split[i] = strings.Split(x.path, ".")
	}
	parts := slices.Clone(split[0])
	for i, p := range parts {
		if _, open := openpath.Parse(p); !open && !isNumber(p) {
			continue
		}
		var list []progression
		for j, x := range places {
			if p, open := openpath.Parse(split[j][i]); open {
				list = append(list, progression{p.Plus, p.Times, x.count})
			} else {
				n, _ := strconv.Atoi(split[j][i])
				list = append(list, progression{n, 1, 1})
			}
		}
		parts[i] = numbers(list)
	}
	return strings.Join(parts, ".")
}

// fewNumbers is how many numbers without a range are listed.
const fewNumbers = 4

// manyNumbers is how many numbers are looked at one by one.
const manyNumbers = 1 << 12

func numbers(list []progression) string {
	total := 0
	plain := true
	for _, p := range list {
		total += p.count
		plain = plain && (p.step == 1 || p.count == 1)
	}
	if !plain && total <= manyNumbers {
		var each []progression
		for _, p := range list {
			for k := range p.count {
				each = append(each, progression{p.from + p.step*k, 1, 1})
			}
		}
		list, plain = each, true
	}
	sort.Slice(list, func(i, j int) bool { return list[i].from < list[j].from })
	first, last, dense := list[0].from, list[0].last(), plain
	for _, p := range list[1:] {
		dense = dense && p.from <= last+1
		last = max(last, p.last())
	}
	switch {
	case first == last:
		return strconv.Itoa(first)
	case dense:
		return fmt.Sprintf("%d..%d", first, last)
	case !plain || last-first >= manyNumbers && total > manyNumbers:
		return "*"
	}
	var all []string
	before := first - 1
	for _, p := range list {
		for n := max(p.from, before+1); n <= p.last(); n++ {
			if before = n; len(all) == fewNumbers {
				return "*"
			}
			all = append(all, strconv.Itoa(n))
		}
	}
	return "{" + strings.Join(all, ",") + "}"
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
