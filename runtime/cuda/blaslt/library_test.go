package blaslt

import (
	"testing"
	"unsafe"

	"ptc/internal/foreign"
)

// TestLayout: what functions of the library write lies as cublasLt.h of CUDA 12.4 has it.
func TestLayout(t *testing.T) {
	var r result
	for name, c := range map[string][2]uintptr{
		"size": {unsafe.Sizeof(r), 96}, "workspaceSize": {unsafe.Offsetof(r.workspace), 64}, "state": {unsafe.Offsetof(r.state), 72},
		"wavesCount": {unsafe.Offsetof(r.waves), 76}, "reserved": {unsafe.Offsetof(r.reserved), 80},
	} {
		if c[0] != c[1] {
			t.Errorf("%s is %d; expected %d", name, c[0], c[1])
		}
	}
}

func TestAlignment(t *testing.T) {
	for at, want := range map[uint64]int{0: 256, 1 << 20: 256, 256: 256, 192: 64, 6: 2, 7: 1} {
		if got := Alignment(at); got != want {
			t.Errorf("%d is aligned by %d; expected %d", at, got, want)
		}
	}
}

// TestHere: the library of this machine is loaded, or the package says why not.
func TestHere(t *testing.T) {
	Use(nil)
	for _, driver := range []int{12040, 13000} {
		l, err := Open(driver)
		if err != nil {
			t.Logf("for a driver of CUDA %d: %v", driver/1000, err)
			continue
		}
		if l.Version < oldest || foreign.Available() != nil {
			t.Errorf("%+v", l)
		}
	}
}
