package profile

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func measured(t testing.TB) (*Report, string) {
	t.Helper()
	r := New(toy(), 2, Ceilings{Threads: 4, Flops: 2000, Dot: 4000, Read: 400, Copy: 400, Update: 400})
	for rank := range 2 {
		r.Step(spansOf(rank, time.Unix(0, 0), time.Microsecond), time.Millisecond)
	}
	text, err := json.Marshal(r.Report())
	if err != nil {
		t.Fatal(err)
	}
	return r.Report(), string(text)
}

// TestRead: what was written is read, and what is none, or cannot be, is refused.
func TestRead(t *testing.T) {
	want, text := measured(t)
	got, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, x := range []struct{ text, say string }{
		{`{"traceEvents":[]}`, "it is a trace"},
		{`{}`, "of version 0"},
		{`[`, "no JSON"},
		{`{"version":1,"steps":1,"ranks":[]}`, "no step"},
		{strings.Replace(text, `"version":1`, `"version":2`, 1), "of version 2"},
		{strings.Replace(text, `"kernel_ms":`, `"kernel_ms":-`, 1), "negative"},
		{strings.Replace(text, `"rank":1`, `"rank":0`, 1), "rank 0 is there twice"},
		{strings.Replace(text, `"ms_per_step":`, `"ms_per_step":1e999,"x":`, 1), "no JSON"},
	} {
		if _, err := Read(strings.NewReader(x.text)); err == nil || !strings.Contains(err.Error(), x.say) {
			t.Errorf("%.60s: %v, want %q", x.text, err, x.say)
		}
	}
}

// FuzzRead: what lies in a file never panics, and what is read can be shown.
func FuzzRead(f *testing.F) {
	_, text := measured(f)
	f.Add(text)
	f.Add(`{"version":1,"steps":1,"ranks":[{"rank":0,"kernels":[{"name":"a","launches_per_step":1,"calls":[{}]}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := Read(strings.NewReader(text)); err == nil {
			_ = p.Text()
		}
	})
}
