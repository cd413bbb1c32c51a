// Package deploy writes job files with which a cluster runs a plan: `ptc deploy`.
//
// In come a plan and settings that it does not contain, such as an image or a time; out comes
// the text of a job: a batch script of Slurm, an MPIJob of Kubernetes, or one that Kueue
// admits. The job has a process for each device of the plan, with its processors and memory.
// One command line starts the training and resumes it, and on the scheduler's signal ptc
// saves a checkpoint and exits with a code that requeues the job (docs/clusters.md).
//
// The invariant: the text depends only on the plan and the options, and no input of the
// user can be more than one word of a shell or one string of YAML.
//
// It imports runtime/program, and runtime/storage to recognize objects.
package deploy
