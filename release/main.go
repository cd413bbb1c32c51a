package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ptc/release/build"
	"ptc/release/deb"
	"ptc/release/image"
	"ptc/release/sbom"
	"ptc/release/site"
	"ptc/release/tree"
	"ptc/release/vsix"
	"ptc/release/wheel"
)

// release is what one call makes, and where.
type release struct {
	build.Source
	out string
}

// kinds are the artifacts, by the word that asks for one.
var kinds = []struct {
	name string
	make func(*release) error
}{
	{"archives", (*release).archives},
	{"debs", (*release).debs},
	{"wheels", (*release).wheels},
	{"vsix", (*release).vsix},
	{"image", (*release).image},
	{"site", (*release).site},
	{"sums", (*release).sums}, // of all that is there, and so the last
}

func main() {
	var r release
	flag.StringVar(&r.Root, "root", "..", "the repository's folder")
	flag.StringVar(&r.out, "out", "../dist", "the folder for what is made")
	flag.StringVar(&r.Version, "version", "", "the version (default that of the sources)")
	arches := flag.String("arch", strings.Join(build.Arches, ","), "architectures of archives, packages and wheels")
	flag.Parse()
	r.Arches = strings.Split(*arches, ",")
	if err := r.run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) run(names []string) error {
	if err := r.Read(); err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	for _, k := range kinds {
		if !wanted[k.name] {
			continue
		}
		if err := k.make(r); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		delete(wanted, k.name)
	}
	for _, n := range names {
		if wanted[n] {
			return fmt.Errorf("unknown artifact %q", n)
		}
	}
	return nil
}

// write puts an artifact into the folder, whole or not at all.
func (r *release) write(name string, data []byte) error {
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return err
	}
	path := filepath.Join(r.out, name)
	if err := os.WriteFile(path+".tmp", data, 0o666); err != nil {
		return err
	}
	fmt.Printf("%s  %d bytes\n", path, len(data))
	return os.Rename(path+".tmp", path)
}

// archives makes of each architecture an archive and a list of what is in its binary.
func (r *release) archives() error {
	for _, arch := range r.Arches {
		b, err := r.Build(arch, build.Dynamic)
		if err != nil {
			return err
		}
		files, err := r.payload(b)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("ptc-%s-linux-%s", r.Version, arch)
		data, err := files.Below(name).Gzip(r.Time)
		if err != nil {
			return err
		}
		if err := r.write(name+".tar.gz", data); err != nil {
			return err
		}
		list, err := sbom.Of(b, r.Version, r.Time)
		if err != nil {
			return err
		}
		if err := r.write(name+".cdx.json", list); err != nil {
			return err
		}
	}
	return nil
}

// payload is what an archive has: the binary, documents, examples, manual, licences.
func (r *release) payload(b *build.Binary) (tree.Tree, error) {
	manual, err := r.Manual()
	if err != nil {
		return nil, err
	}
	docs, err := r.Documents()
	if err != nil {
		return nil, err
	}
	licences, err := r.Licences(b)
	if err != nil {
		return nil, err
	}
	out := tree.Tree{{Path: "ptc", Mode: 0o755, Data: b.Data}, licences}
	return append(append(out, manual.Below("share")...), docs...), nil
}

func (r *release) debs() error {
	for _, arch := range r.Arches {
		b, err := r.Build(arch, build.Dynamic)
		if err != nil {
			return err
		}
		manual, err := r.Manual()
		if err != nil {
			return err
		}
		docs, err := r.Documents()
		if err != nil {
			return err
		}
		licences, err := r.Licences(b)
		if err != nil {
			return err
		}
		files, err := deb.Files(b.Data, manual, append(docs, licences))
		if err != nil {
			return err
		}
		name, data, err := deb.Package(files, r.Version, arch, r.Time)
		if err != nil {
			return err
		}
		if err := r.write(name, data); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) wheels() error {
	module, err := tree.Read(filepath.Join(r.Root, "python"), "ptc/*.py", "ptc/py.typed")
	if err != nil {
		return err
	}
	project, err := os.ReadFile(filepath.Join(r.Root, "python", "pyproject.toml"))
	if err != nil {
		return err
	}
	for _, arch := range r.Arches {
		b, err := r.Build(arch, build.Dynamic)
		if err != nil {
			return err
		}
		licences, err := r.Licences(b)
		if err != nil {
			return err
		}
		name, data, err := wheel.Make(wheel.Project{Text: project, Module: module, Binary: b.Data, Arch: arch,
			Version: r.Version, Licences: licences.Data, Time: r.Time})
		if err != nil {
			return err
		}
		if err := r.write(name, data); err != nil {
			return err
		}
	}
	return nil
}

// vsix makes the extension for Visual Studio Code, which is the same for every machine.
func (r *release) vsix() error {
	files, err := tree.Read(filepath.Join(r.Root, "editors", "vscode"), vsix.Files...)
	if err != nil {
		return err
	}
	data, err := vsix.Make(files, r.Version, r.Time)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("ptc-%s.vsix", r.Version), data)
}

// image makes one image of all architectures, whatever the flag says: that is what an
// index is for. Its binaries are static, since there is nothing else in it.
func (r *release) image() error {
	var platforms []image.Platform
	for _, arch := range build.Arches {
		b, err := r.Build(arch, build.Static)
		if err != nil {
			return err
		}
		licences, err := r.Licences(b)
		if err != nil {
			return err
		}
		platforms = append(platforms, image.Platform{Arch: arch, Binary: b.Data, Licences: licences.Data})
	}
	data, err := image.Make(platforms, image.Labels{Version: r.Version, Commit: r.Commit, Time: r.Time})
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("ptc-%s-image.tar", r.Version), data)
}

func (r *release) site() error {
	pages, err := site.Make(os.DirFS(r.Root), r.Version)
	if err != nil {
		return err
	}
	return pages.WriteFolder(filepath.Join(r.out, "site"))
}

// sums writes SHA256SUMS, which sha256sum -c reads.
func (r *release) sums() error {
	text, err := tree.Sums(r.out)
	if err != nil {
		return err
	}
	return r.write("SHA256SUMS", text)
}
