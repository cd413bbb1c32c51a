package storage

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// answers refuses what is no answer of an object store. Gateways, portals and proxies answer any request
// with 200 and a page of their own, and a reader of XML finds nothing in one: a listing would be that of an
// empty store, and an upload would have no number.
type answers struct{ http.RoundTripper }

// mostProlog bounds what may stand before the first element of an answer.
const mostProlog = 64 << 10

// RoundTrip makes a request, and looks at the first element of what comes back.
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.RoundTripper.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	want := roots(r)
	if want == nil {
		return resp, nil
	}
	var seen bytes.Buffer
	root := firstElement(io.TeeReader(io.LimitReader(resp.Body, mostProlog), &seen))
	if !slices.Contains(want, root) {
		_ = resp.Body.Close()
		return nil, &Error{fault: true, Msg: fmt.Sprintf("what answers at %s is no object store: it sent %s where %s was expected", r.URL.Host, sent(resp, root), want[0]),
			Hint: "a gateway or a proxy may stand between; AWS_ENDPOINT_URL names the store"}
	}
	resp.Body = body{io.MultiReader(&seen, resp.Body), resp.Body}
	return resp, nil
}

// body is an answer whose beginning has been read.
type body struct {
	io.Reader
	io.Closer
}

// roots are the first elements that an answer to a request may have; nil: it need not be XML.
// A store that fails after it has begun to answer sends Error.
func roots(r *http.Request) []string {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && q.Has("list-type"):
		return []string{"ListBucketResult"}
	case r.Method == http.MethodGet && q.Has("uploads"):
		return []string{"ListMultipartUploadsResult"}
	case r.Method == http.MethodGet && q.Has("location"):
		return []string{"LocationConstraint"}
	case r.Method == http.MethodPost && q.Has("uploads"):
		return []string{"InitiateMultipartUploadResult"}
	case r.Method == http.MethodPost && q.Has("uploadId"):
		return []string{"CompleteMultipartUploadResult", "Error"}
	}
	return nil
}

// firstElement is the name of the first element of XML; empty where there is none.
func firstElement(r io.Reader) string {
	d := xml.NewDecoder(r)
	for {
		t, err := d.RawToken()
		if err != nil {
			return ""
		}
		if e, ok := t.(xml.StartElement); ok {
			return e.Name.Local
		}
	}
}

// sent names an answer, for errors.
func sent(resp *http.Response, root string) string {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	switch {
	case len(root) > 0 && len(root) < 40:
		return fmt.Sprintf("<%s>", root)
	case kind != "":
		return fmt.Sprintf("%.40q", kind)
	}
	return "something else"
}
