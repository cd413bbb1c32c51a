package compiler

import (
	"errors"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"ptc/internal/diag"
	"ptc/passes/check"
)

// liveWhile is the most memory of Go that was reachable while f ran, as each collection
// found it: there is one for each fifth that the heap grows by.
func liveWhile(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	read := func() int64 { metrics.Read(sample); return int64(sample[0].Value.Uint64()) }
	debug.FreeOSMemory()
	before, most := read(), int64(0)
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			most = max(most, read())
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most - before
}

// TestCheckMemory: what a check is said to need is what it takes, on devices, in a
// pipeline, and with values that are rounded; and sizes that need more are refused before anything is executed.
func TestCheckMemory(t *testing.T) {
	text, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	layouts := `
layout two { mesh tp = 2  shard heads, ffn, vocab over tp }
layout pipe { mesh pp = 2  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 } }
layout half { precision { compute = bf16 } }
`
	for _, layout := range []string{"two", "pipe", "half"} {
		o := Options{File: "gpt.ptl", Source: append(text, layouts...), Layout: layout, Target: "ref",
			Set: []string{"layers=2", "batch=2", "seq=4", "embed=32", "heads=2", "head=16", "ffn=64", "vocab=2048"}}
		var n check.Needs
		if _, _, err := watched(o, n.Hook); err != nil {
			t.Fatal(err)
		}
		o.CheckMemory = n.Bytes + n.Bytes/8
		took := liveWhile(func() {
			if _, _, err := Check(o); err != nil {
				t.Error(err)
			}
		})
		t.Logf("%s: %.1f MiB behind %q, and it takes %.1f", layout, float64(n.Bytes)/(1<<20), n.Pass, float64(took)/(1<<20))
		if ratio := float64(n.Bytes) / float64(took); math.Abs(math.Log(ratio)) > math.Log(2) {
			t.Errorf("%s: %d bytes are said to be needed, and %d are", layout, n.Bytes, took)
		}
		o.CheckMemory--
		_, _, err := Check(o)
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != "E0619" || !strings.Contains(e.Hint, "instead of batch = 2, seq = 4, embed = 32") || !strings.Contains(e.Msg, "needs about") {
			t.Errorf("%s: %v", layout, err)
		}
	}
}
