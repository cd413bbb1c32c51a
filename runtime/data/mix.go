package data

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

func init() { Register("mix", openMix) }

// mixBlock is the number of examples in which every source has exactly its share:
// weights are exact to hundredths of a percent.
const mixBlock = 10000

// maxMix bounds the sources of a mixture.
const maxMix = 64

// mix combines examples of several sources with the same fields. In each block of
// mixBlock examples, source k has n_k, its weight; a permutation of the block, by
// the seed, places them. Place p of the permuted block is example
//
//	block·n_k + p − (n_1 + … + n_{k−1})    of the source k with n_1 + … + n_{k−1} ≤ p < n_1 + … + n_k
//
// so the example at a place is a function of the place alone, every example
// of a source comes once in each of its epochs, and nothing is counted.
//
// HeldOut uses the held-out examples of each source, in the proportion of the weights of
// those that hold anything out, as many as fit without repetition.
//
// Options: those of source k, from 1, with "k." before the key; k.kind and k.weight
// are its kind and its weight, of which only the proportion matters. seed is that of
// the order.
type mix struct {
	fields  []Field
	batch   int
	seed    uint64
	begun   begun
	sources []mixed
	order   permutation
	held    permutation
	first   []int64 // places of a block: those of source k are [first[k], first[k+1])
	firstV  []int64 // the same of what is held out
	boxes   sync.Pool
	about   string
	print   string
}

// mixed is one source, read by single examples.
type mixed struct {
	Source
	kind   string
	weight float64
	tokens string // the SHA-256 of the tokenizer of its tokens; empty if unknown
	fixed  bool   // an option gives the seed of its order
}

func openMix(opts []Option, b Batch) (Source, error) {
	o := &options{list: slices.DeleteFunc(slices.Clone(opts), func(o Option) bool {
		number, _, dot := strings.Cut(o.Key, ".")
		n, err := strconv.Atoi(number)
		return dot && err == nil && 1 <= n && n <= maxMix
	})}
	seed := o.seed(b.Seed)
	if err := o.done(); err != nil {
		return nil, err
	}
	m := &mix{batch: b.Size, seed: seed, boxes: sync.Pool{New: func() any { return newRowView() }}}
	for k := 1; ; k++ {
		kind, weight, own := sourceOptions(opts, k)
		if kind == "" && len(own) == 0 {
			break
		}
		if err := m.add(k, kind, weight, own, b, seed); err != nil {
			return nil, err
		}
	}
	if len(m.sources) == 0 {
		return nil, errorf("no sources are given")
	}
	for _, f := range m.sources[0].Fields() {
		f.Shape = append([]int{b.Size}, f.Shape[1:]...)
		m.fields = append(m.fields, f)
	}
	weights := make([]float64, len(m.sources))
	for k, s := range m.sources {
		weights[k] = s.weight
	}
	var err error
	if m.first, err = shares(weights, mixBlock); err != nil {
		return nil, err
	}
	m.firstV = m.validation()
	m.order = newPermutation(mixBlock, newStream(seed, streamMix))
	m.held = newPermutation(m.firstV[len(m.firstV)-1], newStream(validSeed, streamMix))
	m.describe()
	return m, nil
}

