package growth

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

var long = flag.Bool("long", false, "compile up to 1,536 layers and 256 microbatches")

const layouts = `
layout growth_one { }
layout growth_3d {
  mesh dp = 4, tp = 2
  shard batch over dp
  shard heads, ffn, vocab over tp
  shard seq over tp between Block
  zero 1 over dp
  precision { compute = bf16 }
}
layout growth_zero {
  mesh dp = 4
  shard batch over dp
  zero 3 over dp
  recompute Block
}
layout growth_offload { offload optimizer to host { piece = 1 KiB } }
layout growth_activations { offload activations to host }
`

// pipeline are layouts with a number of microbatches.
func pipeline(microbatches int) string {
	return fmt.Sprintf(`
layout growth_pipe_%[1]d {
  mesh dp = 2, pp = 4
  shard batch over dp
  pipeline blocks over pp { schedule = 1f1b  microbatches = %[1]d }
}
layout growth_pipe_activations_%[1]d {
  mesh pp = 2
  pipeline blocks over pp { schedule = zb_v  microbatches = %[1]d }
  offload optimizer, activations to host
}
`, microbatches)
}

// ring is a layout of so many devices around a ring.
func ring(devices int) string {
	return fmt.Sprintf(`
layout growth_ring_%[1]d {
  mesh cp = %[1]d
  shard seq over cp { attention = ring  order = zigzag }
  recompute Block
  precision { compute = bf16 }
}
`, devices)
}

// series is a layout that is compiled in several sizes, each twice the last. The smallest has at least 24 layers,
// 16 microbatches or 32 devices of a ring: below that few instances that stand for all are as many as there are,
// and other choices pay.
type series struct {
	layout string // %d stands for the number of microbatches or devices
	what   string // that grows
	sizes  []int
}

func (s series) set(n int) (string, map[string]int) {
	set := map[string]int{"embed": 32, "heads": 4, "head": 8, "ffn": 64, "vocab": 64, "seq": 16, "batch": 16, "layers": n}
	switch s.what {
	case "microbatches":
		set["layers"], set["batch"] = 4, 2*n
		return fmt.Sprintf(s.layout, n), set
	case "devices":
		set["layers"], set["batch"], set["seq"] = 2, 1, 16*n
		return fmt.Sprintf(s.layout, n), set
	}
	return s.layout, set
}

func all() []series {
	if *long {
		layers := []int{24, 48, 96, 192, 384}
		return []series{
			{"growth_one", "layers", layers},
			{"growth_3d", "layers", layers},
			{"growth_zero", "layers", layers[:4]},
			{"growth_offload", "layers", layers},
			{"growth_activations", "layers", layers},
			{"growth_pipe_activations_8", "layers", []int{96, 192, 384, 768, 1536}},
			{"growth_pipe_8", "layers", []int{96, 192, 384, 768, 1536}},
			{"growth_ring_%d", "devices", []int{32, 64, 128}},
			{"growth_pipe_%d", "microbatches", []int{16, 32, 64, 128, 256}},
			{"growth_pipe_activations_%d", "microbatches", []int{16, 32, 64, 128, 256}},
		}
	}
	return []series{
		{"growth_one", "layers", []int{24, 48, 96, 192}},
		{"growth_3d", "layers", []int{24, 48, 96, 192}},
		{"growth_zero", "layers", []int{24, 48, 96, 192}},
		{"growth_offload", "layers", []int{24, 48, 96, 192}},
		{"growth_activations", "layers", []int{24, 48, 96, 192}},
		{"growth_ring_%d", "devices", []int{32, 64, 128}},
		{"growth_pipe_%d", "microbatches", []int{16, 32, 64}},
		{"growth_pipe_activations_%d", "microbatches", []int{16, 32, 64}},
	}
}

const (
	// packageLimit and blockLimit are the highest exponents of growth, see
	// [exponent]: that of n log n is below 1.15 from a thousand operations on, that
	// of n² is 2. A block alone is less even than a package: what few layers
	// do not do, or where a kernel is found again, counts for more.
	packageLimit = 1.2
	blockLimit   = 1.4
	// Packages and blocks that run fewer statements than this at the largest size, or
	// a smaller share of all, are not judged: they are noise.
	packageLeast = 50_000
	blockLeast   = 30_000
	blockShare   = 1. / 500
)

