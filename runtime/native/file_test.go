package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAllocFile(t *testing.T) {
	dir := t.TempDir()
	mem, free, err := AllocFile(dir, 3<<20+5)
	if err != nil {
		t.Fatal(err)
	}
	if len(mem) != 3<<20+5 || addressOf(mem)%64 != 0 {
		t.Fatalf("%d bytes at %x", len(mem), addressOf(mem))
	}
	for i := range mem {
		if mem[i] != 0 {
			t.Fatalf("byte %d is %d", i, mem[i])
		}
		mem[i] = byte(i)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left in the folder, %v", left, err)
	}
	free()
	if mem, free, err = AllocFile("", 0); err != nil || len(mem) != 0 {
		t.Fatalf("no bytes: %v, %v", mem, err)
	}
	free()
}

func TestAllocFileFails(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "no", "folder")
	for _, c := range []struct {
		dir   string
		bytes int64
		want  string
	}{
		{missing, 1, "in " + missing + " cannot be made: no such file or directory"},
		{dir, 1 << 45, "cannot be made"}, // more than any disk has room for
		{dir, -1, "too much"},
	} {
		if _, _, err := AllocFile(c.dir, c.bytes); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d bytes in %s: %v, want %q", c.bytes, c.dir, err, c.want)
		}
	}
}

// TestFill reserves a file as a file system without another way has it.
func TestFill(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := fill(f, 5<<19+3); err != nil {
		t.Fatal(err)
	}
	if st, err := f.Stat(); err != nil || st.Size() != 5<<19+3 {
		t.Errorf("%v, %v", st.Size(), err)
	}
}
