package checkpoint

import (
	"os"
	"path/filepath"
)

// Params is the file of the parameters in dir, which is a checkpoint or a folder of
// them: then it is that of the one saved last. The checkpoint is sound: its hashes have been checked.
func Params(dir string, warn func(string)) (path string, err error) {
	var c *Checkpoint
	if _, e := os.Stat(filepath.Join(dir, manifestName)); e == nil {
		c, err = Load(dir)
	} else {
		c, err = (&Store{Dir: dir, Warn: warn}).Latest()
	}
	if err != nil {
		return "", err
	}
	path = filepath.Join(c.Dir, dataFiles[0])
	return path, c.Close()
}
