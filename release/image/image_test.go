package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var (
	at        = time.Unix(1_700_000_000, 0).UTC()
	platforms = []Platform{
		{Arch: "amd64", Binary: []byte("binary of amd64"), Licences: []byte("terms")},
		{Arch: "arm64", Binary: []byte("binary of arm64"), Licences: []byte("terms")},
	}
)

// entries lists a tar archive; see is given each file.
func entries(t *testing.T, r io.Reader, see func(h *tar.Header, data []byte)) {
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

// TestLayerByLayer reads the archive back and holds every file, mode, owner and time, and the
// configuration of each platform, to what they have to be.
func TestLayerByLayer(t *testing.T) {
	data, err := Make(platforms, Labels{Version: "1.2.3", Commit: "abc", Time: at})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Make(platforms, Labels{Version: "1.2.3", Commit: "abc", Time: at}); err != nil || !bytes.Equal(again, data) {
		t.Errorf("another image the second time (%v)", err)
	}
	dir := t.TempDir()
	entries(t, bytes.NewReader(data), func(h *tar.Header, data []byte) {
		name := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(name, 0o777)
		} else {
			err = os.WriteFile(name, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3" {
		t.Fatalf("%+v (%v)", manifest, err)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil { // digests and sizes of all that it refers to
		t.Error(err)
	}
	inner, err := index.IndexManifest()
	if err != nil || len(inner.Manifests) != 2 || inner.Annotations["org.opencontainers.image.revision"] != "abc" {
		t.Fatalf("%+v (%v)", inner, err)
	}
	for i, d := range inner.Manifests {
		if d.Platform == nil || d.Platform.Architecture != platforms[i].Arch || d.Platform.OS != "linux" || d.MediaType != types.OCIManifestSchema1 {
			t.Errorf("platform %+v", d)
		}
		img, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, img, platforms[i])
	}
}

func checkImage(t *testing.T, img v1.Image, p Platform) {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := config.Config
	if config.Architecture != p.Arch || config.OS != "linux" || !config.Created.Equal(at) || c.User != "65532:65532" || c.WorkingDir != "/work" ||
		!slices.Equal(c.Entrypoint, []string{"/usr/local/bin/ptc"}) || !slices.Equal(c.Cmd, []string{"help"}) ||
		!slices.Equal(c.Env, []string{"PATH=/usr/local/bin", "HOME=/work"}) {
		t.Errorf("%s: %+v", p.Arch, config)
	}
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	got := make([][]string, len(layers))
	for i, l := range layers {
		r, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		entries(t, r, func(h *tar.Header, data []byte) {
			got[i] = append(got[i], fmt.Sprintf("%04o %d:%d %s", h.Mode, h.Uid, h.Gid, h.Name))
			if !h.ModTime.Equal(at) {
				t.Errorf("%s is of %v", h.Name, h.ModTime)
			}
			if strings.HasSuffix(h.Name, "/ptc") && !bytes.Equal(data, p.Binary) {
				t.Errorf("%s has the binary %q", p.Arch, data)
			}
		})
	}
	want := [][]string{
		{"0755 0:0 etc/", "0644 0:0 etc/group", "0644 0:0 etc/passwd", "1777 0:0 tmp/", "0755 65532:65532 work/"},
		{
			"0755 0:0 usr/", "0755 0:0 usr/local/", "0755 0:0 usr/local/bin/", "0755 0:0 usr/local/bin/ptc",
			"0755 0:0 usr/local/share/", "0755 0:0 usr/local/share/doc/", "0755 0:0 usr/local/share/doc/ptc/",
			"0644 0:0 usr/local/share/doc/ptc/THIRD-PARTY.txt",
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: -want +got:\n%s", p.Arch, d)
	}
}
