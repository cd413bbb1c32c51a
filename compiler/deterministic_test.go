package compiler

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"testing"

	"ptc/backend/cpu/llvm"
	"ptc/runtime/program"
)

// targets are one of each backend that generates code here.
func targets(t *testing.T) []string {
	t.Helper()
	if _, err := llvm.Load(); err != nil {
		if os.Getenv(llvm.EnvLLVM) == "none" {
			return []string{"ref"}
		}
		t.Fatal(err)
	}
	return []string{"ref", "ref:f64", "cpu", "cpu:x86-64-v3", "cpu:neoverse-v2"}
}

func encoded(t *testing.T, name, target string) []byte {
	t.Helper()
	b, err := program.Encode(compile(t, name, target, small[name]))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The same source for the same target gives the same bytes: with one
// processor, and with two, concurrently with itself.
func TestDeterministic(t *testing.T) {
	for _, target := range targets(t) {
		t.Run(target, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			want := encoded(t, "mlp", target)
			runtime.GOMAXPROCS(2)
			var got [2][]byte
			var wg sync.WaitGroup
			for i := range got {
				wg.Add(1)
				go func() {
					defer wg.Done()
					got[i] = encoded(t, "mlp", target)
				}()
			}
			wg.Wait()
			for _, b := range got {
				if !bytes.Equal(b, want) {
					t.Error("another plan with two processors than with one")
				}
			}
		})
	}
}

// Every example gives the same bytes twice.
func TestExamplesTwice(t *testing.T) {
	for name := range small {
		if !bytes.Equal(encoded(t, name, "ref"), encoded(t, name, "ref")) {
			t.Errorf("%s: two compilations differ", name)
		}
	}
}
