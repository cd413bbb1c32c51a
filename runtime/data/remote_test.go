package data

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/runtime/storage/fakestore"
)

// remote serves files as the objects of a store, whose bucket is s3://bkt.
func remote(t *testing.T, objects map[string][]byte) *fakestore.Store {
	t.Helper()
	s := &fakestore.Store{Objects: objects}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	return s
}

// TestRemote: data of a store is the data of the same files, for every kind of source.
func TestRemote(t *testing.T) {
	list := ids(3, 900, 5000)
	files := map[string][]byte{
		"raw/a.bin":         encode("u32", list[:500]),
		"raw/b.bin":         encode("u32", list[500:]),
		"raw/manifest.json": []byte(`{"format": "` + ManifestFormat + `", "dtype": "u32"}`),
		"mega/a.bin":        encode("u16", list),
		"mega/a.idx":        megatronIndexFile(8, 2, 400, 500),
		"text/a.txt":        []byte(words(1, 700)),
		"text/b.txt":        []byte(words(2, 700)),
		"records/a.jsonl":   []byte(`{"text": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}` + "\n"),
		"arrays/x.npy":      npyFile("|u1", "40, 4, 5", imageBytes()),
	}
	dir := writeFiles(t, files)
	remote(t, files)
	for name, c := range map[string]struct {
		kind, key, path string
		opts            []Option
	}{
		"raw":      {"tokens", "files", "/raw/*", nil},
		"folder":   {"tokens", "files", "/raw", nil},
		"megatron": {"tokens", "files", "/mega/*", []Option{{"documents", "true"}}},
		"text":     {"text", "files", "/text/**", nil},
		"records":  {"tokens", "files", "/records/a.jsonl", []Option{{"valid", "0"}}},
		"arrays":   {"arrays", "x_file", "/arrays/x.npy", nil},
	} {
		b := Batch{Size: 2, Window: 7, Seed: 4}
		here := openT(t, c.kind, b, append([]Option{{c.key, dir + c.path}}, c.opts...)...)
		there := openT(t, c.kind, b, append([]Option{{c.key, "s3://bkt" + c.path}}, c.opts...)...)
		for step := int64(1); step < 30; step++ {
			if d := cmp.Diff(fillT(t, here, step), fillT(t, there, step)); d != "" {
				t.Fatalf("%s: step %d\n%s", name, step, d)
			}
		}
		if here.Fingerprint() != there.Fingerprint() {
			t.Errorf("%s: the place is in the fingerprint", name)
		}
	}
}

// TestRemoteRevoked: a token that is revoked while a run reads is an error that says so.
func TestRemoteRevoked(t *testing.T) {
	s := remote(t, map[string][]byte{"a.bin": encode("u16", ids(3, 1<<20, 5000))})
	src := openT(t, "tokens", Batch{Size: 2, Window: 64, Seed: 4}, Option{"files", "s3://bkt/*.bin"})
	views := whole(src)
	if err := src.Fill(1, views); err != nil {
		t.Fatal(err)
	}
	s.Fail = func(*http.Request) (int, string) { return http.StatusForbidden, "ExpiredToken" }
	var err error
	for step := int64(2); step < 200 && err == nil; step++ {
		err = src.Fill(step, views)
	}
	var e *Error
	if !errors.As(err, &e) || e.Path != "s3://bkt/a.bin" || !strings.Contains(err.Error(), "revoked while the run read") {
		t.Errorf("%v", err)
	}
	if _, err := Open("tokens", []Option{{"files", "s3://bkt/*.bin"}}, Batch{Size: 2, Window: 64}); err == nil || !strings.Contains(err.Error(), "gives no permission") {
		t.Errorf("%v", err)
	}
	s.Fail = nil
	if _, err := Open("tokens", []Option{{"files", "s3://bkt/none*"}}, Batch{Size: 2, Window: 64}); err == nil || !strings.Contains(err.Error(), "no file matches") {
		t.Errorf("%v", err)
	}
}
