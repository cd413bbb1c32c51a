package signature

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"

	"ptc/internal/regular"
)

// maxKey bounds a file of keys.
const maxKey = 1 << 20

// Keys are public keys whose signatures count.
type Keys []minisign.PublicKey

// ReadKeys reads public keys: those in a file, one a line besides comments, as
// minisign writes them, or those of all files *.pub in a folder. No key at all is
// an error.
func ReadKeys(path string) (Keys, error) {
	files := []string{path}
	if st, err := os.Stat(path); err != nil {
		return nil, unreadable(path, err)
	} else if st.IsDir() {
		if files, err = pubFiles(path); err != nil {
			return nil, unreadable(path, err)
		}
	}
	var keys Keys
	for _, f := range files {
		text, err := readKey(f)
		if err != nil {
			return nil, err
		}
		more, err := parseKeys(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		keys = append(keys, more...)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no public key; expected lines as in minisign.pub, or a folder of *.pub files", path)
	}
	return keys, nil
}

func pubFiles(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".pub") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, err
}

// parseKeys reads lines; those that are no key are comments only if they say so.
func parseKeys(text []byte) (keys Keys, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "untrusted comment:") {
			continue
		}
		var k minisign.PublicKey
		if err := k.UnmarshalText([]byte(line)); err != nil {
			return nil, fmt.Errorf("line %d is not a minisign public key", n)
		}
		keys = append(keys, k)
	}
	return keys, lines.Err()
}

// readKey reads a file of keys or a signature.
func readKey(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err == nil && len(text) > maxKey {
		err = errors.New("longer than any minisign file")
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	return text, nil
}

func unreadable(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("cannot read %s: %w", path, err)
}

// Secret is a secret key as a file has it, which may ask for a password.
type Secret struct{ text []byte }

// ReadSecret reads a secret key; whether it is one shows when it is opened.
func ReadSecret(path string) (*Secret, error) {
	text, err := readKey(path)
	return &Secret{text}, err
}

// Encrypted says whether Sign needs a password.
func (s *Secret) Encrypted() bool { return minisign.IsEncrypted(s.text) }

// open decrypts the key.
func (s *Secret) open(password string) (k minisign.PrivateKey, err error) {
	if !s.Encrypted() {
		if err := k.UnmarshalText(s.text); err != nil {
			return k, errors.New("not a minisign secret key")
		}
		return k, nil
	}
	if k, err = minisign.DecryptKey(password, s.text); err != nil {
		return k, errors.New("the key does not open: the password is wrong, or the file is damaged")
	}
	return k, nil
}

// NewKey makes a pair of keys, as the texts of files. With an empty password the
// secret key is not encrypted.
func NewKey(password string) (public, secret []byte, err error) {
	pub, priv, err := minisign.GenerateKey(nil)
	if err != nil {
		return nil, nil, err
	}
	if public, err = pub.MarshalText(); err != nil {
		return nil, nil, err
	}
	if password == "" {
		secret, err = priv.MarshalText()
	} else {
		secret, err = minisign.EncryptKey(password, priv)
	}
	return lined(public), lined(secret), err
}

// lined ends a text with one line feed.
func lined(text []byte) []byte { return append(bytes.TrimRight(text, "\n"), '\n') }
