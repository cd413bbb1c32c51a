package checkpoint

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"ptc/runtime/storage"
)

// objects is a place in an object store. A checkpoint has the objects that it has
// files elsewhere,
//
//	step-00000010/model.safetensors
//	step-00000010/optimizer.safetensors
//	step-00000010/manifest.json          written last, removed first
//
// and is there when its manifest is: a store renames nothing, but an object appears
// whole. None is written a second time. A step that is saved again, by a run that was
// taken back, has another folder, step-00000010.7 for the seventh save; the older one
// is removed afterwards.
//
// An object store has no locks. The object .lock has the token of the process that
// took the place last; one that had it before finds that out before each object of a
// checkpoint appears, and saves no more. So of two runs the newer goes on, which where
// machines are taken back is the one that is meant, and what a dead run has left in the
// way keeps nobody out.
type objects struct {
	lease
	dir    string
	warn   func(format string, args ...any)
	tidied bool
	guest  bool // another process has the lock, and the token is its
}

// take writes the lock, and so finds out before the first step whether anything can be
// written.
func (o *objects) take() error {
	old, err := o.held()
	if err != nil {
		return &Error{Dir: o.dir, Msg: "cannot be locked", Err: err}
	}
	o.token, o.tidied = rand.Text(), false
	if err := o.sign(); err != nil {
		o.token = ""
		return &Error{Dir: o.dir, Msg: "cannot be locked", Err: err}
	}
	if old != nil {
		o.warn("%s saved into %s, and has crashed or is still running: this run takes over, and the other can no longer save", old.Holder, o.dir)
	}
	return nil
}

// mark is the token of the lock.
func (o *objects) mark() (string, func(), error) { return o.token, func() {}, nil }

func (o *objects) sees(mark string) error {
	mine, err := (&lease{f: o.f, token: mark}).mine()
	if err == nil && !mine {
		err = errors.New("this process does not see the lock of rank 0: give all processes the same object store")
	}
	return err
}

// contents are the names of files by the folder that they are in.
func (o *objects) contents() (names []string, files map[string][]string, err error) {
	list, err := o.f.List()
	if err != nil {
		return nil, nil, err
	}
	files = map[string][]string{}
	for _, x := range list {
		name, file, in := strings.Cut(x.Rel, "/")
		if _, _, ok := parseName(name); !ok || !in {
			continue
		}
		if files[name] == nil {
			names = append(names, name)
		}
		files[name] = append(files[name], file)
	}
	slices.Sort(names)
	return names, files, nil
}

func (o *objects) names() ([]string, error) {
	names, files, err := o.contents()
	return slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(files[n], manifestName) }), err
}

// tidy does nothing yet: a run that is refused a place where another one saves would
// remove what that one is uploading. clear does it before the first save.
func (o *objects) tidy() error { return nil }

// clear removes what killed runs have left: files without a manifest, and uploads that
// were never finished.
func (o *objects) clear() error {
	if o.tidied {
		return nil
	}
	names, files, err := o.contents()
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.Contains(files[name], manifestName) {
			continue
		}
		if there, err := o.f.Has(name + "/" + manifestName); there || err != nil { // the listing need not be whole
			return cmp.Or(err, error(&Error{Dir: storage.Join(o.dir, name), Msg: "it has a manifest that the store does not list"}))
		}
		for _, file := range files[name] {
			if err := o.delete(name + "/" + file); err != nil {
				return err
			}
		}
	}
	for _, prefix := range []string{stepPrefix, tmpPrefix} {
		if err := o.step("end uploads", func() error { return o.f.EndUploads(prefix) }); err != nil {
			// Who may write need not be allowed to list uploads, nor can every store.
			o.warn("ptc cannot look for uploads that killed runs left below %s: %v", o.dir, err)
			break
		}
	}
	o.tidied = true
	return nil
}

func (o *objects) delete(name string) error {
	return o.step("delete "+name, func() error { return o.f.Delete(name) })
}

// remove removes the manifest first, so that what is half removed is not taken for a
// checkpoint. That it fails is not worth failing a run for.
func (o *objects) remove(dir string) {
	name := storage.Base(dir)
	_, files, err := o.contents()
	if err == nil {
		err = o.delete(name + "/" + manifestName)
	}
	for _, file := range files[name] {
		if err == nil && file != manifestName {
			err = o.delete(name + "/" + file)
		}
	}
	if err != nil {
		o.warn("ptc cannot remove checkpoint %s: %v", dir, err)
	}
}

// probe uploads an object and removes it.
func (o *objects) probe(n int64) (time.Duration, error) {
	name := tmpPrefix + "probe"
	u := o.f.Create(name, n, false)
	defer u.Abort()
	begun := time.Now()
	err := fill(o.writer(u), n)
	if err == nil {
		err = o.step("write the probe", u.Commit)
	}
	took := time.Since(begun)
	if err == nil {
		err = o.delete(name)
	}
	return took, err
}

// objectDraft is a checkpoint that is being uploaded.
type objectDraft struct {
	o     *objects
	name  string // of its folder
	files map[string]*storage.Upload
	there []string // files that have appeared
}

