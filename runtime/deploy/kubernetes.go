package deploy

import (
	"encoding/json"
	"fmt"
	"strings"

	"ptc/runtime/storage"
)

// The fields are those of MPIJob in kubeflow.org/v2beta1 (github.com/kubeflow/mpi-operator,
// pkg/apis/kubeflow/v2beta1/types.go), of pods in core/v1 of Kubernetes, and of Kueue's
// kueue.x-k8s.io/v1beta1 (sigs.k8s.io/kueue, apis/kueue/v1beta1). bench/operators holds the
// texts to these types.

// mpiJob is a manifest for the MPI operator.
func mpiJob(j *job) (string, error) {
	if j.Queue != "" {
		return "", fmt.Errorf("--queue is Kueue's")
	}
	return j.manifest(""), nil
}

// kueue is what the administrator and the user of a queue apply, in this order, then
// the job with the label of the queue.
func kueue(j *job) (string, error) {
	if j.Queue == "" {
		return "", fmt.Errorf("the name of Kueue's local queue is missing; give one with --queue")
	}
	var b strings.Builder
	workers := int64(j.ranks / j.PerNode)
	type quota struct{ name, value string }
	all := []quota{
		{"cpu", fmt.Sprint(workers*int64(j.PerNode*j.CPUs) + launcherCPUs)},
		{"memory", fmt.Sprintf("%dMi", workers*j.podMemory()+launcherMemory)},
	}
	if j.gpus {
		all = append(all, quota{gpuName, fmt.Sprint(j.ranks)})
	}
	fmt.Fprintf(&b, `# A queue with room for one such job; where there is one, only its name is needed.
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata:
  name: %[1]s
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: %[1]s
spec:
  namespaceSelector: {}
  preemption:
    withinClusterQueue: LowerPriority
  resourceGroups:
    - coveredResources:
`, j.Queue)
	for _, q := range all {
		fmt.Fprintf(&b, "        - %s\n", q.name)
	}
	fmt.Fprintf(&b, "      flavors:\n        - name: %s\n          resources:\n", j.Queue)
	for _, q := range all {
		fmt.Fprintf(&b, "            - name: %s\n              nominalQuota: %q\n", q.name, q.value)
	}
	fmt.Fprintf(&b, `---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  name: %[1]s
spec:
  clusterQueue: %[1]s
---
`, j.Queue)
	// Kueue lets a suspended job go when there is room.
	labels := fmt.Sprintf("  labels:\n    kueue.x-k8s.io/queue-name: %s\n", j.Queue)
	return b.String() + strings.Replace(j.manifest(labels), "  runPolicy:\n", "  runPolicy:\n    suspend: true\n", 1), nil
}

const gpuName = "nvidia.com/gpu"

// What the launcher takes, which only waits: processors, and memory in MiB.
const (
	launcherCPUs   = 1
	launcherMemory = 256
)

// podMemory is of the processes of a pod, in MiB.
func (j *job) podMemory() int64 { return mebibytes(j.memory) * int64(j.PerNode) }

// launch is the script of the launcher. mpirun that is told SIGTERM kills its processes
// within a second; SIGUSR1 it passes on, and waits for them.
// A wait that a signal interrupts is begun again.
const launch = `job= told= code=127
trap 'told=1; [ -z "$job" ] || kill -USR1 "$job"' TERM
mpirun -n %d %s &
job=$!
[ -z "$told" ] || kill -USR1 "$job"
told=1
while [ -n "$told" ]; do
  told=
  wait "$job"
  now=$?
  [ "$now" -eq 127 ] || code=$now
done
exit "$code"
`

// linger is what a worker does before its container is ended: it tells its processes,
// and lets them save. Otherwise they would go with sshd.
const linger = `for p in $(pidof %[1]s); do kill -TERM "$p"; done
while pidof %[1]s > /dev/null; do sleep 1; done
`

// manifest is the MPIJob.
func (j *job) manifest(labels string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# %s: a process for each of its devices.
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata:
  name: %s
%sspec:
  slotsPerWorker: %d
  sshAuthMountPath: /home/mpiuser/.ssh
  runPolicy:
    cleanPodPolicy: Running
    backoffLimit: %d
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          terminationGracePeriodSeconds: %d
          containers:
            - name: launcher
              image: %s
%s              securityContext:
                runAsUser: 1000
              command: [/bin/sh, -c]
              args:
                - |
%s              resources:
%s    Worker:
      replicas: %d
      restartPolicy: Never
      template:
        spec:
          terminationGracePeriodSeconds: %d
          containers:
            - name: worker
              image: %s
              securityContext:
                runAsUser: 1000
              command: [/usr/sbin/sshd, -De, -f, /home/mpiuser/.sshd_config]
              lifecycle:
                preStop:
                  exec:
                    command:
                      - /bin/sh
                      - -c
                      - |
%s              resources:
%s%s`, comment(j.model), j.Name, labels, j.PerNode, j.Restarts,
		j.podGrace(), yaml(j.Image), j.secret(), block(18, fmt.Sprintf(launch, j.ranks, j.exported()+line(j.command()))), j.resources(launcherCPUs, launcherMemory, 0),
		j.ranks/j.PerNode, j.podGrace(), yaml(j.Image), block(24, fmt.Sprintf(linger, shell(base(j.Ptc)))),
		j.resources(int64(j.PerNode*j.CPUs), j.podMemory(), j.PerNode), j.volume())
	return b.String()
}

// volume mounts the claim of the checkpoints in the workers.
func (j *job) volume() string {
	if j.remote() {
		return ""
	}
	return fmt.Sprintf(`              volumeMounts:
                - name: checkpoints
                  mountPath: %s
          volumes:
            - name: checkpoints
              persistentVolumeClaim:
                claimName: %s
`, yaml(j.Checkpoint), j.Claim)
}

// secret gives the launcher the environment by which the object store is reached.
func (j *job) secret() string {
	if !j.remote() {
		return ""
	}
	return fmt.Sprintf("              envFrom:\n                - secretRef:\n                    name: %s\n", j.Secret)
}

// exported are the options by which mpirun hands that environment on to the workers, whose
// processes sshd starts, without that of their containers. What is not set is not named.
func (j *job) exported() string {
	if !j.remote() {
		return ""
	}
	var b strings.Builder
	for _, name := range storage.Environment {
		fmt.Fprintf(&b, "${%[1]s:+-x %[1]s} ", name)
	}
	return b.String()
}

// podGrace leaves the launcher and ssh some time besides that for the checkpoint.
func (j *job) podGrace() int { return int(j.Grace.Seconds()) + 15 }

// resources are equal requests and limits, so that pods are the last to be evicted.
func (j *job) resources(cpus, mebibytes int64, gpus int) string {
	var b strings.Builder
	for _, what := range []string{"requests", "limits"} {
		fmt.Fprintf(&b, "                %s:\n                  cpu: \"%d\"\n                  memory: %dMi\n", what, cpus, mebibytes)
		if j.gpus && gpus > 0 {
			fmt.Fprintf(&b, "                  %s: \"%d\"\n", gpuName, gpus)
		}
	}
	return b.String()
}

// base is the last part of a path, of systems with slashes.
func base(path string) string { return path[strings.LastIndex(path, "/")+1:] }

// block is a text as the content of a literal block, so many columns in.
func block(columns int, text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(strings.Repeat(" ", columns) + l)
	}
	return b.String()
}

// yaml is a text as a string of YAML, of which those of JSON are a part.
func yaml(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic("deploy: a string cannot be written as JSON: " + err.Error())
	}
	return string(text)
}
