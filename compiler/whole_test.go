package compiler

import (
	"math"
	"math/rand"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir/tensor"
	"ptc/passes/decode"
)

// scattered moves values along positions by where they are added, which has no caches.
const scattered = `p = softmax(where(` + causal + `, s, -inf), over = kseq)
    x = x + scatter(x.rename(seq = kseq), index(kseq) + 1, over = kseq, into = seq, size = 8)`

// What has no caches is computed of all positions: its logits at a position are those
// that all positions have, whatever is behind it.
func TestWindowAtPosition(t *testing.T) {
	m := sampled(t, "m.ptl", attends(scattered))
	_, err := decode.Derive(m.Funcs[0])
	if list, ok := diag.As(err); !ok || list[0].Code != "E0722" {
		t.Fatalf("%v, want E0722", err)
	}
	f, err := decode.Window(m.Funcs[0])
	if err != nil {
		t.Fatal(err)
	}
	full := m.Funcs[0]
	r := rand.New(rand.NewSource(3))
	by := numbers(r, full, 16, map[string]*tensor.Tensor{})
	all, err := run(m, full, by)
	if err != nil {
		t.Fatal(err)
	}
	vocab, text := 16, by["tokens"].Clone()
	by = numbers(r, f, vocab, by)
	for at := range 8 {
		by[decode.Position].Data[0] = float64(at)
		for i := range by["tokens"].Data {
			if by["tokens"].Data[i] = text.Data[i]; i%8 > at {
				by["tokens"].Data[i] = float64(r.Intn(vocab))
			}
		}
		got, err := run(m, f, by)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range got[0].Data {
			if want := all[0].Data[(i/vocab*8+at)*vocab+i%vocab]; !(math.Abs(x-want) <= 1e-12) {
				t.Fatalf("position %d: logit %d is %v, not %v", at, i, x, want)
			}
		}
	}
}

// A plan says in its remarks how it is computed.
func TestHowItSamples(t *testing.T) {
	last := strings.Replace(attends("p = softmax(s, over = kseq)"), "[batch, seq, vocab] {", "[batch, vocab] {", 1)
	last = strings.Replace(last, "return dot(x + dot(dot(p, v, over = kseq), wo, over = (heads, head)), wte, over = embed)",
		"return mean(dot(x + dot(dot(p, v, over = kseq), wo, over = (heads, head)), wte, over = embed), over = seq)", 1)
	last = strings.Replace(last, "nn.cross_entropy(M(tokens), targets, over = vocab)", "mean(M(tokens), over = (batch, vocab))", 1)
	for name, c := range map[string]struct {
		source   string
		sample   Sample
		programs int
		says     string
	}{
		"caches":         {attends(masks["causal"]), Sample{}, 2, "in blocks of 7 positions"},
		"a short prompt": {attends(masks["causal"]), Sample{Prompt: 4}, 1, "2 caches"},
		"shift":          {attends(moves["shift"]), Sample{Batch: 1}, 2, "in blocks of 7 positions"},
		"experts":        {strings.Replace(example(t, "moe"), "data.text(corpus, tokenizer = bytes, window = seq, valid = 0.05)", "data.synthetic_tokens(seq, vocab)", 1), Sample{}, 2, "the same position"},
		"scatter":        {attends(scattered), Sample{}, 1, "from all positions again"},
		"the last alone": {last, Sample{}, 1, "the window slides"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{File: "m.ptl", Source: []byte(c.source), Target: "ref", Sample: &c.sample}
			if name == "experts" {
				o.Set = sizesIn(c.source)
			}
			p, r, err := Compile(o)
			if err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, x := range r.Remarks {
				if x.Pass == "decode" {
					said = append(said, x.Text)
				}
			}
			if n := len(p.Devices[0].Progs); n != c.programs || !strings.Contains(strings.Join(said, "\n"), c.says) {
				t.Errorf("%d programs; %q", n, said)
			}
		})
	}
}

// Logits that no token changes are the user's mistake.
func TestSampleWithoutTokens(t *testing.T) {
	source := strings.Replace(attends(masks["causal"]), "x = wte[vocab = tokens]", "x = broadcast(mean(wte, over = vocab), as = f32[batch, seq, embed])", 1)
	_, _, err := Compile(Options{File: "m.ptl", Source: []byte(source), Target: "ref", Sample: &Sample{}})
	if list, ok := diag.As(err); !ok || list[0].Code != "E0720" {
		t.Errorf("%v, want E0720", err)
	}
}

// A block is cut so that those of a prompt are alike.
func TestBlockSizes(t *testing.T) {
	for _, c := range []struct{ prompt, batch, length, want int }{
		{0, 1, 1, 0}, {0, 1, 2, 1}, {0, 1, 128, 127}, {0, 1, 1024, 128}, {0, 64, 1024, 128},
		{0, 4096, 1024, 2}, {0, 9000, 1024, 0}, {8, 1, 1024, 0}, {9, 1, 1024, 8}, {130, 1, 1024, 65}, {2000, 1, 64, 63},
	} {
		if got := (&Sample{Prompt: c.prompt}).block(c.batch, c.length, true); got != c.want {
			t.Errorf("prompts of %d, %d of them, %d positions: blocks of %d, not %d", c.prompt, c.batch, c.length, got, c.want)
		}
	}
	if got := (&Sample{Prompt: 130}).block(1, 1024, false); got != 64 {
		t.Errorf("without padding, 129 positions are in blocks of %d", got)
	}
}