// bounded is what may grow faster, since something else limits it.
var bounded = map[string]string{
	"ir/ints.go":                     "the text of a message around a ring of n devices has n sources",
	"ir/op/take.go":                  "as ints.go: each source is looked at",
	"backend/assemble/comm.go":       "as ints.go: so has the plan",
	"ir/pipeline/timeline.go":        "it draws steps of up to 100 columns",
	"passes/memory/place/search.go":  "a search that ends after so much work",
	"passes/memory/place/piece.go":   "as search.go",
	"passes/memory/place/improve.go": "as search.go",
	"passes/memory/place/section.go": "as search.go",
	"passes/memory/place/fit.go":     "it goes through all pairs of up to 2,048 buffers, beyond which tree.go stands in",
	"passes/memory/place/place.go":   "as fit.go",
	"passes/memory/place/tree.go":    "more layers leave more gaps that are too small; it serves up to 32,768 buffers",
}

// judged are the folders of the packages whose growth counts.
var judged = []string{"passes", "ir", "lang", "backend/assemble", "runtime/program", "runtime/explain", "internal/ranges", "compiler"}

func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a compiler that counts")
	}
	text := layouts
	microbatches := map[int]bool{8: true}
	for _, s := range all() {
		for _, n := range s.sizes {
			switch s.what {
			case "microbatches":
				microbatches[n] = true
			case "devices":
				text += ring(n)
			}
		}
	}
	for n := range microbatches {
		text += pipeline(n)
	}
	c := build(t, text)
	for _, s := range all() {
		t.Run(s.what+" "+s.layout, func(t *testing.T) {
			var runs []counts
			for _, n := range s.sizes {
				layout, set := s.set(n)
				runs = append(runs, c.compile(t, layout, set))
			}
			judge(t, s, runs)
			t.Logf("%s of %v\n%s", s.what, s.sizes, table(packages(runs)))
		})
	}
}

// exponent is how fast counts grew at sizes that double: the logarithm to the base 2 of the last difference
// of two counts by the one before it. Of four counts and more it is half the logarithm of the last difference
// by the second before it, which is between the exponents of both steps: counts go up and down by what is left over
// when repeated work is divided into periods, and by other choices that pay from a size on, and neither is a power.
// What does not grow at all, or by less than a hundredth, has no part in it, nor has a small step after no growth.
func exponent(n []int64) float64 {
	i, steps := len(n)-1, min(len(n)-2, 2)
	last, before, first := n[i]-n[i-1], n[i-1]-n[i-2], n[i-steps]-n[i-steps-1]
	if last <= n[i]/100 || first <= 0 || last <= n[i]/32 && before < last/64 {
		return 0
	}
	return math.Log2(float64(last)/float64(first)) / float64(steps)
}

// over are the counts of one thing, by run.
func over[K comparable](runs []map[K]int64) map[K][]int64 {
	out := map[K][]int64{}
	for i, r := range runs {
		for k, n := range r {
			if out[k] == nil {
				out[k] = make([]int64, len(runs))
			}
			out[k][i] += n
		}
	}
	return out
}

func blocks(runs []counts) map[block][]int64 {
	all := make([]map[block]int64, len(runs))
	for i, r := range runs {
		all[i] = map[block]int64{}
		for b, n := range r {
			if judgedFile(b) {
				all[i][b] = n
			}
		}
	}
	return over(all)
}

func packages(runs []counts) map[string][]int64 {
	all := make([]map[string]int64, len(runs))
	for i, r := range runs {
		all[i] = map[string]int64{}
		for b, n := range r {
			if judgedFile(b) {
				all[i][b.pkg()] += n
			}
		}
	}
	return over(all)
}

func judgedFile(b block) bool {
	return bounded[b.file] == "" && slices.ContainsFunc(judged, func(dir string) bool {
		return b.pkg() == dir || strings.HasPrefix(b.file, dir+"/")
	})
}

// once are the packages that see what is repeated once: twice the layers, or twice the
// microbatches of a pipeline, add less than a tenth to what they do. Those that are tabled read
// the table of turns besides, which has an entry for each microbatch.
var once = []string{"passes/simplify", "passes/autodiff", "passes/precision", "passes/remat", "passes/propagate",
	"passes/propagate/factor", "passes/partition", "passes/collectives", "passes/offload", "passes/fuse", "passes/overlap", "passes/memory",
	"passes/memory/place", "passes/order", "ir/excerpt", "passes/validate", "backend/assemble"}

var tabled = []string{"passes/memory", "passes/offload", "ir/excerpt"}

// seesOnce reports whether a package sees what grows in a series once.
func seesOnce(s series, pkg string) bool {
	switch s.what {
	case "devices": // the steps of a ring are written out
		return false
	case "microbatches":
		return pkg == "passes/stage" || slices.Contains(once, pkg) && !slices.Contains(tabled, pkg) // which finds the stage of every block
	}
	return slices.Contains(once, pkg)
}

