package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"
)

// What is read at once: a block where any place is asked for, of which an object keeps a
// few, as the tokens and the targets of a window lie together; a chunk where all is read.
const (
	blockSize  = 64 << 10
	keptBlocks = 8
	chunkSize  = 4 << 20

	chunksAtOnce = 4
)

// object is an open object of a store. ReadAt may be called concurrently.
type object struct {
	store       *store
	bucket, key string
	size        int64
	etag        string

	mu     sync.Mutex
	blocks []block // the last used one last

	pos   int64 // of Read
	chunk []byte
}

type block struct {
	number int64
	bytes  []byte
}

func (o *object) Size() int64 { return o.size }

// Close leaves nothing open: every request ends by itself.
func (o *object) Close() error { return nil }

// get reads len(p) bytes at a place, which must be there.
func (o *object) get(p []byte, at int64) error {
	err := o.store.try(func(ctx context.Context) error {
		opts := minio.GetObjectOptions{}
		if err := opts.SetRange(at, at+int64(len(p))-1); err != nil {
			return err
		}
		if o.etag != "" {
			if err := opts.SetMatchETag(o.etag); err != nil {
				return err
			}
		}
		body, _, header, err := minio.Core{Client: o.store.client}.GetObject(ctx, o.bucket, o.key, opts)
		if err != nil {
			return err
		}
		defer body.Close()
		if !o.isRange(header, at, int64(len(p))) {
			return &Error{fault: true, Msg: fmt.Sprintf("the object store %s was asked for %d bytes from byte %d on, and sends others", o.store.host, len(p), at)}
		}
		_, err = io.ReadFull(body, p)
		return err
	})
	if err != nil {
		return o.store.explain(err, read)
	}
	return nil
}

// isRange says whether an answer has the bytes that were asked for: a store, or what stands before it, may
// send the object from its start.
func (o *object) isRange(h http.Header, at, n int64) bool {
	if got := h.Get("Content-Range"); got != "" {
		return strings.HasPrefix(got, fmt.Sprintf("bytes %d-%d/", at, at+n-1))
	}
	return at == 0 && n == o.size
}

// Read reads on from where the last one ended.
func (o *object) Read(p []byte) (int, error) {
	if len(o.chunk) == 0 {
		n := min(chunkSize, o.size-o.pos)
		if n <= 0 {
			return 0, io.EOF
		}
		chunk := make([]byte, n)
		if err := o.get(chunk, o.pos); err != nil {
			return 0, err
		}
		o.chunk, o.pos = chunk, o.pos+n
	}
	n := copy(p, o.chunk)
	o.chunk = o.chunk[n:]
	return n, nil
}

// ReadAt reads by blocks, and what is long by chunks, some at once.
func (o *object) ReadAt(p []byte, at int64) (n int, err error) {
	if at < 0 {
		return 0, errors.New("a place before the start of the object")
	}
	if len(p) >= chunkSize/4 && at < o.size {
		return o.readChunks(p, at)
	}
	for n < len(p) {
		if at >= o.size {
			return n, io.EOF
		}
		b, err := o.block(at / blockSize)
		if err != nil {
			return n, err
		}
		k := copy(p[n:], b[at%blockSize:])
		n, at = n+k, at+int64(k)
	}
	return n, nil
}

// readChunks reads a long range past the blocks that are kept.
func (o *object) readChunks(p []byte, at int64) (n int, err error) {
	n = int(min(int64(len(p)), o.size-at))
	var g errgroup.Group
	g.SetLimit(chunksAtOnce)
	for from := 0; from < n; from += chunkSize {
		part := p[from:min(from+chunkSize, n)]
		g.Go(func() error { return o.get(part, at+int64(from)) })
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// block is one that is kept, or is read now, outside of the lock: two that need the
// same one at once both read it.
func (o *object) block(number int64) ([]byte, error) {
	if b := o.kept(number); b != nil {
		return b, nil
	}
	b := make([]byte, min(blockSize, o.size-number*blockSize))
	if err := o.get(b, number*blockSize); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.blocks) >= keptBlocks {
		o.blocks = slices.Delete(o.blocks, 0, len(o.blocks)-keptBlocks+1)
	}
	o.blocks = append(o.blocks, block{number, b})
	return b, nil
}

func (o *object) kept(number int64) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.blocks, func(b block) bool { return b.number == number })
	if i < 0 {
		return nil
	}
	b := o.blocks[i]
	o.blocks = append(slices.Delete(o.blocks, i, i+1), b)
	return b.bytes
}
