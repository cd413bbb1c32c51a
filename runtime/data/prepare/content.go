package prepare

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"sync"

	"ptc/internal/regular"
	"ptc/runtime/data"
	"ptc/runtime/storage"
)

// hashBytes is what is read at once of a file that is hashed, so that a signal does not wait long.
const hashBytes = 1 << 20

// contentHash is of all bytes of the files: one that is changed in place need not change its size.
// To hash is far cheaper than to tokenize. What is in an object store would be fetched twice, and
// counts by its name and size alone.
func contentHash(ctx context.Context, files []data.File, threads int) (string, error) {
	sums := make([][sha256.Size]byte, len(files))
	errs := make([]error, len(files))
	next := make(chan int)
	var all sync.WaitGroup
	for range threads {
		all.Add(1)
		go func() {
			defer all.Done()
			buf := make([]byte, hashBytes)
			for i := range next {
				sums[i], errs[i] = fileHash(ctx, files[i].Path, buf)
			}
		}()
	}
	for i, f := range files {
		if !storage.Remote(f.Path) {
			next <- i
		}
	}
	close(next)
	all.Wait()
	h := sha256.New()
	for i, err := range errs {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			return "", &FileError{files[i].Path, err}
		}
		h.Write(sums[i][:])
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// fileHash is of the bytes of one file.
func fileHash(ctx context.Context, path string, buf []byte) (sum [sha256.Size]byte, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	for {
		if err := ctx.Err(); err != nil {
			return sum, err
		}
		n, err := f.Read(buf)
		h.Write(buf[:n])
		if err == io.EOF {
			return [sha256.Size]byte(h.Sum(nil)), nil
		}
		if err != nil {
			return sum, err
		}
	}
}
