// Package operators holds the manifests of package runtime/deploy to the types of the
// operators that read them: those of kubeflow's MPI operator, of Kueue and of Kubernetes.
//
// In come the files of runtime/deploy/testdata, which a test there holds to what is
// written; out comes a failure where a manifest has a field that its type lacks, or a
// value that the type does not take. It is a module of its own, so that nothing else
// needs the types: `make operators-check` fetches and runs it. It imports nothing of ptc.
package operators
