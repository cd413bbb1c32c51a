package weights

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ptc/runtime/tokenizer"
)

// Kinds of tokens, by the numbers of GGUF, which are those of SentencePiece.
const (
	tokenNormal  = 1
	tokenUnknown = 2
	tokenControl = 3
	tokenUser    = 4
	tokenUnused  = 5
	tokenByte    = 6
)

const (
	tokenizerFile  = "tokenizer.json"
	piecesFile     = "tokenizer.model"
	tokenizerSays  = "tokenizer_config.json"
	templateFile   = "chat_template.jinja"
	addedScore     = -1000.0 // of tokens that no merge makes
	wordSpace      = "\u2581"
	maxVocabTokens = 1 << 24
)

// vocab is a tokenizer as llama.cpp has it.
type vocab struct {
	model, pre string // llama: of SentencePiece; gpt2: merges of bytes, cut as pre names it
	tokens     []string
	scores     []float32 // of llama alone
	kinds      []int32
	merges     []string // of gpt2 alone
	prefix     bool     // a space goes before the text, of llama alone
	ids        map[string]int64
	first      bool // the token of the beginning is put before a text
	last       bool // and that of the end behind it
	templates  map[string]string
}

// tokenizerJSON is what is read of tokenizer.json.
type tokenizerJSON struct {
	Added      []addedToken `json:"added_tokens"`
	Normalizer *component   `json:"normalizer"`
	Cut        *component   `json:"pre_tokenizer"`
	After      *component   `json:"post_processor"`
	Model      struct {
		Type         string          `json:"type"`
		Vocab        json.RawMessage `json:"vocab"`
		Merges       []merge         `json:"merges"`
		Unknown      string          `json:"unk_token"`
		ByteFallback bool            `json:"byte_fallback"`
		Whole        bool            `json:"ignore_merges"`
	} `json:"model"`
}

type addedToken struct {
	ID      int64  `json:"id"`
	Content string `json:"content"`
	Special bool   `json:"special"`
}

// component is a normalizer, a cutter or a template.
type component struct {
	Type        string      `json:"type"`
	Normalizers []component `json:"normalizers"`
	Cutters     []component `json:"pretokenizers"`
	Processors  []component `json:"processors"`
	Prefix      *bool       `json:"add_prefix_space"`
	Regex       *bool       `json:"use_regex"`
	Individual  bool        `json:"individual_digits"`
	Scheme      string      `json:"prepend_scheme"`
	Prepend     string      `json:"prepend"`
	Behavior    string      `json:"behavior"`
	Pattern     struct {
		Regex string `json:"Regex"`
	} `json:"pattern"`
	Single []struct {
		Special *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
	} `json:"single"`
}

// parts are a component, or those of a sequence of them.
func (c *component) parts() []component {
	if c == nil {
		return nil
	}
	if c.Type == "Sequence" {
		return slices.Concat(c.Normalizers, c.Cutters, c.Processors)
	}
	return []component{*c}
}

// merge is a pair, which old files have as one text.
type merge [2]string

func (m *merge) UnmarshalJSON(text []byte) error {
	var pair []string
	one := ""
	if json.Unmarshal(text, &one) == nil {
		a, b, ok := strings.Cut(one, " ")
		if !ok {
			return fmt.Errorf("the merge %q is no pair", one)
		}
		m[0], m[1] = a, b
		return nil
	}
	if err := json.Unmarshal(text, &pair); err != nil || len(pair) != 2 {
		return errors.New("a merge is no pair")
	}
	m[0], m[1] = pair[0], pair[1]
	return nil
}

// readVocab reads the tokenizer of a folder for a model of so many tokens. Nil where the folder has none.
func readVocab(dir string, config Config, size int) (*vocab, error) {
	text, err := readIn(dir, tokenizerFile, maxTokenizer)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var j *tokenizerJSON
	if err == nil {
		if _, err := tokenizer.Parse(tokenizerFile, text); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, tokenizerFile), err)
		}
		j = &tokenizerJSON{}
		if err := json.Unmarshal(text, j); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, tokenizerFile), err)
		}
	}
	v := &vocab{ids: map[string]int64{}, templates: map[string]string{}}
	pieces, err := readIn(dir, piecesFile, maxTokenizer)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	switch {
	case j != nil && (pieces == nil || !j.Model.ByteFallback):
		if err := v.ofJSON(j); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, tokenizerFile), err)
		}
	case pieces != nil:
		if err := v.ofPieces(pieces, j); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, piecesFile), err)
		}
	default:
		return nil, nil
	}
	if err := v.fill(size); err != nil {
		return nil, fmt.Errorf("the tokenizer of %s: %w", dir, err)
	}
	return v, v.special(dir, j, config)
}

// ofPieces takes the pieces of SentencePiece, with the tokens that were added to them since.
func (v *vocab) ofPieces(raw []byte, j *tokenizerJSON) error {
	pieces, prefix, err := tokenizer.Pieces(raw)
	if err != nil {
		return err
	}
	v.model, v.pre, v.prefix = "llama", "default", prefix
	for _, p := range pieces {
		v.tokens, v.scores, v.kinds = append(v.tokens, p.Text), append(v.scores, p.Score), append(v.kinds, int32(p.Kind))
	}
	if j == nil {
		return nil
	}
	v.prefix = j.prepends(prefix)
	for _, a := range j.Added {
		if a.ID < int64(len(pieces)) && (v.kinds[max(a.ID, 0)] == tokenByte || v.kinds[max(a.ID, 0)] == tokenUnknown) {
			continue
		}
		if err := v.add(a); err != nil {
			return err
		}
	}
	return nil
}

