package checkpoint

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// PartWriter is a checkpoint that several processes write, each its part, to files that no other one writes:
//
//	step-00000010/model-00001-of-00016.safetensors      of rank 0
//	step-00000010/optimizer-00001-of-00016.safetensors
//	step-00000010/model-00002-of-00016.safetensors      of rank 1 …
//	step-00000010/manifest.json                         which part has which slice, and the hash of each file
//
// Rank 0 begins it and publishes it, so that it appears whole or not at all, as one that a process writes alone.
// What passes rank 0 besides its own part is the size and the hash of each file.
//
//	Begin           rank 0 makes the draft
//	Join            all: they are told where it is
//	Write, Finish   each its part, while steps may go on
//	Collect         all: rank 0 has the hashes
//	Publish         rank 0 writes the manifest
//	Close           each
//
// Join and Collect are of all processes at the same point, and end in an error for all of them if for one.
type PartWriter struct {
	store  *Store
	peers  *Peers
	own    []Piece
	meta   Meta
	tensor []Tensor
	div    *Division

	lead *Writer // rank 0: with the manifest
	w    *Writer // of the part; rank 0's is lead
	info []manifestFile
	done bool
}

// Part prepares a checkpoint of the tensors for this process. The caller calls Close whatever follows.
func (s *Store) Part(p *Peers, meta Meta, tensors []Tensor, d *Division) *PartWriter {
	return &PartWriter{store: s, peers: p, own: d.Pieces(p.Rank), meta: meta, tensor: tensors, div: d}
}

// Begin makes the draft, if this is rank 0, whose store has to be locked.
func (w *PartWriter) Begin() (err error) {
	if w.peers.Rank != 0 {
		return nil
	}
	if w.lead, err = w.store.begin(w.meta, w.tensor); err != nil {
		return err
	}
	w.lead.m.divide(w.div)
	w.w = w.lead
	return nil
}

// Join tells all processes of the draft, and makes the files of this process's part. begun is the error of Begin.
func (w *PartWriter) Join(begun error) error {
	if err := w.peers.Agree(begun); err != nil {
		return err
	}
	ticket := ""
	if w.lead != nil {
		ticket = w.lead.draft.ticket()
	}
	ticket, err := w.peers.tell(ticket)
	if err != nil {
		return err
	}
	return w.peers.Agree(w.join(ticket))
}

func (w *PartWriter) join(ticket string) error {
	err := error(nil)
	if w.w == nil {
		var p place
		if p, err = w.store.place(); err == nil {
			w.w = &Writer{store: w.store, place: p}
			w.w.draft, err = p.join(ticket)
		}
	}
	if err == nil {
		err = w.w.create(partFiles(w.peers.Rank+1, w.peers.Size), w.slices(), w.meta.Step)
	}
	if err != nil {
		return &Error{Dir: w.store.Dir, Msg: "ptc cannot write " + stepName(w.meta.Step), Err: err}
	}
	return nil
}

// slices are the pieces as tensors of their own.
func (w *PartWriter) slices() (out []Tensor) {
	for _, p := range w.own {
		t := w.tensor[p.Tensor]
		t.Shape = p.Extent
		out = append(out, t)
	}
	return out
}

// Pieces are what this process writes, in the order in which it has to.
func (w *PartWriter) Pieces() []Piece { return w.own }

// Write writes a piece.
func (w *PartWriter) Write(piece int, data []byte) error {
	return w.w.Write(w.tensor[w.own[piece].Tensor].Name, Slice{}, data)
}

// Finish makes the part last.
func (w *PartWriter) Finish() (err error) {
	if w.info, err = w.w.finish(); err != nil {
		return &Error{Dir: w.w.draft.at(), Msg: "ptc cannot finish it", Err: err}
	}
	return nil
}

// infoBytes is what a process says of a file: its size and its SHA-256.
const infoBytes = 8 + 32

// Collect gives rank 0 the sizes and hashes of all parts.
func (w *PartWriter) Collect() error {
	mine := make([]byte, 0, infoBytes*len(dataFiles))
	for _, f := range w.info {
		mine = binary.LittleEndian.AppendUint64(mine, uint64(f.Bytes))
		sum, err := hex.DecodeString(f.SHA256)
		if err != nil || len(sum) != infoBytes-8 {
			panic("checkpoint: " + f.SHA256 + " is no SHA-256")
		}
		mine = append(mine, sum...)
	}
	all, err := w.peers.Gather(mine)
	if err != nil || w.lead == nil {
		return err
	}
	for rank := range w.peers.Size {
		for _, name := range partFiles(rank+1, w.peers.Size) {
			w.lead.m.Files = append(w.lead.m.Files, manifestFile{Name: name,
				Bytes: int64(binary.LittleEndian.Uint64(all)), SHA256: hex.EncodeToString(all[8:infoBytes])})
			all = all[infoBytes:]
		}
	}
	return nil
}

// Publish puts the checkpoint in its place, if this is rank 0, and gives its folder. First it finds out whether
// all files are where it will be read.
func (w *PartWriter) Publish() (dir string, err error) {
	if w.lead == nil {
		return "", nil
	}
	var g errgroup.Group
	g.SetLimit(filesAtOnce)
	errs := make([]error, len(w.lead.m.Files))
	for i, f := range w.lead.m.Files {
		g.Go(func() error {
			if errs[i] = w.lead.draft.holds(f); errs[i] != nil {
				errs[i] = fmt.Errorf("rank %d: %w", i/len(dataFiles), errs[i])
			}
			return nil
		})
	}
	_ = g.Wait() // no function has an error
	if err := errors.Join(errs...); err != nil {
		return "", &Error{Dir: w.lead.draft.at(), Msg: "ptc cannot finish it", Err: err}
	}
	return w.lead.publish()
}

// Close ends what this process had to do: where the checkpoint is not published, it removes what it has written.
// Published is not known to other ranks than 0 but by what rank 0 says.
func (w *PartWriter) Close(published bool) {
	switch {
	case w.done || w.w == nil:
	case published && w.lead == nil:
		w.w.ended = true
		w.w.draft.leave()
	default:
		w.w.Abort() // which does nothing where it is published
	}
	w.done = true
}