// add opens the source of a number for single examples.
func (m *mix) add(number int, kind, weight string, own []Option, b Batch, seed uint64) error {
	w, err := strconv.ParseFloat(weight, 64)
	if err != nil || !(w > 0) || math.IsInf(w, 0) {
		return errorf("the weight of source %d is %q, but must be a number above 0", number, weight)
	}
	if kind == "mix" {
		return errorf("source %d is itself a mixture; use one mixture of all sources", number)
	}
	if OneReader(kind) {
		return errorf("source %d is a stream, which can only be read in order", number).in("", "let its program mix")
	}
	// Two sources of the same files must not come in the same order.
	b.Seed = seed + uint64(number-1)*seedStep
	b.Size, b.Past = 1, nil
	b.Fields = slices.Clone(b.Fields)
	for i, f := range b.Fields {
		b.Fields[i].Shape = append([]int{1}, f.Shape[1:]...)
	}
	s, err := Open(kind, own, b)
	if err != nil {
		return &Error{Kind: "mix", Msg: fmt.Sprintf("source %d", number), Err: err}
	}
	if len(m.sources) > 0 {
		if want, have := fieldList(m.sources[0].Fields()), fieldList(s.Fields()); want != have {
			return errorf("source 1 has the fields %s, but source %d %s", want, number, have)
		}
	}
	tokens := tokenizerHash(kind, own, b)
	for i, other := range m.sources {
		if tokens != "" && other.tokens != "" && tokens != other.tokens {
			return errorf("the tokens of source %d come from another tokenizer (%.12s) than those of source %d (%.12s)", number, tokens, i+1, other.tokens).in("", "prepare both with one tokenizer")
		}
	}
	m.sources = append(m.sources, mixed{Source: s, kind: kind, weight: w, tokens: tokens, fixed: givesSeed(own)})
	return nil
}

// tokenizerHash is the SHA-256 of the tokenizer by which a source has its tokens, as its options say, or the manifest
// next to its files; empty where neither does.
func tokenizerHash(kind string, opts []Option, b Batch) string {
	if name, hash := tokenizerOption(kind, opts); name != "" {
		return hash
	}
	if m, _ := manifestOf(opts, b); m != nil {
		return m.Tokenizer
	}
	return ""
}

// shares divides total among weights, by the largest remainders: the places of
// weight k are [first[k], first[k+1]).
func shares(weights []float64, total int64) (first []int64, err error) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	counts, order, left := make([]int64, len(weights)), make([]int, len(weights)), total
	rest := make([]float64, len(weights))
	for k, w := range weights {
		exact := w / sum * float64(total)
		counts[k] = int64(exact)
		rest[k], order[k] = exact-float64(counts[k]), k
		left -= counts[k]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, k := range order[:left] {
		counts[k]++
	}
	first = make([]int64, len(weights)+1)
	for k, n := range counts {
		if n == 0 && weights[k] > 0 {
			return nil, errorf("the weight of source %d is %.3g of the sum, but must be at least 1 in %d", k+1, weights[k]/sum, mixBlock)
		}
		first[k+1] = first[k] + n
	}
	return first, nil
}

// validation divides the held-out examples.
func (m *mix) validation() []int64 {
	sum, most := 0.0, math.Inf(1)
	for _, s := range m.sources {
		if s.Held() > 0 {
			sum += s.weight
		}
	}
	for _, s := range m.sources {
		if n := s.Held(); n > 0 {
			most = min(most, float64(n)*sum/s.weight)
		}
	}
	first := make([]int64, len(m.sources)+1)
	for k, s := range m.sources {
		n := int64(0)
		if held := s.Held(); held > 0 {
			n = min(held, max(1, int64(math.Round(most*s.weight/sum))))
		}
		first[k+1] = first[k] + n
	}
	return first
}

func (m *mix) describe() {
	h := sha256.New()
	fmt.Fprintf(h, "mix 1\n")
	var parts []string
	for k, s := range m.sources {
		n := m.first[k+1] - m.first[k]
		fmt.Fprintf(h, "%d %s %s\n", n, s.kind, s.Fingerprint())
		parts = append(parts, fmt.Sprintf("%.4g%% %s", float64(n)*100/mixBlock, s.Describe()))
	}
	m.about = "mix: " + strings.Join(parts, "; ")
	m.print = fmt.Sprintf("sha256:%x", h.Sum(nil))
}

func (m *mix) Fields() []Field     { return m.fields }
func (m *mix) Describe() string    { return m.about }
func (m *mix) Fingerprint() string { return m.print }

