package check

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// descriptor is what of an OCI descriptor the test follows.
type descriptor struct {
	Digest   string
	Platform struct{ Architecture string }
}

// TestImage unpacks the image of this machine's architecture and starts what is in it, with
// its layers as the root of the file system and as its user, as a container runtime would.
func TestImage(t *testing.T) {
	blobs := map[string][]byte{}
	file, err := os.Open(artifact(t, "ptc-*-image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	each(t, file, func(h *tar.Header, data []byte) { blobs[h.Name] = data })
	read := func(name string, to any) {
		t.Helper()
		if err := json.Unmarshal(blobs[name], to); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	blob := func(d descriptor) string { return "blobs/" + strings.Replace(d.Digest, ":", "/", 1) }
	var outer, index struct{ Manifests []descriptor }
	read("index.json", &outer)
	read(blob(outer.Manifests[0]), &index)
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	for _, d := range index.Manifests {
		if d.Platform.Architecture == runtime.GOARCH {
			read(blob(d), &manifest)
		}
	}
	if len(manifest.Layers) != 2 {
		t.Fatalf("the image has the layers %v", manifest.Layers)
	}
	var image struct {
		Config struct {
			Entrypoint, Cmd, Env []string
			WorkingDir           string
		}
	}
	read(blob(manifest.Config), &image)

	root := t.TempDir()
	for _, l := range manifest.Layers {
		z, err := gzip.NewReader(bytes.NewReader(blobs[blob(l)]))
		if err != nil {
			t.Fatal(err)
		}
		each(t, z, func(h *tar.Header, data []byte) { unpack(t, root, h, data) })
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	ptc := func(args ...string) *exec.Cmd {
		c := image.Config
		return &exec.Cmd{Path: c.Entrypoint[0], Args: append([]string{c.Entrypoint[0]}, args...), Env: c.Env, Dir: c.WorkingDir, SysProcAttr: within(root)}
	}
	if out := start(t, ptc(image.Config.Cmd...)); !strings.Contains(out, "compile") {
		t.Errorf("help says\n%s", out)
	}
	train(t, filepath.Join(root, "work"), "/work", ptc)
	// It is not root: what is of the system it cannot write.
	if out, err := ptc("new", "/etc/hello").CombinedOutput(); err == nil && os.Getuid() == 0 {
		t.Errorf("it has written to /etc\n%s", out)
	}
}

// user is that of the image.
const user = 65532

// within starts a process in root: where this process is not that of root, in a name
// space of users, in which it is itself the image's user.
func within(root string) *syscall.SysProcAttr {
	if os.Getuid() == 0 {
		return &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	return &syscall.SysProcAttr{Chroot: root, Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}}}
}

func unpack(t *testing.T, root string, h *tar.Header, data []byte) {
	t.Helper()
	name := filepath.Join(root, h.Name)
	var err error
	if h.Typeflag == tar.TypeDir {
		err = os.MkdirAll(name, 0o755)
	} else {
		err = os.WriteFile(name, data, 0o600)
	}
	if err == nil && os.Getuid() == 0 {
		err = os.Lchown(name, h.Uid, h.Gid)
	}
	if err == nil {
		err = os.Chmod(name, h.FileInfo().Mode())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func each(t *testing.T, r io.Reader, see func(h *tar.Header, data []byte)) {
	t.Helper()
	for a := tar.NewReader(r); ; {
		h, err := a.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(a)
		if err != nil {
			t.Fatal(err)
		}
		see(h, data)
	}
}
