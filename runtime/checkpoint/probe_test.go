package checkpoint

import (
	"errors"
	"io"
	"os"
	"testing"
)

// TestProbe: as many bytes are written as are asked for, and nothing is left, whatever
// fails.
func TestProbe(t *testing.T) {
	s, _ := newStore(t)
	for _, n := range []int64{0, 1, 1<<20 + 17} {
		wrote := &counted{}
		s.wrap = func(w io.WriterAt) io.WriterAt { wrote.to = w; return wrote }
		if took, err := s.Probe(n); err != nil || took <= 0 || wrote.n != n {
			t.Errorf("%d bytes: %v, %v, %d written", n, took, err, wrote.n)
		}
	}
	for _, step := range []string{"make the temporary folder", "sync the probe"} {
		s.fault = func(at string) error {
			if at == step {
				return errFault
			}
			return nil
		}
		if _, err := s.Probe(10); !errors.Is(err, errFault) {
			t.Errorf("%s: %v", step, err)
		}
	}
	names, err := os.ReadDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if n.Name() != lockName {
			t.Errorf("%s is left", n.Name())
		}
	}
	s.Unlock()
	if _, err := s.Probe(10); err == nil {
		t.Error("a store that is not locked is written to")
	}
}

type counted struct {
	to io.WriterAt
	n  int64
}

func (c *counted) WriteAt(p []byte, at int64) (int, error) {
	c.n = max(c.n, at+int64(len(p)))
	return c.to.WriteAt(p, at)
}
