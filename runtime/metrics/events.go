package metrics

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Events writes an event file of TensorBoard: a scalar for each figure of a step.
//
// The file is records (tensorflow/core/lib/io/record_writer.h): the length in 8 bytes, its
// checksum in 4, the data, its checksum in 4, all little-endian. The data is a message
// Event (tensorflow/core/util/event.proto) with one Summary (summary.proto):
//
//	Event       wall_time = 1: double   step = 2: int64   file_version = 3: string   summary = 5   session_log = 7
//	Summary     value = 1, repeated
//	Value       tag = 1: string   simple_value = 2: float
//	SessionLog  status = 1: START = 1
//
// From the step of a START on, a reader forgets what earlier files have, so that a run that
// goes on after a crash has one curve. These are eight fields of three wire types ("Protocol
// Buffers: Encoding"): less than what calls of a library would be.
type Events struct {
	mu     sync.Mutex
	w      io.WriteCloser
	now    func() time.Time
	record []byte
	event  []byte
	value  []byte
	err    error

	validated int64 // the last step of which a validation was told
}

// openEvents begins a file of its own in a folder: TensorBoard reads those of one folder
// as one run.
func openEvents(dir string) (Sink, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	// Files are read in the order of their names, which begin with the time.
	at := time.Now()
	for n := 0; ; n++ {
		name := filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%010d.ptc.%d", at.Unix(), n))
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return newEvents(f, time.Now), nil
	}
}

// eventVersion is what the first event of a file has to say.
const eventVersion = "brain.Event:2"

// sessionStart is the message SessionLog whose status is START.
const sessionStart = "\x08\x01"

func newEvents(w io.WriteCloser, now func() time.Time) *Events {
	v := &Events{w: w, now: now}
	v.begin(0)
	v.event = appendText(v.event, 3, eventVersion)
	v.end()
	return v
}

// Tell writes the figures of a step, or a validation, as one record in one write.
func (v *Events) Tell(e Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var summary []byte
	add := func(tag string, x float64) {
		v.value = appendText(v.value[:0], 1, tag)
		v.value = append(v.value, 2<<3|5)
		v.value = binary.LittleEndian.AppendUint32(v.value, math.Float32bits(float32(x)))
		summary = appendText(summary, 1, string(v.value))
	}
	switch e := e.(type) {
	case *Start:
		if e.First > e.Last {
			return
		}
		v.begin(e.First)
		v.event = appendText(v.event, 7, sessionStart)
		v.end()
		return
	case *Step:
		_, least, most := e.Slowest()
		v.begin(e.Step)
		add("loss", e.Loss)
		for _, x := range []struct {
			tag   string
			value float64
		}{{"grad_norm", e.GradNorm}, {"lr", e.LR}, {"ms", e.Ms}, {"tokens_per_second", e.TokensPerS},
			{"wait_ms", most}, {"least_wait_ms", least}} {
			if !math.IsNaN(x.value) {
				add(x.tag, x.value)
			}
		}
		if e.LossScale != 0 {
			add("scale", e.LossScale)
		}
	default:
		x := validation(e, &v.validated)
		if x == nil {
			return
		}
		v.begin(x.Step)
		add("validation", x.Loss)
	}
	v.event = appendText(v.event, 5, string(summary))
	v.end()
}

// begin starts an event of a step, now.
func (v *Events) begin(step int64) {
	v.event = append(v.event[:0], 1<<3|1)
	v.event = binary.LittleEndian.AppendUint64(v.event, math.Float64bits(float64(v.now().UnixMicro())/1e6))
	v.event = append(v.event, 2<<3|0)
	v.event = binary.AppendUvarint(v.event, uint64(step))
}

// end writes the event as a record.
func (v *Events) end() {
	b := binary.LittleEndian.AppendUint64(v.record[:0], uint64(len(v.event)))
	b = binary.LittleEndian.AppendUint32(b, masked(b))
	b = append(b, v.event...)
	v.record = binary.LittleEndian.AppendUint32(b, masked(v.event))
	if v.err == nil {
		_, v.err = v.w.Write(v.record)
	}
}

// appendText is a field of bytes: its number and wire type, its length, itself.
func appendText(b []byte, field int, text string) []byte {
	b = append(b, byte(field<<3|2))
	b = binary.AppendUvarint(b, uint64(len(text)))
	return append(b, text...)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the checksum of records: CRC-32C, rotated and with a constant added, so that
// the checksum of what holds checksums is none of them (tensorflow/core/lib/hash/crc32c.h).
func masked(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// Close closes the file and gives the first error of a write.
func (v *Events) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.w != nil {
		err := v.w.Close()
		v.w = nil
		if v.err == nil {
			v.err = err
		}
	}
	return v.err
}
