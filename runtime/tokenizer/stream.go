package tokenizer

import "bytes"

// Stream decodes tokens as they come: what it has given together is what Decode
// gives of all of them, and it ends at no time within a character.
type Stream struct {
	t *Tokenizer
	// ids are those on which the text of the next one may depend, given the
	// number of bytes of their text that were given out.
	ids   []int32
	given int
}

// Stream begins to decode.
func (t *Tokenizer) Stream() *Stream { return &Stream{t: t} }

// maxHeld is the number of tokens that are decoded together; a character takes
// four at most, and a decoder looks at the token before.
const maxHeld = 32

// Next gives the text that one more token completes; it may be empty.
func (s *Stream) Next(id int32) []byte {
	s.ids = append(s.ids, id)
	text := s.t.Decode(s.ids)
	end := len(text) - incomplete(text)
	if end <= s.given {
		return nil
	}
	out := bytes.Clone(text[s.given:end])
	s.given = end
	if end == len(text) && len(s.ids) > maxHeld {
		s.forget()
	}
	return out
}

// forget drops tokens whose text is out, and keeps one, so that the next is not
// taken for the first of a text, at whose start spaces may be left out.
func (s *Stream) forget() {
	last := s.ids[len(s.ids)-1:]
	s.ids = append(s.ids[:0], last...)
	s.given = len(s.t.Decode(s.ids))
}

// Rest gives what is held back of an incomplete character at the end.
func (s *Stream) Rest() []byte {
	text := s.t.Decode(s.ids)
	out := bytes.Clone(text[min(s.given, len(text)):])
	s.given = len(text)
	return out
}
