package image

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"ptc/release/tree"
)

// User is the number of the user and the group that the process runs as; it is above
// those that systems give to people.
const User = 65532

// Platform is what an image of one architecture has.
type Platform struct {
	Arch             string
	Binary, Licences []byte
}

// Labels are the annotations of an image (OCI image specification, annotations.md).
type Labels struct {
	Version, Commit string
	Time            time.Time
}

func (l Labels) annotations() map[string]string {
	m := map[string]string{
		"org.opencontainers.image.title":       "ptc",
		"org.opencontainers.image.description": "compiler for training neural networks; this image compiles for and runs the target ref",
		"org.opencontainers.image.version":     l.Version,
		"org.opencontainers.image.created":     l.Time.UTC().Format(time.RFC3339),
	}
	if l.Commit != "" {
		m["org.opencontainers.image.revision"] = l.Commit
	}
	return m
}

// system is the layer below: what a process expects of any system, and no more.
func system() tree.Tree {
	users := fmt.Sprintf("root:x:0:0:root:/:/sbin/nologin\nptc:x:%d:%d:ptc:/work:/sbin/nologin\n", User, User)
	groups := fmt.Sprintf("root:x:0:\nptc:x:%d:\n", User)
	return tree.Tree{
		{Path: "etc/passwd", Mode: 0o644, Data: []byte(users)},
		{Path: "etc/group", Mode: 0o644, Data: []byte(groups)},
		{Path: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{Path: "work", Mode: fs.ModeDir | 0o755, Owner: User},
	}
}

func program(p Platform) tree.Tree {
	return tree.Tree{
		{Path: "usr/local/bin/ptc", Mode: 0o755, Data: p.Binary},
		{Path: "usr/local/share/doc/ptc/THIRD-PARTY.txt", Mode: 0o644, Data: p.Licences},
	}
}

// Make gives the archive.
func Make(platforms []Platform, l Labels) ([]byte, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range platforms {
		img, err := build(p, l)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: p.Arch}}})
	}
	annotated, ok := mutate.Annotations(index, l.annotations()).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("the library gave no index")
	}
	return pack(annotated, l)
}

func build(p Platform, l Labels) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, part := range []struct {
		by    string
		files tree.Tree
	}{{"system", system()}, {"ptc " + l.Version, program(p)}} {
		data, err := part.files.Gzip(l.Time)
		if err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
			tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: l.Time}, CreatedBy: part.by},
			MediaType: types.OCILayer}); err != nil {
			return nil, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", p.Arch, v1.Time{Time: l.Time}
	config.Config = v1.Config{
		Entrypoint: []string{"/usr/local/bin/ptc"},
		Cmd:        []string{"help"},
		User:       fmt.Sprintf("%d:%d", User, User),
		WorkingDir: "/work",
		Env:        []string{"PATH=/usr/local/bin", "HOME=/work"},
		Labels:     l.annotations(),
	}
	return mutate.ConfigFile(img, config)
}

// pack writes an index as an image layout, and that as an archive.
func pack(index v1.ImageIndex, l Labels) ([]byte, error) {
	dir, err := os.MkdirTemp("", "ptc-image-") // the library writes layouts to the disk alone
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, err
	}
	name := map[string]string{"org.opencontainers.image.ref.name": l.Version}
	if err := to.AppendIndex(index, layout.WithAnnotations(name)); err != nil {
		return nil, err
	}
	var files tree.Tree
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		files = append(files, tree.File{Path: filepath.ToSlash(rel), Mode: 0o644, Data: data})
		return err
	})
	if err != nil {
		return nil, err
	}
	return files.Tar(l.Time)
}
