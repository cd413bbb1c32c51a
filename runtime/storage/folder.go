package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/minio/minio-go/v7"
)

// writeAttempts is how often a request that writes is made: half a minute in all, since what
// comes of giving up is that a run ends.
const writeAttempts = 9

// Folder is the objects below a place of a store. It may be used concurrently.
type Folder struct {
	s      *store
	bucket string
	prefix string // of keys: empty, or it ends with /
	used   atomic.Bool
	plain  atomic.Bool // the store does not know conditions of requests that write
}

// before is what this process has done with the store, for errors: once it has written there, what
// gives no permission is credentials that hold no longer.
func (f *Folder) before() string {
	if f.used.Load() {
		return wrote
	}
	return ""
}

// OpenFolder makes no request: that there is such a bucket, the first one finds out.
func OpenFolder(place string) (*Folder, error) {
	s, err := fromEnvironment()
	if err != nil {
		return nil, err
	}
	return s.folder(place)
}

func (s *store) folder(place string) (*Folder, error) {
	bucket, key, err := split(place)
	if err != nil {
		return nil, err
	}
	f := &Folder{s: s, bucket: bucket}
	if key = strings.Trim(path.Clean("/"+key), "/"); key != "" {
		f.prefix = key + "/"
	}
	return f, nil
}

// patient is the store for requests that write.
func (f *Folder) patient() *store {
	s := *f.s
	s.attempts = max(s.attempts, writeAttempts)
	return &s
}

// List lists the objects, their names in Rel.
func (f *Folder) List() ([]Object, error) {
	found, err := f.s.keys(f.bucket, f.prefix)
	if err != nil {
		return nil, f.s.explain(err, f.before())
	}
	var out []Object
	for _, o := range found {
		out = append(out, Object{scheme + f.bucket + "/" + o.Key, o.Key[len(f.prefix):], o.Size})
	}
	slices.SortFunc(out, func(a, b Object) int { return strings.Compare(a.Rel, b.Rel) })
	return out, nil
}

// Open opens an object for reading.
func (f *Folder) Open(name string) (File, error) {
	return f.s.openKey(f.bucket, f.prefix+name, f.before())
}

// ReadAll reads an object that is to have at most limit bytes.
func (f *Folder) ReadAll(name string, limit int64) ([]byte, error) {
	o, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	if o.Size() > limit {
		return nil, &Error{Msg: "the object is too long: " + name}
	}
	return io.ReadAll(o)
}

// Put writes an object in one request: it is there whole or not at all. With fresh, one that is
// there already is an fs.ErrExist, from stores that know the condition.
func (f *Folder) Put(name string, data []byte, fresh bool) error {
	return f.put(f.patient(), name, data, fresh)
}

func (f *Folder) put(s *store, name string, data []byte, fresh bool) error {
	sum := sha256.Sum256(data)
	tries := 0
	err := f.make(s, fresh, func(ctx context.Context, o minio.PutObjectOptions) error {
		tries++
		_, err := minio.Core{Client: s.client}.PutObject(ctx, f.bucket, f.prefix+name, bytes.NewReader(data), int64(len(data)), "", hex.EncodeToString(sum[:]), o)
		return err
	})
	// An answer that was lost on its way may have been that it is written.
	if err == nil || tries > 1 && f.arrived(name, int64(len(data)), sum) {
		f.used.Store(true)
		return nil
	}
	return s.explain(err, f.before())
}

// make makes a request by which an object appears: with fresh, on the condition that none is there.
// A store that does not know the condition, and says so, is asked without, from then on: names are
// free where they are chosen, and the condition guards against two that choose at once.
func (f *Folder) make(s *store, fresh bool, request func(ctx context.Context, o minio.PutObjectOptions) error) error {
	// Bytes are hashed by who has them, not in pieces by the library.
	o := minio.PutObjectOptions{DisableContentSha256: true}
	if fresh && !f.plain.Load() {
		conditional := o
		conditional.SetMatchETagExcept("*")
		err := s.try(func(ctx context.Context) error { return request(ctx, conditional) })
		if err == nil || minio.ToErrorResponse(err).StatusCode != http.StatusNotImplemented {
			return err
		}
		f.plain.Store(true)
	}
	return s.try(func(ctx context.Context) error { return request(ctx, o) })
}

// has says whether an object has these bytes; one that is not there is an error.
func (f *Folder) has(name string, size int64, sum [sha256.Size]byte) (bool, error) {
	o, err := f.Open(name)
	if err != nil || o.Size() != size {
		return false, err
	}
	h := sha256.New()
	_, err = io.Copy(h, o)
	return err == nil && bytes.Equal(h.Sum(nil), sum[:]), err
}

// arrived says whether an object has these bytes, where the answer was lost.
func (f *Folder) arrived(name string, size int64, sum [sha256.Size]byte) bool {
	ok, err := f.has(name, size, sum)
	return ok && err == nil
}

// Delete removes an object. One that is not there is no error.
func (f *Folder) Delete(name string) error {
	s := f.patient()
	err := s.try(func(ctx context.Context) error {
		return s.client.RemoveObject(ctx, f.bucket, f.prefix+name, minio.RemoveObjectOptions{})
	})
	if err != nil {
		return s.explain(err, f.before())
	}
	return nil
}

// maxUploads bounds the unfinished uploads that are looked at.
const maxUploads = 1000

// EndUploads ends the uploads of objects whose names begin with a prefix that were never finished,
// as a process leaves them that is killed. Stores show nothing of them, and count their bytes. MinIO
// lists those of one object alone, and ends all by itself after a day.
func (f *Folder) EndUploads(prefix string) error {
	s := f.s
	core := minio.Core{Client: s.client}
	var found minio.ListMultipartUploadsResult
	err := s.try(func(ctx context.Context) (err error) {
		found, err = core.ListMultipartUploads(ctx, f.bucket, f.prefix+prefix, "", "", "", maxUploads)
		return err
	})
	if err != nil {
		return s.explain(err, f.before())
	}
	for _, u := range found.Uploads {
		err := s.try(func(ctx context.Context) error { return core.AbortMultipartUpload(ctx, f.bucket, u.Key, u.UploadID) })
		if err != nil && minio.ToErrorResponse(err).Code != "NoSuchUpload" {
			return s.explain(err, f.before())
		}
	}
	return nil
}
