package storage

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ptc/runtime/storage/fakestore"
)

// serve starts the store, and gives a client whose waits are counted, not slept.
func serve(t *testing.T, f *fakestore.Store) (s *store, waited *time.Duration) {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s, err := fromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	waited = new(time.Duration)
	s.wait = func(d time.Duration) { *waited += d }
	return s, waited
}

func random(n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// TestRead: what is read at any place, and from the start, is what is there.
func TestRead(t *testing.T) {
	body := random(chunkSize + 3*blockSize + 17)
	s, _ := serve(t, &fakestore.Store{Objects: map[string][]byte{"d/a.bin": body, "empty": nil}})
	f, err := s.open("s3://bkt/d/a.bin")
	if err != nil || f.Size() != int64(len(body)) {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		at, n := r.IntN(len(body)), 1+r.IntN(2*blockSize)
		p := make([]byte, n)
		got, err := f.ReadAt(p, int64(at))
		want := body[at:min(at+n, len(body))]
		if !bytes.Equal(p[:got], want) || (err == io.EOF) != (at+n > len(body)) {
			t.Fatalf("%d bytes at %d: %d, %v", n, at, got, err)
		}
	}
	all, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(all, body) {
		t.Errorf("all are %d bytes, %v", len(all), err)
	}
	if e, err := s.open("s3://bkt/empty"); err != nil {
		t.Error(err)
	} else if all, err := io.ReadAll(e); err != nil || len(all) != 0 {
		t.Errorf("%d bytes of none, %v", len(all), err)
	}
}

// TestBlocks: places that lie together are one request.
func TestBlocks(t *testing.T) {
	store := &fakestore.Store{Objects: map[string][]byte{"a": random(4 * blockSize)}}
	s, _ := serve(t, store)
	f, err := s.open("s3://bkt/a")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if _, err := f.ReadAt(make([]byte, 10), int64(blockSize+100*i)); err != nil {
			t.Fatal(err)
		}
	}
	if store.Gets != 1 {
		t.Errorf("%d requests", store.Gets)
	}
}

func TestList(t *testing.T) {
	s, _ := serve(t, &fakestore.Store{Objects: map[string][]byte{"d/a.bin": {1}, "d/b.bin": {1, 2}, "d/c.txt": nil, "d/e/f.bin": nil, "d/mark/": nil, "da": nil}})
	for pattern, want := range map[string]string{
		"s3://bkt/d/*.bin":    "a.bin b.bin",
		"s3://bkt/d/**/*.bin": "a.bin b.bin e/f.bin",
		"s3://bkt/d/{a,c}*":   "a.bin c.txt",
		"s3://bkt/d/a.bin":    "a.bin",
		"s3://bkt/d":          "a.bin b.bin c.txt e/f.bin",
		"s3://bkt/d/":         "a.bin b.bin c.txt e/f.bin",
		"s3://bkt/d*":         "da",
		"s3://bkt/nothing/*":  "",
	} {
		found, err := s.list(pattern)
		var names []string
		for _, o := range found {
			names = append(names, o.Rel)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
	if found, err := s.list("s3://bkt/d/b.*"); err != nil || len(found) != 1 || found[0] != (Object{"s3://bkt/d/b.bin", "b.bin", 2}) {
		t.Errorf("%v, %v", found, err)
	}
}

// TestRetries: what fails for a reason that may pass is asked for again, later each time.
func TestRetries(t *testing.T) {
	body := random(1000)
	failures := 3
	store := &fakestore.Store{Objects: map[string][]byte{"a": body}, Cut: 2}
	store.Fail = func(*http.Request) (int, string) {
		if failures--; failures >= 0 {
			return http.StatusServiceUnavailable, "SlowDown"
		}
		return 0, ""
	}
	s, waited := serve(t, store)
	f, err := s.open("s3://bkt/a")
	if err != nil || *waited != 7*firstWait {
		t.Fatalf("%v after %v", err, *waited)
	}
	got := make([]byte, len(body))
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got, body) || store.Gets != 3 {
		t.Errorf("%v after %d requests", err, store.Gets)
	}
	failures = 1000
	if _, err := s.open("s3://bkt/a"); err == nil || !strings.Contains(err.Error(), "again and again") || failures != 1000-attempts {
		t.Errorf("%v after %d attempts", err, 1000-failures)
	}
}

func TestErrors(t *testing.T) {
	store := &fakestore.Store{Objects: map[string][]byte{"a": random(3 * blockSize)}}
	s, waited := serve(t, store)
	if _, err := s.open("s3://bkt/none"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no such object") {
		t.Errorf("%v", err)
	}
	if _, err := s.list("s3://other/*"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "no such bucket") {
		t.Errorf("%v", err)
	}
	for _, place := range []string{"s3://", "s3:///a", "s3://b*/a", "s3://b/a"} {
		if _, err := s.list(place); err == nil || !strings.Contains(err.Error(), "s3://bucket/key") {
			t.Errorf("%s: %v", place, err)
		}
	}
	f, err := s.open("s3://bkt/a")
	if err != nil {
		t.Fatal(err)
	}
	one := make([]byte, 1)
	if _, err := f.ReadAt(one, 0); err != nil {
		t.Fatal(err)
	}
	store.Fail = func(*http.Request) (int, string) { return http.StatusForbidden, "ExpiredToken" }
	if _, err := f.ReadAt(one, blockSize); err == nil || !strings.Contains(err.Error(), "takes the credentials no longer") || !strings.Contains(err.Error(), "ExpiredToken") {
		t.Errorf("%v", err)
	}
	if _, err := s.open("s3://bkt/a"); err == nil || !strings.Contains(err.Error(), "gives no permission") {
		t.Errorf("%v", err)
	}
	store.Fail = func(*http.Request) (int, string) { return http.StatusBadRequest, "ExpiredToken" }
	if _, err := s.open("s3://bkt/a"); err == nil || !strings.Contains(err.Error(), "credentials may have expired") {
		t.Errorf("to a question about an object: %v", err)
	}
	if *waited != 0 {
		t.Errorf("waited %v for what does not pass", *waited)
	}
	store.Fail = nil
	store.Objects["a"] = random(3*blockSize + 1)
	if _, err := f.ReadAt(one, blockSize); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("%v", err)
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	s, err = fromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	s.wait = func(time.Duration) {}
	if _, err := s.list("s3://bkt/*"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1 cannot be reached") {
		t.Errorf("%v", err)
	}
	t.Setenv("AWS_ENDPOINT_URL", "store")
	if _, err := Open("s3://bkt/a"); err == nil || !strings.Contains(err.Error(), "not an address") {
		t.Errorf("%v", err)
	}
}
