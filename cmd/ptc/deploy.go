package main

import (
	"strings"

	"github.com/spf13/cobra"

	"ptc/internal/diag"
	"ptc/runtime/deploy"
)

func newDeploy(a *app) *cobra.Command {
	kind := choice{words: deploy.Kinds()}
	var o deploy.Options
	var there, out string
	cmd := &cobra.Command{
		Use:   "deploy PLAN --for KIND [flags]",
		Short: "Write a job file for a cluster: Slurm, MPIJob, Kueue",
		Long: `Write the file of a job that trains a plan, with one process for each of its devices
and the memory that they need.

  slurm   a batch script for sbatch
  mpijob  a manifest for the MPI operator of Kubernetes (kubeflow.org/v2beta1)
  kueue   the same with a queue of Kueue that admits it

One command line starts the training and resumes it. On the scheduler's preemption
signal ptc saves a checkpoint and exits with a code that requeues the job.

--checkpoint names a folder that all processes see, or a place in an object store,
s3://bucket/key. With a store, Kubernetes passes the environment in --secret to the
processes and mounts no volume. An image contains ptc, the plan at --plan, and Open
MPI, as mpioperator/openmpi does.`,
		Example: `  ptc deploy plan.bin --for slurm > train.sbatch && sbatch train.sbatch
  ptc deploy plan.bin --for mpijob --image registry.example/train:1 --plan /plan.bin | kubectl apply -f -
  ptc deploy plan.bin --for kueue --queue team --image registry.example/train:1 --plan /plan.bin -o job.yaml`,
		Args:              exactly("PLAN"),
		ValidArgsFunction: completeFiles("bin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if kind.value == "" {
				return usagef("--for is missing: %s", diag.OneOf(kind.words))
			}
			if err := checkDeploy(cmd, &o); err != nil {
				return err
			}
			if err := keepsInputs(out, args[0]); err != nil {
				return err
			}
			plan, err := readPlan(args[0])
			if err != nil {
				return err
			}
			if o.Plan = there; there == "" {
				o.Plan = args[0]
			}
			text, err := deploy.Text(kind.value, plan, o)
			if err != nil {
				return usagef("%w", err)
			}
			return a.writeFile(out, []byte(text))
		},
	}
	fl := cmd.Flags()
	fl.Var(&kind, "for", "what the file is for: `"+strings.Join(kind.words, ", ")+"`")
	fl.StringVarP(&out, "output", "o", stdio, "write to `FILE`")
	fl.StringVar(&there, "plan", "", "where processes find the plan: `PATH` (default PLAN)")
	fl.StringVar(&o.Ptc, "ptc", "", "where processes find ptc: `PATH` (default ptc, and /usr/local/bin/ptc in an image)")
	fl.StringVar(&o.Name, "name", "", "call the job `NAME` (default after the plan)")
	fl.StringVar(&o.Checkpoint, "checkpoint", "", "save checkpoints in `DIR`, which may be s3://bucket/key (default checkpoints, and /checkpoints in an image)")
	fl.Int64Var(&o.Every, "every", deploy.DefaultEvery, "save a checkpoint every `N` steps")
	fl.IntVar(&o.CPUs, "cpus", deploy.DefaultCPUs, "give each process `N` processors")
	fl.IntVar(&o.PerNode, "per-node", 0, "put `N` processes on a node, or in a pod (default as Slurm does, and 1)")
	fl.DurationVar(&o.Time, "time", deploy.DefaultTime, "let Slurm end the job after `DURATION`")
	fl.DurationVar(&o.Grace, "grace", deploy.DefaultGrace, "let the scheduler wait `DURATION` between its signal and the kill")
	fl.IntVar(&o.Restarts, "restarts", deploy.DefaultRestarts, "restart the launcher of an MPIJob up to `N` times")
	fl.StringVar(&o.Image, "image", "", "run containers of `IMAGE`")
	fl.StringVar(&o.Claim, "claim", "", "keep checkpoints in the persistent volume claim `NAME` (default after the job)")
	fl.StringVar(&o.Secret, "secret", "", "read the address and credentials of the object store from the secret `NAME` (default after the job)")
	fl.StringVar(&o.Queue, "queue", "", "submit the job to the local queue `NAME` of Kueue")
	complete(cmd, "for", func([]string) []string { return kind.words })
	return cmd
}

// checkDeploy holds what was said to its bounds, as 0 is what was not said to package
// deploy.
func checkDeploy(cmd *cobra.Command, o *deploy.Options) error {
	for _, x := range []struct {
		name string
		n    int64
	}{{"every", o.Every}, {"cpus", int64(o.CPUs)}, {"per-node", int64(o.PerNode)}, {"time", int64(o.Time)}, {"grace", int64(o.Grace)}} {
		if f := cmd.Flag(x.name); f.Changed && x.n <= 0 {
			return usagef("--%s is %s, and must be above 0", x.name, f.Value)
		}
	}
	switch {
	case o.Restarts < 0:
		return usagef("--restarts is %d, and must be at least 0", o.Restarts)
	case o.Restarts == 0:
		o.Restarts = deploy.NoRestarts
	}
	return nil
}
