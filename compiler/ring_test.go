package compiler_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptc/compiler"
)

// fusedPlan is the module after fuse, and what the compiler reports.
func fusedPlan(t *testing.T, o compiler.Options) (string, *compiler.Report) {
	t.Helper()
	text := ""
	o.File, o.Layout = "m.ptl", "l"
	o.Hooks = append(o.Hooks, func(_ int, name string, print func() string, _ time.Duration) error {
		if name == "fuse" {
			text = print()
		}
		return nil
	})
	_, r, err := compiler.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	return text, r
}

var (
	valueType = regexp.MustCompile(`%\d+ : b?f\w+\[([^\]]*)\]`)
	axisSize  = regexp.MustCompile(`(\w+)=(\d+)`)
)

// pairs are the floats of calls and exchanges that are over queries and keys. A mask so
// small is stored rather than made again.
func pairs(text string) (out []string) {
	for line := range strings.Lines(text) {
		if !strings.Contains(line, " call ") && !strings.Contains(line, " permute ") && !strings.Contains(line, " all_gather ") {
			continue
		}
		before, _, _ := strings.Cut(line, " = ")
		for _, m := range valueType.FindAllStringSubmatch(before, -1) {
			queries, keys := false, false
			for _, a := range axisSize.FindAllStringSubmatch(m[1], -1) {
				n, _ := strconv.Atoi(a[2])
				queries = queries || n > 1 && strings.HasPrefix(a[1], "seq")
				keys = keys || n > 1 && strings.HasPrefix(a[1], "kseq")
			}
			if queries && keys {
				out = append(out, m[0])
			}
		}
	}
	return out
}

var ringPrecisions = []struct{ name, rule string }{
	{"f32", ""},
	{"bf16", "  precision { compute = bf16 }"},
	{"bf16 parameters", "  precision { compute = bf16  params = bf16  reduce = bf16 }"},
	{"f16", "  precision { compute = f16 }"},
	{"f8", "  precision { compute = bf16  products = f8 }"},
}

// ringLayouts are the rings of n devices, and rules that may accompany them.
var ringLayouts = []struct{ name, rules string }{
	{"zig-zag", "  mesh cp = 2\n  shard seq over cp { order = zigzag }"},
	{"contiguous", "  mesh cp = 4\n  shard seq over cp"},
	{"zig-zag, recompute", "  mesh cp = 4\n  shard seq over cp { attention = ring  order = zigzag }\n  recompute Block"},
	{"contiguous, recompute", "  mesh cp = 2\n  shard seq over cp { attention = ring }\n  recompute Block"},
	{"tp, pipeline", "  mesh tp = 2, pp = 2, cp = 2\n  shard seq over cp { order = zigzag }\n  shard HEADS over tp\n  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }\n  recompute Block"},
}

// Every step of a ring of every kind of attention is a kernel in both phases, in every
// precision and under every layout: nothing over queries and keys is in memory, and no
// pass changes results beyond the rounding of its precision.
func TestRingsAreKernels(t *testing.T) {
	for i, k := range kinds {
		for j, l := range ringLayouts {
			for p, d := range ringPrecisions {
				if strings.Contains(k.name, "dropout") && strings.Contains(l.rules, "zigzag") {
					continue // which gathers: what dropout draws is in the logical order
				}
				if some := (i+2*j+3*p)%19 == 0; !some && (testing.Short() || !*slow) {
					continue
				}
				t.Run(k.name+", "+l.name+", "+d.name, func(t *testing.T) {
					rules := strings.Replace(l.rules, "HEADS", k.heads(), 1) + "\n" + d.rule
					source := strings.Replace(attentionSource(k.fields, k.body, rules), "seq    = 8", "seq    = 16", 1)
					text, r := fusedPlan(t, compiler.Options{Source: []byte(source), Target: "ref"})
					if got := pairs(text); len(got) > 0 && !strings.Contains(k.name, "dropout") { // whose numbers a device draws for all keys
						t.Errorf("%d values over queries and keys: %s", len(got), got[0])
					}
					for _, w := range r.Warnings {
						if strings.Contains(w, "attention") || strings.Contains(w, "keys and values") {
							t.Error(w)
						}
					}
					want := 8
					if strings.Contains(k.name, "window") || k.name == "all positions" {
						// Two steps in the two phases and in eval: a ring goes no further than a window, and without a mask
						// no step is in parts.
						want = 6
					}
					if got := strings.Count(text, "fn=@attention_"); got < want {
						t.Errorf("%d launches of attention kernels, at least %d", got, want)
					}
					sameAsOneDevice(t, source)
				})
			}
		}
	}
}

// Dropout of the weights is not cut in the zig-zag order, which is a warning.
func TestDropoutInZigZagOrderWarns(t *testing.T) {
	for _, k := range kinds {
		if k.name != "dropout" {
			continue
		}
		rules := "  mesh cp = 2\n  shard seq over cp { attention = ring  order = zigzag }"
		_, r := fusedPlan(t, compiler.Options{Source: []byte(attentionSource(k.fields, k.body, rules)), Target: "ref"})
		if !strings.Contains(strings.Join(r.Warnings, "\n"), "keys and values are gathered over cp") {
			t.Errorf("the warnings are %q", r.Warnings)
		}
	}
}

// A ring whose steps store their scores is a warning.
func TestRingThatIsNoKernelWarns(t *testing.T) {
	fields := headFields + "\n  param slope : [heads] ~ normal(std = 0.5)"
	body := headValues + "    p = softmax(where(see, s - outer(cast(index(s, kseq), f32), slope), -inf), over = kseq)" + headResult
	rules := "  mesh cp = 2\n  shard seq over cp { order = zigzag }"
	_, r := fusedPlan(t, compiler.Options{Source: []byte(attentionSource(fields, body, rules)), Target: "ref"})
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "a step of ring attention takes several kernels") {
		t.Errorf("the warnings are %q", r.Warnings)
	}
}

// At as many positions on a device, the memory of a device does not grow with the ring.
func TestMemoryOfRings(t *testing.T) {
	for _, d := range []string{"", "  recompute Block\n", "  recompute Block\n  precision { compute = bf16 }\n"} {
		for _, order := range []string{"contiguous", "zigzag"} {
			least := 0
			for _, n := range []int{4, 8, 16} { // of two, keys are never passed on
				rules := fmt.Sprintf("  mesh cp = %d\n  shard seq over cp { attention = ring  order = %s }\n%s", n, order, d)
				source := attentionSource(kinds[0].fields, kinds[0].body, rules)
				o := compiler.Options{File: "m.ptl", Source: []byte(source), Layout: "l", Target: "ref"}
				o.Set = []string{fmt.Sprintf("seq=%d", 128*n), "batch=1", "head=32", "embed=32"}
				p, _, err := compiler.Compile(o)
				if err != nil {
					t.Fatal(err)
				}
				peak := int(p.Devices[0].Arena)
				if least == 0 {
					least = peak
				}
				if peak > least+least/20 {
					t.Errorf("%s, %s over %d: %d bytes, and over 4 %d", strings.TrimSpace(d), order, n, peak, least)
				}
			}
		}
	}
}
