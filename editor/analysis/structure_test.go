package analysis

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/internal/diag"
	"ptc/runtime/explain"
)

// TestMemoryOfTheTarget: the memory of a device is that of the plan which is compiled for the
// target, of which no code was made for it. Targets differ in it: processors compute logits
// for some rows at a time where a GPU has all of them.
func TestMemoryOfTheTarget(t *testing.T) {
	in := example(t, "gpt")
	in.Text = strings.NewReplacer("layers = 4", "layers = 1", "vocab  = 256", "vocab  = 4096").Replace(in.Text)
	differ := map[int64]bool{}
	for _, target := range []string{"cuda", "cpu:x86-64-v2"} {
		in.Target = target
		s := Compile(context.Background(), in, "single")
		if s == nil || s.Plan == nil {
			t.Fatalf("%s: nothing was compiled: %+v", target, s)
		}
		plan, _, err := compiler.Compile(compiler.Options{File: in.Name, Source: []byte(in.Text), Layout: "single", Target: target})
		if err != nil {
			t.Fatal(err)
		}
		want := (&Structure{Plan: explain.Describe(plan)}).Memory()
		if got := s.Memory(); got != want || got == 0 {
			t.Errorf("%s: %d bytes are shown, and the plan has %d", target, got, want)
		}
		differ[want] = true
	}
	if len(differ) != 2 {
		t.Errorf("both targets have the same memory: nothing is compared")
	}
	in.Target = "nothing"
	if s := Compile(context.Background(), in, "single"); s == nil || len(s.Errs) != 1 || s.Errs[0].Code != "E0701" {
		t.Errorf("a target that there is not: %+v", s)
	}
	if forms("") != "cpu" && forms("") != reference {
		t.Errorf("without a target it is %q", forms(""))
	}
	var none *diag.Error
	if _, _, err := compiler.Compile(compiler.Options{File: in.Name, Source: []byte(in.Text), Target: "ref", Forms: "nothing"}); !errors.As(err, &none) {
		t.Errorf("forms of no target: %v", err)
	}
}
