package signature

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"aead.dev/minisign"
)

// Suffix is what the name of a signature has after the name of its file.
const Suffix = ".minisig"

// Sign is the text of the signature of data, with a comment that is signed too,
// in one line. It is of the kind that minisign makes by default, of the BLAKE2b
// hash. The same key, data and comment give the same bytes.
func (s *Secret) Sign(password string, data []byte, comment string) ([]byte, error) {
	k, err := s.open(password)
	if err != nil {
		return nil, err
	}
	r := minisign.NewReader(bytes.NewReader(data))
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, err
	}
	comment = strings.Join(strings.Fields(comment), " ")
	return lined(r.SignWithComments(k, comment, "signature of minisign's format")), nil
}

// ErrUntrusted is a file that no trusted key signed.
var ErrUntrusted = errors.New("not signed by a trusted key")

// Check reads the signature next to the file path, whose bytes are data, and
// returns an error that is ErrUntrusted unless one of the keys made it.
func (keys Keys) Check(path string, data []byte) error {
	name := path + Suffix
	text, err := readKey(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is %w: there is no %s", path, ErrUntrusted, name)
	}
	if err != nil {
		return err
	}
	var sig minisign.Signature
	if err := sig.UnmarshalText(text); err != nil {
		return fmt.Errorf("%s is %w: %s is not a signature of minisign", path, ErrUntrusted, name)
	}
	for _, k := range keys {
		if k.ID() != sig.KeyID {
			continue
		}
		if minisign.Verify(k, data, text) {
			return nil
		}
		return fmt.Errorf("%s is %w: the signature by key %016X does not match the file; one of the two was changed", path, ErrUntrusted, sig.KeyID)
	}
	return fmt.Errorf("%s is %w: it is signed by key %016X, which is not trusted", path, ErrUntrusted, sig.KeyID)
}