const onceLimit = 1.1

// frontLimit is how many statements one more layer may add to what is done before the
// first pass that sees a block once: parsing, lowering, rolling. Of a block of twelve
// parameters they are those of paths and counts, and none of its operations.
const frontLimit = 3_000

// front is whether a package is of the front end.
func front(pkg string) bool {
	return pkg == "lang" || strings.HasPrefix(pkg, "lang/") || pkg == "passes/roll"
}

// fewRuns is how many compilations of a series must be there before the helpers of
// passes are judged, whose logarithms still grow fast for few ranges, and the proof of a
// plan by microbatches, of which few do not fill the rings.
const fewRuns = 4

// judgeOnce fails where a pass sees again what is there once, at any of the sizes.
func judgeOnce(t *testing.T, s series, runs []counts) {
	packs := packages(runs)
	for i := 1; i < len(runs); i++ {
		var more int64
		for _, p := range slices.Sorted(maps.Keys(packs)) {
			n := packs[p]
			if i >= 2 && seesOnce(s, p) && float64(n[i]) > onceLimit*float64(n[i-1]) {
				t.Errorf("%s: %s of %v: %v statements, for what is there once\n%s", p, s.what, s.sizes, n, hottest(runs[:i+1], p))
			}
			if front(p) {
				more += n[i] - n[i-1]
			}
		}
		if s.what != "layers" {
			continue
		}
		if per := more / int64(s.sizes[i]-s.sizes[i-1]); per > frontLimit {
			t.Errorf("lang and passes/roll: %s of %v: %d statements for one layer more; at most %d", s.what, s.sizes[:i+1], per, frontLimit)
		}
	}
}

// judge fails where runs took more than their sizes explain.
func judge(t *testing.T, s series, runs []counts) {
	judgeOnce(t, s, runs)
	sizes := s.sizes
	i := len(runs) - 1
	packs := packages(runs)
	for _, p := range slices.Sorted(maps.Keys(packs)) {
		if (p == "internal/ranges" || p == "runtime/program" && s.what == "microbatches") && len(runs) < fewRuns {
			continue
		}
		if n := packs[p]; n[i] >= packageLeast && exponent(n) > packageLimit {
			t.Errorf("%s: %s of %v: %v statements, exponent %.2f; at most %.2f\n%s", p, s.what, sizes, n, exponent(n), packageLimit, hottest(runs, p))
		}
	}
	all, total := blocks(runs), int64(0)
	for _, n := range all {
		total += n[i]
	}
	least := max(blockLeast, int64(blockShare*float64(total)))
	for _, b := range slices.SortedFunc(maps.Keys(all), func(a, b block) int { return cmp.Compare(all[b][i], all[a][i]) }) {
		if b.pkg() == "internal/ranges" && len(runs) < fewRuns {
			continue
		}
		if n := all[b]; n[i] >= least && exponent(n) > blockLimit {
			t.Errorf("%s:%s: %s of %v: %v statements, exponent %.2f; at most %.2f", b.file, b.at, s.what, sizes, n, exponent(n), blockLimit)
		}
	}
}

// hottest are the blocks of a package whose counts grew most beyond the double of
// what they grew by before.
func hottest(runs []counts, pkg string) string {
	all := blocks(runs)
	i := len(runs) - 1
	excess := func(n []int64) int64 { return n[i] - n[i-1] - 2*(n[i-1]-n[i-2]) }
	var list []block
	for b := range all {
		if b.pkg() == pkg && excess(all[b]) > 0 {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b block) int { return cmp.Compare(excess(all[b]), excess(all[a])) })
	var out strings.Builder
	for _, b := range list[:min(8, len(list))] {
		fmt.Fprintf(&out, "  %5.2f %v %s:%s\n", exponent(all[b]), all[b], b.file, b.at)
	}
	return out.String()
}

// table is the packages by their statements in the last run.
func table(packs map[string][]int64) string {
	var total int64
	for _, n := range packs {
		total += n[len(n)-1]
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%-26s %7s %8s  statements\n", "package", "share", "exponent")
	for _, p := range slices.SortedFunc(maps.Keys(packs), func(a, b string) int {
		return cmp.Or(cmp.Compare(packs[b][len(packs[b])-1], packs[a][len(packs[a])-1]), cmp.Compare(a, b))
	}) {
		n := packs[p]
		if last := n[len(n)-1]; last*1000 >= total {
			fmt.Fprintf(&out, "%-26s %6.1f%% %8.2f  %v\n", p, 100*float64(last)/float64(total), exponent(n), n)
		}
	}
	return out.String()
}
