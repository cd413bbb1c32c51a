package storage

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ptc/runtime/storage/fakestore"
)

// smallPart is the size of parts in most tests.
const smallPart = 64 << 10

func folderT(t *testing.T, f *fakestore.Store) (*Folder, *time.Duration) {
	t.Helper()
	s, waited := serve(t, f)
	s.part, f.LeastPart = smallPart, smallPart
	folder, err := s.folder("s3://bkt/run//ck/")
	if err != nil {
		t.Fatal(err)
	}
	return folder, waited
}

// upload writes an object in pieces of random lengths.
func upload(f *Folder, name string, body []byte, fresh bool) error {
	u := f.Create(name, int64(len(body)), fresh)
	defer u.Abort()
	r := rand.New(rand.NewPCG(uint64(len(body)), 2))
	for at := 0; at < len(body); {
		n := min(1+r.IntN(3<<14), len(body)-at)
		if _, err := u.WriteAt(body[at:at+n], int64(at)); err != nil {
			return err
		}
		at += n
	}
	n, sum, err := u.Finish()
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("%x", sha256.Sum256(body)); n != int64(len(body)) || sum != want {
		return fmt.Errorf("%d bytes with hash %s, not %d with %s", n, sum, len(body), want)
	}
	return u.Commit()
}

// TestUpload: what is uploaded is there, whole, whatever its size is compared with that of parts.
func TestUpload(t *testing.T) {
	store := &fakestore.Store{}
	f, _ := folderT(t, store)
	for _, n := range []int{0, 1, smallPart - 1, smallPart, smallPart + 1, 2 * smallPart, 5*smallPart + 12345} {
		body, name := random(n), fmt.Sprint("n", n)
		if err := upload(f, name, body, n%2 == 0); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if !bytes.Equal(store.Objects["run/ck/"+name], body) {
			t.Errorf("%d bytes: others are there", n)
		}
		got := make([]byte, n)
		o, err := f.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.ReadAt(got, 0); err != nil && n > 0 || !bytes.Equal(got, body) {
			t.Errorf("%d bytes: others are read: %v", n, err)
		}
	}
	f.s.part, store.LeastPart = partSize, 0 // as stores have it
	if body := bytes.Repeat([]byte("0123456789abcdef"), partSize/16+1); upload(f, "large", body, true) != nil || !bytes.Equal(store.Objects["run/ck/large"], body) {
		t.Error("large parts are not taken")
	}
	if u := store.Uploads(); len(u) != 0 {
		t.Errorf("unfinished: %v", u)
	}
}

// TestReadRanges: long ranges, which several requests read, are those of the object.
func TestReadRanges(t *testing.T) {
	body := random(3*chunkSize + 999)
	f, _ := folderT(t, &fakestore.Store{Objects: map[string][]byte{"run/ck/a": body}})
	o, err := f.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 3))
	for range 20 {
		at := r.IntN(len(body))
		p := make([]byte, chunkSize/4+r.IntN(2*chunkSize))
		n, err := o.ReadAt(p, int64(at))
		if want := body[at:min(at+len(p), len(body))]; !bytes.Equal(p[:n], want) || (err != nil) != (len(want) < len(p)) {
			t.Fatalf("%d bytes at %d: %d, %v", len(p), at, n, err)
		}
	}
}

// TestUploadIsHidden: nothing is seen of an upload that is not committed, and nothing remains of one
// that is aborted or, once they are ended, left by a process that is gone.
func TestUploadIsHidden(t *testing.T) {
	store := &fakestore.Store{}
	f, _ := folderT(t, store)
	for _, name := range []string{"aborted", "left"} {
		u := f.Create(name, 0, true)
		for at := int64(0); at < 3*smallPart; at += smallPart {
			if _, err := u.WriteAt(make([]byte, smallPart), at); err != nil {
				t.Fatal(err)
			}
		}
		if name == "aborted" {
			u.Abort()
		} else if _, _, err := u.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"run/ck/left"}, store.Uploads()); diff != "" || len(store.Keys()) != 0 {
		t.Error(diff, store.Keys())
	}
	if err := f.EndUploads("l"); err != nil || len(store.Uploads()) != 0 {
		t.Errorf("%v, %v", err, store.Uploads())
	}
}