// objectTicket is the text of a ticket. Who joins with the token of the lock sees when another run has taken over.
type objectTicket struct{ Name, Token string }

func (o *objects) begin(step int64, s *saves) (draft, error) {
	if err := o.clear(); err != nil {
		return nil, err
	}
	name, err := o.free(step, s.last)
	if err != nil {
		return nil, err
	}
	return &objectDraft{o: o, name: name, files: map[string]*storage.Upload{}}, nil
}

func (o *objects) join(text string) (draft, error) {
	var t objectTicket
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return nil, err
	}
	if _, _, ok := parseName(t.Name); !ok {
		return nil, fmt.Errorf("%q is not the folder of a checkpoint", t.Name)
	}
	guest := &objects{lease: lease{o.hooks, o.f, t.Token}, dir: o.dir, warn: o.warn, guest: true}
	return &objectDraft{o: guest, name: t.Name, files: map[string]*storage.Upload{}}, nil
}

// free is a name for a folder of a step below which nothing is.
func (o *objects) free(step, saved int64) (string, error) {
	names, _, err := o.contents()
	if err != nil {
		return "", err
	}
	name := stepName(step)
	for n := saved + 1; slices.Contains(names, name); n++ {
		name = stepName(step) + numberSuffix(n)
	}
	return name, nil
}

func (d *objectDraft) at() string { return storage.Join(d.o.dir, d.name) }

func (d *objectDraft) ticket() string {
	text, err := json.Marshal(objectTicket{d.name, d.o.token})
	if err != nil {
		panic("checkpoint: two strings cannot be written as JSON: " + err.Error())
	}
	return string(text)
}

func (d *objectDraft) create(name string, size int64) (io.WriterAt, error) {
	d.files[name] = d.o.f.Create(d.name+"/"+name, size, true)
	return d.files[name], nil
}

func (d *objectDraft) leave() {}

// holds asks the store, whose answer may be that of another one, if processes have other addresses of it.
func (d *objectDraft) holds(f manifestFile) error {
	o, err := d.o.f.Open(d.name + "/" + f.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s was written, but this process does not see it; give all processes the same object store: %w", f.Name, err)
	case err != nil:
		return err
	case o.Size() != f.Bytes:
		err = fmt.Errorf("%s has %d bytes, but %d were written", f.Name, o.Size(), f.Bytes)
	}
	return cmp.Or(err, o.Close())
}

// appear lets an object appear, if no other process has taken the place over. One that
// came and went has left no lock.
func (d *objectDraft) appear(file string, do func() error) error {
	mine, err := d.o.mine()
	if err == nil && !mine && !d.o.guest {
		err = d.o.sign()
	}
	if err != nil {
		return err
	}
	if err := d.o.step("complete "+file, do); err != nil {
		return err
	}
	d.there = append(d.there, file)
	return nil
}

// finish hashes what was sent: the store holds each part to its hash, and the object
// to its size.
func (d *objectDraft) finish(name string, size int64) (manifestFile, error) {
	n, sum, err := d.files[name].Finish()
	if err == nil && n != size {
		err = errors.New("it was not written completely")
	}
	if err == nil {
		err = d.appear(name, d.files[name].Commit)
	}
	return manifestFile{Name: name, Bytes: n, SHA256: sum}, err
}

// publish writes the manifest, and finds out whether the store has all that it said it had taken.
func (d *objectDraft) publish(manifest []byte) (string, *Error) {
	dir := d.at()
	err := d.appear(manifestName, func() error { return d.o.f.Put(d.name+"/"+manifestName, manifest, true) })
	if err == nil {
		if err = d.arrived(manifest); err != nil { // then nothing of it is to remain
			_ = d.o.delete(d.name + "/" + manifestName)
			d.there = slices.DeleteFunc(d.there, func(f string) bool { return f == manifestName })
		}
	}
	if err != nil {
		return "", &Error{Dir: dir, Msg: "ptc cannot move it to its place", Err: err}
	}
	return dir, nil
}

// arrived reads back what an answer does not prove. Data files were compared when they appeared. A store that
// does not answer has said before that it has the manifest; retire looks for it again.
func (d *objectDraft) arrived(manifest []byte) error {
	got, err := d.o.f.ReadAll(d.name+"/"+manifestName, maxManifest)
	if storage.Fault(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ptc cannot read the manifest back: %w", err)
	}
	if !bytes.Equal(got, manifest) {
		return errors.New("the store returns another manifest than ptc wrote")
	}
	return nil
}

// abort removes what has appeared, which without a manifest is nothing to a reader,
// unless another process has taken over and may have objects of the same names.
func (d *objectDraft) abort() {
	for _, u := range d.files {
		u.Abort()
	}
	if mine, err := d.o.mine(); !mine || err != nil || slices.Contains(d.there, manifestName) {
		return
	}
	for _, file := range d.there {
		if err := d.o.delete(d.name + "/" + file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return // a leftover for the next run
		}
	}
}