// add has an added token in its place.
func (v *vocab) add(a addedToken) error {
	if a.ID < 0 || a.ID >= maxVocabTokens {
		return fmt.Errorf("the token %q has the number %d", a.Content, a.ID)
	}
	for int64(len(v.tokens)) <= a.ID {
		v.pad()
	}
	kind := int32(tokenUser)
	if a.Special {
		kind = tokenControl
	}
	v.tokens[a.ID], v.kinds[a.ID] = a.Content, kind
	if v.model == "llama" {
		v.scores[a.ID] = addedScore
	}
	if kind == tokenUser && v.model == "llama" {
		v.tokens[a.ID] = strings.ReplaceAll(a.Content, wordSpace, " ")
	}
	return nil
}

// pad has one more token, which no text becomes.
func (v *vocab) pad() {
	v.tokens, v.kinds = append(v.tokens, fmt.Sprintf("[PAD%d]", len(v.tokens))), append(v.kinds, tokenUnused)
	if v.model == "llama" {
		v.scores = append(v.scores, addedScore)
	}
}

// fill has as many tokens as the model has rows for.
func (v *vocab) fill(size int) error {
	if len(v.tokens) > size {
		return fmt.Errorf("it has %d tokens, but the model has %d", len(v.tokens), size)
	}
	for len(v.tokens) < size {
		v.pad()
	}
	return nil
}

// ofJSON takes the tokens and merges of tokenizer.json.
func (v *vocab) ofJSON(j *tokenizerJSON) error {
	if j.Model.Type != "BPE" {
		return fmt.Errorf("the tokenizer is of the kind %s; llama.cpp computes BPE for these models", j.Model.Type)
	}
	var byText map[string]int64
	if err := json.Unmarshal(j.Model.Vocab, &byText); err != nil {
		return fmt.Errorf("the vocabulary: %w", err)
	}
	v.model = "gpt2"
	if j.Model.ByteFallback {
		v.model = "llama"
	}
	most := int64(-1)
	for _, t := range sortedKeys(byText) {
		id := byText[t]
		if id < 0 || id >= maxVocabTokens {
			return fmt.Errorf("the token %q has the number %d", t, id)
		}
		most = max(most, id)
	}
	for int64(len(v.tokens)) <= most {
		v.pad()
	}
	for t, id := range byText {
		v.tokens[id], v.kinds[id] = t, tokenNormal
	}
	if v.model == "llama" {
		if err := v.score(j, byText); err != nil {
			return err
		}
	}
	for _, a := range j.Added {
		if a.ID >= 0 && a.ID < int64(len(v.kinds)) && (v.kinds[a.ID] == tokenByte || v.kinds[a.ID] == tokenUnknown) {
			continue
		}
		if err := v.add(a); err != nil {
			return err
		}
	}
	if v.model == "llama" {
		return nil
	}
	for _, m := range j.Model.Merges {
		v.merges = append(v.merges, strings.ReplaceAll(m[0], " ", "\u0120")+" "+strings.ReplaceAll(m[1], " ", "\u0120"))
	}
	var err error
	v.pre, err = j.cutting()
	return err
}

// score gives each token that merges make what SentencePiece has for it: the earlier, the more. There a pair is
// joined wherever the result is a token, so that each such pair has to be a merge.
func (v *vocab) score(j *tokenizerJSON, ids map[string]int64) error {
	v.pre, v.prefix = "default", j.prepends(false)
	rank, pairs := map[string]int{}, map[merge]bool{}
	for i, m := range j.Model.Merges {
		pairs[m] = true
		if _, seen := rank[m[0]+m[1]]; !seen {
			rank[m[0]+m[1]] = i
		}
	}
	added := map[string]bool{}
	for _, a := range j.Added {
		added[a.Content] = true
	}
	for _, t := range sortedKeys(ids) {
		id := ids[t]
		v.scores[id] = addedScore
		if r, ok := rank[t]; ok {
			v.scores[id] = -float32(r)
		}
		switch {
		case t == j.Model.Unknown:
			v.kinds[id] = tokenUnknown
			continue
		case len(t) == 6 && strings.HasPrefix(t, "<0x") && t[5] == '>':
			v.kinds[id] = tokenByte
			continue
		case added[t]:
			continue
		}
		for i := range t {
			_, left := ids[t[:i]]
			_, right := ids[t[i:]]
			if i > 0 && left && right && !added[t[:i]] && !added[t[i:]] && !pairs[merge{t[:i], t[i:]}] {
				return fmt.Errorf("%q and %q are no merge, and llama.cpp, which joins by the scores of tokens, would make them one; a %s is read in its place", t[:i], t[i:], piecesFile)
			}
		}
	}
	return nil
}

// prepends is whether a space goes before the text.
func (j *tokenizerJSON) prepends(otherwise bool) bool {
	said := false
	for _, c := range slices.Concat(j.Normalizer.parts(), j.Cut.parts()) {
		if c.Type == "Prepend" || c.Type == "Metaspace" && c.Scheme != "never" && (c.Prefix == nil || *c.Prefix) {
			return true
		}
		said = said || c.Type == "Metaspace" || c.Type == "Replace"
	}
	return otherwise && !said
}
