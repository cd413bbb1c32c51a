package weights

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// within is the path of a file of a folder. A link may lead to another file of the folder, or to where the cache of
// Hugging Face keeps the files of its folders, models--NAME/snapshots/REVISION: into models--NAME/blobs. One that
// leads elsewhere is rejected: from a stranger's folder it could copy a file of this machine next to
// the model.
func within(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	st, err := os.Lstat(path)
	if err != nil || st.Mode()&os.ModeSymlink == 0 {
		return path, nil // to open it says what is wrong
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return path, err
	}
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path, err
	}
	roots := []string{real}
	if above := filepath.Dir(real); filepath.Base(above) == "snapshots" {
		roots = append(roots, filepath.Join(filepath.Dir(above), "blobs"))
	}
	for _, root := range roots {
		if rel, err := filepath.Rel(root, to); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return path, nil
		}
	}
	return path, fmt.Errorf("%s is a link out of its folder, to %s: links that lead elsewhere are not followed; put the file itself there", path, to)
}

// readIn reads a regular file of a folder, of at most limit bytes.
func readIn(dir, name string, limit int64) ([]byte, error) {
	path, err := within(dir, name)
	if err != nil {
		return nil, err
	}
	return readFile(path, limit)
}
