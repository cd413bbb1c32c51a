package mpi

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptc/runtime/comm"
	"ptc/runtime/comm/commtest"
	_ "ptc/runtime/comm/local"
)

// role is the variable that makes the test binary, started again by mpirun, one
// rank of a job.
const role = "PTC_COMM_TEST_ROLE"

// skip is the variable that says that this machine is meant to have no MPI.
const skip = "PTC_MPI"

const (
	conformanceSeed = 7
	operations      = 40
	timeout         = 3 * time.Second // of the jobs that fail
)

func TestMain(m *testing.M) {
	if name := os.Getenv(role); name != "" {
		os.Exit(rank(name))
	}
	os.Exit(m.Run())
}

// job starts the test binary as so many ranks and gives what they print and
// whether they succeed.
func job(t *testing.T, ranks int, name string) (string, error) {
	t.Helper()
	if os.Getenv(skip) == "none" {
		t.Skip(skip + "=none: without MPI, by choice")
	}
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Fatalf("mpirun is not installed: %s (or set %s=none)", Install, skip)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", fmt.Sprint(ranks), os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+name)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the job did not end; it printed\n%s", out)
	}
	return string(out), err
}

// rank is one process of a job.
func rank(name string) int {
	_, size, ok := Detect()
	if !ok {
		fmt.Println("not started by MPI")
		return 2
	}
	o := comm.Options{}
	if name != "conformance" {
		o.Timeout = timeout
	}
	devs, err := comm.Open("", commtest.Mesh(size), o)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	if err := comm.Run(devs, roles[name]); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

var roles = map[string]func(comm.Device) error{
	"conformance": func(d comm.Device) error {
		digest, err := commtest.Run(d, conformanceSeed, operations)
		if err == nil {
			fmt.Printf("digest of %d: %s\n", d.Rank(), digest)
		}
		return err
	},
}

func init() {
	for name, f := range commtest.Failures {
		roles[name] = func(d comm.Device) error {
			return f(d, func() { time.Sleep(4 * timeout) })
		}
	}
	roles["death"] = func(d comm.Device) error {
		return commtest.Failures["stall"](d, func() {
			time.Sleep(timeout / 4) // the others wait by now
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(4 * timeout)
		})
	}
}

func TestConformance(t *testing.T) {
	for _, n := range []int{2, 3, 4, 8} {
		out, err := job(t, n, "conformance")
		if err != nil {
			t.Fatalf("%d ranks: %v\n%s", n, err, out)
		}
		for r, want := range localDigests(t, n) {
			if !strings.Contains(out, fmt.Sprintf("digest of %d: %s\n", r, want)) {
				t.Errorf("%d ranks: the results of rank %d differ from those of the local transport:\n%s", n, r, out)
			}
		}
	}
}

// localDigests are those of the same suite over shared memory.
func localDigests(t *testing.T, n int) []string {
	t.Helper()
	devs, err := comm.Open("local", commtest.Mesh(n), comm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	digests := make([]string, n)
	err = comm.Run(devs, func(d comm.Device) (err error) {
		digests[d.Rank()], err = commtest.Run(d, conformanceSeed, operations)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return digests
}

func TestFailures(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(commtest.Failures)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := job(t, commtest.FailureDevices, name)
			if err == nil {
				t.Errorf("the job succeeded:\n%s", out)
			}
			if want := commtest.Messages[name]; !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("found no match of %q in\n%s", want, out)
			}
		})
	}
}

func TestDeath(t *testing.T) {
	t.Parallel()
	out, err := job(t, commtest.FailureDevices, "death")
	if err == nil {
		t.Errorf("the job succeeded:\n%s", out)
	}
	for _, want := range []string{
		`all_reduce #\d+ blocks.0 over all devices for rank 1|rank 1 did not reach all_reduce #\d+ blocks.0`, // ours
		`process rank 1 .*(?s:.*)signal 9`, // the launcher's
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("found no match of %q in\n%s", want, out)
		}
	}
}

func TestLaunch(t *testing.T) {
	_, err := comm.Open("mpi", commtest.Mesh(4), comm.Options{})
	if err == nil || !strings.Contains(err.Error(), "mpirun -n 4") {
		t.Errorf("without mpirun the error is %v", err)
	}
	if err := fits(commtest.Mesh(8), 4); err == nil || !strings.Contains(err.Error(), "plan is for 8 devices, and MPI started 4 processes") {
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
