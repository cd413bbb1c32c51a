package prepare

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ptc/runtime/checkpoint/folderlock"
	"ptc/runtime/data"
)

// TestTwoAtOnce: of two calls for one folder one is refused, and the shards are of the other alone.
func TestTwoAtOnce(t *testing.T) {
	in, dir := corpusOf(t, texts(25)), filepath.Join(t.TempDir(), "new", "out")
	var all sync.WaitGroup
	var errs [4]error
	for i := range errs {
		o := withFile(t, "tokenizer.json", strings.Repeat("\n", i))
		o.Patterns, o.Dir, o.ShardSize = []string{in + "/*"}, dir, 500
		all.Add(1)
		go func() {
			defer all.Done()
			_, errs[i] = Run(context.Background(), o)
		}()
	}
	all.Wait()
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
		} else if !strings.Contains(err.Error(), "is in use") && !strings.Contains(err.Error(), "from another tokenizer") {
			t.Error(err)
		}
	}
	if done != 1 {
		t.Errorf("%d of 4 succeed", done)
	}
	if _, _, err := data.ReadTokens([]string{dir}, "auto", 0, 1); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, folderlock.Name)); err == nil {
		t.Error("the lock is left")
	}
}

// TestNothingLeft: a call that is refused for its options leaves no folder.
func TestNothingLeft(t *testing.T) {
	o := Options{Patterns: []string{"none/*"}, Tokenizer: gpt2(t), Dir: filepath.Join(t.TempDir(), "a", "b"), ShardSize: 100}
	if _, err := Run(context.Background(), o); err == nil {
		t.Error("no files are no error")
	}
	if _, err := os.Stat(filepath.Dir(o.Dir)); err == nil {
		t.Error("the folder is left")
	}
}

const killedHelper = "PTC_PREPARE_HELPER"

// TestKilledHelper is the process that TestKilled kills.
func TestKilledHelper(t *testing.T) {
	if os.Getenv(killedHelper) == "" {
		t.Skip("it is run by TestKilled")
	}
	in, dir, _ := strings.Cut(os.Getenv(killedHelper), "|")
	o := Options{Patterns: []string{in + "/*"}, Tokenizer: gpt2(t), File: "../../tokenizer/testdata/gpt2.json", Dir: dir, ShardSize: 300}
	fmt.Println("begins")
	if _, err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
}

// TestKilled: whenever a call is killed, the folder is whole or is not read, and the next calls give the bytes
// that one gives.
func TestKilled(t *testing.T) {
	in := corpusOf(t, texts(25))
	run := func(dir string, after time.Duration) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledHelper$")
		cmd.Env = append(os.Environ(), killedHelper+"="+in+"|"+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if after > 0 {
			_, _ = out.Read(make([]byte, 10)) // it has begun
			time.Sleep(after)
			_ = cmd.Process.Kill()
		}
		if err := cmd.Wait(); err != nil && after == 0 {
			t.Fatal(err)
		}
	}
	whole := filepath.Join(t.TempDir(), "whole")
	run(whole, 0)
	want := bytesOf(t, whole)
	_, tokens, err := data.ReadTokens([]string{whole}, "auto", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 4))
	for range 6 {
		dir := filepath.Join(t.TempDir(), "out")
		for range 3 {
			run(dir, time.Duration(1+r.IntN(40))*time.Millisecond)
			if _, n, err := data.ReadTokens([]string{dir}, "auto", 0, 1); err == nil && n != tokens {
				t.Fatalf("a folder with %d of %d tokens is read", n, tokens)
			}
		}
		run(dir, 0)
		if d := cmp.Diff(want, bytesOf(t, dir)); d != "" {
			t.Error(d)
		}
	}
}

// TestHeeded: a signal is heeded inside a document, whatever its length is.
func TestHeeded(t *testing.T) {
	in := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(in, []byte(strings.Repeat("some text of many words, ", 1<<20)), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := Run(ctx, Options{Patterns: []string{in}, Tokenizer: gpt2(t), Dir: t.TempDir(), ShardSize: 1 << 20})
	if took := time.Since(begun); err == nil || took > 3*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}
