package fakestore

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// upload is one that is neither complete nor ended.
type upload struct {
	key   string
	parts map[int][]byte
}

// leastPart is what stores ask of every part but the last, in bytes, if LeastPart does not say.
const leastPart = 5 << 20

// Uploads are the keys of unfinished uploads, in order.
func (f *Store) Uploads() (keys []string) {
	f.Locked(func() {
		for _, u := range f.uploads {
			keys = append(keys, u.key)
		}
	})
	slices.Sort(keys)
	return keys
}

// multipart serves the requests of an upload in parts.
func (f *Store) multipart(w answer, key string, body []byte) {
	q := w.r.URL.Query()
	id := q.Get("uploadId")
	if w.r.Method == http.MethodPost && id == "" {
		f.initiate(w, key)
		return
	}
	u := f.uploads[id]
	if u == nil || u.key != key {
		w.refuse(http.StatusNotFound, "NoSuchUpload")
		return
	}
	switch w.r.Method {
	case http.MethodPut:
		number, err := strconv.Atoi(q.Get("partNumber"))
		if err != nil || number < 1 || number > 10000 {
			w.refuse(http.StatusBadRequest, "InvalidArgument")
			return
		}
		if f.mayWrite(w, key, len(body)) {
			u.parts[number] = body
			w.Header().Set("ETag", etag(body))
		}
	case http.MethodPost:
		f.complete(w, id, u, body)
	case http.MethodDelete:
		delete(f.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (f *Store) initiate(w answer, key string) {
	if f.uploads == nil {
		f.uploads = map[string]*upload{}
	}
	f.begun++
	id := fmt.Sprint("upload-", f.begun)
	f.uploads[id] = &upload{key: key, parts: map[int][]byte{}}
	w.xml(struct {
		XMLName               xml.Name `xml:"InitiateMultipartUploadResult"`
		Bucket, Key, UploadId string
	}{Bucket: "bkt", Key: key, UploadId: id})
}

// complete puts the parts together that the request names.
func (f *Store) complete(w answer, id string, u *upload, body []byte) {
	var want struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if err := xml.Unmarshal(body, &want); err != nil {
		w.refuse(http.StatusBadRequest, "MalformedXML")
		return
	}
	var whole []byte
	for i, p := range want.Part {
		part, ok := u.parts[p.PartNumber]
		switch {
		case !ok || strings.Trim(p.ETag, `"`) != strings.Trim(etag(part), `"`):
			w.refuse(http.StatusBadRequest, "InvalidPart")
			return
		case i > 0 && want.Part[i-1].PartNumber >= p.PartNumber:
			w.refuse(http.StatusBadRequest, "InvalidPartOrder")
			return
		case i < len(want.Part)-1 && len(part) < cmp.Or(f.LeastPart, leastPart):
			w.refuse(http.StatusBadRequest, "EntityTooSmall")
			return
		}
		whole = append(whole, part...)
	}
	if !f.mayWrite(w, u.key, 0) {
		return
	}
	delete(f.uploads, id)
	f.Objects[u.key] = whole
	w.xml(struct {
		XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
		Bucket, Key, ETag string
	}{Bucket: "bkt", Key: u.key, ETag: etag(whole)})
}

func (f *Store) listUploads(w answer, prefix string) {
	type entry struct{ Key, UploadId string }
	var out struct {
		XMLName     xml.Name `xml:"ListMultipartUploadsResult"`
		IsTruncated bool
		Upload      []entry
	}
	for id, u := range f.uploads {
		if strings.HasPrefix(u.key, prefix) {
			out.Upload = append(out.Upload, entry{u.key, id})
		}
	}
	slices.SortFunc(out.Upload, func(a, b entry) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.UploadId, b.UploadId))
	})
	w.xml(out)
}
