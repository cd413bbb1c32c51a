package data

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"ptc/runtime/data/generator"
)

func init() { Register("stream", openStream) }

// OneReader reports whether data of a kind can be read only once: one process of several reads it for all.
func OneReader(kind string) bool { return kind == "stream" }

// maxHeldStream bounds the held-out bytes of a stream, which stay in memory.
const maxHeldStream = 4 << 30

// programs reads examples from another program, one after the other. They have no random access by
// number: steps are read in order.
//
// Options:
//
//	from     where they come from: a command line, unix:PATH, tcp:HOST:PORT, fd:N, -
//	valid    how many examples are held out, 0: the program gives them as the part "valid"
//	timeout  seconds to wait for a program that sends nothing, 300
//	scale    the factor for integers of an f32 field, 1
//	x_below  numbers of the field x, i32, have to be below it
//	x_least  and not below it
//	seed     sent to the program instead of the run's
//
// Fields: the requested ones.
type programs struct {
	examples // the held-out examples
	wanted   wantedRows
	from     string
	limit    time.Duration
	perEpoch int64

	open struct { // also while a Fill waits
		sync.Mutex
		conn   *streaming // nil: to be opened
		closed bool
	}
	mu     sync.Mutex
	at     int64 // number of the next example of rest, and then of the connection
	rest   *fewRows
	used   int // rows of rest that were taken
	whole  fewRows
	filled int64 // number of the first example of whole, -1: there is none
}

func openStream(opts []Option, b Batch) (Source, error) {
	o := &options{list: opts}
	s := &programs{from: o.str("from", ""), filled: -1,
		limit:    time.Duration(o.float("timeout", 300, 0.01, 1e6) * float64(time.Second)),
		examples: examples{kind: "stream", batch: b.Size, fields: slices.Clone(b.Fields), seed: o.seed(b.Seed)}}
	held := int64(o.integer("valid", 0, 0, math.MaxInt32))
	s.wanted = wantedRows{fields: s.fields, scale: o.float("scale", 1, -1e30, 1e30), limit: maxStreamBatch}
	for _, f := range s.fields {
		s.wanted.within = append(s.wanted.within, numberRange{name: f.Name,
			least: o.integer(f.Name+"_least", math.MinInt32, math.MinInt32, math.MaxInt32), below: o.integer(f.Name+"_below", math.MaxInt32, 1, math.MaxInt32)})
	}
	o.unread(opts)
	if err := o.done(); err != nil {
		return nil, err
	}
	if s.from == "" {
		e := errorf("the plan names no program for the examples")
		e.Hint = `--data "python3 gen.py" names it`
		return nil, e
	}
	if len(s.fields) == 0 {
		return nil, errorf("no fields are asked for")
	}
	guess := int64(0)
	if b.Past != nil {
		guess = b.Past.last("stream")
	}
	conn, err := s.connect(guess)
	if err == nil {
		err = s.hold(held)
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	s.describe(&conn.Answer, held)
	return s, nil
}

// unread removes the ranges of fields that a step does not read.
func (o *options) unread(opts []Option) {
	for _, x := range opts {
		if strings.HasSuffix(x.Key, "_below") || strings.HasSuffix(x.Key, "_least") {
			o.known = append(o.known, x.Key)
		}
	}
}

// last is how many examples a run was fed in the last phases, where these are of one source of a kind.
func (p *Past) last(kind string) int64 {
	all := joined(p.Phases)
	if n := len(all); n > 0 && len(all[n-1].Parts) == 1 && all[n-1].Parts[0].Kind == kind {
		return all[n-1].Examples
	}
	return 0
}

func (s *programs) ask(split string, first, count int64) generator.Ask {
	a := generator.Ask{Batch: s.batch, Seed: s.seed, Split: split, First: first, Count: count}
	for _, f := range s.fields {
		a.Fields = append(a.Fields, generator.Field{Name: f.Name, DType: f.DType.String(), Shape: append([]int{}, f.Shape[1:]...)})
	}
	return a
}

// connect makes the program begin at an example.
func (s *programs) connect(first int64) (*streaming, error) {
	conn, err := s.start(generator.Train, first, 0)
	if err != nil {
		return nil, err
	}
	if s.at, s.rest = conn.Answer.First, nil; s.at > first {
		s.drop()
		return nil, s.blame(fmt.Errorf("it begins at example %d, but must begin at %d", s.at, first))
	}
	return conn, nil
}

// start requests a split from an example on.
func (s *programs) start(split string, first, count int64) (*streaming, error) {
	conn, err := startStreaming(s.from, s.ask(split, first, count), &s.wanted, s.limit)
	if err != nil {
		return nil, s.blame(err)
	}
	if split == generator.Train {
		s.open.Lock()
		if s.open.closed {
			err = errClosed
		} else {
			s.open.conn = conn
		}
		s.open.Unlock()
	}
	if err == nil {
		err = conn.greeted()
	}
	if err != nil {
		conn.stop()
		s.drop()
		return nil, s.blame(err)
	}
	return conn, nil
}

// blame names the program in an error.
func (s *programs) blame(err error) error { return &Error{Path: s.from, Msg: err.Error()} }

// hold reads the held-out examples from another connection.
func (s *programs) hold(n int64) error {
	if n == 0 {
		return nil
	}
	if !generator.AskedFor(s.from) {
		return errorf("valid = %d, but this source cannot send a held-out split", n).in(s.from, "valid = 0, or a command line or a socket")
	}
	conn, err := s.start(generator.Valid, 0, n)
	if err != nil {
		return err
	}
	defer conn.stop()
	if conn.Answer.Split != generator.Valid || conn.Answer.First != 0 {
		return s.blame(fmt.Errorf("valid = %d, but the program does not announce the split %q from its first example on", n, generator.Valid))
	}
	held := &heldRows{fields: s.fields, fewRows: fewRows{i32: make([][]int32, len(s.fields)), f32: make([][]float32, len(s.fields))}}
	for int64(held.n) < n {
		rows, err := conn.take()
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%d examples should be held out, but the split %q has %d", n, generator.Valid, held.n)
		}
		if err != nil {
			return s.blame(err)
		}
		for k := range s.fields {
			held.i32[k], held.f32[k] = append(held.i32[k], rows.i32[k]...), append(held.f32[k], rows.f32[k]...)
		}
		if held.n += rows.n; held.bytes() > maxHeldStream {
			return s.blame(fmt.Errorf("%d held-out examples need more than %d bytes of memory", n, int64(maxHeldStream)))
		}
	}
	held.n = int(n)
	s.valid = held
	s.validOrd = newPermutation(n, newStream(validSeed, streamValid))
	return nil
}

