package compiler

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ptc/internal/regular"
	"ptc/lang"
)

// MaxSource bounds a source, far above any that is meant: what is longer is
// another kind of file.
const MaxSource = 16 << 20

// ErrOutside is what Options.Read returns for a file outside the folder that
// imports may come from. Such a file is not read, and the diagnostic shows
// nothing but the path as the source has it.
var ErrOutside = lang.ErrOutside

// ImportsBelow is the Read of a main file in the folder dir: it reads what lies
// below the folder root, and nothing else on the machine. A source may be
// someone else's, and diagnostics show lines of what it imports; so neither
// ".." nor a symbolic link leads out.
//
// The error says that dir is not below root.
func ImportsBelow(root, dir string) (func(path string) ([]byte, error), error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	inside, err := insideOf(real, dir)
	if err != nil {
		return nil, err
	}
	return func(path string) ([]byte, error) {
		name := filepath.Join(inside, filepath.FromSlash(path))
		if !filepath.IsLocal(name) {
			return nil, ErrOutside
		}
		return readBelow(real, name)
	}, nil
}

// insideOf is the path of folder dir from the folder root.
func insideOf(root, dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, real)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("%s is not below %s", dir, root)
	}
	return rel, nil
}

func readBelow(root, name string) ([]byte, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := regular.OpenIn(r, name)
	if err != nil {
		return nil, escaped(err)
	}
	defer f.Close()
	return regular.ReadAll(f, MaxSource)
}

// escaped tells a link that leads out from what the system refuses: os.Root has
// no name for that error, and it is the only one that is not the system's.
func escaped(err error) error {
	var number syscall.Errno
	var kind *regular.Error
	if errors.As(err, &number) || errors.As(err, &kind) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return ErrOutside
}
