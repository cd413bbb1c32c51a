package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint"
	"ptc/runtime/checkpoint/safetensors"
)

const place = "s3://" + bucket + "/run/ck"

// tensors take several parts of an upload, and one.
var tensors = []checkpoint.Tensor{
	{Tensor: safetensors.Tensor{Name: "w", DType: dtype.F32, Shape: []int64{9 << 20}}, Axes: []string{"x"}},
	{Tensor: safetensors.Tensor{Name: "w/m", DType: dtype.BF16, Shape: []int64{1000, 33}}, Axes: []string{"x", "y"}},
}

// valueOf is what a tensor has in a generation.
func valueOf(t checkpoint.Tensor, generation int64) []byte {
	word := fmt.Appendf(nil, "%s of %d. ", t.Name, generation)
	return bytes.Repeat(word, int(t.Bytes())/len(word)+1)[:t.Bytes()]
}

// save saves a generation as a step.
func save(s *checkpoint.Store, step, generation int64) error {
	w, err := s.Begin(checkpoint.Meta{Step: step, Seed: uint64(generation)}, tensors)
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, i := range checkpoint.Order(tensors) {
		if err := w.Write(tensors[i].Name, checkpoint.Slice{}, valueOf(tensors[i], generation)); err != nil {
			return err
		}
	}
	_, err = w.Commit()
	return err
}

// latest is the generation of the checkpoint that a run would go on from, after its content was
// compared; 0: there is none.
func latest() (int64, error) {
	s := &checkpoint.Store{Dir: place}
	c, err := s.Latest()
	if errors.Is(err, checkpoint.ErrNone) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer c.Close()
	g := int64(c.Meta.Seed)
	for _, t := range tensors {
		got := make([]byte, t.Bytes())
		if err := c.Read(t.Name, checkpoint.Slice{}, got); err != nil {
			return 0, err
		}
		if !bytes.Equal(got, valueOf(t, g)) {
			return 0, fmt.Errorf("%s of generation %d is not what was saved", t.Name, g)
		}
	}
	return g, nil
}

// kept saves more often than checkpoints are kept, one step twice, and looks at what is there.
func kept() error {
	s := &checkpoint.Store{Dir: place, Keep: 2}
	if err := s.Lock(); err != nil {
		return err
	}
	defer s.Unlock()
	for g, step := range []int64{1, 2, 3, 3, 4} {
		if err := save(s, step, int64(g+1)); err != nil {
			return err
		}
		if got, err := latest(); err != nil || got != int64(g+1) {
			return fmt.Errorf("generation %d instead of %d: %v", got, g+1, err)
		}
	}
	entries, err := s.List()
	if err != nil || len(entries) != 2 || entries[0].Step != 4 || entries[1].Step != 3 {
		return fmt.Errorf("%v are kept: %v", entries, err)
	}
	if _, err := s.Probe(20 << 20); err != nil {
		return err
	}
	return expect((&checkpoint.Store{Dir: "s3://none-of-ours/ck"}).Lock(), "no such bucket")
}

// saver saves without end, and tells each generation that it has saved: what killed starts.
func saver() error {
	s := &checkpoint.Store{Dir: place, Keep: 2}
	if err := s.Lock(); err != nil {
		return err
	}
	g, err := latest()
	for err == nil {
		g++
		if err = save(s, g%5, g); err == nil {
			fmt.Printf("saved %d\n", g)
		}
	}
	return err
}

// killed kills a process that saves, at any moment, and looks at what the next one finds.
func killed(c *minio.Client) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		before, err := latest()
		if err != nil {
			return err
		}
		told, err := killOne(exec.Command(self, "saver"), before+1, time.Duration(r.IntN(1500))*time.Millisecond)
		if err != nil {
			return err
		}
		g, err := latest()
		if err != nil || g < told || g > told+1 {
			return fmt.Errorf("generation %d was told, and %d is there: %v", told, g, err)
		}
	}
	s := &checkpoint.Store{Dir: place, Keep: 2} // the next run leaves nothing of the killed ones
	if err := s.Lock(); err != nil {
		return err
	}
	defer s.Unlock()
	if err := save(s, 100, 1000); err != nil {
		return err
	}
	return whole(c)
}

// killOne runs a saver until it tells a generation, and some time more.
func killOne(cmd *exec.Cmd, until int64, more time.Duration) (told int64, err error) {
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(out)
	scan := func() bool {
		if !lines.Scan() {
			return false
		}
		told, err = strconv.ParseInt(strings.TrimPrefix(lines.Text(), "saved "), 10, 64)
		return err == nil
	}
	for scan() && told < until {
	}
	time.Sleep(more)
	_ = cmd.Process.Kill()
	for scan() {
	}
	_ = cmd.Wait() // it was killed
	return told, err
}

// whole looks for objects of checkpoints without a manifest.
func whole(c *minio.Client) error {
	files := map[string][]string{}
	for o := range c.ListObjects(context.Background(), bucket, minio.ListObjectsOptions{Prefix: "run/ck/step-", Recursive: true}) {
		if o.Err != nil {
			return o.Err
		}
		dir, name := o.Key[:strings.LastIndexByte(o.Key, '/')], o.Key[strings.LastIndexByte(o.Key, '/')+1:]
		files[dir] = append(files[dir], name)
	}
	for dir, names := range files {
		if slices.Sort(names); strings.Join(names, " ") != "manifest.json model.safetensors optimizer.safetensors" {
			return fmt.Errorf("%s has %v", dir, names)
		}
	}
	if len(files) != 2 {
		return fmt.Errorf("%d checkpoints are kept", len(files))
	}
	return nil
}

// takenOver begins a second run in the place of a first one, which then saves no more.
func takenOver() error {
	first, second := &checkpoint.Store{Dir: place}, &checkpoint.Store{Dir: place}
	if err := first.Lock(); err != nil {
		return err
	}
	if err := errors.Join(save(first, 200, 2000), second.Lock(), save(second, 201, 2001)); err != nil {
		return err
	}
	defer second.Unlock()
	if err := expect(save(first, 201, 2002), "is using it"); err != nil {
		return err
	}
	if g, err := latest(); err != nil || g != 2001 {
		return fmt.Errorf("the latest is generation %d: %v", g, err)
	}
	return nil
}

// revoked changes the store's key while a run saves.
func revoked(restart func(password string) error) error {
	s := &checkpoint.Store{Dir: place}
	if err := s.Lock(); err != nil {
		return err
	}
	before, err := latest()
	if err != nil {
		return err
	}
	if err := restart("another-secret"); err != nil {
		return err
	}
	if err := expect(save(s, 300, 3000), "takes the credentials no longer"); err != nil {
		return err
	}
	if err := restart(password); err != nil {
		return err
	}
	if g, err := latest(); err != nil || g != before {
		return fmt.Errorf("the latest is generation %d, not %d: %v", g, before, err)
	}
	return save(s, 300, 3000)
}

// goneSaving ends the server in the midst of an upload.
func goneSaving(stop func() error) error {
	s := &checkpoint.Store{Dir: place}
	if err := s.Lock(); err != nil {
		return err
	}
	w, err := s.Begin(checkpoint.Meta{Step: 400}, tensors)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := errors.Join(w.Write("w", checkpoint.Slice{}, valueOf(tensors[0], 4000)), stop()); err != nil {
		return err
	}
	if err = w.Write("w/m", checkpoint.Slice{}, valueOf(tensors[1], 4000)); err == nil {
		_, err = w.Commit()
	}
	return expect(err, "cannot be reached")
}
