package checkpoint

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"

	"ptc/runtime/checkpoint/folderlock"
	"ptc/runtime/storage"
)

// objectLock is the object of a lock. The token tells two processes apart that have
// the same number on hosts of the same name, as containers do.
type objectLock struct {
	folderlock.Holder
	Token string `json:"token"`
}

// maxLock bounds what is read of a lock, in bytes.
const maxLock = 64 << 10

func (o *objects) locked() bool { return o.token != "" }

// held reads the lock; nil: there is none. One that nobody can read is another's; one
// that is written while it is read is read again.
func (o *objects) held() (*objectLock, error) {
	var text []byte
	var err error
	for try := 0; try < 3; try++ {
		if text, err = o.f.ReadAll(lockName, maxLock); err == nil || storage.Fault(err) || errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if storage.Fault(err) {
		return nil, err
	}
	if err != nil {
		text = nil
	}
	return decodeLock(text), nil
}

// decodeLock reads a lock; what is none has no token.
func decodeLock(text []byte) *objectLock {
	l := &objectLock{}
	if json.Unmarshal(text, l) != nil {
		return &objectLock{}
	}
	return l
}

// take writes the lock, and so finds out before the first step whether anything can be
// written.
func (o *objects) take() error {
	old, err := o.held()
	if err != nil {
		return &Error{Dir: o.s.Dir, Msg: "cannot be locked", Err: err}
	}
	o.token, o.tidied = rand.Text(), false
	if err := o.sign(); err != nil {
		o.token = ""
		return &Error{Dir: o.s.Dir, Msg: "cannot be locked", Err: err}
	}
	if old != nil {
		o.s.warn("%s has saved into %s and did not end regularly, or runs still: this run takes over, and that one saves no more", old.Holder, o.s.Dir)
	}
	return nil
}

// sign writes the lock.
func (o *objects) sign() error {
	text, err := json.Marshal(objectLock{folderlock.Self(), o.token})
	if err != nil {
		return err
	}
	return o.s.step("write the lock", func() error { return o.f.Put(lockName, append(text, '\n'), false) })
}

// mine finds out whether no other process has taken over.
func (o *objects) mine() (bool, error) {
	l, err := o.held()
	switch {
	case err != nil:
		return false, err
	case l == nil:
		return false, nil
	case l.Token != o.token:
		return false, &HeldError{By: l.Holder.String()}
	}
	return true, nil
}

func (o *objects) release() {
	if mine, err := o.mine(); mine && err == nil {
		_ = o.f.Delete(lockName) // else the next run tells that this one has not ended
	}
	o.token = ""
}

// mark is the token of the lock.
func (o *objects) mark() (string, func(), error) { return o.token, func() {}, nil }

func (o *objects) sees(mark string) error {
	mine, err := (&objects{s: o.s, f: o.f, token: mark}).mine()
	if err == nil && !mine {
		err = errors.New("the lock of rank 0 is not there: all processes need the same object store")
	}
	return err
}
