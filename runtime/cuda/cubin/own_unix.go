//go:build unix

package cubin

import (
	"os"
	"syscall"
)

// owned says whether a file or folder is the user's own, or root's.
func owned(st os.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int64(s.Uid) == int64(os.Geteuid()))
}

// own says so, and that nobody else may write it.
func own(st os.FileInfo) bool { return owned(st) && st.Mode().Perm()&0o022 == 0 }
