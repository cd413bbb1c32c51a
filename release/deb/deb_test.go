package deb

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ptc/release/tree"
)

var at = time.Unix(1_700_000_000, 0).UTC()

func sample(t *testing.T) tree.Tree {
	t.Helper()
	files, err := Files([]byte("binary"), tree.Tree{{Path: "ptc.1", Data: []byte("page")}, {Path: "ptc.bash"}, {Path: "_ptc"}, {Path: "ptc.fish"}},
		tree.Tree{{Path: "README.md", Mode: 0o644, Data: []byte("text")}})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFiles(t *testing.T) {
	var got []string
	for _, f := range sample(t) {
		got = append(got, f.Mode.String()+" "+f.Path)
	}
	want := []string{
		"-rwxr-xr-x usr/bin/ptc",
		"-rw-r--r-- usr/share/man/man1/ptc.1.gz",
		"-rw-r--r-- usr/share/bash-completion/completions/ptc",
		"-rw-r--r-- usr/share/zsh/vendor-completions/_ptc",
		"-rw-r--r-- usr/share/fish/vendor_completions.d/ptc.fish",
		"-rw-r--r-- usr/share/doc/ptc/README.md",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if _, err := Files(nil, tree.Tree{{Path: "ptc.8"}}, nil); err == nil {
		t.Error("a page of another section has a place")
	}
}

// TestPackage: the members of the archive, and that a second package has the same bytes
// however late it is made and whoever makes it.
func TestPackage(t *testing.T) {
	name, data, err := Package(sample(t), "1.2.3-rc.1", "arm64", at)
	if err != nil {
		t.Fatal(err)
	}
	if name != "ptc_1.2.3~rc.1_arm64.deb" {
		t.Errorf("name %s", name)
	}
	if got := members(t, data); !cmp.Equal(got, []string{"debian-binary", "control.tar.gz", "data.tar.gz"}) {
		t.Errorf("members %q", got)
	}
	t.Setenv("TMPDIR", t.TempDir())
	if err := os.Chmod(os.TempDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, again, err := Package(sample(t), "1.2.3-rc.1", "arm64", at); err != nil || !bytes.Equal(again, data) {
		t.Errorf("another package the second time (%v)", err)
	}
}

// members are those of an ar archive (deb(5)): headers of 60 bytes, contents padded to
// even lengths.
func members(t *testing.T, data []byte) (names []string) {
	t.Helper()
	r := bytes.NewReader(data)
	head := make([]byte, 8)
	if _, err := io.ReadFull(r, head); err != nil || string(head) != "!<arch>\n" {
		t.Fatalf("no archive: %q (%v)", head, err)
	}
	for h := make([]byte, 60); ; {
		if _, err := io.ReadFull(r, h); err == io.EOF {
			return names
		} else if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, c := range strings.TrimSpace(string(h[48:58])) {
			size = 10*size + int(c-'0')
		}
		names = append(names, strings.TrimRight(string(h[:16]), " /"))
		if _, err := r.Seek(int64(size+size%2), io.SeekCurrent); err != nil {
			t.Fatal(err)
		}
	}
}
