package compiler_test

import (
	"testing"

	"ptc/compiler"
)

// overLinks is a model whose backward phase writes gradients over activations: those that a block
// passes on lie in the place of the next block.
const overLinks = `import std.nn
import std.optim
import std.data
config { batch = 1  embed = 1  ffn = 4  inputs = 1  layers = 2  outputs = 1 }
module Block {
  ffn  : nn.MLP(hidden = ffn, act = tanh, bias = false)
  norm : nn.RMSNorm
  param whole : [embed] ~ ones
  fn apply(x: [batch, embed]) {
    x = x + ffn(norm(x))
    return x * whole / sqrt(mean(whole * whole) + 1e-2)
  }
}
model M {
  first  : nn.Linear(inputs, embed)
  blocks : Block[layers]
  norm   : nn.LayerNorm
  out    : nn.Linear(embed, outputs, bias = false)
  fn loss(x: [batch, inputs], y: [batch, outputs]) {
    h = first(x)
    for b in blocks { h = b(h) }
    return nn.mse(out(norm(h)), y)
  }
}
train M {
  loss      = M.loss(x, y)
  optimizer = optim.Lion(lr = 0.02)
  data      = data.synthetic(inputs, outputs)
}
layout plain { }
layout again { recompute Block }
`

// TestOverLinks: what lies over a value of a neighbouring instance is over when that instance
// has read it, not when its own has.
func TestOverLinks(t *testing.T) {
	for _, layout := range []string{"plain", "again"} {
		_, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(overLinks), Layout: layout, Target: "ref", VerifyEach: true})
		if err != nil {
			t.Errorf("%s: %v", layout, err)
		}
	}
}
