package fakestore

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Store is a store with one bucket, "bkt".
type Store struct {
	mu      sync.Mutex
	Objects map[string][]byte
	Fail    func(r *http.Request) (status int, code string) // 0: it does not
	Lose    func(r *http.Request) bool                      // the request is carried out, and its answer lost
	Page    func(r *http.Request) bool                      // a gateway answers instead of the store, with 200 and a page
	Whole   bool                                            // what is between the store and its readers drops the range of a request
	Cut     int                                             // so many answers end too early
	Gets    int
	Quota   int // bytes of objects and uploads that there is room for; 0: no bound

	Plain     bool   // it does not know conditions of requests that write
	LeastPart int    // bytes of every part of an upload but the last
	Unlisted  string // an object that no listing has
	Prefix    string // it lists what begins so, whatever is asked; empty: what is asked

	uploads map[string]*upload
	begun   int
}

// Locked calls do while no request is served.
func (f *Store) Locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// Keys are the objects' keys, in order.
func (f *Store) Keys() (keys []string) {
	f.Locked(func() { keys = f.keys("") })
	return keys
}

func (f *Store) keys(prefix string) (keys []string) {
	for k := range f.Objects {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// answer writes answers and refusals.
type answer struct {
	http.ResponseWriter
	r *http.Request
}

func (a answer) refuse(status int, code string) {
	a.Header().Set("Content-Type", "application/xml")
	a.WriteHeader(status)
	if a.r.Method != http.MethodHead {
		fmt.Fprintf(a, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
	}
}

func (a answer) xml(v any) {
	a.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(a).Encode(v)
}

func (f *Store) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // outside of the lock, as it may wait for the client
	f.mu.Lock()
	defer f.mu.Unlock()
	w := answer{rw, r}
	if f.Fail != nil {
		if status, code := f.Fail(r); status != 0 {
			w.refuse(status, code)
			return
		}
	}
	if f.Page != nil && f.Page(r) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("ETag", `"page"`)
		fmt.Fprint(w, "<!DOCTYPE html>\n<html><body>Welcome. Please log in.</body></html>")
		return
	}
	key, ok := strings.CutPrefix(r.URL.Path, "/bkt/")
	if !ok {
		w.refuse(http.StatusNotFound, "NoSuchBucket")
		return
	}
	if sum := r.Header.Get("X-Amz-Content-Sha256"); r.Method == http.MethodPut && (err != nil || sum != hexSHA256(body)) {
		w.refuse(http.StatusBadRequest, "XAmzContentSHA256Mismatch")
		return
	}
	if f.Lose != nil && f.Lose(r) {
		f.serve(answer{&nowhere{http.Header{}}, r}, key, body)
		panic(http.ErrAbortHandler)
	}
	f.serve(w, key, body)
}

// nowhere is where an answer goes that is lost.
type nowhere struct{ h http.Header }

func (n *nowhere) Header() http.Header         { return n.h }
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) WriteHeader(int)             {}

func hexSHA256(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func (f *Store) serve(w answer, key string, body []byte) {
	q := w.r.URL.Query()
	switch m := w.r.Method; {
	case m == http.MethodGet && key == "" && q.Has("uploads"):
		f.listUploads(w, q.Get("prefix"))
	case m == http.MethodGet && q.Has("list-type"):
		f.list(w, q.Get("prefix"))
	case m == http.MethodGet || m == http.MethodHead:
		f.read(w, key)
	case q.Has("uploads") || q.Has("uploadId"):
		f.multipart(w, key, body)
	case m == http.MethodPut:
		if f.mayWrite(w, key, len(body)) {
			f.Objects[key] = body
			w.Header().Set("ETag", etag(body))
		}
	case m == http.MethodDelete:
		delete(f.Objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.refuse(http.StatusNotImplemented, "NotImplemented")
	}
}

func etag(body []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(body)) }

// mayWrite refuses what has no room, and what is there and was to be fresh.
func (f *Store) mayWrite(w answer, key string, more int) bool {
	used := more
	for _, o := range f.Objects {
		used += len(o)
	}
	for _, u := range f.uploads {
		for _, p := range u.parts {
			used += len(p)
		}
	}
	if f.Quota > 0 && used > f.Quota {
		w.refuse(http.StatusInsufficientStorage, "XMinioStorageFull")
		return false
	}
	if f.Plain && w.r.Header.Get("If-None-Match") != "" {
		w.refuse(http.StatusNotImplemented, "NotImplemented")
		return false
	}
	if _, there := f.Objects[key]; there && w.r.Header.Get("If-None-Match") == "*" {
		w.refuse(http.StatusPreconditionFailed, "PreconditionFailed")
		return false
	}
	if f.Objects == nil {
		f.Objects = map[string][]byte{}
	}
	return true
}

func (f *Store) read(w answer, key string) {
	body, ok := f.Objects[key]
	if !ok {
		w.refuse(http.StatusNotFound, "NoSuchKey")
		return
	}
	tag := etag(body)
	if match := w.r.Header.Get("If-Match"); match != "" && strings.Trim(match, `"`) != strings.Trim(tag, `"`) {
		w.refuse(http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	w.Header().Set("ETag", tag)
	w.Header().Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
	if w.r.Method == http.MethodGet {
		f.Gets++
		if f.Cut > 0 {
			f.Cut--
			w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
			_, _ = w.Write(body[:1])
			return
		}
		if f.Whole {
			_, _ = w.Write(body)
			return
		}
	}
	http.ServeContent(w, w.r, "", time.Time{}, bytes.NewReader(body))
}

func (f *Store) list(w answer, prefix string) {
	type entry struct {
		Key          string
		Size         int
		ETag         string
		LastModified string
	}
	var out struct {
		XMLName     xml.Name `xml:"ListBucketResult"`
		IsTruncated bool
		Contents    []entry
	}
	for _, k := range f.keys(cmp.Or(f.Prefix, prefix)) {
		if k == f.Unlisted {
			continue
		}
		out.Contents = append(out.Contents, entry{k, len(f.Objects[k]), "x", "2020-01-01T00:00:00.000Z"})
	}
	w.xml(out)
}