// Tokens is the sum over the sources: as many as in an epoch of each.
func (m *mix) Tokens() int64 { return m.sum(Source.Tokens) }

// Examples is the sum over the sources, as Tokens is.
func (m *mix) Examples() int64 { return m.sum(Source.Examples) }

// sum adds a number of each source, and is 0 where a source has no end.
func (m *mix) sum(of func(Source) int64) (sum int64) {
	for _, s := range m.sources {
		n := of(s.Source)
		if n == 0 {
			return 0
		}
		sum += n
	}
	return sum
}

// find returns the source of an example, and its number there.
func find(first []int64, place int64) (source int, number int64) {
	behind, _ := slices.BinarySearch(first, place+1)
	return behind - 1, place - first[behind-1]
}

func (m *mix) Fill(step int64, dst []View) error {
	first, err := m.begun.firstRow(step, m.batch)
	if err != nil {
		return asError("mix", err)
	}
	return m.each(dst, func(row int, one *rowView) error {
		g := first + int64(row)
		block := g / mixBlock
		k, number := find(m.first, m.order.at(block, g%mixBlock))
		return m.sources[k].Fill(block*(m.first[k+1]-m.first[k])+number+1, one.views)
	})
}

// Recipe is Source's.
func (m *mix) Recipe() Recipe { return *m.recipe() }

func (m *mix) recipe() *Recipe {
	r := &Recipe{Order: m.seed}
	for k, s := range m.sources {
		p := s.Recipe().Parts[0]
		p.Places, p.fixed = m.first[k+1]-m.first[k], s.fixed || p.fixed
		r.Parts = append(r.Parts, p)
	}
	return r
}

func (m *mix) goOn(r *Recipe, of []*seen, from begun) {
	m.begun = from
	for k, s := range m.sources {
		s.Source.(resumed).goOn(&Recipe{Parts: r.Parts[k : k+1]}, of[k:k+1], begun{})
	}
}

func (m *mix) Held() int64 { return int64(m.held.n) }

func (m *mix) HeldOut(number func(row int) int64, dst []View) error {
	if m.Held() == 0 {
		return asError("mix", errorf("nothing is held out"))
	}
	return m.each(dst, func(row int, one *rowView) error {
		k, n := find(m.firstV, m.held.at(0, number(row)%m.Held()))
		one.number = n
		return m.sources[k].HeldOut(one.same, one.views)
	})
}

// rowView is a view of one example, with room for its bounds, and the number of the example.
type rowView struct {
	views  []View
	lo, hi [maxRank]int
	number int64
	same   func(row int) int64 // returns number
}

func newRowView() *rowView {
	r := &rowView{}
	r.same = func(int) int64 { return r.number }
	return r
}

// each fills the rows of the views, one field after another, by one for single
// examples.
func (m *mix) each(dst []View, one func(row int, one *rowView) error) error {
	if err := checkViews(m.fields, dst); err != nil {
		return asError("mix", err)
	}
	r := m.boxes.Get().(*rowView)
	defer m.boxes.Put(r)
	if len(r.views) != len(dst) {
		r.views = make([]View, len(dst))
	}
	for i := range dst {
		if dst[i].skipped() {
			continue
		}
		b, err := m.fields[i].box(&dst[i])
		if err != nil {
			return asError("mix", err)
		}
		clear(r.views)
		r.lo, r.hi = b.lo, b.hi
		r.lo[0], r.hi[0] = 0, 1
		v := &r.views[i]
		v.Lo, v.Hi = r.lo[:b.rank], r.hi[:b.rank]
		size := b.rowSize()
		for row := b.lo[0]; row < b.hi[0]; row++ {
			at := (row - b.lo[0]) * size
			if dst[i].I32 != nil {
				v.I32 = dst[i].I32[at : at+size]
			} else {
				v.F32 = dst[i].F32[at : at+size]
			}
			if err := one(row, r); err != nil {
				return err
			}
		}
	}
	return nil
}
