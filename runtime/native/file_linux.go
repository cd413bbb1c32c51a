package native

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve gives an empty file its size and its room.
func reserve(f *os.File, bytes int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, bytes)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
			return fill(f, bytes)
		default:
			return err
		}
	}
}

// mapFile maps a file so that what is written to the memory is in the file.
func mapFile(f *os.File, bytes int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}
