package chat

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ptc/internal/regular"
	"ptc/runtime/jinja"
	"ptc/runtime/tokenizer"
)

// Names of the files next to a tokenizer.json.
const (
	ConfigName   = "tokenizer_config.json"
	TemplateName = "chat_template.jinja"
	specialName  = "special_tokens_map.json"
)

// maxConfig bounds these files.
const maxConfig = 16 << 20

// Template turns conversations into text, and that into tokens. Its methods may be
// called concurrently.
type Template struct {
	tok     *tokenizer.Tokenizer
	page    *jinja.Template
	special map[string]jinja.Value // bos_token and its like
	now     time.Time
	id      string
	files   []string
}

// Options say what Open takes in the place of what the folder has.
type Options struct {
	File string    // of the template; empty: the folder's
	Now  time.Time // for templates that write a date; zero: these are errors
}

// Open reads the template that lies next to a tokenizer: path is that of a
// tokenizer.json, or of its folder.
func Open(path string, tok *tokenizer.Tokenizer, o Options) (*Template, error) {
	folder := path
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		folder = filepath.Dir(path)
	}
	t := &Template{tok: tok, special: map[string]jinja.Value{}, now: o.Now}
	config, err := readObject(filepath.Join(folder, ConfigName))
	if err != nil {
		return nil, err
	}
	if config != nil {
		t.files = append(t.files, filepath.Join(folder, ConfigName))
	}
	if err := t.specialTokens(folder, config); err != nil {
		return nil, err
	}
	source, err := t.source(folder, config, o.File)
	if err != nil {
		return nil, err
	}
	if t.page, err = jinja.Parse(source); err != nil {
		return nil, fmt.Errorf("the chat template cannot be used: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "template 1 %s\n%q\n", tok.Hash(), source)
	for _, n := range specialNames {
		fmt.Fprintf(h, "%s %q\n", n, t.special[n])
	}
	if !o.Now.IsZero() && t.page.Dated() {
		fmt.Fprintln(h, o.Now.Format(time.RFC3339))
	}
	t.id = fmt.Sprintf("%x", h.Sum(nil))
	return t, nil
}

// ID is equal for what makes equal tokens of equal conversations.
func (t *Template) ID() string { return t.id }

// Dated is whether the template may write the date of today.
func (t *Template) Dated() bool { return t.page.Dated() }

// Files are those that the template was read from, besides the tokenizer.
func (t *Template) Files() []string { return t.files }

// readObject reads an object of JSON; nil without an error: there is no such file.
func readObject(path string) (*jinja.Dict, error) {
	raw, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, err := jinja.FromJSON(raw)
	d, ok := v.(*jinja.Dict)
	if err == nil && !ok {
		err = errors.New("it is not a JSON object")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

func readFile(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(raw) > maxConfig {
		err = fmt.Errorf("%s has more than %d bytes", path, maxConfig)
	}
	return raw, err
}

// source is the template: the file that is named, chat_template.jinja, or what the
// config has, in the order in which transformers looks.
func (t *Template) source(folder string, config *jinja.Dict, file string) (string, error) {
	if file == "" {
		file = filepath.Join(folder, TemplateName)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return fromConfig(folder, config)
		}
	}
	raw, err := readFile(file)
	if err != nil {
		return "", err
	}
	t.files = append(t.files, file)
	return string(raw), nil
}

func fromConfig(folder string, config *jinja.Dict) (string, error) {
	missing := fmt.Errorf("%s has no chat template: neither %s nor the key chat_template of %s", folder, TemplateName, ConfigName)
	if config == nil {
		return "", missing
	}
	v, _ := config.Get("chat_template")
	switch v := v.(type) {
	case string:
		return v, nil
	case *jinja.List: // several, each with its name
		for _, one := range v.Items() {
			d, ok := one.(*jinja.Dict)
			if !ok {
				break
			}
			if name, _ := d.Get("name"); name == "default" {
				if source, ok := d.Get("template"); ok {
					if s, ok := source.(string); ok {
						return s, nil
					}
				}
			}
		}
		return "", fmt.Errorf("%s has several chat templates, but none is called default; name a file with one", filepath.Join(folder, ConfigName))
	}
	return "", missing
}

// specialNames are the variables that templates have for special tokens.
var specialNames = []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}

// specialTokens are texts, or objects with the text as content.
func (t *Template) specialTokens(folder string, config *jinja.Dict) error {
	older, err := readObject(filepath.Join(folder, specialName))
	if err != nil {
		return err
	}
	for _, from := range []*jinja.Dict{older, config} {
		for _, n := range specialNames {
			if from == nil {
				continue
			}
			v, ok := from.Get(n)
			if d, is := v.(*jinja.Dict); is {
				v, ok = d.Get("content")
			}
			if s, is := v.(string); ok && is {
				t.special[n] = s
			} else if ok && v == nil && from == config {
				delete(t.special, n)
			}
		}
	}
	return nil
}

// Special is the number of a special token, such as eos_token, and whether there is one.
func (t *Template) Special(name string) (int32, bool) {
	s, ok := t.special[name].(string)
	if !ok {
		return 0, false
	}
	return t.tok.Special(s)
}

// Stops are the tokens that end an answer: that for the end, and what the template puts
// behind a message of the assistant's, if it is a token.
func (t *Template) Stops() []int32 {
	var out []int32
	if id, ok := t.Special("eos_token"); ok {
		out = append(out, id)
	}
	const said = "x"
	c := Conversation{messages: []*jinja.Dict{message("user", said), message("assistant", said)}}
	e, err := t.Encode(c)
	if err != nil {
		return out
	}
	last := len(e.Tokens) - 1
	for last > 0 && !e.Target[last] {
		last--
	}
	for ; last > 0 && e.Target[last]; last-- {
		id := e.Tokens[last]
		if t.tok.IsSpecial(id) && !slices.Contains(out, id) {
			out = append(out, id)
		} else if strings.TrimSpace(string(t.tok.Decode([]int32{id}))) != "" {
			break
		}
	}
	return out
}

// Date reads what a user gives as the date of today.
func Date(s string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02", time.RFC3339, "2006-01-02T15:04:05"} {
		if now, err := time.Parse(layout, s); err == nil {
			return now, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a date such as 2026-07-26", s)
}
