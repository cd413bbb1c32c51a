package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"sync"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"
)

// What is sent at once. Stores take parts from 5 MiB on, and up to 10000 of an object.
const (
	partSize    = 16 << 20
	mostParts   = 9000
	partsAtOnce = 3
)

// Upload is an object that is being written, from its start to its end: parts are sent, some at
// once, while others are written. Nothing of it is seen in the store before Commit.
type Upload struct {
	f     *Folder
	s     *store
	name  string
	fresh bool

	part []byte // that is being filled
	pos  int64
	sum  hash.Hash
	free chan []byte // buffers of parts that were sent
	made int         // buffers
	id   string      // of the upload; "": not begun
	sent int         // parts
	send *errgroup.Group
	done bool // all is sent, or it has ended

	mu    sync.Mutex
	parts []minio.CompletePart
	err   error // the first
}

// Create starts an object of about size bytes. With fresh, one that is there already is not replaced.
// It makes no request.
func (f *Folder) Create(name string, size int64, fresh bool) *Upload {
	u := &Upload{f: f, s: f.patient(), name: name, fresh: fresh, sum: sha256.New(), send: new(errgroup.Group), free: make(chan []byte, partsAtOnce+1)}
	u.send.SetLimit(partsAtOnce)
	u.part = make([]byte, 0, partBytes(size, u.s.part))
	u.made = 1
	return u
}

// partBytes is the size of parts, at least least, by which an object of that size has few enough.
func partBytes(size, least int64) int64 {
	const unit = 1 << 20
	if size <= least*mostParts {
		return least
	}
	return (size/mostParts + unit) / unit * unit
}

// WriteAt writes on: at has to be where the last write ended.
func (u *Upload) WriteAt(p []byte, at int64) (n int, err error) {
	if u.done {
		return 0, &Error{Msg: "the upload has ended"}
	}
	if at != u.pos {
		return 0, &Error{Msg: fmt.Sprintf("an object is written from its start to its end: byte %d was to follow, and %d came", u.pos, at)}
	}
	u.sum.Write(p)
	for len(p) > 0 {
		k := min(len(p), cap(u.part)-len(u.part))
		u.part = append(u.part, p[:k]...)
		p, n, u.pos = p[k:], n+k, u.pos+int64(k)
		if len(u.part) == cap(u.part) {
			if err := u.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// failed is the first error of a part.
func (u *Upload) failed() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// flush sends the part that is full, and waits while as many are on their way as may be.
func (u *Upload) flush() error {
	if err := u.failed(); err != nil {
		return err
	}
	if err := u.begin(); err != nil {
		return err
	}
	u.sent++
	number, body := u.sent, u.part
	u.send.Go(func() error {
		p, err := u.put(number, body)
		u.mu.Lock()
		if err == nil {
			u.parts = append(u.parts, p)
		} else if u.err == nil {
			u.err = err
		}
		u.mu.Unlock()
		u.free <- body[:0]
		return nil
	})
	select {
	case u.part = <-u.free:
	default:
		if u.made <= partsAtOnce {
			u.made++
			u.part = make([]byte, 0, cap(body))
		} else {
			u.part = <-u.free
		}
	}
	return nil
}

// begin makes the upload known to the store, the first time, and ends those that a killed process
// has left of the same object.
func (u *Upload) begin() error {
	if u.id != "" {
		return nil
	}
	if u.fresh {
		_ = u.f.EndUploads(u.name) // who may write need not be allowed to list uploads, nor can every store
	}
	err := u.s.try(func(ctx context.Context) (err error) {
		u.id, err = minio.Core{Client: u.s.client}.NewMultipartUpload(ctx, u.f.bucket, u.f.prefix+u.name, minio.PutObjectOptions{})
		return err
	})
	if err != nil {
		return u.s.explain(err, u.f.before())
	}
	u.f.used.Store(true)
	return nil
}

// put sends a part. The store checks its hash.
func (u *Upload) put(number int, body []byte) (minio.CompletePart, error) {
	sum := sha256.Sum256(body)
	var p minio.ObjectPart
	err := u.s.try(func(ctx context.Context) (err error) {
		p, err = minio.Core{Client: u.s.client}.PutObjectPart(ctx, u.f.bucket, u.f.prefix+u.name, u.id, number,
			bytes.NewReader(body), int64(len(body)), minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(sum[:]), DisableContentSha256: true})
		return err
	})
	if err != nil {
		return minio.CompletePart{}, u.s.explain(err, u.f.before())
	}
	return minio.CompletePart{PartNumber: number, ETag: p.ETag}, nil
}

// Finish waits until the store has all that was written, but for an object of one part, which Commit
// sends. It gives the number of bytes and their SHA-256, in hexadecimal.
func (u *Upload) Finish() (bytes int64, sum string, err error) {
	if !u.done {
		if u.id != "" && len(u.part) > 0 {
			if err := u.flush(); err != nil {
				return 0, "", err
			}
		}
		_ = u.send.Wait() // no function has an error
		u.done = true
	}
	return u.pos, hex.EncodeToString(u.sum.Sum(nil)), u.failed()
}

// Commit makes the object appear, whole. If it fails, it aborts.
func (u *Upload) Commit() error {
	if _, _, err := u.Finish(); err != nil {
		u.Abort()
		return err
	}
	if u.id == "" {
		if err := u.f.put(u.s, u.name, u.part, u.fresh); err != nil {
			return err
		}
		there, err := u.f.has(u.name, u.pos, [sha256.Size]byte(u.sum.Sum(nil)))
		if !there && !Fault(err) {
			err = &Error{fault: true, Msg: "the object store " + u.s.host + " has not the object that it said it had taken", Err: err,
				Hint: "a gateway or a proxy may stand between"}
		}
		return err
	}
	slices.SortFunc(u.parts, func(a, b minio.CompletePart) int { return a.PartNumber - b.PartNumber })
	tries := 0
	err := u.f.make(u.s, u.fresh, func(ctx context.Context, o minio.PutObjectOptions) error {
		tries++
		_, err := minio.Core{Client: u.s.client}.CompleteMultipartUpload(ctx, u.f.bucket, u.f.prefix+u.name, u.id, u.parts, o)
		return err
	})
	// An answer that was lost on its way may have been that it is complete.
	if err != nil && tries > 1 && u.f.arrived(u.name, u.pos, [sha256.Size]byte(u.sum.Sum(nil))) {
		err = nil
	}
	if err != nil {
		u.Abort()
		return u.s.explain(err, u.f.before())
	}
	u.id = ""
	return u.check()
}

// check holds the object to what was written.
func (u *Upload) check() error {
	o, err := u.f.Open(u.name)
	if err != nil {
		return err
	}
	if o.Size() != u.pos {
		return &Error{Msg: fmt.Sprintf("the object store %s has %d bytes of the object, and %d were uploaded", u.s.host, o.Size(), u.pos), fault: true}
	}
	return nil
}

// Abort ends an upload of which nothing is to remain; after Commit or Abort it does nothing. That it
// fails is not told: the upload is then ended by EndUploads, or by a rule of the bucket.
func (u *Upload) Abort() {
	u.done = true
	_ = u.send.Wait() // no function has an error
	if u.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	_ = minio.Core{Client: u.s.client}.AbortMultipartUpload(ctx, u.f.bucket, u.f.prefix+u.name, u.id)
	u.id = ""
}
