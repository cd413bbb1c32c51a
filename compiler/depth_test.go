package compiler

import (
	"testing"

	"ptc/runtime/program"
)

// deep is a model of many layers with four parameters each, whose updates need not
// wait for one another.
const deep = `import std.nn
import std.optim
import std.data

config { layers = 60  batch = 4  seq = 2  embed = 4  vocab = 256  steps = 2 }

module Layer {
  param w1 : [embed, wide = embed] ~ normal(std = 0.1)
  param b1 : [embed]               ~ zeros
  param g  : [embed]               ~ ones
  param b2 : [embed]               ~ zeros

  fn apply(x) { return x + tanh(dot(x, w1, over = embed).rename(wide = embed) + b1) * g + b2 }
}

model Deep {
  param table : [vocab, embed] ~ normal(std = 0.1)
  layers : Layer[layers]
  param head  : [embed, vocab] ~ normal(std = 0.1)

  fn apply(tokens: i32[batch, seq]) {
    x = table[vocab = tokens]
    for l in layers { x = l(x) }
    return dot(mean(x, over = seq), head, over = embed)
  }
}

train Deep {
  loss      = nn.cross_entropy(Deep(tokens), targets, over = vocab)
  optimizer = optim.AdamW(lr = 1e-3, clip = 1.0)
  data      = data.text("*.go", tokenizer = bytes, window = seq, predict = last)
  steps     = steps
}

layout single { }
layout ddp { mesh dp = 2  shard batch over dp }
layout zero { mesh dp = 2  shard batch over dp  zero 3 over dp }
layout pipe { mesh pp = 2  pipeline layers over pp { microbatches = 2 } }
`

// A deep model makes a plan that the reader accepts, under every kind of layout.
func TestDepth(t *testing.T) {
	for _, layout := range []string{"single", "ddp", "zero", "pipe"} {
		p, _, err := Compile(Options{File: "deep.ptl", Source: []byte(deep), Layout: layout, Target: "ref:f32"})
		if err != nil {
			t.Errorf("%s: %v", layout, err)
			continue
		}
		data, err := program.Encode(p)
		if err != nil {
			t.Errorf("%s: %v", layout, err)
			continue
		}
		if _, err := program.Decode(data); err != nil {
			t.Errorf("%s: %v", layout, err)
		}
	}
}
