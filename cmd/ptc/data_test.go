package main

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"
)

// withData is decoder with another source.
func withData(source string) string {
	return strings.Replace(decoder, "data.text(corpus, window = seq, valid = 0.1)", source, 1)
}

// shard writes a file of tokens below a number.
func shard(t *testing.T, name string, n, below int) {
	t.Helper()
	var raw []byte
	for i := range n {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(i*i%below))
	}
	write(t, name, string(raw))
}

// A mixture trains, and a run that is resumed is fed the same.
func TestMixture(t *testing.T) {
	t.Chdir(t.TempDir())
	shard(t, "a.bin", 2000, 97)
	write(t, "b.txt", strings.Repeat("what comes of it, and what comes then. ", 60))
	source := withData(`data.mix(7 * data.tokens("a.bin", window = seq), data.text("b.txt", window = seq) * 3)`)
	write(t, "m.ptl", source)
	must(t, "compile", "m.ptl", "-o", "m.bin", "-q", "--target", "ref")
	must(t, "verify", "m.bin")
	log := []string{"--log", "json"}
	whole := losses(t, must(t, append([]string{"run", "m.bin", "--steps", "6"}, log...)...).out)
	must(t, "run", "m.bin", "--steps", "3", "--checkpoint", "ck")
	rest := losses(t, must(t, append([]string{"run", "m.bin", "--steps", "6", "--checkpoint", "ck", "--resume"}, log...)...).out)
	if len(whole) != 7 || len(rest) != 4 { // the last one is that of validation
		t.Fatalf("%d and %d losses", len(whole), len(rest))
	}
	for i := range rest {
		if rest[i] != whole[3+i] {
			t.Errorf("resumed step %d has the loss %v, not %v", 4+i, rest[i], whole[3+i])
		}
	}
}

// Labelled arrays train a classifier.
func TestArraysTrain(t *testing.T) {
	t.Chdir(t.TempDir())
	npy := func(name, kind, shape string, body []byte) {
		head := "{'descr': '" + kind + "', 'fortran_order': False, 'shape': (" + shape + "), }\n"
		raw := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(head)))
		write(t, name, string(append(append(raw, head...), body...)))
	}
	var images, labels []byte
	for i := range 40 {
		images = append(images, make([]byte, 4)...)
		images[4*i+i%4] = 255
		labels = binary.LittleEndian.AppendUint64(labels, uint64(i%4))
	}
	npy("x.npy", "|u1", "40, 4", images)
	npy("y.npy", "<i8", "40", labels)
	write(t, "m.ptl", `import std.nn
import std.optim
import std.data
config { batch = 6  pixels = 4  classes = 4 }
model M {
  param w : [pixels, classes] ~ zeros
  fn apply(x: [batch, pixels]) -> [batch, classes] { return dot(x, w, over = pixels) }
}
train M {
  loss      = nn.cross_entropy(M(x), y, over = classes)
  optimizer = optim.SGD(lr = 1.0)
  data      = data.arrays(x = "x.npy", y = "y.npy", x_type = f32[batch, pixels], y_type = i32[batch], scale = 1 / 255, valid = 0.2)
}
`)
	must(t, "compile", "m.ptl", "-o", "m.bin", "-q", "--target", "ref")
	out := losses(t, must(t, "run", "m.bin", "--steps", "60", "--log", "json").out)
	if first, valid := out[0], out[len(out)-1]; first < 1.3 || valid > 0.3 {
		t.Errorf("the loss goes from %v to %v", first, valid)
	}
}

// A plan holds the tokenizer of each source of a mixture, and refuses another file.
func TestMixtureTokenizer(t *testing.T) {
	vocabulary, err := os.ReadFile("../../runtime/tokenizer/testdata/llama2.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write(t, "llama2.json", string(vocabulary))
	shard(t, "a.bin", 2000, 97)
	write(t, "b.txt", strings.Repeat("what comes of it, and what comes then. ", 60))
	source := withData(`data.mix(data.tokens("a.bin", window = seq), data.text("b.txt", tokenizer = "llama2.json", window = seq))`)
	write(t, "m.ptl", strings.Replace(source, "vocab = 256", "vocab = 512", 1))
	must(t, "compile", "m.ptl", "-o", "m.bin", "-q", "--target", "ref")
	must(t, "verify", "m.bin")
	must(t, "run", "m.bin", "--save", "m.st")
	must(t, "sample", "m.bin", "--init", "m.st", "--prompt", "what", "--max-tokens", "2")
	write(t, "llama2.json", strings.Replace(string(vocabulary), "{", "{ ", 1))
	if r := ptc(t, "run", "m.bin"); r.code != exitFile || !strings.Contains(r.err, "another tokenizer") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

// A number of threads that is given is one.
func TestDataThreads(t *testing.T) {
	for _, n := range []string{"0", "-3"} {
		if r := ptc(t, "data", "prepare", "a.txt", "--tokenizer", "t.json", "-o", "out", "--threads", n); r.code != exitUsage || !strings.Contains(r.err, "--threads is "+n+", but must be at least 1") {
			t.Errorf("exit code %d\n%s", r.code, r.err)
		}
	}
}
