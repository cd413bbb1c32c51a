package program

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"ptc/internal/renamed"
)

// Format is the version of the file format that this package reads and writes.
const Format = 5

const (
	magic      = "ptcplan\n"
	headerSize = len(magic) + 4 + 8 + sha256.Size

	// MaxBytes is how large a plan's file may be.
	MaxBytes = 1 << 30
)

// What is wrong with the bytes of a plan; besides, there is *InvalidError.
var (
	ErrNotPlan   = errors.New("not a ptc plan")
	ErrTruncated = errors.New("the plan is cut off")
	ErrDamaged   = errors.New("the plan is damaged")
	ErrTooLarge  = fmt.Errorf("the plan is larger than %d bytes", MaxBytes)
)

// IsPlan reports whether a file begins as plans do, whatever follows.
func IsPlan(file []byte) bool { return bytes.HasPrefix(file, []byte(magic)) }

// VersionError is of a plan in another format, or with what a later ptc added to this one.
type VersionError struct {
	Format   uint32
	Compiler string // that made the plan, where the format is this one
}

func (e *VersionError) Error() string {
	switch {
	case e.Format < Format:
		return fmt.Sprintf("the plan is of format %d, and this ptc reads format %d: compile its source again, or take the ptc that made it", e.Format, Format)
	case e.Format > Format:
		return fmt.Sprintf("the plan is of format %d, which is later than format %d of this ptc: take a later ptc, or compile its source again with this one", e.Format, Format)
	}
	return fmt.Sprintf("the plan has entries that this ptc does not know; ptc %q made it: take that version or a later one, or compile its source again with this one", e.Compiler)
}

var (
	encMode = mode(encOptions().EncMode())
	decMode = mode(decOptions(cbor.ExtraDecErrorUnknownField).DecMode())
	// Knows nothing but what it is asked for.
	laxMode = mode(decOptions(cbor.ExtraDecErrorNone).DecMode())
)

func decOptions(unknown cbor.ExtraDecErrorCond) cbor.DecOptions {
	return cbor.DecOptions{
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		ExtraReturnErrors: unknown,
		IntDec:            cbor.IntDecConvertNone,
		MaxNestedLevels:   16,
		MaxArrayElements:  1 << 24,
		MaxMapPairs:       64, // no struct has as many fields
	}
}

func encOptions() cbor.EncOptions {
	o := cbor.CoreDetEncOptions()
	o.IndefLength = cbor.IndefLengthForbidden
	o.TagsMd = cbor.TagsForbidden
	return o
}

// mode is a codec's mode, whose options are constants.
func mode[T any](m T, err error) T {
	if err != nil {
		panic("program: CBOR options: " + err.Error())
	}
	return m
}

// Encode gives the bytes of a file. The same plan gives the same bytes; a nil
// slice and an empty one are the same. The error says that the plan is not
// valid, or too large.
func Encode(p *Plan) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return EncodeValid(p)
}

// EncodeValid is Encode for a plan that Validate has accepted as it is, such as the
// compiler's, so that it is not proved twice.
func EncodeValid(p *Plan) ([]byte, error) {
	body, err := encMode.Marshal(p)
	if err != nil {
		return nil, invalid("it cannot be encoded: %v", err)
	}
	if len(body) > MaxBytes-headerSize {
		return nil, ErrTooLarge
	}
	// The decoder has limits, and wants UTF-8, that the encoder does not know.
	if err := decMode.Unmarshal(body, new(Plan)); err != nil {
		return nil, invalid("it cannot be read back: %v", err)
	}
	return seal(body), nil
}

// seal puts the header before a body.
func seal(body []byte) []byte {
	out := make([]byte, 0, headerSize+len(body))
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint32(out, Format)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(body)))
	sum := sha256.Sum256(body)
	out = append(out, sum[:]...)
	return append(out, body...)
}

// Decode reads the bytes of a file. Its errors wrap ErrNotPlan, ErrTruncated,
// ErrDamaged or ErrTooLarge, or are a *VersionError or an *InvalidError.
func Decode(file []byte) (*Plan, error) {
	body, err := open(file)
	if err != nil {
		return nil, err
	}
	p := new(Plan)
	if err := decMode.Unmarshal(body, p); err != nil {
		if later := addedLater(body, err); later != nil {
			return nil, later
		}
		return nil, invalid("%v", err)
	}
	rename(p)
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return p, nil
}

// rename gives communications of an earlier version's plan the names of this version.
func rename(p *Plan) {
	for _, d := range p.Devices {
		for _, prog := range d.Progs {
			for _, in := range prog.Instrs {
				if in.Comm != nil {
					in.Comm.Kind = renamed.Current(in.Comm.Kind)
				}
			}
		}
	}
}

// addedLater is the error of a body with entries that are not known, where another
// version of ptc says that it wrote them; nil for any other body.
func addedLater(body []byte, err error) error {
	var unknown *cbor.UnknownFieldError
	var by struct {
		Compiler string `cbor:"3,keyasint,omitempty"` // as Plan has it
	}
	if !errors.As(err, &unknown) || laxMode.Unmarshal(body, &by) != nil || by.Compiler == "" || len(by.Compiler) > maxName {
		return nil
	}
	return &VersionError{Format, by.Compiler}
}

// open checks the header and the checksum, and gives the body.
func open(file []byte) ([]byte, error) {
	le := binary.LittleEndian
	n := min(len(file), len(magic))
	switch {
	case string(file[:n]) != magic[:n] || len(file) == 0:
		return nil, ErrNotPlan
	case len(file) > MaxBytes:
		return nil, ErrTooLarge
	case len(file) < len(magic)+4:
		return nil, fmt.Errorf("%w: it ends after %d bytes", ErrTruncated, len(file))
	}
	if v := le.Uint32(file[len(magic):]); v != Format {
		return nil, &VersionError{Format: v}
	}
	if len(file) < headerSize {
		return nil, fmt.Errorf("%w: it ends after %d bytes", ErrTruncated, len(file))
	}
	length := le.Uint64(file[len(magic)+4:])
	body := file[headerSize:]
	switch {
	case length > MaxBytes:
		return nil, fmt.Errorf("%w: it says that it has %d bytes", ErrDamaged, length)
	case uint64(len(body)) < length:
		return nil, fmt.Errorf("%w: it has %d of %d bytes", ErrTruncated, len(body), length)
	case uint64(len(body)) > length:
		return nil, fmt.Errorf("%w: %d bytes follow its end", ErrDamaged, uint64(len(body))-length)
	}
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], file[headerSize-sha256.Size:headerSize]) {
		return nil, fmt.Errorf("%w: its bytes do not have its checksum", ErrDamaged)
	}
	return body, nil
}
