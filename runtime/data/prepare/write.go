package prepare

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"ptc/runtime/checkpoint/atomicfile"
	"ptc/runtime/data"
	"ptc/runtime/tokenizer"
)

// writer puts documents into shards, one after another.
type writer struct {
	o         Options
	m         data.Manifest // of the shards that are done
	separator int32         // -1: none
	skip      int64         // documents that are in shards already
	p         Progress

	file *atomicfile.File // nil between shards
	buf  *bufio.Writer
	sum  hash.Hash
	now  data.Shard // the one that is being written
	said int64      // documents at the last report
}

// reportEach is the number of documents between two reports.
const reportEach = 1000

// take adds a document to the shard, and ends that if it is large enough.
func (w *writer) take(j *job, files []data.File) error {
	if j.err != nil {
		w.drop()
		return j.err
	}
	if err := w.add(j.ids); err != nil {
		w.drop()
		return err
	}
	for w.p.Files < j.file {
		w.p.Bytes += files[w.p.Files].Size
		w.p.Files++
	}
	if w.now.Tokens*w.width() >= w.o.ShardSize {
		return w.end()
	}
	if w.p.Documents = w.m.Documents + w.now.Documents; w.p.Documents-w.said >= reportEach {
		w.report()
	}
	return nil
}

func (w *writer) report() {
	w.p.Documents, w.p.Tokens, w.p.Shards = w.m.Documents+w.now.Documents, w.m.Tokens+w.now.Tokens, len(w.m.Shards)
	w.said = w.p.Documents
	if w.o.Progress != nil {
		w.o.Progress(w.p)
	}
}

func (w *writer) width() int64 {
	if w.m.DType == "u32" {
		return 4
	}
	return 2
}

func (w *writer) add(ids []int32) error {
	if w.file == nil {
		w.now = data.Shard{Name: fmt.Sprintf("shard-%05d.bin", len(w.m.Shards))}
		f, err := atomicfile.Create(filepath.Join(w.o.Dir, w.now.Name))
		if err != nil {
			return err
		}
		w.file, w.sum = f, sha256.New()
		w.buf = bufio.NewWriterSize(io.MultiWriter(f, w.sum), 1<<16)
	}
	var raw [4]byte
	for _, id := range ids {
		binary.LittleEndian.PutUint32(raw[:], uint32(id))
		if _, err := w.buf.Write(raw[:w.width()]); err != nil {
			return fmt.Errorf("cannot write %s: %w", filepath.Join(w.o.Dir, w.now.Name), err)
		}
	}
	w.now.Tokens += int64(len(ids))
	w.now.Documents++
	return nil
}

// drop leaves nothing of a shard that is not done.
func (w *writer) drop() {
	if w.file != nil {
		w.file.Abort()
		w.file = nil
	}
}

// end puts the shard in its place and writes down that it is done.
func (w *writer) end() error {
	if w.file == nil {
		return nil
	}
	defer w.drop()
	if err := w.buf.Flush(); err != nil {
		return fmt.Errorf("cannot write %s: %w", filepath.Join(w.o.Dir, w.now.Name), err)
	}
	if err := w.file.Commit(); err != nil {
		return err
	}
	w.now.SHA256 = fmt.Sprintf("%x", w.sum.Sum(nil))
	w.m.Shards = append(w.m.Shards, w.now)
	w.m.Tokens += w.now.Tokens
	w.m.Documents += w.now.Documents
	w.now = data.Shard{}
	w.file = nil
	w.report()
	return w.write(data.PartialName)
}

// finish ends the last shard and puts the manifest in its place.
func (w *writer) finish() error {
	if w.m.Tokens+w.now.Tokens == 0 {
		w.drop()
		_ = os.Remove(filepath.Join(w.o.Dir, data.PartialName)) // which says nothing
		return fmt.Errorf("the files have no text")
	}
	if err := w.end(); err != nil {
		return err
	}
	if err := w.write(data.ManifestName); err != nil {
		return err
	}
	w.p.Files, w.p.Bytes = w.p.AllFiles, w.p.AllBytes
	w.report()
	return w.sweep()
}

func (w *writer) write(name string) error {
	return atomicfile.WriteJSON(filepath.Join(w.o.Dir, name), w.m)
}

// check reads a shard of an earlier call.
func (w *writer) check(ctx context.Context, s data.Shard) error {
	path := filepath.Join(w.o.Dir, s.Name)
	if filepath.Base(s.Name) != s.Name {
		return fmt.Errorf("the manifest in %s names the shard %q, which is not a file name", w.o.Dir, s.Name)
	}
	sum, err := fileHash(ctx, path, make([]byte, hashBytes))
	if err != nil {
		return err
	}
	if hex.EncodeToString(sum[:]) != s.SHA256 {
		return fmt.Errorf("%s has changed since it was written; delete %s to start over", path, w.o.Dir)
	}
	return nil
}

// tokenizerFile reads the file of the tokenizer, of which a copy is to lie next to the shards.
func (w *writer) tokenizerFile() ([]byte, error) {
	if w.o.File == "" {
		return nil, nil
	}
	name := filepath.Base(tokenizer.FileOf(w.o.File))
	if shard, _ := filepath.Match("shard-*.bin", name); shard || name == data.ManifestName || name == data.PartialName {
		return nil, fmt.Errorf("%s has the name of a file that ptc writes to %s; rename it", w.o.File, w.o.Dir)
	}
	raw, err := tokenizer.ReadFile(w.o.File)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != w.m.Tokenizer {
		return nil, fmt.Errorf("%s has changed since ptc read it", w.o.File)
	}
	w.m.TokenizerFile = name
	return raw, nil
}

// keepTokenizer copies the tokenizer's file next to the shards, so that what their tokens
// stand for goes with them.
func (w *writer) keepTokenizer(raw []byte) error {
	if raw == nil || w.m.TokenizerFile == "" {
		return nil
	}
	return atomicfile.WriteFile(filepath.Join(w.o.Dir, w.m.TokenizerFile), raw)
}

// sweep removes what a process that was killed has left of a file that it had begun, and the manifest of shards
// that were not all there.
func (w *writer) sweep() error {
	list, err := os.ReadDir(w.o.Dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		of, temporary := atomicfile.TemporaryOf(e.Name())
		shard, _ := filepath.Match("shard-*.bin", of)
		own := shard || of == data.ManifestName || of == data.PartialName || of == w.m.TokenizerFile
		if !(temporary && own) && e.Name() != data.PartialName {
			continue
		}
		if err := os.Remove(filepath.Join(w.o.Dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