// TestFresh: an object that is there is not replaced where a fresh one is asked for.
func TestFresh(t *testing.T) {
	store := &fakestore.Store{Objects: map[string][]byte{"run/ck/a": {1}}}
	f, _ := folderT(t, store)
	for _, body := range [][]byte{random(10), random(smallPart + 1)} {
		if err := upload(f, "a", body, true); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "another process wrote it") {
			t.Errorf("%v", err)
		}
		if !bytes.Equal(store.Objects["run/ck/a"], []byte{1}) || len(store.Uploads()) != 0 {
			t.Error("it was replaced")
		}
	}
	if err := upload(f, "a", []byte{2}, false); err != nil || !bytes.Equal(store.Objects["run/ck/a"], []byte{2}) {
		t.Errorf("%v", err)
	}
}

// TestPlainStore: a store that does not know conditions is written to without.
func TestPlainStore(t *testing.T) {
	store := &fakestore.Store{Plain: true}
	f, waited := folderT(t, store)
	for _, n := range []int{10, 2*smallPart + 1, 20} {
		body, name := random(n), fmt.Sprint("n", n)
		if err := upload(f, name, body, true); err != nil || !bytes.Equal(store.Objects["run/ck/"+name], body) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if *waited != 0 || len(store.Uploads()) != 0 {
		t.Errorf("waited %v, %v are left", *waited, store.Uploads())
	}
}

// TestLostAnswers: an answer that is lost is not taken for a failure, nor the object for another's.
func TestLostAnswers(t *testing.T) {
	for _, n := range []int{10, smallPart + 10} {
		store := &fakestore.Store{}
		lost := 0
		store.Lose = func(r *http.Request) bool {
			q := r.URL.Query()
			if r.Method == http.MethodPut && !q.Has("uploadId") || r.Method == http.MethodPost && q.Has("uploadId") {
				lost++
				return lost == 1
			}
			return false
		}
		f, _ := folderT(t, store)
		body := random(n)
		if err := upload(f, "a", body, true); err != nil || lost < 1 || !bytes.Equal(store.Objects["run/ck/a"], body) {
			t.Errorf("%d bytes: %v, %d answers lost", n, err, lost)
		}
	}
}

// TestUploadRetries: parts that fail for a reason that may pass are sent again, so often and no more.
func TestUploadRetries(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
	}{{http.StatusServiceUnavailable, "SlowDown"}, {http.StatusBadRequest, "XAmzContentSHA256Mismatch"}, {http.StatusBadRequest, "RequestTimeout"}} {
		failures := 4
		store := &fakestore.Store{}
		f, waited := folderT(t, store)
		store.Fail = func(r *http.Request) (int, string) {
			if r.URL.Query().Get("partNumber") == "2" && failures > 0 {
				failures--
				return c.status, c.code
			}
			return 0, ""
		}
		body := random(3 * smallPart)
		if err := upload(f, "a", body, true); err != nil || !bytes.Equal(store.Objects["run/ck/a"], body) || *waited != 15*firstWait {
			t.Errorf("%s: %v after %v", c.code, err, *waited)
		}
		if c.code != "SlowDown" {
			continue // how often they are sent is the same for all
		}
		failures = 1000
		if err := upload(f, "b", body, true); err == nil || !strings.Contains(err.Error(), "again and again") || 1000-failures != writeAttempts {
			t.Errorf("%s: %v after %d attempts", c.code, err, 1000-failures)
		}
		if store.Objects["run/ck/b"] != nil || len(store.Uploads()) != 0 {
			t.Errorf("%s: something of it is left", c.code)
		}
	}
}

