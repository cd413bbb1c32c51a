package device

import (
	"bytes"
	"strings"
	"testing"
)

// TestRanges: where ranges of one memory, and of two memories of the same bytes, lie.
func TestRanges(t *testing.T) {
	all := []byte("abcdefgh")
	m := NewHost(all, nil)
	r := Range{Memory: m, Offset: 2, Bytes: 4}
	if b, ok := r.HostBytes(); !ok || string(b) != "cdef" || cap(b) != 4 {
		t.Errorf("%q, %v", b, ok)
	}
	same, other := r.Slice(1, 3), Bytes(all[3:5])
	if b, _ := same.HostBytes(); string(b) != "de" {
		t.Errorf("%q", b)
	}
	x, at := same.Place()
	y, of := other.Place()
	if x != y || at != of {
		t.Error("bytes that two ranges share lie in two places")
	}
	if b, ok := (Range{}).HostBytes(); !ok || b != nil || Bytes(nil) != (Range{}) {
		t.Error("no range is some")
	}
	if b, ok := Bytes([]byte{}).HostBytes(); !ok || b == nil {
		t.Error("a range of no bytes is none")
	}
}

// TestCopies of the host's memory, to which another's cannot be copied.
func TestCopies(t *testing.T) {
	freed := 0
	a, b := NewHost(make([]byte, 8), func() { freed++ }), NewFile(make([]byte, 4), nil)
	got := make([]byte, 4)
	for _, err := range []error{
		a.CopyIn(2, []byte("wxyz")), b.Copy(0, Range{Memory: a, Offset: 2, Bytes: 4}), b.CopyIn(1, []byte("X")),
		a.Copy(4, Range{Memory: b, Bytes: 3}), a.CopyOut(got, 3),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if string(got) != "xwXy" || a.Size() != 8 {
		t.Errorf("%q", got)
	}
	if err := a.Copy(0, Range{Memory: elsewhere{}, Bytes: 4}); err == nil {
		t.Error("copied from nowhere")
	}
	a.Close()
	a.Close()
	if mem, _ := a.HostBytes(); freed != 1 || mem != nil {
		t.Errorf("freed %d times", freed)
	}
}

// elsewhere is a memory that is not the host's.
type elsewhere struct{ Memory }

func (elsewhere) HostBytes() ([]byte, bool) { return nil, false }

// TestKinds names the kinds that there are, and Wrap exchanges them.
func TestKinds(t *testing.T) {
	opened := ""
	as := func(name string) Opener {
		return func(Request) (Engine, error) { opened += name; return nil, nil }
	}
	defer delete(kinds, "test")
	Register("test", Kind{Open: as("own")})
	if _, err := Find("ptx"); err == nil || !strings.Contains(err.Error(), `kind "ptx": this ptc runs test`) {
		t.Errorf("%v", err)
	}
	for _, f := range []func(Opener) Opener{func(Opener) Opener { return as(" other") }, nil} {
		Wrap(f)
		k, err := Find("test")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = k.Open(Request{})
	}
	if opened != " otherown" {
		t.Errorf("opened %q", opened)
	}
	defer func() {
		if recover() == nil {
			t.Error("one kind is registered twice")
		}
	}()
	Register("test", Kind{Open: as("again")})
}

func TestBytesAreTheCallers(t *testing.T) {
	mine := []byte("1234")
	if err := Bytes(mine).Memory.CopyIn(1, []byte("xy")); err != nil || !bytes.Equal(mine, []byte("1xy4")) {
		t.Errorf("%q, %v", mine, err)
	}
}
