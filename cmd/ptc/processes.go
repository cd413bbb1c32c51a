package main

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"ptc/internal/processors"
	"ptc/runtime/comm"
	"ptc/runtime/comm/mpi"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

// launched says whether an MPI launcher started this process as one of several,
// and with which rank.
func launched() (rank int, ok bool) {
	rank, _, ok = mpi.Detect()
	return rank, ok
}

// connect gives this process's end of the communication, nil where no launcher
// started it: then it runs all devices.
func connect(plan *program.Plan, how string, timeout time.Duration, tell io.Writer) ([]comm.Device, error) {
	if _, ok := launched(); !ok {
		return nil, nil
	}
	mesh, err := comm.NewMesh(plan.Mesh)
	if err != nil {
		return nil, err
	}
	ends, err := comm.Open("mpi", mesh, comm.Options{Timeout: timeout, InFlight: program.InFlight})
	if err != nil {
		return nil, err
	}
	end, err := onGPUs(ends[0], plan, how, timeout, tell)
	if err != nil {
		ends[0].Abort(err)
		return nil, err
	}
	return []comm.Device{end}, nil
}

// The process that tells an error gets this much time for it: a launcher ends
// the others as soon as one has ended.
const tellTime = 2 * time.Second

// afterRoot lets the process with rank 0 say first what every process has found
// by itself.
func afterRoot(err error) error {
	if rank, ok := launched(); ok && rank > 0 && err != nil {
		time.Sleep(tellTime)
	}
	return err
}

// silently marks an error that another process tells.
func silently(err error) error {
	var other *train.Elsewhere
	if errors.As(err, &other) {
		time.Sleep(tellTime)
		return &fault{code: other.Code, err: err, silent: true}
	}
	return err
}

// localThreads is how many threads a process has to itself where the launcher
// has put several on this host, 0 where it has not: those of the processors that
// the launcher left to it, or else its share of all.
func localThreads() int {
	if _, ok := launched(); !ok {
		return 0
	}
	online, _ := os.ReadFile("/sys/devices/system/cpu/online") // or it is unknown
	return share(processors.Count(), countRange(string(online)), localProcesses(os.Getenv))
}

// share is a process's part of a host's processors, of which it may use some; 0
// of either is unknown.
func share(usable, online, processes int) int {
	if online == 0 || processes == 0 {
		return usable
	}
	return max(1, min(usable, online/processes))
}

// localProcesses is the number of this job's processes on this host, 0 if the
// launcher does not say.
func localProcesses(env func(string) string) int {
	for _, name := range []string{"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"} {
		if n, err := strconv.Atoi(env(name)); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// countRange counts the numbers of a list such as "0-3,8,10-11".
func countRange(list string) int {
	n := 0
	for _, r := range strings.Split(strings.TrimSpace(list), ",") {
		lo, hi, ok := strings.Cut(r, "-")
		if !ok {
			hi = lo
		}
		from, err1 := strconv.Atoi(lo)
		to, err2 := strconv.Atoi(hi)
		if err1 == nil && err2 == nil && to >= from {
			n += to - from + 1
		}
	}
	return n
}
