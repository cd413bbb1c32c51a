package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ptc/runtime/jinja"
)

// Conversation is messages, and what else a template takes.
type Conversation struct {
	messages []*jinja.Dict
	given    int                    // of these are a prompt, in which nothing is to be predicted
	extra    map[string]jinja.Value // variables besides: tools, documents
}

// Columns name what is read of a record; empty: it is found by what is there.
type Columns struct {
	Messages string
}

func message(role, content string) *jinja.Dict {
	return jinja.NewDict("role", role, "content", content)
}

// layouts are the columns by which records are told apart, in the order in which they
// are looked for.
var layouts = []struct {
	columns []string
	read    func(d *jinja.Dict, c *Conversation) error
}{
	{[]string{"messages"}, func(d *jinja.Dict, c *Conversation) error { return c.add(d, "messages") }},
	{[]string{"conversations"}, func(d *jinja.Dict, c *Conversation) error { return c.add(d, "conversations") }},
	{[]string{"prompt", "completion"}, func(d *jinja.Dict, c *Conversation) error { return c.pair(d, "prompt", "completion") }},
	{[]string{"instruction", "output"}, instruction},
}

// Parse reads a record of a conversation: an object of JSON.
func Parse(raw []byte, columns Columns) (c Conversation, err error) {
	d, err := object(raw)
	if err != nil {
		return c, err
	}
	if err := c.variables(d); err != nil {
		return c, err
	}
	if columns.Messages != "" {
		return c, errors.Join(c.add(d, columns.Messages), c.check())
	}
	for _, l := range layouts {
		if slices.ContainsFunc(l.columns, func(n string) bool { _, ok := d.Get(n); return !ok }) {
			continue
		}
		if err := l.read(d, &c); err != nil {
			return c, err
		}
		return c, c.check()
	}
	return c, errors.New(`it is no conversation: it has neither "messages", nor "prompt" and "completion", nor "instruction" and "output"`)
}

func object(raw []byte) (*jinja.Dict, error) {
	v, err := jinja.FromJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("it is not a JSON object: %w", err)
	}
	d, ok := v.(*jinja.Dict)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	return d, nil
}

func (c *Conversation) check() error {
	if len(c.messages) == 0 {
		return errors.New("it has no messages")
	}
	return nil
}

// variables are what transformers hands to a template from a record besides messages.
func (c *Conversation) variables(d *jinja.Dict) error {
	c.extra = map[string]jinja.Value{}
	for _, n := range []string{"tools", "documents"} {
		v, ok := d.Get(n)
		if s, text := v.(string); ok && text { // files of tables have lists of objects as text
			if s == "" {
				v = nil
			} else if parsed, err := jinja.FromJSON([]byte(s)); err == nil {
				v = parsed
			} else {
				return fmt.Errorf("its column %q is text but not JSON: %w", n, err)
			}
		}
		if l, list := v.(*jinja.List); list && len(l.Items()) > 0 {
			c.extra[n] = l
		} else if v != nil && !list {
			return fmt.Errorf("its column %q is not a list", n)
		}
	}
	v, _ := d.Get("chat_template_kwargs")
	if more, ok := v.(*jinja.Dict); ok {
		more.Pairs(func(key string, v jinja.Value) { c.extra[key] = v })
	}
	return nil
}

// add takes a column of messages.
func (c *Conversation) add(d *jinja.Dict, column string) error {
	v, ok := d.Get(column)
	if !ok {
		return fmt.Errorf("it has no column %q", column)
	}
	return c.take(v, column)
}

func (c *Conversation) take(v jinja.Value, column string) error {
	if s, text := v.(string); text && strings.HasPrefix(strings.TrimSpace(s), "[") {
		parsed, err := jinja.FromJSON([]byte(s))
		if err != nil {
			return fmt.Errorf("its column %q is text but not JSON: %w", column, err)
		}
		v = parsed
	}
	l, ok := v.(*jinja.List)
	if !ok {
		return fmt.Errorf("its column %q is not a list of messages", column)
	}
	for i, x := range l.Items() {
		m, ok := x.(*jinja.Dict)
		if !ok {
			return fmt.Errorf("message %d of its column %q is not an object", i, column)
		}
		m, err := named(m)
		if err != nil {
			return fmt.Errorf("message %d of its column %q: %w", i, column, err)
		}
		c.messages = append(c.messages, m)
	}
	return nil
}

// roles are what some programs call the authors of messages.
var roles = map[string]string{"human": "user", "gpt": "assistant", "bing": "assistant", "chatgpt": "assistant"}

