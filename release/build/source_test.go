package build

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	s := Source{Root: "../.."}
	if err := s.Read(); err != nil {
		t.Fatal(err)
	}
	if !isVersion.MatchString(s.Version) || !s.Time.Equal(time.Unix(1_700_000_000, 0)) {
		t.Errorf("%+v", s)
	}
	if strings.Contains(strings.Join(s.flags("amd64", Dynamic), " "), "compiler.Version") {
		t.Error("the version of the sources is set once more")
	}
	given := Source{Root: "../..", Version: "1.2.3-rc.1"}
	if err := given.Read(); err != nil || !strings.Contains(strings.Join(given.flags("arm64", Static), " "), "-X ptc/compiler.Version=1.2.3-rc.1") {
		t.Errorf("%v: %v", err, given.flags("arm64", Static))
	}
	for _, v := range []string{"1.2", "v1.2.3", "1.2.3 -X main.x=y", "1.2.3-", "latest"} {
		if err := (&Source{Root: "../..", Version: v}).Read(); err == nil {
			t.Errorf("%q is a version", v)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if err := (&Source{Root: "../.."}).Read(); err == nil {
		t.Error("yesterday is a time")
	}
}

// TestWithoutGit: an archive of the sources has no commit, and its time has to be said.
func TestWithoutGit(t *testing.T) {
	root := t.TempDir()
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(root))
	t.Setenv("SOURCE_DATE_EPOCH", "")
	if err := (&Source{Root: root, Version: "1.2.3"}).Read(); !errors.Is(err, errNoTime) {
		t.Errorf("error %v", err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "5")
	s := &Source{Root: root, Version: "1.2.3"}
	if err := s.Read(); err != nil || s.Commit != "" {
		t.Errorf("%+v (%v)", s, err)
	}
	if _, err := s.Manual(); !errors.Is(err, errNoPages) {
		t.Errorf("error %v", err)
	}
	if err := (&Source{Root: root}).Read(); err == nil {
		t.Error("an empty folder has a version")
	}
}

func TestNotices(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	if err := notices(&b, "lib v1", dir); err == nil {
		t.Error("a library without a licence is handed out")
	}
	for _, name := range []string{"LICENSE-MIT", "NOTICE.txt", "license_test.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text of "+name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := notices(&b, "lib v1", dir); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, "text of LICENSE-MIT") || !strings.Contains(s, "text of NOTICE.txt") || strings.Contains(s, "_test") {
		t.Error(s)
	}
}

func TestUnknownArchitecture(t *testing.T) {
	if _, err := (&Source{Root: "../.."}).Build("riscv64", Dynamic); err == nil {
		t.Error("built")
	}
}
