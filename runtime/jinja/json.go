package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// maxDepth bounds how deep JSON may be nested.
const maxDepth = 64

// FromJSON reads a value and keeps the order of keys; of a key that comes twice the
// last value counts, as in Python.
func FromJSON(raw []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := fromJSON(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

func fromJSON(d *json.Decoder, depth int) (Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d times", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		return jsonNumber(string(t))
	case json.Delim:
		if t == '[' {
			out := &List{}
			for d.More() {
				v, err := fromJSON(d, depth+1)
				if err != nil {
					return nil, err
				}
				out.items = append(out.items, v)
			}
			_, err := d.Token()
			return out, err
		}
		out := NewDict()
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := fromJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			out.set(key.(string), v, 0)
		}
		_, err := d.Token()
		return out, err
	}
	return t, nil // nil, a bool or a string
}

func jsonNumber(s string) (Value, error) {
	if !strings.ContainsAny(s, ".eE") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
		return huge(s), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) { // too large is infinity, as in Python
		return nil, fmt.Errorf("%s is no number", s)
	}
	return f, nil
}
