package tokenizer

import (
	"strings"
	"unicode/utf8"
)

func (m *spModel) encode(raw []byte) ([]int32, error) {
	text, err := m.normalize(string(raw))
	if err != nil {
		return nil, err
	}
	var spans []textPiece
	if m.kind == spBPE {
		spans = m.mergePieces(text)
	} else {
		spans = m.bestPieces(text)
	}
	out := make([]int32, 0, len(spans))
	unknown := false
	for _, s := range spans {
		switch {
		case s.id != m.unk:
			out = append(out, s.id)
		case m.byteFallback:
			for i := range len(s.text) {
				out = append(out, m.bytes[s.text[i]])
			}
		case !unknown: // several in a row are one
			out = append(out, m.unk)
		}
		unknown = s.id == m.unk
	}
	return out, nil
}

// bestPieces is the unigram model. Sums are rounded to f32 where the reference
// keeps them, as near ties depend on it.
func (m *spModel) bestPieces(text string) []textPiece {
	out, _ := bestPieces(m.trie, text, func(length int, id int32) (float32, bool) {
		switch p := &m.pieces[id]; p.kind {
		case pieceUnused:
			return 0, false
		case pieceUserDefined:
			return float32(length)*userBonus - userCost, true
		default:
			return p.score, true
		}
	}, m.unk, m.worst-unkPenalty)
	return out
}

// mergePieces is byte pair encoding, in which the piece of the highest score is
// merged first. A piece that is not to be used is taken apart again.
func (m *spModel) mergePieces(text string) []textPiece {
	var symbols []symbol
	for at := 0; at < len(text); {
		n, _ := m.user.longest(text[at:])
		frozen := n > 0
		if !frozen {
			_, n = utf8.DecodeRuneInString(text[at:])
		}
		symbols = append(symbols, symbol{from: at, to: at + n, id: -1, frozen: frozen})
		at += n
	}
	link(symbols)
	parts := map[string]int{} // of unused pieces: the length of the left one
	merge(symbols, func(a, b *symbol) (pair, bool) {
		id, ok := m.lookup[text[a.from:b.to]]
		if !ok {
			return pair{}, false
		}
		if m.pieces[id].kind == pieceUnused {
			parts[text[a.from:b.to]] = a.to - a.from
		}
		return pair{-float64(m.pieces[id].score), id}, true
	})
	var out []textPiece
	for i := range symbols {
		if s := &symbols[i]; !s.gone {
			out = m.apart(text[s.from:s.to], parts, out)
		}
	}
	return out
}

func (m *spModel) apart(s string, parts map[string]int, out []textPiece) []textPiece {
	id, ok := m.lookup[s]
	if !ok {
		id = m.unk
	}
	if left, unused := parts[s]; unused && ok {
		return m.apart(s[left:], parts, m.apart(s[:left], parts, out))
	}
	return append(out, textPiece{s, id})
}

// decode joins pieces, with spaces for what stands for them, and without the one
// that was put at the start.
func (m *spModel) decode(_ *Tokenizer, ids []int32) []byte {
	var out []byte
	start := true
	for _, id := range ids {
		if id < 0 || int(id) >= len(m.pieces) {
			continue
		}
		p := &m.pieces[id]
		switch p.kind {
		case pieceControl:
		case pieceUnknown:
			out, start = append(out, m.unkSurface...), false
		case pieceByte:
			b, _ := byteToken(p.text)
			out, start = append(out, b), false
		default:
			s := p.text
			if start && (m.dummyPrefix || m.squeeze) {
				var had bool
				s, had = strings.CutPrefix(s, space)
				start = !had || m.squeeze
			}
			out = append(out, strings.ReplaceAll(s, space, " ")...)
			start = start && len(out) == 0
		}
	}
	return out
}
