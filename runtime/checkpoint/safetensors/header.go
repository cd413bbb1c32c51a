package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"ptc/internal/dtype"
)

// header is a decoded header: tensors in the order of the text, with the end
// that it claims for each.
type header struct {
	tensors  []Tensor
	ends     []int64
	metadata map[string]string
}

// headerParser walks JSON tokens rather than unmarshalling, which would take
// the last of several equal keys and ignore the case of field names.
type headerParser struct {
	dec  *json.Decoder
	text []byte
}

func parseHeader(text []byte) (*header, error) {
	if len(text) == 0 || text[0] != '{' {
		return nil, errorf("the header does not start with {")
	}
	if !utf8.Valid(text) {
		return nil, errorf("the header is not UTF-8")
	}
	p := headerParser{json.NewDecoder(bytes.NewReader(text)), text}
	p.dec.UseNumber()
	h := &header{}
	seen := map[string]bool{}
	err := p.object(func(key string) error {
		if seen[key] {
			return errorf("the header has the key %q twice", key)
		}
		seen[key] = true
		if key == metadataKey {
			return p.metadata(h)
		}
		return p.tensor(key, h)
	})
	if err != nil {
		return nil, asError(err)
	}
	if _, err := p.dec.Token(); err != io.EOF {
		return nil, errorf("the header has text after its last }")
	}
	return h, nil
}

func asError(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &Error{Msg: "the header is not valid JSON", Err: err}
}

// object reads an object, calling field before each value.
func (p headerParser) object(field func(key string) error) error {
	if err := p.delim('{'); err != nil {
		return err
	}
	for p.dec.More() {
		tok, err := p.dec.Token()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return errorf("the header has %v instead of a key", tok)
		}
		if err := field(key); err != nil {
			return err
		}
	}
	return p.delim('}')
}

func (p headerParser) delim(want json.Delim) error {
	tok, err := p.dec.Token()
	if err != nil {
		return err
	}
	if tok != want {
		return errorf("the header has %v instead of %v", tok, want)
	}
	return nil
}

func (p headerParser) str() (string, error) {
	tok, err := p.dec.Token()
	if err != nil {
		return "", err
	}
	s, ok := tok.(string)
	if !ok {
		return "", errorf("the header has %v instead of a string", tok)
	}
	return s, nil
}

// integers reads an array of at most limit whole numbers, none negative.
func (p headerParser) integers(limit int) ([]int64, error) {
	if err := p.delim('['); err != nil {
		return nil, err
	}
	var ns []int64
	for p.dec.More() {
		tok, err := p.dec.Token()
		if err != nil {
			return nil, err
		}
		num, ok := tok.(json.Number)
		if !ok {
			return nil, errorf("the header has %v instead of a number", tok)
		}
		n, err := strconv.ParseUint(num.String(), 10, 62)
		if err != nil {
			return nil, errorf("the header has the number %s, which is not a size", num)
		}
		if ns = append(ns, int64(n)); len(ns) > limit {
			return nil, errorf("the header has a list of more than %d numbers", limit)
		}
	}
	return ns, p.delim(']')
}

func (p headerParser) metadata(h *header) error {
	h.metadata = map[string]string{}
	if rest := bytes.TrimLeft(p.text[p.dec.InputOffset():], " \t\r\n:"); bytes.HasPrefix(rest, []byte("null")) { // of a program that has none
		_, err := p.dec.Token()
		return err
	}
	return p.object(func(key string) error {
		if _, dup := h.metadata[key]; dup {
			return errorf("the metadata has the key %q twice", key)
		}
		v, err := p.str()
		h.metadata[key] = v
		return err
	})
}

func (p headerParser) tensor(name string, h *header) error {
	t := Tensor{Name: name}
	var offsets []int64
	seen := map[string]bool{}
	err := p.object(func(key string) (err error) {
		if seen[key] {
			return tensorErrorf(name, "%s occurs twice", key)
		}
		seen[key] = true
		switch key {
		case "dtype":
			var s string
			if s, err = p.str(); err != nil {
				return err
			}
			var ok bool
			if t.DType, ok = dtype.ParseSafetensors(s); !ok {
				return tensorErrorf(name, "element type %q is not known", s)
			}
		case "shape":
			t.Shape, err = p.integers(maxRank)
		case "data_offsets":
			offsets, err = p.integers(2)
		default:
			err = tensorErrorf(name, "key %q is not known", key)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(seen) != 3 || len(offsets) != 2 {
		return tensorErrorf(name, "it needs dtype, shape and two data_offsets")
	}
	t.Offset = offsets[0]
	h.tensors = append(h.tensors, t)
	h.ends = append(h.ends, offsets[1])
	return nil
}

// formatHeader writes the length and the header, which it pads with spaces so
// that the data starts at a multiple of 8. Tensors are in order of name.
func formatHeader(tensors []Tensor, metadata map[string]string) []byte {
	b := append(make([]byte, 8), '{')
	sep := func() {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
	}
	if len(metadata) > 0 {
		text, err := json.Marshal(metadata) // in order of key
		if err != nil {
			panic("safetensors: a map of strings cannot be written as JSON: " + err.Error())
		}
		b = append(b, `"`+metadataKey+`":`...)
		b = append(b, text...)
	}
	for i := range tensors {
		t := &tensors[i]
		sep()
		b = appendString(b, t.Name)
		b = append(b, `:{"dtype":"`+t.DType.Safetensors()+`","shape":[`...)
		for i, n := range t.Shape {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, n, 10)
		}
		b = append(b, `],"data_offsets":[`...)
		b = strconv.AppendInt(b, t.Offset, 10)
		b = append(b, ',')
		b = strconv.AppendInt(b, t.Offset+t.Bytes(), 10)
		b = append(b, "]}"...)
	}
	b = append(b, '}')
	for len(b)%8 != 0 {
		b = append(b, ' ')
	}
	return b
}

func appendString(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic("safetensors: a string cannot be written as JSON: " + err.Error())
	}
	return append(b, text...)
}
