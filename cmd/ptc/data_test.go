package main

import (
	"encoding/binary"
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
