package tokenizer

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Kinds of pieces and of models, by their numbers in sentencepiece_model.proto
// (github.com/google/sentencepiece, src).
const (
	pieceNormal      = 1
	pieceUnknown     = 2
	pieceControl     = 3
	pieceUserDefined = 4
	pieceUnused      = 5
	pieceByte        = 6

	spUnigram = 1
	spBPE     = 2
)

// A user-defined piece is better than any way of ordinary ones. By how much
// matters where rounded sums of two ways are nearly equal; with these numbers they
// are rounded as in version 0.2.3, see bench/tokenizers.
const (
	userBonus = 0.1 // for each byte
	userCost  = 0.1
)

// space is what SentencePiece writes a space as.
const space = "\u2581"

type spPiece struct {
	text  string
	score float32
	kind  uint64
}

// spModel is the part of a model's file that encoding and decoding need.
type spModel struct {
	pieces       []spPiece
	kind         uint64
	suffix       bool // a space goes to the end of the word before it
	byteFallback bool
	unkSurface   string
	rules        *charsmap
	dummyPrefix  bool
	squeeze      bool // spaces at both ends go, several become one
	escape       bool

	lookup map[string]int32 // what text can become
	bytes  [256]int32
	unk    int32
	trie   *trie
	user   *trie
	worst  float32
}

func parseSentencePiece(raw []byte) (*Tokenizer, error) {
	m := &spModel{kind: spUnigram, unkSurface: " \u2047 ", dummyPrefix: true, squeeze: true, escape: true, rules: &charsmap{}, unk: -1}
	if err := m.parse(raw); err != nil {
		return nil, fmt.Errorf("it is none of the known formats (tokenizer.json, tiktoken's ranks, SentencePiece's model): %w", err)
	}
	kinds := map[uint64]string{spUnigram: "unigram", spBPE: "BPE"}
	if kinds[m.kind] == "" {
		return nil, fmt.Errorf("its model is of kind %d; only SentencePiece's unigram and BPE are supported", m.kind)
	}
	all := map[string]int32{}
	for i, p := range m.pieces {
		if _, twice := all[p.text]; twice || p.text == "" || !utf8.ValidString(p.text) {
			return nil, fmt.Errorf("its piece %d is empty, there twice, or not UTF-8", i)
		}
		all[p.text] = int32(i)
	}
	t, err := newTokenizer("SentencePiece, "+kinds[m.kind], all)
	if err != nil {
		return nil, err
	}
	if err := m.index(t); err != nil {
		return nil, err
	}
	t.encode, t.decode = m, m.decode
	return t, nil
}

// fields walks over the fields of a message.
func fields(raw []byte, do func(n protowire.Number, kind protowire.Type, v uint64, b []byte) error) error {
	for len(raw) > 0 {
		n, kind, size := protowire.ConsumeTag(raw)
		if size < 0 {
			return errors.New("a field of the protocol buffer is broken")
		}
		raw = raw[size:]
		var v uint64
		var b []byte
		switch kind {
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(raw)
		case protowire.Fixed32Type:
			var x uint32
			x, size = protowire.ConsumeFixed32(raw)
			v = uint64(x)
		case protowire.BytesType:
			b, size = protowire.ConsumeBytes(raw)
		default:
			size = protowire.ConsumeFieldValue(n, kind, raw)
		}
		if size < 0 {
			return errors.New("a field of the protocol buffer is broken")
		}
		raw = raw[size:]
		if err := do(n, kind, v, b); err != nil {
			return err
		}
	}
	return nil
}

func (m *spModel) parse(raw []byte) error {
	err := fields(raw, func(n protowire.Number, kind protowire.Type, _ uint64, b []byte) error {
		if kind != protowire.BytesType {
			return nil
		}
		switch n {
		case 1:
			p := spPiece{kind: pieceNormal}
			err := fields(b, func(n protowire.Number, _ protowire.Type, v uint64, b []byte) error {
				switch n {
				case 1:
					p.text = string(b)
				case 2:
					p.score = math.Float32frombits(uint32(v))
				case 3:
					p.kind = v
				}
				return nil
			})
			m.pieces = append(m.pieces, p)
			return err
		case 2:
			return fields(b, m.trainer)
		case 3:
			return fields(b, m.normalizer)
		}
		return nil
	})
	if err == nil && len(m.pieces) == 0 {
		err = errors.New("there are no pieces")
	}
	return err
}