// named is a message with role and content, as transformers hands it to a template:
// keys that are null go, and a chain of thought has the names that templates read.
func named(m *jinja.Dict) (*jinja.Dict, error) {
	m = m.Without(func(v jinja.Value) bool { return v == nil })
	if from, ok := m.Get("from"); ok {
		value, _ := m.Get("value")
		role, isText := from.(string)
		content, isText2 := value.(string)
		if !isText || !isText2 {
			return nil, errors.New(`"from" and "value" are no texts`)
		}
		if r := roles[role]; r != "" {
			role = r
		}
		return message(role, content), nil
	}
	role, ok := m.Get("role")
	if _, text := role.(string); !ok || !text {
		return nil, errors.New(`it has no "role"`)
	}
	for _, n := range []string{"reasoning_content", "thinking", "reasoning"} {
		v, ok := m.Get(n)
		if !ok {
			continue
		}
		first := jinja.NewDict("thinking", v)
		m.Pairs(func(key string, v jinja.Value) { first = first.With(key, v) })
		return first.With("reasoning_content", v), nil
	}
	return m, nil
}

// pair is a prompt and what follows it, both texts or both messages.
func (c *Conversation) pair(d *jinja.Dict, prompt, answer string) error {
	p, _ := d.Get(prompt)
	a, _ := d.Get(answer)
	if err := c.side(p, prompt, "user"); err != nil {
		return err
	}
	c.given = len(c.messages)
	return c.side(a, answer, "assistant")
}

// side is a text of a role, or messages.
func (c *Conversation) side(v jinja.Value, column, role string) error {
	if s, ok := v.(string); ok {
		c.messages = append(c.messages, message(role, s))
		return nil
	}
	return c.take(v, column)
}

// instruction is a record as Alpaca has it: an instruction, perhaps an input to it,
// and the output. Taori et al., "Stanford Alpaca" (2023).
func instruction(d *jinja.Dict, c *Conversation) error {
	texts := make([]string, 3)
	for i, n := range []string{"instruction", "input", "output"} {
		v, _ := d.Get(n)
		s, ok := v.(string)
		if !ok && (v != nil || n != "input") {
			return fmt.Errorf("its column %q is not text", n)
		}
		texts[i] = s
	}
	if texts[1] != "" {
		texts[0] += "\n\n" + texts[1]
	}
	if v, _ := d.Get("system"); v != nil {
		s, ok := v.(string)
		if !ok {
			return errors.New(`its column "system" is no text`)
		}
		if s != "" {
			c.messages = append(c.messages, message("system", s))
		}
	}
	c.messages = append(c.messages, message("user", texts[0]))
	c.given = len(c.messages)
	c.messages = append(c.messages, message("assistant", texts[2]))
	return nil
}

// Say is a conversation in which a user says something, after what the system says, if
// anything.
func Say(system, text string) (c Conversation) {
	if system != "" {
		c.messages = append(c.messages, message("system", system))
	}
	c.messages = append(c.messages, message("user", text))
	return c
}

// ParsePair reads a record of two answers to a prompt: the chosen one and the rejected
// one. Without a column prompt, the messages with which both begin are it.
func ParsePair(raw []byte) (chosen, rejected Conversation, err error) {
	d, err := object(raw)
	if err != nil {
		return chosen, rejected, err
	}
	prompt, prompted := d.Get("prompt")
	for _, x := range []struct {
		c      *Conversation
		column string
	}{{&chosen, "chosen"}, {&rejected, "rejected"}} {
		v, ok := d.Get(x.column)
		if !ok {
			return chosen, rejected, fmt.Errorf("it has no column %q", x.column)
		}
		if err := x.c.variables(d); err != nil {
			return chosen, rejected, err
		}
		if prompted && prompt != nil {
			if err := x.c.side(prompt, "prompt", "user"); err != nil {
				return chosen, rejected, err
			}
		}
		before := len(x.c.messages)
		if err := x.c.side(v, x.column, "assistant"); err != nil {
			return chosen, rejected, err
		}
		// Some records have the prompt in the answers as well.
		if whole := x.c.messages[before:]; before > 0 && len(whole) > before && alike(x.c.messages[:before], whole[:before]) {
			x.c.messages = whole
		}
	}
	n := 0
	for n < min(len(chosen.messages), len(rejected.messages)) && alike(chosen.messages[n:n+1], rejected.messages[n:n+1]) {
		n++
	}
	if n == len(chosen.messages) || n == len(rejected.messages) {
		return chosen, rejected, errors.New("its chosen and rejected answers are the same, or one begins with the other")
	}
	chosen.given, rejected.given = n, n
	return chosen, rejected, errors.Join(chosen.check(), rejected.check())
}

func alike(a, b []*jinja.Dict) bool {
	return slices.EqualFunc(a, b, func(x, y *jinja.Dict) bool { return jinja.Equal(x, y) })
}
