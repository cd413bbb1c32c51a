package compiler

import (
	"errors"
	"fmt"
	"testing"

	"ptc/backend/cpu/llvm"
	"ptc/internal/diag"
)

// A failure of code generation is ours, unless the user can mend it.
func TestGenerated(t *testing.T) {
	for _, c := range []struct {
		err error
		bug bool
	}{
		{errors.New("kernel @gemm_0 (gemm): store: reaches elements 0 to 15 of out0[1]"), true},
		{fmt.Errorf("the target needs libLLVM: %w", llvm.ErrNone), false},
		{fmt.Errorf("the target needs libLLVM: %w", llvm.ErrNotFound), false},
		{&diag.Error{Code: "E0701", Msg: "unknown target"}, false},
	} {
		var bug *Bug
		if got := errors.As(generated(c.err), &bug); got != c.bug {
			t.Errorf("%v: a bug: %v, want %v", c.err, got, c.bug)
		}
	}
}
