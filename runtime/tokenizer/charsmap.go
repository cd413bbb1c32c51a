package tokenizer

import (
	"encoding/binary"
	"errors"
	"strings"
)

// charsmap is SentencePiece's compiled rules of normalization: a double array, in
// which the starts of texts are looked up, and what they become, each ended by 0.
// The length of the array in bytes comes first. github.com/google/sentencepiece,
// src/normalizer.cc; the units of the array: github.com/s-yata/darts-clone.
type charsmap struct {
	units []uint32
	texts string
}

func parseCharsmap(blob []byte) (*charsmap, error) {
	if len(blob) == 0 {
		return &charsmap{}, nil
	}
	if len(blob) < 4 {
		return nil, errors.New("its normalization rules are truncated")
	}
	n := binary.LittleEndian.Uint32(blob)
	if blob = blob[4:]; uint64(n) >= uint64(len(blob)) || n%4 != 0 {
		return nil, errors.New("its normalization rules are truncated")
	}
	m := &charsmap{units: make([]uint32, n/4), texts: string(blob[n:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(blob[4*i:])
	}
	return m, nil
}

func unitOffset(u uint32) uint32 { return u >> 10 << ((u & (1 << 9)) >> 6) }

// each calls do for every rule for a start of the text, shortest first, until do
// says to stop.
func (m *charsmap) each(text string, do func(length int, value uint32) bool) {
	if len(m.units) == 0 {
		return
	}
	at := unitOffset(m.units[0])
	for i := range len(text) {
		at ^= uint32(text[i])
		if int(at) >= len(m.units) {
			return
		}
		u := m.units[at]
		if u&(1<<31|0xff) != uint32(text[i]) {
			return
		}
		at ^= unitOffset(u)
		if u>>8&1 == 1 && int(at) < len(m.units) && !do(i+1, m.units[at]&(1<<31-1)) {
			return
		}
	}
}

// to is the text at a place of texts.
func (m *charsmap) to(value uint32) string {
	if int(value) >= len(m.texts) {
		return ""
	}
	s, _, _ := strings.Cut(m.texts[value:], "\x00")
	return strings.ToValidUTF8(s, "\uFFFD")
}

func (m *charsmap) shortest(text string) (to string, ok bool) {
	m.each(text, func(_ int, v uint32) bool {
		to, ok = m.to(v), true
		return false
	})
	return to, ok
}

// longest gives what the longest start of the text becomes, and its length.
func (m *charsmap) longest(text string) (to string, length int) {
	m.each(text, func(n int, v uint32) bool {
		to, length = m.to(v), n
		return true
	})
	return to, length
}
