package foreign_test

import (
	"errors"
	"testing"
	"unsafe"

	"ptc/internal/foreign"
)

// table is a library of functions, in two versions, one of them optional.
type table struct {
	Open, Close foreign.Function
	Copy        foreign.Function `version:"_v2"`
	Hint        foreign.Function `optional:""`
	version     int
}

// lookup has all functions except one, and counts the calls.
func lookup(lacks string, calls *int) foreign.Lookup {
	return func(symbol string) (uintptr, error) {
		*calls++
		if symbol == lacks {
			return 0, errors.New("undefined symbol")
		}
		return uintptr(len(symbol)), nil
	}
}

func TestFind(t *testing.T) {
	for lacks, want := range map[string]string{"": "", "libHint": "", "libCopy": "", "libCopy_v2": "libCopy_v2", "libOpen": "libOpen"} {
		var x table
		var calls int
		if got := foreign.Find(foreign.Functions(&x, "lib"), lookup(lacks, &calls)); got != want {
			t.Errorf("without %q: found %q missing; expected %q", lacks, got, want)
		}
		if want == "" && (calls != 4 || x.Copy.Name != "libCopy" || x.Copy.At != 10 || x.Close.At != 8 || (x.Hint.At == 0) != (lacks == "libHint")) {
			t.Errorf("without %q: %d calls, %+v", lacks, calls, x)
		}
	}
}

// TestShared: a library is bound once, again after an error, and anew for other functions.
func TestShared(t *testing.T) {
	var s foreign.Shared[table]
	bound, fails := 0, true
	get := func() (*table, error) {
		return s.Get(func(find foreign.Lookup) (*table, error) {
			if fails {
				return nil, errors.New("no library")
			}
			bound++
			return &table{version: bound}, nil
		})
	}
	if _, err := get(); err == nil {
		t.Error("an error is lost")
	}
	fails = false
	for range 2 {
		if x, err := get(); err != nil || x.version != 1 {
			t.Errorf("found %+v, %v", x, err)
		}
	}
	s.Use(lookup("", new(int)))
	if x, err := get(); err != nil || x.version != 2 {
		t.Errorf("after Use: %+v, %v", x, err)
	}
}

func TestText(t *testing.T) {
	text := []byte("two words\x00more")
	if got := foreign.Text(uintptr(unsafe.Pointer(unsafe.SliceData(text)))); got != "two words" {
		t.Errorf("found %q", got)
	}
	if got := foreign.Text(0); got != "" {
		t.Errorf("found %q at no address", got)
	}
}
