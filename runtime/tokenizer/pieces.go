package tokenizer

import "fmt"

// Piece is one of a model of SentencePiece.
type Piece struct {
	Text  string
	Score float32
	Kind  int // as sentencepiece_model.proto numbers them, from 1: normal, unknown, control, user-defined, unused, byte
}

// Pieces are those of a SentencePiece model of the kind BPE, and whether a space goes before the text. Another file,
// or a model of another kind, is an error.
func Pieces(raw []byte) (pieces []Piece, prefix bool, err error) {
	if _, err := parseSentencePiece(raw); err != nil {
		return nil, false, err
	}
	m := &spModel{kind: spUnigram, dummyPrefix: true, squeeze: true, escape: true, rules: &charsmap{}}
	if err := m.parse(raw); err != nil {
		return nil, false, err
	}
	if m.kind != spBPE {
		return nil, false, fmt.Errorf("its SentencePiece model is unigram instead of BPE")
	}
	for _, p := range m.pieces {
		pieces = append(pieces, Piece{p.text, p.score, int(p.kind)})
	}
	return pieces, m.dummyPrefix, nil
}
