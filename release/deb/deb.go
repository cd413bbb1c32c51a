package deb

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	packager "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"

	"ptc/release/tree"
)

const description = `compiler for training neural networks
ptc compiles a model, written in mathematics with named axes, and its parallel
layout to one static plan, and runs that plan. With libLLVM it makes native code,
and without it interprets.`

// Files are the paths of a package: manual has files as make man writes them.
func Files(binary []byte, manual, docs tree.Tree) (tree.Tree, error) {
	out := tree.Tree{{Path: "usr/bin/ptc", Mode: 0o755, Data: binary}}
	for _, f := range manual {
		to := ""
		switch name := path.Base(f.Path); {
		case strings.HasSuffix(name, ".1"):
			data, err := tree.Compress(f.Data)
			if err != nil {
				return nil, err
			}
			f.Data, to = data, "man/man1/"+name+".gz"
		case name == "ptc.bash":
			to = "bash-completion/completions/ptc"
		case name == "_ptc":
			to = "zsh/vendor-completions/_ptc"
		case name == "ptc.fish":
			to = "fish/vendor_completions.d/ptc.fish"
		default:
			return nil, fmt.Errorf("%s has no place in a package", f.Path)
		}
		out = append(out, tree.File{Path: path.Join("usr/share", to), Mode: 0o644, Data: f.Data})
	}
	return append(out, docs.Below("usr/share/doc/ptc")...), nil
}

// Package makes the package, and gives the name of its file.
func Package(t tree.Tree, version, arch string, at time.Time) (string, []byte, error) {
	entries, err := t.Entries()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "ptc-deb-") // the library takes files of the disk alone
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(dir)
	if err := t.WriteFolder(filepath.Join(dir, "tree")); err != nil {
		return "", nil, err
	}
	var contents files.Contents
	for _, f := range entries {
		c := &files.Content{Destination: "/" + f.Path, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.Mode.Perm(), MTime: at}}
		if f.Mode.IsDir() {
			continue // those of the system, and those the library adds
		}
		c.Source = filepath.Join(dir, "tree", filepath.FromSlash(f.Path))
		contents = append(contents, c)
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "ptc", Arch: arch, Platform: "linux", Version: version, Section: "devel", Priority: "optional",
		Maintainer: "The authors of ptc", Description: description, MTime: at, DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents: contents,
			// What the binary is linked to; the version is that of the first glibc for both architectures.
			Depends:    []string{"libc6 (>= 2.17)"},
			Recommends: []string{"libllvm19"},
			Suggests:   []string{"openmpi-bin"},
			Deb:        nfpm.Deb{Compression: "gzip"},
		},
	})
	info.MTime = at
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	if err := packager.Default.Package(info, &b); err != nil {
		return "", nil, err
	}
	return packager.Default.ConventionalFileName(info), b.Bytes(), nil
}
