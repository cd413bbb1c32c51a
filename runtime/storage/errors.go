package storage

import (
	"errors"
	"io/fs"
	"net/http"
	"slices"

	"github.com/minio/minio-go/v7"
)

// Error says why a store does not give or take an object.
type Error struct {
	Msg  string
	Hint string
	Err  error // cause, may be nil

	fault bool // see Fault
}

func (e *Error) Error() string {
	s := e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// What a run has done with a store when a request fails.
const (
	read  = "read"
	wrote = "wrote"
)

// Fault says whether an error is the store's, which cannot be reached, gives no permission or
// fails, and so says nothing of what an object is, or whether there is one.
func Fault(err error) bool {
	var own *Error
	return errors.As(err, &own) && own.fault
}

// full are the codes of stores that have no room left: of MinIO, of its quotas, and of Ceph's.
var full = []string{"XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "QuotaExceeded"}

// explain says what an answer of the store means for a user; before is what the run did with
// the store until then, "read" or "wrote", or nothing.
func (s *store) explain(err error, before string) error {
	var own *Error
	if errors.As(err, &own) { // without what the client says around it
		return own
	}
	return s.meaning(err, before)
}

func (s *store) meaning(err error, before string) *Error {
	var r minio.ErrorResponse
	switch {
	case !errors.As(err, &r):
		return &Error{fault: true, Msg: "the object store " + s.host + " cannot be reached", Err: err,
			Hint: "AWS_ENDPOINT_URL names the store"}
	case r.StatusCode == http.StatusInsufficientStorage || slices.Contains(full, r.Code):
		return &Error{fault: true, Msg: "the object store " + s.host + " has no room left (" + r.Code + ")",
			Hint: "remove unneeded objects, or raise the bucket's quota"}
	case r.Code == "NoSuchUpload":
		return &Error{fault: true, Msg: "the object store " + s.host + " has dropped what was uploaded of the object: another process or a rule of the bucket has ended the upload"}
	case r.Code == "NoSuchBucket":
		return &Error{Msg: "there is no such bucket at " + s.host, Err: fs.ErrNotExist}
	case r.StatusCode == http.StatusNotFound:
		return &Error{Msg: "there is no such object at " + s.host, Err: fs.ErrNotExist}
	case r.StatusCode == http.StatusPreconditionFailed:
		if before == read {
			return &Error{Msg: "the object has changed since it was opened"}
		}
		return &Error{Msg: "the object exists already: another process wrote it", Err: fs.ErrExist}
	case r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden || r.Code == "ExpiredToken" || r.Code == "InvalidToken":
		if before != "" {
			return &Error{fault: true, Msg: "the object store " + s.host + " takes the credentials no longer: they have expired or were revoked while the run " + before + " (" + r.Code + ")",
				Hint: "the run can be resumed with new ones"}
		}
		return &Error{fault: true, Msg: "the object store " + s.host + " gives no permission (" + r.Code + ")",
			Hint: "credentials are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of the environment"}
	case r.StatusCode == http.StatusBadRequest && r.Code == "400 Bad Request": // to HEAD, whose answer has no text
		return &Error{fault: true, Msg: "the object store " + s.host + " refuses (400 Bad Request), and says no more to a question about an object",
			Hint: "the credentials may have expired, or AWS_REGION may not be the bucket's"}
	case passes(err):
		return &Error{fault: true, Msg: "the object store " + s.host + " has failed again and again", Err: err}
	}
	return &Error{fault: true, Msg: "the object store " + s.host + " refuses", Err: err}
}
