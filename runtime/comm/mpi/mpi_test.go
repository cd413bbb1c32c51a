package mpi

import (
	"bytes"
	"strings"
	"testing"

	"ptc/runtime/comm"
	"ptc/runtime/program"
)

func TestFits(t *testing.T) {
	m, err := comm.NewMesh([]program.MeshAxis{{Name: "dp", Size: 8}})
	if err != nil {
		t.Fatal(err)
	}
	if err := fits(m, 4); err == nil || !strings.Contains(err.Error(), "plan is for 8 devices, but MPI started 4 processes") {
		t.Errorf("with too few processes the error is %v", err)
	}
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		env        string
		rank, size int
		ok         bool
	}{
		{"", 0, 0, false},
		{"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8", 3, 8, true},
		{"PMI_RANK=0 PMI_SIZE=1", 0, 1, true},
		{"PMIX_RANK=1 SLURM_PROCID=1 SLURM_NTASKS=4", 1, 4, true},
		{"PMIX_RANK=1", 1, 0, true},
		{"SLURM_PROCID=1 SLURM_NTASKS=4", 0, 0, false},
		{"OMPI_COMM_WORLD_RANK=8 OMPI_COMM_WORLD_SIZE=8", 0, 0, false},
		{"PMI_RANK=x PMI_SIZE=2", 0, 0, false},
	} {
		env := map[string]string{}
		for _, kv := range strings.Fields(c.env) {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
		rank, size, ok := detect(func(k string) string { return env[k] })
		if rank != c.rank || size != c.size || ok != c.ok {
			t.Errorf("%q gives %d of %d, %v", c.env, rank, size, ok)
		}
	}
}

func TestPiecesOfLongMessages(t *testing.T) {
	var p phase
	p.add(true, 1, region{off: 64, n: 2*maxMessage + 5})
	at := 64
	for _, x := range p.transfers {
		if x.mem.off != at || x.mem.n > maxMessage {
			t.Errorf("a piece of %d bytes at %d, after %d", x.mem.n, x.mem.off, at)
		}
		at += x.mem.n
	}
	if at != 64+2*maxMessage+5 {
		t.Errorf("the pieces end at %d", at)
	}
}

func TestHeader(t *testing.T) {
	long := strings.Repeat("x", 300)
	if h := newHeader(long); len(h) != headerBytes || bytes.Equal(h, newHeader(long+"y")) {
		t.Error("headers of long signatures are not told apart")
	}
}
