package weights

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// cuts are the names that llama.cpp has for ways of cutting text before bytes are merged, by their expressions.
var cuts = map[string]string{
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:                                                                                                 "llama-bpe",
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:                                                                                                      "qwen2",
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`: "tekken",
}

// wholeWords are those by which llama.cpp looks up a word before it merges.
var wholeWords = map[string]bool{"llama-bpe": true, "tekken": true}

// cutting is the name of the way in which text is cut.
func (j *tokenizerJSON) cutting() (string, error) {
	for _, c := range j.Normalizer.parts() {
		if c.Type != "NFC" { // which llama.cpp leaves out
			return "", fmt.Errorf("the tokenizer first changes text by %s, which llama.cpp does not do", c.Type)
		}
	}
	name := ""
	list := j.Cut.parts()
	switch {
	case len(list) == 1 && list[0].bytes(true):
		name = "gpt-2"
	case len(list) == 2 && list[0].Type == "Digits" && list[0].Individual && list[1].bytes(true):
		name = "smollm"
	case len(list) == 2 && list[0].Type == "Split" && list[0].Behavior == "Isolated" && list[1].bytes(false):
		name = cuts[list[0].Pattern.Regex]
	}
	if name == "" || j.Model.Whole && !wholeWords[name] {
		return "", errors.New("the tokenizer splits text in a way that ptc cannot name for llama.cpp")
	}
	return name, nil
}

// bytes is whether a component makes characters of bytes, with or without cutting as GPT-2 does.
func (c *component) bytes(cuts bool) bool {
	return c.Type == "ByteLevel" && c.Prefix != nil && !*c.Prefix && (c.Regex == nil || *c.Regex) == cuts
}

// roles are the tokens that have a key of their own, and what GGUF calls them.
var roles = []struct{ ours, key string }{{"bos", "bos"}, {"eos", "eos"}, {"unk", "unknown"}, {"sep", "seperator"}, {"pad", "padding"}, {"mask", "mask"}}

// special finds the tokens of roles, what goes around a text, and the templates of conversations.
func (v *vocab) special(dir string, j *tokenizerJSON, config Config) error {
	says := Config{}
	text, err := readIn(dir, tokenizerSays, maxConfig)
	if err == nil {
		if says, err = parseConfig(text); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, tokenizerSays), err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at := map[string]int64{}
	for i := len(v.tokens) - 1; i >= 0; i-- {
		at[v.tokens[i]] = int64(i)
	}
	for _, r := range roles {
		if id, ok := at[contentOf(says[r.ours+"_token"])]; ok {
			v.ids[r.ours] = id
			continue
		}
		if n, ok := config[r.ours+"_token_id"].(json.Number); ok {
			if id, err := n.Int64(); err == nil && id >= 0 && id < int64(len(v.tokens)) {
				v.ids[r.ours] = id
			}
		}
	}
	v.around(says, j, at)
	return v.talk(dir, says)
}

// contentOf is the text of a token, which is one or an object with it; no token has the text of none.
func contentOf(x any) string {
	switch x := x.(type) {
	case string:
		return x
	case map[string]any:
		s, _ := x["content"].(string)
		return s
	}
	return ""
}

// around is what is put before and behind a text: as tokenizer_config.json says, else as the template of
// tokenizer.json does.
func (v *vocab) around(says Config, j *tokenizerJSON, at map[string]int64) {
	var list []component
	if j != nil {
		list = j.After.parts()
	}
	bos, begins := v.ids["bos"]
	eos, ends := v.ids["eos"]
	for _, c := range list {
		if c.Type != "TemplateProcessing" || len(c.Single) == 0 {
			continue
		}
		if s := c.Single[0].Special; s != nil && begins && at[s.ID] == bos {
			v.first = true
		}
		if s := c.Single[len(c.Single)-1].Special; s != nil && ends && at[s.ID] == eos {
			v.last = true
		}
	}
	if b, ok := says["add_bos_token"].(bool); ok {
		v.first = b
	}
	if b, ok := says["add_eos_token"].(bool); ok {
		v.last = b
	}
}

// talk reads the templates of conversations: one, or several by name.
func (v *vocab) talk(dir string, says Config) error {
	text, err := readIn(dir, templateFile, maxConfig)
	if err == nil {
		v.templates[""] = string(text)
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch x := says["chat_template"].(type) {
	case string:
		v.templates[""] = x
	case []any:
		for _, one := range x {
			m, _ := one.(map[string]any)
			name, _ := m["name"].(string)
			body, _ := m["template"].(string)
			if name == "default" {
				name = ""
			}
			v.templates[strings.Map(plainName, name)] = body
		}
	}
	return nil
}

// plainName keeps the characters that a name in a key of GGUF has.
func plainName(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
		return r
	}
	if r >= 'A' && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return '_'
}