// describe describes the source, and lists the facts that determine its examples.
func (s *programs) describe(a *generator.Answer, held int64) {
	s.perEpoch = a.Examples
	where := Fact{"program", s.from}
	switch {
	case a.Fresh():
		var x [8]byte
		_, _ = rand.Read(x[:])
		where = Fact{"examples of the program, which gives others each time", fmt.Sprintf("sha256:%x", x)}
	case a.ID != "":
		where = Fact{"examples of the program", a.ID}
	}
	s.facts = []Fact{where, {"fields", ofRows(s.fields)}, {"held out", fmt.Sprint(held)}}
	h := sha256.New()
	fmt.Fprintf(h, "stream 1\n%q %q %s %d %g\n", where.Name, where.Value, ofRows(s.fields), held, s.wanted.scale)
	s.print = fmt.Sprintf("sha256:%x", h.Sum(nil))
	s.about = fmt.Sprintf("stream: %s of %s, %d for validation", fieldList(s.fields), s.from, held)
}

// Examples is how many are in an epoch, as the program says; 0 where it does not.
func (s *programs) Examples() int64 { return s.perEpoch }

func (s *programs) goOn(r *Recipe, of []*seen, from begun) {
	s.seed, s.seen, s.begun = r.Parts[0].Seed, of[0], from
	s.open.Lock()
	conn := s.open.conn
	s.open.Unlock()
	if first := s.seen.at(from.examples); generator.AskedFor(s.from) && (conn.asked.First != first || conn.asked.Seed != s.seed) {
		s.drop() // the request was a guess
	}
}

