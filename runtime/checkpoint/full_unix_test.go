//go:build unix

package checkpoint

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
)

// The system itself refuses to write, as it does when a disk is full: here by
// the limit on the size of a file, which is met in the middle of a tensor.
func TestFullDiskLeavesTheOldOnes(t *testing.T) {
	s, _ := newStore(t)
	saveT(t, s, 1)
	before := files(t, s)

	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limited := old
	limited.Cur = 32 << 20 // above what the go command logs of the tests of this package, a line for each file
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limited); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)

	big := Tensor{safetensors.Tensor{Name: "big", DType: dtype.U8, Shape: []int64{64 << 20}}, []string{"x"}}
	w, err := s.Begin(Meta{Step: 2}, []Tensor{big})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write("big", Slice{}, make([]byte, 64<<20))
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("error %v, want EFBIG", err)
	}
	w.Abort()
	if got := files(t, s); !slices.Equal(got, before) {
		t.Errorf("left %v", got)
	}
	latestT(t, s, 1)
}
