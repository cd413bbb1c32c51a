package storage

import (
	"errors"
	"io/fs"
	"net/http"

	"github.com/minio/minio-go/v7"
)

// Error says why a store does not give an object.
type Error struct {
	Msg  string
	Hint string
	Err  error // cause, may be nil
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

// explain says what an answer of the store means for a user; opened: of an object that
// could be read before.
func (s *store) explain(err error, opened bool) error {
	var r minio.ErrorResponse
	var own *Error
	switch {
	case errors.As(err, &own):
		return err
	case !errors.As(err, &r):
		return &Error{Msg: "the object store " + s.host + " cannot be reached", Err: err,
			Hint: "AWS_ENDPOINT_URL names the store"}
	case r.Code == "NoSuchBucket":
		return &Error{Msg: "there is no such bucket at " + s.host, Err: fs.ErrNotExist}
	case r.StatusCode == http.StatusNotFound:
		return &Error{Msg: "there is no such object at " + s.host, Err: fs.ErrNotExist}
	case r.StatusCode == http.StatusPreconditionFailed:
		return &Error{Msg: "the object has changed since it was opened"}
	case r.StatusCode == http.StatusUnauthorized || r.StatusCode == http.StatusForbidden || r.Code == "ExpiredToken" || r.Code == "InvalidToken":
		if opened {
			return &Error{Msg: "the object store " + s.host + " takes the credentials no longer: they have expired or were revoked while the run read (" + r.Code + ")",
				Hint: "the run can be resumed with new ones"}
		}
		return &Error{Msg: "the object store " + s.host + " gives no permission (" + r.Code + ")",
			Hint: "credentials are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of the environment"}
	case passes(err):
		return &Error{Msg: "the object store " + s.host + " has failed again and again", Err: err}
	}
	return &Error{Msg: "the object store " + s.host + " refuses", Err: err}
}
