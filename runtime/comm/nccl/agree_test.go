package nccl_test

import (
	"errors"
	"fmt"
	"testing"

	"ptc/runtime/comm"
	"ptc/runtime/comm/nccl"
)

// TestAgree: all devices come to the same answer.
func TestAgree(t *testing.T) {
	missing := errors.New("no library")
	for _, c := range []struct {
		gpus  [3]byte
		lacks int // the rank without a library, or -1
		want  [3]string
	}{
		{[3]byte{1, 2, 3}, -1, [3]string{"<nil>", "<nil>", "<nil>"}},
		{[3]byte{1, 2, 1}, -1, [3]string{"ranks 0 and 2 share a GPU, but NCCL needs one GPU for each rank", "ranks 0 and 2 share a GPU, but NCCL needs one GPU for each rank", "ranks 0 and 2 share a GPU, but NCCL needs one GPU for each rank"}},
		{[3]byte{1, 2, 3}, 1, [3]string{"rank 1: no library", "no library", "rank 1: no library"}},
	} {
		axes, _ := grid(3)
		mesh, err := comm.NewMesh(axes)
		if err != nil {
			t.Fatal(err)
		}
		hosts, err := comm.Open("local", mesh, comm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var found [3]string
		done := make(chan bool)
		for rank, host := range hosts {
			go func() {
				var mine error
				if rank == c.lacks {
					mine = missing
				}
				found[rank] = fmt.Sprint(nccl.Agree(host, [16]byte{c.gpus[rank]}, mine))
				done <- true
			}()
		}
		for range hosts {
			<-done
		}
		if found != c.want {
			t.Errorf("%v: found %q; expected %q", c, found, c.want)
		}
	}
}
