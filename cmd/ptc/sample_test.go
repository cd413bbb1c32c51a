package main

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"ptc/runtime/checkpoint"
	"ptc/runtime/tokenizer"
	"ptc/runtime/train"
)

// decoder is a small model that samples.
const decoder = `import std.nn
import std.optim
import std.data
config {
  batch = 3
  seq   = 24
  embed = 16
  heads = 2
  head  = 8
  vocab = 256
  corpus = "*.txt"
}
module Block {
  norm : nn.RMSNorm
  attn : nn.CausalAttention(std = 0.3, out_std = 0.3)
  fn apply(x) { return x + attn(norm(x)) }
}
model Small {
  param wte : [vocab, embed] ~ normal(std = 0.5)
  blocks : Block[2]
  fn apply(tokens: i32[batch, seq]) -> [batch, seq, vocab] {
    x = wte[vocab = tokens]
    for b in blocks { x = b(x) }
    return dot(x, wte, over = embed)
  }
}
train Small {
  loss      = nn.cross_entropy(Small(tokens), targets, over = vocab)
  optimizer = optim.AdamW(lr = 1e-2)
  data      = data.text(corpus, window = seq, valid = 0.1)
  steps     = 3
}
`

// trained is a plan of decoder, trained for a few steps.
func trained(t *testing.T, set ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, "m.ptl", decoder)
	write(t, "a.txt", strings.Repeat("what comes of it, and what comes then. ", 30))
	write(t, "b.txt", strings.Repeat("0123456789", 40))
	must(t, with(set, "compile", "m.ptl", "-o", "m.bin", "-q", "--target", "ref")...)
	must(t, "run", "m.bin", "--save", "m.st", "--checkpoint", "ck")
}

