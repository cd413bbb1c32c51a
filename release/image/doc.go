// Package image makes container images without a daemon.
//
// In: static binaries, one for each architecture, and what labels say. Out: a tar archive of an
// OCI image layout, whose index has an image for each platform.
// Invariant: the process runs as a user that is not root and has no name of the host, and its
// folder is the only one, with /tmp, that it may write to. The same binaries give the same bytes.
// Imports ptc/release/tree.
package image
