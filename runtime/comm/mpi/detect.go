package mpi

import (
	"os"
	"strconv"
)

// Detect says from the environment whether this process was started as one of
// several by an MPI launcher: its rank, and of how many; size is 0 where the
// launcher does not say before MPI_Init.
func Detect() (rank, size int, ok bool) { return detect(os.Getenv) }

// launchers are the variables by which launchers tell a process its rank and the
// size of the job: mpirun of Open MPI, then the process managers PMI and PMIx of
// srun. SLURM_PROCID alone is no sign of MPI: srun sets it for every program.
var launchers = []struct{ rank, size string }{
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMI_RANK", "PMI_SIZE"},
	{"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
	{"PMIX_RANK", "SLURM_NTASKS"},
	{"PMIX_RANK", ""},
}

func detect(env func(string) string) (rank, size int, ok bool) {
	for _, l := range launchers {
		r, err := strconv.Atoi(env(l.rank))
		if err != nil || r < 0 {
			continue
		}
		if l.size == "" {
			return r, 0, true
		}
		if n, err := strconv.Atoi(env(l.size)); err == nil && n > r {
			return r, n, true
		}
	}
	return 0, 0, false
}
