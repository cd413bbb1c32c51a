package operators

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	mpi "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	core "k8s.io/api/core/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	"sigs.k8s.io/yaml"
)

// types are those of the kinds of objects.
var types = map[string]func() any{
	"kubeflow.org/v2beta1 MPIJob":           func() any { return &mpi.MPIJob{} },
	"kueue.x-k8s.io/v1beta1 ResourceFlavor": func() any { return &kueue.ResourceFlavor{} },
	"kueue.x-k8s.io/v1beta1 ClusterQueue":   func() any { return &kueue.ClusterQueue{} },
	"kueue.x-k8s.io/v1beta1 LocalQueue":     func() any { return &kueue.LocalQueue{} },
}

// objects decodes the objects of a file; fields that a type lacks, and those that are
// there twice, are errors.
func objects(t *testing.T, path string) (all []any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range bytes.Split(text, []byte("\n---\n")) {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(part, &head); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		make, ok := types[head.APIVersion+" "+head.Kind]
		if !ok {
			t.Fatalf("%s has an object of %+v", path, head)
		}
		x := make()
		if err := yaml.UnmarshalStrict(part, x); err != nil {
			t.Errorf("%s: %s: %v", path, head.Kind, err)
		}
		all = append(all, x)
	}
	return all
}

func TestManifests(t *testing.T) {
	files, err := filepath.Glob("../../runtime/deploy/testdata/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, path := range files {
		jobs := 0
		for _, x := range objects(t, path) {
			if job, ok := x.(*mpi.MPIJob); ok {
				jobs++
				check(t, path, job)
			}
		}
		if jobs != 1 {
			t.Errorf("%s has %d jobs", path, jobs)
		}
	}
}

// check looks at what the types leave open.
func check(t *testing.T, path string, job *mpi.MPIJob) {
	t.Helper()
	launcher, worker := job.Spec.MPIReplicaSpecs[mpi.MPIReplicaTypeLauncher], job.Spec.MPIReplicaSpecs[mpi.MPIReplicaTypeWorker]
	if len(job.Spec.MPIReplicaSpecs) != 2 || launcher == nil || worker == nil || *launcher.Replicas != 1 || *worker.Replicas < 1 {
		t.Fatalf("%s: replicas %+v", path, job.Spec.MPIReplicaSpecs)
	}
	for _, spec := range []core.PodSpec{launcher.Template.Spec, worker.Template.Spec} {
		c := spec.Containers[0]
		for _, name := range []core.ResourceName{core.ResourceCPU, core.ResourceMemory} {
			request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
			if request.IsZero() || request.Cmp(limit) != 0 {
				t.Errorf("%s: %s: %s is %v of %v", path, c.Name, name, &request, &limit)
			}
		}
		if *spec.TerminationGracePeriodSeconds <= 60 {
			t.Errorf("%s: %s has %d seconds to end", path, c.Name, *spec.TerminationGracePeriodSeconds)
		}
	}
	if p := job.Spec.RunPolicy.CleanPodPolicy; p == nil || !slices.Contains([]mpi.CleanPodPolicy{mpi.CleanPodPolicyRunning}, *p) {
		t.Errorf("%s: pods are cleaned up by the policy %v", path, p)
	}
	if queue := job.Labels["kueue.x-k8s.io/queue-name"]; (queue != "") != (job.Spec.RunPolicy.Suspend != nil && *job.Spec.RunPolicy.Suspend) {
		t.Errorf("%s: of the queue %q, and not suspended until it is admitted", path, queue)
	}
}

// TestStrict proves that a field that a type lacks is noticed.
func TestStrict(t *testing.T) {
	if err := yaml.UnmarshalStrict([]byte("spec:\n  slotPerWorker: 1\n"), &mpi.MPIJob{}); err == nil {
		t.Error("a wrong field is taken")
	}
}
