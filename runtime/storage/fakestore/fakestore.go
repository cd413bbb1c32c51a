package fakestore

import (
	"bytes"
	"encoding/xml"
	"fmt"
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
	Cut     int                                             // so many answers end too early
	Gets    int
}

func (f *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	refuse := func(status int, code string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
		}
	}
	if f.Fail != nil {
		if status, code := f.Fail(r); status != 0 {
			refuse(status, code)
			return
		}
	}
	key, ok := strings.CutPrefix(r.URL.Path, "/bkt/")
	if !ok {
		refuse(http.StatusNotFound, "NoSuchBucket")
		return
	}
	if r.URL.Query().Has("list-type") {
		f.list(w, r.URL.Query().Get("prefix"))
		return
	}
	body, ok := f.Objects[key]
	if !ok {
		refuse(http.StatusNotFound, "NoSuchKey")
		return
	}
	etag := fmt.Sprintf(`"%x"`, len(body))
	if match := r.Header.Get("If-Match"); match != "" && strings.Trim(match, `"`) != strings.Trim(etag, `"`) {
		refuse(http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	w.Header().Set("ETag", etag)
	w.Header().Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
	if r.Method == http.MethodGet {
		f.Gets++
		if f.Cut > 0 {
			f.Cut--
			w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
			_, _ = w.Write(body[:1])
			return
		}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

func (f *Store) list(w http.ResponseWriter, prefix string) {
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
	var keys []string
	for k := range f.Objects {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		out.Contents = append(out.Contents, entry{k, len(f.Objects[k]), "x", "2020-01-01T00:00:00.000Z"})
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(out)
}
