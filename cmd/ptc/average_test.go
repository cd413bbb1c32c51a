package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"
)

// A model of masked targets with a term of its router in addition to the loss, and metrics.
const masked = `import std.nn
import std.optim
import std.data
config { batch = 4  seq = 8  embed = 8  ffn = 8  vocab = 256  layers = 2  experts = 2 }
module Block {
  moe : nn.MoE(k = 1, capacity = 4.0, balance = 0.5, z = 0.1)
  fn apply(x) {
    y, extra = moe(x)
    return x + y, extra
  }
}
model M {
  table  : nn.Embedding(vocab, embed)
  blocks : Block[layers]
  head   : nn.Linear(from = embed, to = vocab)
  fn apply(tokens: i32[batch, seq]) {
    h = table(tokens)
    total = 0.0
    for b in blocks {
      h, extra = b(h)
      total = total + extra
    }
    return head(h), total
  }
  fn loss(tokens, targets) {
    logits, extra = apply(tokens)
    return nn.cross_entropy(logits, targets, over = vocab, masked = true) + extra
  }
  fn right(tokens, targets) {
    logits, extra = apply(tokens)
    return nn.accuracy(logits, targets, over = vocab, masked = true)
  }
}
train M {
  loss      = M.loss(tokens, targets)
  metrics   {
    accuracy = M.right(tokens, targets)
    positive = mean(cast(targets >= 0, f32))
  }
  optimizer  = optim.AdamW(lr = 0.05)
  data       = data.tokens("j.jsonl", tokenizer = bytes, prompt = "prompt", column = "completion", valid = 0.4, shuffle = false)
  epochs     = 2
}
layout single { }
layout dp { mesh dp = 2  shard batch over dp }
layout vocab { mesh tp = 2  shard vocab over tp }
layout pipe { mesh pp = 2  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 } }
layout both { mesh dp = 2, pp = 2  shard batch over dp  pipeline blocks over pp { schedule = gpipe  microbatches = 1 } }
`

// TestAverages: the validation loss and the metrics are the same for every batch and layout,
// though windows have different numbers of targets and some have none, and not all windows
// fill a batch. A run tells the metrics of each step and of its validation.
func TestAverages(t *testing.T) {
	t.Chdir(t.TempDir())
	r := rand.New(rand.NewSource(1))
	var lines strings.Builder
	for range 40 {
		completion := make([]byte, 1+r.Intn(10))
		for i := range completion {
			completion[i] = byte('a' + r.Intn(26))
		}
		line, err := json.Marshal(map[string]string{"prompt": strings.Repeat("p", r.Intn(40)), "completion": string(completion)})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%s\n", line)
	}
	write(t, "j.jsonl", lines.String())
	write(t, "m.ptl", masked)
	must(t, "compile", "m.ptl", "-o", "one.bin", "-q", "--target", "ref:f64", "--set", "batch=1")
	run := events(t, must(t, "run", "one.bin", "--save", "m.st", "--log", "json").out)
	start := run[0]
	if n := start["last_step"].(float64); n < 80 || n != 2*float64(int(n/2)) { // two epochs, of one window each
		t.Errorf("two epochs of single windows are %v steps", n)
	}
	want := evaluated(t, "eval", "one.bin", "--init", "m.st", "--json")
	if want.Weight < 20 || want.Windows%8 == 0 || want.Note != "" || len(want.Metrics) != 2 || want.Metrics["accuracy"] == 0 || want.Metrics["positive"] > 0.9 {
		t.Fatalf("%+v", want)
	}
	near := func(what string, x, y float64) {
		t.Helper()
		if !(math.Abs(x-y) <= 2e-5*max(1, math.Abs(y))) {
			t.Errorf("%s is %v, want %v", what, x, y)
		}
	}
	for _, c := range []struct {
		layout string
		batch  int
	}{{"single", 3}, {"single", 64}, {"dp", 4}, {"vocab", 2}, {"pipe", 8}, {"both", 6}} {
		name := fmt.Sprint(c)
		must(t, "compile", "m.ptl", "--layout", c.layout, "-o", "p.bin", "-q", "--target", "ref", "--set", fmt.Sprint("batch=", c.batch))
		got := evaluated(t, "eval", "p.bin", "--init", "m.st", "--json")
		if got.Windows != want.Windows || got.Weight != want.Weight || got.Note != "" {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		near(name+": the loss", got.Loss, want.Loss)
		for m, v := range want.Metrics {
			near(name+": "+m, got.Metrics[m], v)
		}
		all := events(t, must(t, "run", "p.bin", "--init", "m.st", "--steps", "1", "--log", "json").out)
		step, end := all[1]["metrics"].(map[string]any), all[len(all)-1]
		if len(step) != 2 || end["metrics"] == nil {
			t.Fatalf("%s: the step has the metrics %v, the end %v", name, step, end)
		}
	}
}

// TestEpochs: a run ends when every example was fed often enough, whatever the batch was
// before and after it went on from a checkpoint.
func TestEpochs(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "j.jsonl", strings.Repeat(`{"prompt": "what", "completion": "nothing else"}`+"\n", 20))
	write(t, "m.ptl", masked)
	for _, batch := range []int{2, 3, 4} {
		must(t, "compile", "m.ptl", "-o", fmt.Sprint(batch, ".bin"), "-q", "--target", "ref", "--set", fmt.Sprint("batch=", batch))
	}
	last := func(args ...string) int {
		t.Helper()
		var said, ended any
		for _, e := range events(t, must(t, append([]string{"run", "--log", "json"}, args...)...).out) {
			switch e["event"] {
			case "start":
				said = e["last_step"]
			case "end":
				ended = e["steps"]
			}
		}
		if said != ended {
			t.Errorf("%v: %v steps are said, and %v run", args, said, ended)
		}
		n, _ := ended.(float64)
		return int(n)
	}
	n := last("2.bin", "--epochs", "1") * 2 // examples, or one more
	if one := last("2.bin"); one != n && one != n-1 {
		t.Errorf("%d steps of 2 are an epoch, and %d are two", n/2, one)
	}
	n = last("2.bin") // examples of one epoch: two epochs of batches of 2
	for _, batch := range []int{3, 4} {
		if got, want := last(fmt.Sprint(batch, ".bin")), (2*n+batch-1)/batch; got != want {
			t.Errorf("two epochs of %d examples in batches of %d are %d steps, want %d", n, batch, got, want)
		}
		must(t, "run", "2.bin", "--steps", "5", "--checkpoint", "ck", "--overwrite")
		if got, want := last(fmt.Sprint(batch, ".bin"), "--checkpoint", "ck", "--resume"), 5+(2*n-10+batch-1)/batch; got != want {
			t.Errorf("after 5 steps of 2, two epochs end with step %d in batches of %d, want %d", got, batch, want)
		}
		if got := last(fmt.Sprint(batch, ".bin"), "--checkpoint", "ck", "--resume"); got != 5+(2*n-10+batch-1)/batch {
			t.Errorf("a run that is done goes on to step %d", got)
		}
	}
	if r := ptc(t, "run", "2.bin", "--epochs", "2", "--steps", "3"); r.code != exitUsage || !strings.Contains(r.err, "--steps and --epochs both") {
		t.Errorf("both: %d %s", r.code, r.err)
	}
}
