package train

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unsafe"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/data"
	"ptc/runtime/device"
)

// Some data can be read once, such as what another program gives. The process with rank 0 reads it then,
// and tells the others each batch, whole. So all have the same, whatever the program does.

// What the root says of a batch.
const (
	batchFollows = iota
	batchWaits   // and something else will be said
	batchNone    // the data has ended
	batchStops   // the run is to end
	batchFails
)

// waitTold is after how long a wait for data is told.
const waitTold = 10 * time.Second

var (
	errNoData  = errors.New("the data has ended")
	errStopped = errors.New("the run ended while it waited for data")
)

// sharing is how processes share what one of them reads.
type sharing struct {
	p     *processes
	every time.Duration // so often the root says that it waits
	word  []byte
	say   func() error
}

func openSharing(p *processes, o *Options) (*sharing, error) {
	s := &sharing{p: p, every: waitTold, word: []byte{0}}
	if o.CommTimeout > 0 {
		s.every = min(s.every, o.CommTimeout/3)
	}
	var err error
	s.say, err = s.broadcast(s.word, "word of the data")
	return s, err
}

// broadcast readies that all processes get the root's bytes.
func (s *sharing) broadcast(b []byte, label string) (func() error, error) {
	call, err := s.p.end.Prepare(comm.Op{Kind: collective.Broadcast, Group: s.p.end.Mesh().World(), DType: dtype.U8, Inner: len(b),
		Src: device.Bytes(b), Dst: device.Bytes(b), Label: label})
	if err != nil {
		return nil, err
	}
	return call.Run, nil
}

// once gives all processes the root's bytes.
func (s *sharing) once(b []byte, label string) error {
	say, err := s.broadcast(b, label)
	if err != nil {
		return err
	}
	return say()
}

// batches readies that all processes get the fields of a batch.
func (s *sharing) batches(b *batch) (err error) {
	b.share = make([]func() error, len(b.bytes))
	for i, raw := range b.bytes {
		if b.share[i], err = s.broadcast(raw, fmt.Sprintf("field %d of the data", i)); err != nil {
			return err
		}
	}
	return nil
}

// tell says a word to all, and gives what the root has said.
func (s *sharing) tell(word byte) (byte, error) {
	if s == nil {
		return word, nil
	}
	s.word[0] = word
	err := s.say()
	return s.word[0], err
}

// listens is whether the process is told what another one reads.
func (s *sharing) listens() bool { return s != nil && !s.p.root() }