func (m *spModel) trainer(n protowire.Number, _ protowire.Type, v uint64, b []byte) error {
	switch n {
	case 3:
		m.kind = v
	case 24:
		m.suffix = v != 0
	case 35:
		m.byteFallback = v != 0
	case 44:
		m.unkSurface = string(b)
	}
	return nil
}

func (m *spModel) normalizer(n protowire.Number, _ protowire.Type, v uint64, b []byte) (err error) {
	switch n {
	case 2:
		m.rules, err = parseCharsmap(b)
	case 3:
		m.dummyPrefix = v != 0
	case 4:
		m.squeeze = v != 0
	case 5:
		m.escape = v != 0
	}
	return err
}

// index prepares the look-ups.
func (m *spModel) index(t *Tokenizer) error {
	m.lookup, m.trie, m.user = map[string]int32{}, newTrie(), newTrie()
	m.worst = math.MaxFloat32
	for b := range m.bytes {
		m.bytes[b] = -1
	}
	for i, p := range m.pieces {
		id := int32(i)
		switch p.kind {
		case pieceUnknown:
			m.unk = id
			t.special[id] = true
		case pieceControl:
			t.special[id] = true
		case pieceByte:
			if b, ok := byteToken(p.text); ok {
				m.bytes[b] = id
			}
		case pieceNormal, pieceUserDefined, pieceUnused:
			m.lookup[p.text] = id
			m.trie.add(p.text, id)
			if p.kind == pieceUserDefined {
				m.user.add(p.text, id)
			}
			if p.kind == pieceNormal {
				m.worst = min(m.worst, p.score)
			}
		default:
			return fmt.Errorf("its piece %d has the unknown kind %d", i, p.kind)
		}
	}
	if m.unk < 0 {
		return errors.New("it has no unknown piece")
	}
	for b, id := range m.bytes {
		if id < 0 && m.byteFallback {
			return fmt.Errorf("the byte %#02x has no piece, although unknown characters become bytes", b)
		}
	}
	return nil
}

// next normalizes the start of a text, and gives how much of it that took.
func (m *spModel) next(text string) (to string, length int) {
	if n, _ := m.user.longest(text); n > 0 {
		return text[:n], n
	}
	if to, n := m.rules.longest(text); n > 0 {
		return to, n
	}
	if r, n := utf8.DecodeRuneInString(text); r != utf8.RuneError || n > 1 {
		return text[:n], n
	}
	return "\uFFFD", 1
}

func (m *spModel) normalize(text string) (string, error) {
	most := mostOf(len(text))
	if m.squeeze {
		for text != "" {
			to, n := m.next(text)
			if to != " " {
				break
			}
			text = text[n:]
		}
	}
	if text == "" {
		return "", nil
	}
	blank := " "
	if m.escape {
		blank = space
	}
	var b strings.Builder
	if !m.suffix && m.dummyPrefix {
		b.WriteString(blank)
	}
	spaced := m.squeeze
	for text != "" {
		to, n := m.next(text)
		for spaced && strings.HasPrefix(to, " ") {
			to = to[1:]
		}
		if to != "" {
			spaced = strings.HasSuffix(to, " ")
			b.WriteString(strings.ReplaceAll(to, " ", blank))
		}
		text = text[n:]
		spaced = spaced && m.squeeze
		if b.Len() > most {
			return "", grown("a rule of normalization", most)
		}
	}
	out := b.String()
	for m.squeeze && strings.HasSuffix(out, blank) {
		out = strings.TrimSuffix(out, blank)
	}
	if m.suffix && m.dummyPrefix {
		out += blank
	}
	return out, nil
}
