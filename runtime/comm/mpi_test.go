package comm_test

import (
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
	"ptc/runtime/comm/mpi"
)

// role is the variable that makes the test binary, started again by mpirun, one
// rank of a job.
const role = "PTC_COMM_TEST_ROLE"

// skip is the variable that says that this machine is meant to have no MPI.
const skip = "PTC_MPI"

const (
	conformanceSeed = 7
	operations      = 40
	mpiTimeout      = 3 * time.Second // of the jobs that fail
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
		t.Fatalf("mpirun is not installed: %s (or set %s=none)", mpi.Install, skip)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", fmt.Sprint(ranks), os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+name, "OMPI_MCA_orte_tmpdir_base="+t.TempDir()) // jobs that start at the same time would race for one folder
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the job did not end; it printed\n%s", out)
	}
	return string(out), err
}

// rank is one process of a job.
func rank(name string) int {
	_, size, ok := mpi.Detect()
	if !ok {
		fmt.Println("not started by MPI")
		return 2
	}
	o := comm.Options{}
	if name != "conformance" {
		o.Timeout = mpiTimeout
	}
	devs, err := comm.Open("", meshOf(size), o)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	if err := each(devs, roles[name]); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

var roles = map[string]func(comm.Device) error{
	"conformance": func(d comm.Device) error {
		digest, err := runSuite(d, conformanceSeed, operations)
		if err == nil {
			fmt.Printf("digest of %d: %s\n", d.Rank(), digest)
		}
		return err
	},
}

func init() {
	for name, f := range failures {
		roles[name] = func(d comm.Device) error {
			return f(d, func() { time.Sleep(4 * mpiTimeout) })
		}
	}
	roles["death"] = func(d comm.Device) error {
		return failures["stall"](d, func() {
			time.Sleep(mpiTimeout / 4) // the others wait by now
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(4 * mpiTimeout)
		})
	}
}

func TestMPIConformance(t *testing.T) {
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
	devs, err := comm.Open("local", meshOf(n), comm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	digests := make([]string, n)
	err = each(devs, func(d comm.Device) (err error) {
		digests[d.Rank()], err = runSuite(d, conformanceSeed, operations)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return digests
}

func TestMPIFailures(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := job(t, failureDevices, name)
			if err == nil {
				t.Errorf("the job succeeded:\n%s", out)
			}
			if want := failureMessages[name]; !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("found no match of %q in\n%s", want, out)
			}
		})
	}
}

func TestMPIDeath(t *testing.T) {
	t.Parallel()
	out, err := job(t, failureDevices, "death")
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

// A process that no launcher started is told how to start it.
func TestMPILaunch(t *testing.T) {
	_, err := comm.Open("mpi", meshOf(4), comm.Options{})
	if err == nil || !strings.Contains(err.Error(), "mpirun -n 4") {
		t.Errorf("without mpirun the error is %v", err)
	}
}