// TestUploadErrors: each reason why a store does not take an object has words of its own.
func TestUploadErrors(t *testing.T) {
	store := &fakestore.Store{Quota: 2 * smallPart}
	f, waited := folderT(t, store)
	if err := upload(f, "a", random(3*smallPart), true); err == nil || !strings.Contains(err.Error(), "no room left (XMinioStorageFull)") || !Fault(err) {
		t.Errorf("%v", err)
	}
	store.Quota = 0
	parts := 0
	store.Fail = func(r *http.Request) (int, string) {
		if r.URL.Query().Has("partNumber") {
			if parts++; parts > 1 {
				return http.StatusForbidden, "ExpiredToken"
			}
		}
		return 0, ""
	}
	if err := upload(f, "a", random(5*smallPart), true); err == nil || !strings.Contains(err.Error(), "revoked while the run wrote (ExpiredToken)") || !Fault(err) {
		t.Errorf("%v", err)
	}
	store.Fail = func(r *http.Request) (int, string) { return http.StatusForbidden, "AccessDenied" }
	if err := Probe("s3://bkt/a"); err == nil || !strings.Contains(err.Error(), "gives no permission (AccessDenied)") {
		t.Errorf("%v", err)
	}
	store.Fail = nil
	if err := Probe("s3://other/a"); err == nil || !strings.Contains(err.Error(), "no such bucket") || Fault(err) {
		t.Errorf("%v", err)
	}
	for _, place := range []string{"s3://bkt", "s3://bkt/", "s3://bkt/a/"} {
		if err := Probe(place); err == nil || !strings.Contains(err.Error(), "names none") {
			t.Errorf("%s: %v", place, err)
		}
	}
	u := f.Create("a", 0, true)
	defer u.Abort()
	if _, err := u.WriteAt([]byte{1}, 1); err == nil || !strings.Contains(err.Error(), "from its start to its end") {
		t.Errorf("%v", err)
	}
	if len(store.Objects) != 0 || len(store.Uploads()) != 0 || *waited != 0 {
		t.Errorf("%v and %v are left, after %v", store.Keys(), store.Uploads(), *waited)
	}
}

// TestUploadEnded: an upload that the store has dropped is an error that says so.
func TestUploadEnded(t *testing.T) {
	store := &fakestore.Store{}
	f, _ := folderT(t, store)
	u := f.Create("a", 0, true)
	defer u.Abort()
	if _, err := u.WriteAt(make([]byte, 2*smallPart), 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := u.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := f.EndUploads("a"); err != nil {
		t.Fatal(err)
	}
	if err := u.Commit(); err == nil || !strings.Contains(err.Error(), "has dropped what was uploaded") {
		t.Errorf("%v", err)
	}
}

func TestFolder(t *testing.T) {
	store := &fakestore.Store{Objects: map[string][]byte{"run/ck/x/b": {1, 2}, "run/ck/a": {1}, "run/c": nil, "run/ckk": nil}}
	f, _ := folderT(t, store)
	got, err := f.List()
	if diff := cmp.Diff([]Object{{"s3://bkt/run/ck/a", "a", 1}, {"s3://bkt/run/ck/x/b", "x/b", 2}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if text, err := f.ReadAll("x/b", 2); err != nil || len(text) != 2 {
		t.Errorf("%v, %v", text, err)
	}
	if _, err := f.ReadAll("x/b", 1); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
	for range 2 { // the second finds nothing
		if err := f.Delete("a"); err != nil || store.Objects["run/ck/a"] != nil {
			t.Errorf("%v", err)
		}
	}
}

// TestCreate: a file is put at its place by Commit alone, on a disk as in a store.
func TestCreate(t *testing.T) {
	store := &fakestore.Store{}
	serve(t, store)
	for _, place := range []string{filepath.Join(t.TempDir(), "f"), "s3://bkt/d/f"} {
		out, err := Create(place, 10)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.WriteAt([]byte("abc"), 0); err != nil {
			t.Fatal(err)
		}
		if there, err := Exists(place); there || err != nil {
			t.Errorf("%s is there: %v", place, err)
		}
		if err := out.Commit(); err != nil {
			t.Fatal(err)
		}
		if there, err := Exists(place); !there || err != nil {
			t.Errorf("%s is not there: %v", place, err)
		}
		out.Abort()
	}
	if text, err := os.ReadFile(filepath.Join(t.TempDir(), "f")); err == nil {
		t.Errorf("%q in another folder", text)
	}
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct{ place, join, base, parent string }{
		{"s3://b/run/ck/", "s3://b/run/ck/x", "ck", "s3://b/run"},
		{"s3://b/run", "s3://b/run/x", "run", "s3://b"},
		{"s3://b", "s3://b/x", "", "s3://."},
		{filepath.FromSlash("/run/ck"), filepath.FromSlash("/run/ck/x"), "ck", filepath.FromSlash("/run")},
	} {
		if got := [...]string{Join(c.place, "x"), Base(c.place), Parent(c.place)}; got != [...]string{c.join, c.base, c.parent} {
			t.Errorf("%s: %q", c.place, got)
		}
	}
}

func TestPartBytes(t *testing.T) {
	for _, size := range []int64{0, 1, mostParts * partSize, mostParts*partSize + 1, 5 << 40} {
		part := partBytes(size, partSize)
		if part < partSize || part%(1<<20) != 0 || (size+part-1)/part > 10000 {
			t.Errorf("%d bytes in parts of %d", size, part)
		}
	}
}
