package storage

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ptc/runtime/storage/fakestore"
)

// requests are the kinds of requests that a run makes.
var requests = map[string]func(r *http.Request) bool{
	"list":         func(r *http.Request) bool { return r.URL.Query().Has("list-type") },
	"list uploads": func(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Query().Has("uploads") },
	"head":         func(r *http.Request) bool { return r.Method == http.MethodHead },
	"get":          func(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.RawQuery == "" },
	"put":          func(r *http.Request) bool { return r.Method == http.MethodPut && !r.URL.Query().Has("uploadId") },
	"part":         func(r *http.Request) bool { return r.Method == http.MethodPut && r.URL.Query().Has("uploadId") },
	"begin":        func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploads") },
	"complete":     func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") },
}

// TestPages: a page of a gateway, with 200, is never taken for an answer of the store, whatever was asked:
// a few are asked for again, and what comes of many is an error that says so.
func TestPages(t *testing.T) {
	small, large := random(100), random(3*smallPart)
	for name, is := range requests {
		for _, pages := range []int{1, 1000} {
			store := &fakestore.Store{Objects: map[string][]byte{"run/ck/there": small}}
			f, _ := folderT(t, store)
			n := 0
			store.Page = func(r *http.Request) bool {
				if !is(r) || n >= pages {
					return false
				}
				n++
				return true
			}
			err := func() error {
				if got, err := f.List(); err != nil || len(got) != 1 {
					return fmt.Errorf("%d objects are listed: %w", len(got), err)
				}
				if got, err := f.ReadAll("there", 1000); err != nil || !bytes.Equal(got, small) {
					return fmt.Errorf("%d bytes are read: %w", len(got), err)
				}
				if err := f.EndUploads("l"); err != nil {
					return err
				}
				if err := upload(f, "small", small, true); err != nil {
					return err
				}
				return upload(f, "large", large, true)
			}()
			if n == 0 {
				t.Errorf("%s: no such request is made", name)
			}
			whole := bytes.Equal(store.Objects["run/ck/small"], small) && bytes.Equal(store.Objects["run/ck/large"], large)
			if err == nil && !whole || err != nil && !Fault(err) {
				t.Errorf("%s, %d pages: %v, everything is there: %t", name, pages, err, whole)
			}
			if pages == 1 && err != nil && name != "put" && name != "part" { // whose answers have no form
				t.Errorf("%s, a page: %v", name, err)
			}
			if pages > 1 && err == nil {
				t.Errorf("%s: %d pages are no error", name, pages)
			}
			if name == "list" && pages > 1 && !strings.Contains(err.Error(), "is no object store: it sent <html> where ListBucketResult was expected") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestListingOfSomethingElse: a listing whose keys are elsewhere is of another question.
func TestListingOfSomethingElse(t *testing.T) {
	s, _ := serve(t, &fakestore.Store{Objects: map[string][]byte{"a": nil}, Prefix: "a"})
	if _, err := s.keys("bkt", "run/ck/"); err == nil || !Fault(err) || !strings.Contains(err.Error(), "the listing of something else") {
		t.Errorf("%v", err)
	}
}

// TestNoRange: the start of an object is not taken for what was asked for.
func TestNoRange(t *testing.T) {
	body := random(3 * blockSize)
	s, _ := serve(t, &fakestore.Store{Objects: map[string][]byte{"a": body}, Whole: true})
	f, err := s.open("s3://bkt/a")
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 10)
	if _, err := f.ReadAt(p, 2*blockSize); err == nil || !Fault(err) || !strings.Contains(err.Error(), "sends others") {
		t.Errorf("%v", err)
	}
}
