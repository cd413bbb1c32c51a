// Package deploy writes files by which a cluster runs a plan: what `ptc deploy` does.
//
// In come a plan and what it does not say, such as an image or a time; out comes the
// text of a job: a batch script of Slurm, an MPIJob of Kubernetes, or one that Kueue
// admits. A process for each device of the plan, its processors and its memory stand
// there; one and the same command line starts the training and goes on with it, and
// what the scheduler signals becomes a checkpoint and an exit code (docs/clusters.md).
//
// The invariant: the text depends on the plan and the options alone, and nothing that
// the user gives can be more than one word of a shell or one string of YAML.
//
// It imports runtime/program, and runtime/storage for what an object is.
package deploy