// Fill is Source's. Steps are requested in order; the last one may be requested again.
func (s *programs) Fill(step int64, dst []View) error {
	n, err := s.begun.firstRow(step, s.batch)
	if err != nil {
		return asError(s.kind, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.seen.at(n)
	if first != s.filled {
		if err := s.gather(first); err != nil {
			return asError(s.kind, err)
		}
	}
	one := heldRows{s.whole, s.fields}
	return s.each(dst, &one, func(row int) int64 { return int64(row) })
}

// gather makes the batch that begins with an example.
func (s *programs) gather(first int64) error {
	s.filled = -1
	conn, err := s.connected(first)
	if err != nil {
		return err
	}
	if first < s.at {
		return errorf("example %d is requested after example %d, but a stream is read once, in order", first, s.at)
	}
	for s.at < first { // of a program that begins earlier
		k, err := s.rows(conn, first-s.at)
		if err != nil {
			return err
		}
		s.used, s.at = s.used+k, s.at+int64(k)
	}
	if s.whole.i32 == nil {
		s.whole.i32, s.whole.f32 = make([][]int32, len(s.fields)), make([][]float32, len(s.fields))
	}
	for k := range s.fields {
		s.whole.i32[k], s.whole.f32[k] = s.whole.i32[k][:0], s.whole.f32[k][:0]
	}
	for left := s.batch; left > 0; {
		n, err := s.rows(conn, int64(left))
		if err != nil {
			return err
		}
		for k := range s.fields {
			size := rowSizeOf(&s.fields[k])
			lo, hi := s.used*size, (s.used+n)*size
			if s.fields[k].DType == I32 {
				s.whole.i32[k] = append(s.whole.i32[k], s.rest.i32[k][lo:hi]...)
			} else {
				s.whole.f32[k] = append(s.whole.f32[k], s.rest.f32[k][lo:hi]...)
			}
		}
		s.used, s.at, left = s.used+n, s.at+int64(n), left-n
	}
	s.whole.n, s.filled = s.batch, first
	return nil
}

// rows has rest have rows that were not taken, and says how many of those that are wanted.
func (s *programs) rows(conn *streaming, want int64) (int, error) {
	for s.rest == nil || s.used == s.rest.n {
		rows, err := conn.take()
		if errors.Is(err, io.EOF) {
			return 0, &Error{Path: s.from, Msg: fmt.Sprintf("there are %d examples", s.at), Err: ErrEnd}
		}
		if err != nil {
			return 0, s.blame(err)
		}
		s.rest, s.used = rows, 0
	}
	return int(min(want, int64(s.rest.n-s.used))), nil
}

// rowSizeOf is how many numbers a row of a field has.
func rowSizeOf(f *Field) int {
	n := 1
	for _, d := range f.Shape[1:] {
		n *= d
	}
	return n
}

// connected is the connection, opened anew from an example on where there is none.
func (s *programs) connected(first int64) (*streaming, error) {
	s.open.Lock()
	conn, closed := s.open.conn, s.open.closed
	s.open.Unlock()
	switch {
	case closed:
		return nil, s.blame(errClosed)
	case conn == nil:
		return s.connect(first)
	}
	return conn, nil
}

func (s *programs) drop() {
	s.open.Lock()
	conn := s.open.conn
	s.open.conn = nil
	s.open.Unlock()
	if conn != nil {
		conn.stop()
	}
}

// Close ends the program. A Fill that waits for it fails.
func (s *programs) Close() error {
	s.open.Lock()
	s.open.closed = true
	s.open.Unlock()
	s.drop()
	return nil
}

// heldRows are rows in memory.
type heldRows struct {
	fewRows
	fields []Field
}

func (h *heldRows) count() int64 { return int64(h.n) }

func (h *heldRows) read(field int, n int64, b box, i32 []int32, f32 []float32) error {
	f := &h.fields[field]
	size := rowSizeOf(f)
	if b.rowEmpty() {
		return nil
	}
	if b.rowSize() == size {
		if f.DType == I32 {
			copy(i32, h.i32[field][int(n)*size:])
		} else {
			copy(f32, h.f32[field][int(n)*size:])
		}
		return nil
	}
	idx := b.first()
	for i := 0; ; i++ {
		at := int(n)*size + f.flat(&idx)
		if f.DType == I32 {
			i32[i] = h.i32[field][at]
		} else {
			f32[i] = h.f32[field][at]
		}
		if !b.next(&idx) {
			return nil
		}
	}
}
