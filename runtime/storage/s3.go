package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// Limits of requests.
const (
	attempts   = 6
	firstWait  = 100 * time.Millisecond // twice as long after each attempt
	timeout    = time.Minute            // of one attempt
	maxObjects = 1 << 20                // that a pattern may match
)

// Environment is what the address of a store and the credentials are taken from.
var Environment = []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"}

// store is a client of an object store.
type store struct {
	client   *minio.Client
	host     string
	attempts int   // of a request
	part     int64 // bytes of the parts of an object that is written, at least
	wait     func(time.Duration)
}

// transport is shared, so that files use connections again.
var transport = sync.OnceValues(func() (*http.Transport, error) { return minio.DefaultTransport(true) })

// fromEnvironment makes the client that the environment describes.
func fromEnvironment() (*store, error) {
	address := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	region := cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	lookup := minio.BucketLookupAuto
	if address == "" {
		address = "https://s3.amazonaws.com"
	} else {
		lookup, region = minio.BucketLookupPath, cmp.Or(region, "us-east-1")
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, &Error{Msg: "AWS_ENDPOINT_URL is not an address such as https://host:9000"}
	}
	t, err := transport()
	if err != nil {
		return nil, err
	}
	c, err := minio.New(u.Host, &minio.Options{
		Creds:  credentials.NewEnvAWS(),
		Secure: u.Scheme == "https", Region: region, BucketLookup: lookup, Transport: answers{t}, MaxRetries: 1,
	})
	if err != nil {
		return nil, &Error{Msg: "the object store cannot be used", Err: err}
	}
	return &store{client: c, host: u.Host, attempts: attempts, part: partSize, wait: time.Sleep}, nil
}

// split cuts a place into bucket and key.
func split(place string) (bucket, key string, err error) {
	bucket, key, _ = strings.Cut(strings.TrimPrefix(place, scheme), "/")
	if err := s3utils.CheckValidBucketName(bucket); err != nil {
		return "", "", &Error{Msg: "an object is s3://bucket/key, with a pattern in the key alone", Err: err}
	}
	return bucket, key, nil
}

// try makes a request until it succeeds, fails for good, or was made often enough.
func (s *store) try(request func(ctx context.Context) error) (err error) {
	for i, wait := 0, firstWait; i < s.attempts; i, wait = i+1, 2*wait {
		if i > 0 {
			s.wait(wait / 2)
		}
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		err = request(ctx)
		cancel()
		if err == nil || !passes(err) {
			break
		}
	}
	return err
}

// passes says that the reason of an error may pass.
func passes(err error) bool {
	var r minio.ErrorResponse
	if !errors.As(err, &r) {
		return true // of the network
	}
	if r.StatusCode == http.StatusInsufficientStorage || r.StatusCode == http.StatusNotImplemented || slices.Contains(full, r.Code) {
		return false
	}
	return r.StatusCode >= 500 || r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusRequestTimeout ||
		slices.Contains(transient, r.Code)
}

// transient are codes of what may pass that come with another status: bytes that were damaged on
// their way, and failures that a store tells of in the body of an answer that it had begun.
var transient = []string{"BadDigest", "IncompleteBody", "InternalError", "RequestTimeout", "ServiceUnavailable", "SlowDown", "XAmzContentSHA256Mismatch"}

func (s *store) list(pattern string) ([]Object, error) {
	bucket, key, err := split(pattern)
	if err != nil {
		return nil, err
	}
	base, glob := "", key
	if i := strings.IndexAny(key, `*?[{\`); i >= 0 {
		base = key[:strings.LastIndexByte(key[:i], '/')+1]
		glob = key[len(base):]
	} else if base = key[:strings.LastIndexByte(key, '/')+1]; true {
		glob = key[len(base):]
	}
	if !doublestar.ValidatePattern(glob) {
		return nil, &Error{Msg: "this is not a valid pattern"}
	}
	found, err := s.keys(bucket, base+prefixOf(glob))
	if err != nil {
		return nil, s.explain(err, "")
	}
	match := func(base string, want func(rel string) bool) (out []Object) {
		for _, o := range found {
			if rel, ok := strings.CutPrefix(o.Key, base); ok && rel != "" && want(rel) {
				out = append(out, Object{scheme + bucket + "/" + o.Key, rel, o.Size})
			}
		}
		return out
	}
	out := match(base, func(rel string) bool { return doublestar.MatchUnvalidated(glob, rel) })
	if len(out) == 0 && prefixOf(glob) == glob { // a folder
		folder := key
		if folder != "" && !strings.HasSuffix(folder, "/") {
			folder += "/"
		}
		out = match(folder, func(string) bool { return true })
	}
	slices.SortFunc(out, func(a, b Object) int { return cmp.Compare(a.Rel, b.Rel) })
	return out, nil
}

// prefixOf is what a pattern begins with as it stands.
func prefixOf(glob string) string {
	if i := strings.IndexAny(glob, `*?[{\`); i >= 0 {
		return glob[:i]
	}
	return glob
}

// keys lists the objects of a bucket whose keys begin with the prefix.
func (s *store) keys(bucket, prefix string) (found []minio.ObjectInfo, err error) {
	err = s.try(func(ctx context.Context) error {
		found = found[:0]
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for o := range s.client.ListObjects(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
			if o.Err != nil {
				return o.Err
			}
			if !strings.HasPrefix(o.Key, prefix) {
				return &Error{fault: true, Msg: fmt.Sprintf("the object store %s has sent the listing of something else: %.80q does not begin with %q", s.host, o.Key, prefix)}
			}
			if strings.HasSuffix(o.Key, "/") { // a folder's mark
				continue
			}
			if found = append(found, o); len(found) > maxObjects {
				return minio.ErrorResponse{Code: "TooMany", Message: fmt.Sprintf("more than %d objects match", maxObjects)}
			}
		}
		return nil
	})
	return found, err
}

// open finds an object, of which nothing is read yet.
func (s *store) open(place string) (File, error) {
	bucket, key, err := split(place)
	if err != nil {
		return nil, err
	}
	return s.openKey(bucket, key, "")
}

func (s *store) openKey(bucket, key, before string) (File, error) {
	f := &object{store: s, bucket: bucket, key: key}
	err := s.try(func(ctx context.Context) error {
		info, err := s.client.StatObject(ctx, bucket, key, minio.StatObjectOptions{})
		f.size, f.etag = info.Size, info.ETag
		return err
	})
	if err != nil {
		return nil, s.explain(err, before)
	}
	return f, nil
}
