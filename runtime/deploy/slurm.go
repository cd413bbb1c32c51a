package deploy

import (
	"fmt"
	"strings"
	"time"
)

// slurm is a batch script. Its options are those of sbatch(1) of Slurm 20.11 and later:
// --signal without B: goes to the steps of the job, which srun passes on, and --requeue
// lets the job be queued again, by Slurm when it preempts it and by the script with
// scontrol when the run says that it has not come to its end.
func slurm(j *job) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/bash\n# %s: a process for each of its devices.\n", comment(j.model))
	option := func(format string, args ...any) { fmt.Fprintf(&b, "#SBATCH --"+format+"\n", args...) }
	option("job-name=%s", j.Name)
	option("ntasks=%d", j.ranks)
	if j.PerNode > 0 {
		option("ntasks-per-node=%d", j.PerNode)
	}
	option("cpus-per-task=%d", j.CPUs)
	option("mem-per-cpu=%dM", mebibytes((j.memory+int64(j.CPUs)-1)/int64(j.CPUs)))
	if j.gpus {
		option("gpus-per-task=1")
	}
	option("time=%s", slurmTime(j.Time))
	option("requeue")
	option("signal=USR1@%d", int(j.Grace.Seconds()))
	option("open-mode=append")
	option("output=%s-%%j.log", j.Name)
	mpi := ""
	if j.ranks > 1 {
		mpi = "--mpi=pmix "
	}
	fmt.Fprintf(&b, `
# The same line starts the training and goes on with it. When Slurm signals, %d seconds
# before the time is up or as it preempts the job, the run saves a checkpoint and ends
# with %d, and the job is queued again. Any other code is the job's.
srun %s--ntasks=%d --cpus-per-task=%d %s
code=$?
if [ "$code" -eq %d ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
`, int(j.Grace.Seconds()), Requeue, mpi, j.ranks, j.CPUs, line(j.command()), Requeue)
	return b.String(), nil
}

// slurmTime writes a duration as days-hours:minutes:seconds.
func slurmTime(d time.Duration) string {
	s := int64(d / time.Second)
	return fmt.Sprintf("%d-%02d:%02d:%02d", s/86400, s/3600%24, s/60%60, s%60)
}
