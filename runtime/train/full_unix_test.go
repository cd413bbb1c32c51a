//go:build unix

package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"ptc/runtime/program"
)

// The system refuses to write in the middle of a file, as it does when a disk is
// full: what was there before is there after.
func TestFullDisk(t *testing.T) {
	toy := newToy()
	d := &toy.Devices[0]
	d.Tensors = append(d.Tensors, program.Tensor{Path: "ballast", Buffer: len(d.Buffers), Init: program.Init{Kind: "ones"}})
	d.Buffers = append(d.Buffers, program.Buffer{Space: program.Params, Offset: d.Arena, Bytes: 1 << 20, DType: "f32", Axes: []program.Axis{axis("n", 1<<18)}})
	d.Arena += 1 << 20
	dir := t.TempDir()
	save, ck := filepath.Join(dir, "p"), filepath.Join(dir, "ck")
	runT(t, toy, Options{Steps: 3, Save: save, Checkpoint: ck})
	before, err := os.ReadFile(save)
	if err != nil {
		t.Fatal(err)
	}

	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limited := old
	limited.Cur = 512 << 10 // above the log of files that go test keeps
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limited); err != nil {
		t.Fatal(err)
	}
	_, _, errSave := runLog(context.Background(), toy, Options{Steps: 4, Save: save})
	_, _, errKeep := runLog(context.Background(), toy, Options{Steps: 4, Checkpoint: ck, Resume: true})
	_, _, errBehind := runLog(context.Background(), toy, Options{Steps: 5, Checkpoint: ck, Resume: true, Every: 4})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}

	failed(t, errSave, ExitFile, save)
	failed(t, errKeep, ExitFile, "intact")
	failed(t, errBehind, ExitFile, "intact")
	for _, err := range []error{errSave, errKeep, errBehind} {
		if !errors.Is(err, syscall.EFBIG) {
			t.Errorf("error %v, want EFBIG for its cause", err)
		}
	}
	if after, err := os.ReadFile(save); err != nil || string(after) != string(before) {
		t.Errorf("the parameters saved before are not what they were (%v)", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
	if sum, _ := runT(t, toy, Options{Steps: 4, Checkpoint: ck, Resume: true}); sum.Ran != 1 {
		t.Errorf("then %+v", sum)
	}
}