// await waits until what done is of is there, and says to all what came of it. Where ctx ends before, and the
// wait may be given up, that is said; told is called while it lasts.
func (s *sharing) await(ctx context.Context, done <-chan error, told func(time.Duration)) error {
	if s.listens() {
		for {
			if word, err := s.tell(0); err != nil || word != batchWaits {
				return s.outcome(word, err, nil)
			}
		}
	}
	every := waitTold
	if s != nil {
		every = s.every
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for begun := time.Now(); ; {
		select {
		case err := <-done:
			word, e := s.tell(wordOf(err))
			return s.outcome(word, e, err)
		case <-ctx.Done():
			word, e := s.tell(batchStops)
			return s.outcome(word, e, nil)
		case <-tick.C:
			told(time.Since(begun))
			if _, err := s.tell(batchWaits); err != nil {
				return err
			}
		}
	}
}

func wordOf(err error) byte {
	switch {
	case err == nil:
		return batchFollows
	case errors.Is(err, data.ErrEnd):
		return batchNone
	}
	return batchFails
}

// outcome is the error that a word stands for.
func (s *sharing) outcome(word byte, failed, mine error) error {
	switch {
	case failed != nil:
		return failed
	case word == batchFollows:
		return nil
	case word == batchNone:
		return errNoData
	case word == batchStops:
		return errStopped
	}
	if s != nil {
		s.p.alike = true
	}
	if s.listens() {
		return &Elsewhere{Rank: 0, Code: ExitFile}
	}
	return dataError(mine)
}

// open opens data on the root, and has the others know of it.
func (s *sharing) open(open func() (data.Source, error)) (data.Source, error) {
	if s == nil {
		return opened(open())
	}
	var src data.Source
	done := make(chan error, 1)
	if !s.listens() {
		go func() {
			var err error
			src, err = open()
			done <- err
		}()
	}
	if err := s.await(context.Background(), done, func(time.Duration) {}); err != nil {
		return nil, err
	}
	about, err := s.describe(src)
	if err != nil || !s.listens() {
		return src, err
	}
	return about, nil
}

func opened(src data.Source, err error) (data.Source, error) {
	if err != nil {
		return nil, dataError(err)
	}
	return src, nil
}

// describe tells all what the root has opened.
func (s *sharing) describe(src data.Source) (*elsewhere, error) {
	var text []byte
	size := make([]byte, 4)
	if src != nil {
		text, _ = json.Marshal(&elsewhere{src.Fields(), src.Held(), src.Examples(), src.Describe(), src.Recipe(), src.Fingerprint()})
		binary.LittleEndian.PutUint32(size, uint32(len(text)))
	}
	if err := s.once(size, "length of what the data is"); err != nil {
		return nil, err
	}
	if src == nil {
		text = make([]byte, binary.LittleEndian.Uint32(size))
	}
	if err := s.once(text, "what the data is"); err != nil {
		return nil, err
	}
	e := new(elsewhere)
	return e, json.Unmarshal(text, e)
}

// elsewhere is data that another process reads.
type elsewhere struct {
	List     []data.Field
	HeldN    int64
	Rows     int64
	Text     string
	Order    data.Recipe
	Contents string
}

var errElsewhere = errors.New("another process reads the data")

func (e *elsewhere) Fields() []data.Field                       { return e.List }
func (e *elsewhere) Fill(int64, []data.View) error              { return errElsewhere }
func (e *elsewhere) HeldOut(func(int) int64, []data.View) error { return errElsewhere }
func (e *elsewhere) Held() int64                                { return e.HeldN }
func (e *elsewhere) Tokens() int64                              { return 0 }
func (e *elsewhere) Examples() int64                            { return e.Rows }
func (e *elsewhere) Describe() string                           { return e.Text }
func (e *elsewhere) Recipe() data.Recipe                        { return e.Order }
func (e *elsewhere) Fingerprint() string                        { return e.Contents }

// closeData ends what a source has begun.
func closeData(src data.Source) {
	if c, ok := src.(io.Closer); ok {
		_ = c.Close()
	}
}

// batch is one value of every field: whole, or the part of it that one device
// reads.
type batch struct {
	views []data.View
	bytes [][]byte // the same memory
	part  bool
	share []func() error // has all processes get a field; none: each has its own
}

// newBatch makes room for the fields; boxes has their parts, or is nil.
func newBatch(fields []data.Field, boxes []data.View) batch {
	b := batch{part: boxes != nil}
	for i, f := range fields {
		v := data.View{Lo: make([]int, len(f.Shape)), Hi: f.Shape}
		if b.part {
			v = boxes[i]
		}
		n := 1
		for k := range v.Hi {
			n *= v.Hi[k] - v.Lo[k]
		}
		if v.Hi == nil { // the device does not read it
			b.views, b.bytes = append(b.views, data.View{}), append(b.bytes, nil)
			continue
		}
		var raw []byte
		// The 4 bytes of an element are little-endian on every machine that
		// plans are made for, as they are in files.
		if f.DType == dtype.I32 {
			v.I32 = make([]int32, n)
			raw = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v.I32))), 4*n)
		} else {
			v.F32 = make([]float32, n)
			raw = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v.F32))), 4*n)
		}
		b.views = append(b.views, v)
		b.bytes = append(b.bytes, raw)
	}
	return b
}

// send has all processes get a batch.
func (b *batch) send() error {
	for _, f := range b.share {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
