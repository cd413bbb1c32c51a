package checkpoint

import (
	"encoding/json"
	"errors"
	"io/fs"

	"ptc/runtime/checkpoint/folderlock"
	"ptc/runtime/storage"
)

// lease is the lock of a place in an object store, which is an object.
type lease struct {
	*hooks
	f     *storage.Folder
	token string // "": not locked
}

// objectLock is the object of a lock. The token tells two processes apart that have
// the same number on hosts of the same name, as containers do.
type objectLock struct {
	folderlock.Holder
	Token string `json:"token"`
}

// maxLock bounds what is read of a lock, in bytes.
const maxLock = 64 << 10

func (o *lease) locked() bool { return o.token != "" }

// held reads the lock; nil: there is none. One that nobody can read is another's; one
// that is written while it is read is read again.
func (o *lease) held() (*objectLock, error) {
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

// sign writes the lock.
func (o *lease) sign() error {
	text, err := json.Marshal(objectLock{folderlock.Self(), o.token})
	if err != nil {
		return err
	}
	return o.step("write the lock", func() error { return o.f.Put(lockName, append(text, '\n'), false) })
}

// mine finds out whether no other process has taken over.
func (o *lease) mine() (bool, error) {
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

func (o *lease) release() {
	if mine, err := o.mine(); mine && err == nil {
		_ = o.f.Delete(lockName) // else the next run tells that this one has not ended
	}
	o.token = ""
}
