package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/checkpoint/folderlock"
)

// disk is a folder of this machine.
type disk struct {
	*hooks
	dir  string
	warn func(format string, args ...any)
	lock *folderlock.Lock // nil: not locked
}

func (d *disk) names() (out []string, err error) {
	names, err := os.ReadDir(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, n := range names {
		if n.IsDir() {
			out = append(out, n.Name())
		}
	}
	return out, err
}

// take makes the folder and takes its lock.
func (d *disk) take() error {
	l, err := folderlock.Take(d.dir, func(f *os.File) error {
		return d.step("lock the folder", func() error { return folderlock.Try(f) })
	})
	var held *HeldError
	switch {
	case errors.As(err, &held):
		return &Error{Dir: d.dir, Msg: "the folder is locked", Err: held}
	case err != nil:
		return &Error{Dir: d.dir, Msg: "cannot be locked", Err: err}
	}
	d.lock = l
	return nil
}

// tidy clears away what a killed run has left.
func (d *disk) tidy() error {
	if d.lock.Real {
		return errors.Join(d.removeLeftovers(), d.finishReplacing())
	}
	d.warn("the file system of %s has no locks: make sure that no other run saves into it", d.dir)
	return nil
}

func (d *disk) locked() bool { return d.lock != nil }

func (d *disk) mine() (bool, error) { return d.lock.Leads(), nil }

func (d *disk) release() {
	d.lock.Release()
	d.lock = nil
}

// makeTemp makes a folder that no other process has.
func (d *disk) makeTemp(name string) (string, error) {
	for i := 0; ; i++ {
		tmp := filepath.Join(d.dir, fmt.Sprintf("%s%s-%d-%d", tmpPrefix, name, os.Getpid(), i))
		err := d.step("make the temporary folder", func() error { return os.Mkdir(tmp, 0o777) })
		if err == nil {
			return tmp, nil
		}
		if !errors.Is(err, fs.ErrExist) || i == maxTemps {
			return "", err
		}
	}
}

// maxTemps bounds the search for a free name: one may be left by a killed process
// that had this one's number, where folders cannot be locked.
const maxTemps = 1000

func (d *disk) rename(from, to string) error {
	return d.step("rename to "+filepath.Base(to), func() error { return os.Rename(from, to) })
}

// sync makes the names in the store's folder last.
func (d *disk) sync() error {
	return d.step("sync the folder", func() error { return atomicfile.SyncDir(d.dir) })
}

// syncRoot makes the names in an open folder last.
func syncRoot(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return atomicfile.SyncOpenDir(d)
}

// remove takes the name away first, so that what is half removed is not taken
// for a checkpoint. That it fails is not worth failing a run for.
func (d *disk) remove(dir string) {
	gone := filepath.Join(filepath.Dir(dir), tmpPrefix+filepath.Base(dir)+"-gone")
	err := d.rename(dir, gone)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = d.step("remove "+filepath.Base(dir), func() error { return os.RemoveAll(gone) })
	}
	if err != nil {
		d.warn("ptc cannot remove checkpoint %s: %v", dir, err)
	}
}

// replace puts step-N.new in the place of step-N.
func (d *disk) replace(dir string) error {
	d.remove(dir + oldSuffix)
	if err := d.rename(dir, dir+oldSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.rename(dir+newSuffix, dir); err != nil {
		_ = d.rename(dir+oldSuffix, dir) // else it stays readable as old
		return err
	}
	if err := d.sync(); err != nil {
		return err
	}
	d.remove(dir + oldSuffix)
	return nil
}

// removeLeftovers removes what a killed run left half written or half removed.
// The caller has the lock, so that none of it is of a run that lives.
func (d *disk) removeLeftovers() error {
	names, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		if strings.HasPrefix(e.Name(), tmpPrefix+stepPrefix) {
			path := filepath.Join(d.dir, e.Name())
			if err := d.step("remove a leftover", func() error { return os.RemoveAll(path) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// finishReplacing ends what a killed run has begun: step-N.new takes the place of
// step-N.
func (d *disk) finishReplacing() error {
	names, err := os.ReadDir(d.dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		step, suffix, ok := parseName(e.Name())
		if !ok || !e.IsDir() || suffix != newSuffix {
			continue
		}
		c, err := Load(filepath.Join(d.dir, e.Name()))
		if err != nil {
			d.warn("%v", err) // and the one that it was to replace stays
			continue
		}
		if older, err := manifestOf(filepath.Join(d.dir, stepName(step))); err == nil && older.Sequence > c.sequence {
			d.warn("ptc saved checkpoint %s before %s, and keeps both", c.Dir, stepName(step))
			_ = c.Close()
			continue
		}
		if err := c.Close(); err != nil {
			return err
		}
		if err := d.replace(filepath.Join(d.dir, stepName(step))); err != nil {
			return err
		}
	}
	return nil
}

func (d *disk) probe(n int64) (took time.Duration, err error) {
	dir, err := d.makeTemp(stepPrefix + "probe")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	begun := time.Now()
	err = d.probeFile(filepath.Join(dir, modelFile), n)
	return time.Since(begun), err
}

func (d *disk) probeFile(path string, n int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := fill(d.writer(f), n); err != nil {
		return err
	}
	if err := d.step("sync the probe", f.Sync); err != nil {
		return err
	}
	_, err = hashFile(f, n, modelFile)
	return err
}