func evaluated(t *testing.T, args ...string) (e train.Evaluation) {
	t.Helper()
	if err := json.Unmarshal([]byte(must(t, args...).out), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEval(t *testing.T) {
	trained(t)
	must(t, "compile", "m.ptl", "-o", "one.bin", "-q", "--target", "ref", "--set", "batch=1")
	e := evaluated(t, "eval", "m.bin", "--init", "m.st", "--data", "*.txt", "--json", "--per-file")
	one := evaluated(t, "eval", "one.bin", "--init", "m.st", "--data", "*.txt", "--json")
	if e.Windows%3 == 0 || e.Windows != one.Windows || e.Tokens != 24*e.Windows {
		t.Fatalf("%d and %d windows, %d tokens: the last batch is to be in part", e.Windows, one.Windows, e.Tokens)
	}
	if math.Abs(e.Loss-one.Loss) > 1e-5 || math.Abs(math.Exp(e.Loss)-e.Perplexity) > 1e-6*e.Perplexity || e.Note != "" {
		t.Errorf("a batch of 3 gives %v, and one of 1 %v", e, one)
	}
	if len(e.Files) != 2 || e.Files[0].File != "a.txt" || e.Files[0].Loss == e.Files[1].Loss {
		t.Errorf("the files have %+v", e.Files)
	}
	write(t, "short.txt", "few")
	write(t, "empty.txt", "")
	if s := evaluated(t, "eval", "m.bin", "--init", "m.st", "--data", "*.txt", "--json", "--per-file"); len(s.Files) != 2 || !reflect.DeepEqual(s.Files[1], e.Files[1]) || !strings.Contains(s.Note, "2 of 4 files are too short") {
		t.Errorf("with short files there are %+v", s)
	}
	for _, name := range []string{"short.txt", "empty.txt"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if c := evaluated(t, "eval", "m.bin", "--checkpoint", "ck", "--data", "*.txt", "--json"); c.Loss != e.Loss {
		t.Errorf("the checkpoint gives %v, the file %v", c.Loss, e.Loss)
	}
	if v := evaluated(t, "eval", "m.bin", "--init", "m.st", "--json"); v.Windows == 0 || v.Windows >= e.Windows {
		t.Errorf("%d of %d windows are held out", v.Windows, e.Windows)
	}
}

// What is not an average of windows is said, in an evaluation and in a run; a loss with
// weights is one.
func TestEvalNotes(t *testing.T) {
	trained(t)
	const loss = "nn.cross_entropy("
	masked := strings.Replace(decoder, "targets, over = vocab", "where(targets == 99, -1, targets), over = vocab, masked = true", 1)
	root := strings.Replace(strings.Replace(decoder, loss, "sqrt("+loss, 1), "over = vocab)\n", "over = vocab))\n", 1)
	for text, noted := range map[string]bool{masked: false, root: true} {
		write(t, "m.ptl", text)
		must(t, "compile", "m.ptl", "-o", "m.bin", "-q", "--target", "ref")
		e := evaluated(t, "eval", "m.bin", "--init", "m.st", "--data", "*.txt", "--json")
		says := strings.Contains(e.Note, "is a mean of batch means") && strings.Contains(e.Note, "m.ptl:")
		if says != noted || e.Note != "" != noted || (e.Weight > 0) == noted || e.Windows%3 == 0 {
			t.Errorf("%+v", e)
		}
		r := must(t, "run", "m.bin", "--init", "m.st", "--steps", "1")
		if n := strings.Count(r.out+r.err, "is a mean of batch means"); n != map[bool]int{true: 1}[noted] {
			t.Errorf("a run says it %d times:\n%s", n, r.out+r.err)
		}
	}
}

func TestEvalRefuses(t *testing.T) {
	trained(t)
	write(t, "half.st", read(t, "m.st")[:3000])
	for _, c := range []struct {
		code int
		args []string
	}{
		{exitFile, []string{"eval", "m.bin", "--init", "half.st", "--data", "*.txt"}},
		{exitFile, []string{"eval", "m.bin", "--init", "m.st", "--data", "none/*.txt"}},
		{exitFile, []string{"eval", "m.bin", "--checkpoint", "none"}},
		{exitUsage, []string{"eval", "m.bin", "--data", "*.txt"}},
		{exitUsage, []string{"eval", "m.bin", "--init", "m.st", "--per-file"}},
		{exitFile, []string{"sample", "m.bin", "--init", "half.st", "--prompt", "what"}},
		{exitFile, []string{"sample", "m.bin", "--init", "m.st", "--prompt", strings.Repeat("x", 25)}},
		{exitFile, []string{"sample", "m.bin", "--init", "m.st", "--prompt-ids", "300"}},
		{exitFile, []string{"sample", "m.bin", "--init", "m.st", "--prompt", "what", "--stop-id", "300"}},
		{exitInput, []string{"sample", "m.bin", "--init", "m.st", "--prompt", ""}},
		{exitUsage, []string{"sample", "m.bin", "--init", "m.st"}},
		{exitUsage, []string{"sample", "ck", "--init", "m.st", "--prompt", "what"}},
		{exitUsage, []string{"sample", "m.bin", "--init", "m.st", "--prompt", "what", "--top-p", "2"}},
	} {
		if r := ptc(t, c.args...); r.code != c.code || r.err == "" || r.out != "" {
			t.Errorf("%v: exit code %d, not %d: %s", c.args, r.code, c.code, r.err)
		}
	}
}

// TestPromptsNameTheirLine: of many prompts the wrong one is found.
func TestPromptsNameTheirLine(t *testing.T) {
	trained(t)
	write(t, "lines.txt", "what\n\nis\n")
	if r := ptc(t, "sample", "m.bin", "--init", "m.st", "--prompts", "lines.txt"); r.code != exitInput || !strings.Contains(r.err, "line 2 of lines.txt: an empty prompt") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}

func continued(t *testing.T, args ...string) (tokens []int32) {
	t.Helper()
	var c continuation
	if err := json.Unmarshal([]byte(must(t, append([]string{"sample"}, args...)...).out), &c); err != nil {
		t.Fatal(err)
	}
	return c.Tokens
}

func same(a, b []int32) bool {
	text := func(x []int32) string { s, _ := json.Marshal(x); return string(s) }
	return text(a) == text(b)
}

func TestSample(t *testing.T) {
	trained(t)
	greedy := continued(t, "m.bin", "--init", "m.st", "--prompt", "what", "--greedy", "--json", "--max-tokens", "8")
	if len(greedy) != 8 {
		t.Fatalf("%d tokens", len(greedy))
	}
	if long := continued(t, "m.bin", "--init", "m.st", "--prompt-ids", "119,104,97,116", "--greedy", "--json", "--max-tokens", "99"); len(long) != 21 || !same(long[:8], greedy) {
		t.Errorf("%v is not the beginning of %v, or these do not fill the positions", greedy, long)
	}
	longer := continued(t, "m.bin", "--init", "m.st", "--prompt", "what", "--greedy", "--json", "--max-tokens", "40", "--length", "64")
	if len(longer) != 40 {
		t.Errorf("%d tokens of 64 positions", len(longer))
	}
	must(t, "compile", "m.ptl", "-o", "s.bin", "-q", "--target", "ref", "--sample")
	must(t, "verify", "s.bin")
	if got := continued(t, "s.bin", "--checkpoint", "ck", "--prompt", "what", "--greedy", "--json", "--max-tokens", "8"); !same(got, greedy) {
		t.Errorf("a plan that samples gives %v, not %v", got, greedy)
	}

	// What is drawn depends on the seed and the prompt, not on the other prompts.
	draw := []string{"m.bin", "--init", "m.st", "--json", "--max-tokens", "9", "--temperature", "2", "--top-k", "90", "--top-p", "0.95"}
	alone := continued(t, append(draw, "--prompt", "45", "--seed", "7")...)
	if again := continued(t, append(draw, "--prompt", "45", "--seed", "7")...); !same(again, alone) {
		t.Error("a seed draws differently the second time")
	}
	if other := continued(t, append(draw, "--prompt", "45", "--seed", "8")...); same(other, alone) {
		t.Error("another seed draws the same")
	}
	write(t, "prompts", "what\n45\n45\nand\n")
	var list []continuation
	out := must(t, append(append([]string{"sample"}, draw...), "--prompts", "prompts", "--seed", "7")...).out
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 4 {
		t.Fatalf("%v: %s", err, out)
	}
	if !same(list[1].Tokens, alone) || same(list[2].Tokens, alone) {
		t.Errorf("among others %v and %v follow, alone %v", list[1].Tokens, list[2].Tokens, alone)
	}
	text := must(t, "sample", "m.bin", "--init", "m.st", "--prompt", "what", "--greedy", "--max-tokens", "8").out
	if want := new(strings.Builder); true {
		for _, id := range greedy {
			want.WriteByte(byte(id))
		}
		if text != want.String()+"\n" {
			t.Errorf("%q is shown, not %q", text, want)
		}
	}
	stop := string([]byte{byte(greedy[2]), byte(greedy[3])})
	if cut := must(t, "sample", "m.bin", "--init", "m.st", "--prompt", "what", "--greedy", "--max-tokens", "8", "--stop", stop).out; len(cut) > 3 || strings.Contains(cut, stop) {
		t.Errorf("%q does not end at %q", cut, stop)
	}
}

// A prompt that is read by blocks goes on as one that is read token by token, together with a
// prompt that has but one.
func TestSampleReadsPrompts(t *testing.T) {
	trained(t)
	lines := []string{"w", "what comes", "what comes of it, a", "and what comes then. wh", "what comes of it, and wh"}
	write(t, "lines", strings.Join(lines, "\n")+"\n")
	var all []continuation
	if err := json.Unmarshal([]byte(must(t, "sample", "m.bin", "--init", "m.st", "--prompts", "lines", "--greedy", "--json", "--target", "ref:f64").out), &all); err != nil {
		t.Fatal(err)
	}
	must(t, "compile", "m.ptl", "-o", "s.bin", "-q", "--target", "ref:f64", "--sample", "--set", "batch=1")
	for i, line := range lines[1:] {
		for _, plan := range []string{"m.bin", "s.bin"} {
			args := []string{plan, "--init", "m.st", "--prompt", line, "--greedy", "--json"}
			if plan == "m.bin" {
				args = append(args, "--target", "ref:f64")
			}
			if got := continued(t, args...); !same(got, all[i+1].Tokens) || len(got) != 25-len(line) {
				t.Errorf("%s continues %q by %v, not %v", plan, line, got, all[i+1].Tokens)
			}
		}
	}
	if e := must(t, "explain", "s.bin", "--section", "remarks").out; !strings.Contains(e, "in blocks of 23 positions") {
		t.Errorf("nothing says how prompts are read:\n%s", e)
	}
	if e := must(t, "explain", "s.bin").out; strings.Contains(e, " 0 launches") || !strings.Contains(e, "launches") {
		t.Errorf("the step is not that of a position:\n%s", e)
	}
}

// Text and tokens are turned into one another by the tokenizer of the plan's data: a
// file that lies next to the plan, or the one that the manifest next to shards names.
func TestSampleTokenizer(t *testing.T) {
	vocabulary, err := os.ReadFile("../../runtime/tokenizer/testdata/llama2.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, data string }{
		{"text", `data.text(corpus, tokenizer = "llama2.json", window = seq, valid = 0.1)`},
		{"tokens", `data.tokens("shards/*.bin", window = seq, valid = 0.1)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.Mkdir("at", 0o777); err != nil {
				t.Fatal(err)
			}
			write(t, "at/llama2.json", string(vocabulary))
			write(t, "a.txt", strings.Repeat("what comes of it, and what comes then ☂ ", 60))
			must(t, "data", "prepare", "a.txt", "--tokenizer", "at/llama2.json", "-o", "shards")
			model := strings.Replace(decoder, "data.text(corpus, window = seq, valid = 0.1)", c.data, 1)
			write(t, "at/m.ptl", strings.Replace(model, "vocab = 256", "vocab = 512", 1))
			must(t, "compile", "at/m.ptl", "-o", "at/m.bin", "-q", "--target", "ref")
			must(t, "run", "at/m.bin", "--save", "m.st")
			tok, err := tokenizer.Open("at/llama2.json")
			if err != nil {
				t.Fatal(err)
			}
			prompt, err := tok.Encode([]byte("what comes ☂"))
			if err != nil {
				t.Fatal(err)
			}
			sample := []string{"sample", "at/m.bin", "--init", "m.st", "--prompt", "what comes ☂", "--seed", "3", "--max-tokens", "8"}
			if c.name == "tokens" {
				if err := os.Rename("at/llama2.json", "elsewhere.json"); err != nil {
					t.Fatal(err)
				}
				must(t, sample...) // by the copy next to the shards
				if err := os.Remove("shards/llama2.json"); err != nil {
					t.Fatal(err)
				}
				if r := ptc(t, sample...); r.code != exitFile || !strings.Contains(r.err, "the tokenizer file does not exist") {
					t.Errorf("without the tokenizer next to the shards: exit code %d: %s", r.code, r.err)
				}
				write(t, "shards/llama2.json", string(vocabulary))
				must(t, sample...)
				write(t, "shards/llama2.json", strings.Replace(string(vocabulary), "{", "{ ", 1))
				if r := ptc(t, sample...); r.code != exitFile || !strings.Contains(r.err, "another tokenizer") {
					t.Errorf("with another tokenizer next to the shards: exit code %d: %s", r.code, r.err)
				}
				sample = append(sample, "--tokenizer", "elsewhere.json")
			}
			var out continuation
			if err := json.Unmarshal([]byte(must(t, append(sample, "--json")...).out), &out); err != nil {
				t.Fatal(err)
			}
			whole, begin := string(tok.Decode(append(prompt, out.Tokens...))), string(tok.Decode(prompt))
			want := strings.TrimPrefix(whole, begin)
			if len(out.Tokens) != 8 || *out.Text != string([]rune(want)) {
				t.Errorf("%v is %q, not %q", out.Tokens, *out.Text, want)
			}
			if shown := must(t, sample...).out; shown != want+"\n" {
				t.Errorf("%q is shown, and %q is the text", shown, want)
			}
		})
	}
}

// A model that looks ahead cannot be sampled, and the error names the line.
func TestSampleLooksAhead(t *testing.T) {
	trained(t)
	write(t, "m.ptl", strings.Replace(decoder, "x = wte[vocab = tokens]\n", "x = wte[vocab = tokens]\n    x = x - mean(x, over = seq)\n", 1))
	must(t, "compile", "m.ptl", "-o", "m.bin", "-q", "--target", "ref")
	r := ptc(t, "sample", "m.bin", "--init", "m.st", "--prompt", "what")
	if r.code != exitFile || !strings.Contains(r.err, "E0721") || !strings.Contains(r.err, "mean(x, over = seq)") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	if r := ptc(t, "compile", "m.ptl", "-o", "s.bin", "-q", "--target", "ref", "--sample"); r.code != exitInput || !strings.Contains(r.err, "E0721") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

// moved is decoder with values that are moved by one position, as it says.
func moved(by string) string {
	return strings.Replace(decoder, "x = wte[vocab = tokens]\n", "x = wte[vocab = tokens]\n    x = x + "+by+"\n", 1)
}

const (
	shift   = "concat(0 * x[seq = 0..1], x[seq = 0..seq - 1], over = seq)"
	scatter = "scatter(x.rename(seq = kseq), index(kseq) + 1, over = kseq, into = seq, size = seq)"
)

// A model without caches is continued as one that does the same with caches, and is said
// to be slower; what it looks at behind is found when it runs.
func TestSampleWithoutCaches(t *testing.T) {
	trained(t)
	args := []string{"m.bin", "--init", "m.st", "--prompt", "what comes of", "--greedy", "--json", "--target", "ref:f64"}
	write(t, "m.ptl", moved(shift))
	must(t, "compile", "m.ptl", "-o", "m.bin", "-q", "--target", "ref")
	want := continued(t, args...)
	write(t, "m.ptl", moved(scatter))
	must(t, "compile", "m.ptl", "-o", "m.bin", "-q", "--target", "ref")
	if got := continued(t, args...); !same(got, want) || len(got) != 12 {
		t.Errorf("by a scatter %v, by a shift %v", got, want)
	}
	if r := must(t, append([]string{"sample"}, args...)...); !strings.Contains(r.err, "all 24 positions again") {
		t.Errorf("nothing says that it is slow: %s", r.err)
	}
	write(t, "lines", "w\nwhat comes of\n")
	var both []continuation
	lines := []string{"sample", "m.bin", "--init", "m.st", "--prompts", "lines", "--greedy", "--json", "--target", "ref:f64"}
	if err := json.Unmarshal([]byte(must(t, lines...).out), &both); err != nil {
		t.Fatal(err)
	}
	if !same(both[1].Tokens, want) || len(both[0].Tokens) != 24 {
		t.Errorf("together with another one %v, alone %v", both[1].Tokens, want)
	}
	write(t, "m.ptl", moved(strings.Replace(scatter, "index(kseq) + 1", "index(kseq) - 1", 1)))
	must(t, "compile", "m.ptl", "-o", "m.bin", "-q", "--target", "ref")
	if r := ptc(t, append([]string{"sample"}, args...)...); r.code != exitFile || !strings.Contains(r.err, "looks ahead") || r.out != "" {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
	}
}

// The model that `ptc new` writes knows the token behind a window: it slides, and what
// it says goes on as if it had been in the prompt.
func TestSampleSlides(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "new", "my")
	t.Chdir("my")
	write(t, "a.txt", strings.Repeat("what comes of it, and what comes then. ", 30))
	must(t, "compile", "model.ptl", "-q", "--target", "ref", "--set", "corpus=a.txt", "--set", "batch=8", "--set", "steps=20")
	must(t, "run", "model.bin", "--save", "m.st")
	prompt := "and what comes"
	args := []string{"model.bin", "--init", "m.st", "--temperature", "0", "--json", "--max-tokens", "20", "--target", "ref:f64", "--prompt"}
	all := continued(t, append(args, prompt)...)
	if len(all) != 20 {
		t.Fatalf("%d tokens", len(all))
	}
	for _, n := range []int{3, 12} {
		text := prompt
		for _, id := range all[:n] {
			text += string(rune(id))
		}
		if rest := continued(t, append(args, text)...); !same(rest[:20-n], all[n:]) {
			t.Errorf("behind %q comes %v, not %v", text, rest, all[n:])
		}
	}
	write(t, "lines", prompt+"\nwhat com\n")
	var both []continuation
	if err := json.Unmarshal([]byte(must(t, "sample", "model.bin", "--init", "m.st", "--prompts", "lines", "--greedy", "--json", "--max-tokens", "20", "--target", "ref:f64").out), &both); err != nil {
		t.Fatal(err)
	}
	if !same(both[0].Tokens, all) || !same(both[1].Tokens, continued(t, append(args, "what com")...)) {
		t.Errorf("together %v", both)
	}
	if r := ptc(t, append(append([]string{"sample"}, args...), "what")...); r.code != exitFile || !strings.Contains(r.err, "prompt 1 has 4 tokens, and the model reads the 8 before") || r.out != "" {
		t.Errorf("exit code %d: %s%s", r.code, r.out, r.err)
	}
	must(t, "compile", "model.ptl", "-o", "s.bin", "-q", "--target", "ref:f64", "--set", "corpus=a.txt", "--sample", "--set", "batch=1")
	must(t, "verify", "s.bin")
	if got := continued(t, "s.bin", "--init", "m.st", "--prompt", prompt, "--greedy", "--json", "--max-tokens", "20"); !same(got, all) {
		t.Errorf("a plan that samples gives %v, not %v", got, all)
	}
}

// The best checkpoint stays, with its validation loss, however old it is.
func TestKeepBest(t *testing.T) {
	trained(t)
	run := []string{"run", "m.bin", "--steps", "9", "--checkpoint", "best", "--keep", "1", "--keep-best", "--eval-every", "2", "--log", "json"}
	lowest, at := math.Inf(1), 0.0
	for _, e := range events(t, must(t, run...).out) {
		if loss, ok := e["loss"].(float64); ok && e["event"] == "validation" && loss < lowest {
			lowest, at = loss, e["step"].(float64)
		} else if loss, ok := e["val_loss"].(float64); ok && e["event"] == "end" && loss < lowest {
			lowest, at = loss, 9
		}
	}
	entries, err := (&checkpoint.Store{Dir: "best"}).List()
	if err != nil {
		t.Fatal(err)
	}
	best, ok := checkpoint.Best(entries)
	if !ok || *best.Valid != lowest || float64(best.Step) != at || entries[0].Step != 9 || len(entries) > 2 {
		t.Fatalf("%+v is the best of %v; validation found %v at step %v", best, entries, lowest, at)
	}
	// Training with a rate that ruins it leaves the best one alone.
	write(t, "m.ptl", strings.Replace(decoder, "lr = 1e-2", "lr = 3.0", 1))
	must(t, "compile", "m.ptl", "-o", "m.bin", "-q", "--target", "ref")
	must(t, "run", "m.bin", "--steps", "13", "--checkpoint", "best", "--resume", "--keep", "1", "--keep-best", "--eval-every", "2")
	if entries, err = (&checkpoint.Store{Dir: "best"}).List(); err != nil || len(entries) != 2 || entries[0].Step != 13 || entries[1].Step != best.Step {
		t.Errorf("%v: %v", err, entries)
	}
	if e := evaluated(t, "eval", "m.bin", "--checkpoint", "best", "--best", "--json"); e.Loss > lowest+0.5 {
		t.Errorf("the best checkpoint has a loss of %v, not %v", e.Loss, lowest)
	}
	if r := ptc(t, "run", "m.bin", "--keep-best", "--eval-every", "2"); r.code != exitUsage {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}
