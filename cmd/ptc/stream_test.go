package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// streamModel reads two numbers and gives one.
const streamModel = `import std.nn
import std.optim
import std.data
config { batch = 4  inputs = 2  outputs = 1 }
model M {
  l : nn.Linear(inputs, outputs)
  fn apply(x: [batch, inputs]) { return l(x) }
}
train M {
  loss = nn.mse(M(x), y)
  optimizer = optim.AdamW(lr = 1e-2)
  data = data.stream_arrays(f32[batch, inputs], f32[batch, outputs])
  steps = 6
}
layout one { }
layout two {
  mesh dp = 2
  shard batch over dp
}
`

// streamOf is n examples as arrays of NumPy's format, a few at once.
func streamOf(n int) string {
	var b strings.Builder
	array := func(rows, cols int, at func(i int) float32) {
		head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
		head += strings.Repeat(" ", 127-10-len(head)) + "\n"
		b.WriteString("\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(head)))) + head)
		for i := range rows * cols {
			raw, _ := binary.Append(nil, binary.LittleEndian, at(i))
			b.Write(raw)
		}
	}
	for first := 0; first < n; first += 3 {
		rows := min(3, n-first)
		array(rows, 2, func(i int) float32 { return float32((first*2+i)%11) / 11 })
		array(rows, 1, func(i int) float32 { return float32((first+i)%5) / 5 })
	}
	return b.String()
}

// TestStreamRuns: a run that is fed by a program, stopped and resumed gives the bits of one that went through,
// under another layout and batch too, and a stream that is too short ends it, saved.
func TestStreamRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "m.ptl", streamModel)
	write(t, "all.npy", streamOf(100))
	write(t, "few.npy", streamOf(14))
	must(t, "compile", "m.ptl", "--target", "ref", "-q", "-o", "m.bin")
	must(t, "compile", "m.ptl", "--target", "ref", "--layout", "two", "-q", "-o", "two.bin")
	run := func(args ...string) result { return must(t, append([]string{"run"}, args...)...) }
	run("m.bin", "--data", "cat all.npy", "--save", "whole.safetensors")
	run("m.bin", "--data", "cat all.npy", "--steps", "3", "--checkpoint", "c")
	run("m.bin", "--data", "cat all.npy", "--checkpoint", "c", "--resume", "--save", "resumed.safetensors")
	if read(t, "whole.safetensors") != read(t, "resumed.safetensors") {
		t.Error("a resumed run differs from one that went through")
	}
	run("two.bin", "--data", "cat all.npy", "--save", "two.safetensors")

	r := run("m.bin", "--data", "cat few.npy", "--save", "short.safetensors")
	if !strings.Contains(r.out+r.err, "the data ended after step 3, so the run ends before") {
		t.Errorf("a stream of 14 examples for 6 steps of 4: %s%s", r.out, r.err)
	}
	run("m.bin", "--data", "cat all.npy", "--steps", "3", "--save", "three.safetensors")
	if read(t, "short.safetensors") != read(t, "three.safetensors") {
		t.Error("a stream of three batches and a half gives other parameters than three steps")
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitFile, "names no program", []string{"m.bin"}},
		{exitFile, "no-such-file", []string{"m.bin", "--data", "cat no-such-file"}},
		{exitUsage, "--data is empty", []string{"m.bin", "--data", ""}},
	} {
		if r := ptc(t, append([]string{"run"}, c.args...)...); r.code != c.code || !strings.Contains(r.err, c.want) {
			t.Errorf("%v: exit code %d: %s", c.args, r.code, r.err)
		}
	}
}
