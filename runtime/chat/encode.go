package chat

import (
	"errors"
	"fmt"
	"strings"

	"ptc/runtime/jinja"
	"ptc/runtime/tokenizer"
)

// Encoded is a conversation as tokens.
type Encoded struct {
	Tokens []int32
	Target []bool // whether the token is to be predicted
}

// text renders the first n messages; with prompt, and with what an answer begins with.
func (t *Template) text(c Conversation, n int, prompt bool) (jinja.Rendered, error) {
	list := make([]jinja.Value, n)
	for i, m := range c.messages[:n] {
		list[i] = m
	}
	vars := map[string]jinja.Value{"tools": nil, "documents": nil}
	for k, v := range t.special {
		vars[k] = v
	}
	for k, v := range c.extra {
		vars[k] = v
	}
	vars["messages"], vars["add_generation_prompt"] = jinja.NewList(list...), prompt
	r, err := t.page.Render(vars, t.now)
	var bad *jinja.Error
	if errors.As(err, &bad) && bad.Raised {
		return r, fmt.Errorf("the chat template rejects it: %s", bad.Msg)
	}
	if err != nil {
		return r, fmt.Errorf("the chat template: %w", err)
	}
	return r, nil
}

// Prompt gives the text of a conversation up to where the assistant's next message begins,
// and its tokens.
func (t *Template) Prompt(c Conversation) (string, []int32, error) {
	r, err := t.text(c, len(c.messages), true)
	if err != nil {
		return "", nil, err
	}
	ids, err := t.tok.Encode([]byte(r.Text))
	return r.Text, ids, err
}

// Text renders a conversation, and says which bytes of it the assistant's are.
func (t *Template) Text(c Conversation) (text string, spans [][2]int, err error) {
	r, err := t.text(c, len(c.messages), false)
	if err != nil {
		return "", nil, err
	}
	spans = r.Generated
	if !t.page.Marked() {
		if spans, err = t.prefixes(c, r.Text); err != nil {
			return "", nil, err
		}
	} else if c.given > 0 {
		from, err := t.before(c, c.given, r.Text)
		if err != nil {
			return "", nil, err
		}
		spans = behind(spans, from)
	}
	return r.Text, spans, nil
}

// behind are the spans that begin at a place or after it.
func behind(spans [][2]int, from int) (out [][2]int) {
	for _, s := range spans {
		if s[1] > from {
			out = append(out, [2]int{max(s[0], from), s[1]})
		}
	}
	return out
}

// before is where message n begins in the text of all: behind the text of those before
// it, with what an answer begins with.
func (t *Template) before(c Conversation, n int, whole string) (int, error) {
	if n == 0 {
		return 0, errors.New("it begins with an assistant message, whose part of the text cannot be determined; use a template with {% generation %}")
	}
	head, err := t.text(c, n, true)
	if err != nil {
		return 0, fmt.Errorf("its first %d messages: %w", n, err)
	}
	if !strings.HasPrefix(whole, head.Text) {
		return 0, t.apart(n, head.Text, whole)
	}
	return len(head.Text), nil
}

// prefixes finds the assistant's messages by rendering what is before and up to each.
func (t *Template) prefixes(c Conversation, whole string) (spans [][2]int, err error) {
	for i := c.given; i < len(c.messages); i++ {
		if role, _ := c.messages[i].Get("role"); role != "assistant" {
			continue
		}
		from, err := t.before(c, i, whole)
		if err != nil {
			return nil, err
		}
		to := len(whole)
		if i+1 < len(c.messages) {
			r, err := t.text(c, i+1, false)
			if err != nil {
				return nil, fmt.Errorf("its first %d messages: %w", i+1, err)
			}
			if !strings.HasPrefix(whole, r.Text) {
				return nil, t.apart(i+1, r.Text, whole)
			}
			to = len(r.Text)
		}
		if to < from {
			return nil, fmt.Errorf("message %d adds nothing to the text of those before it", i)
		}
		spans = append(spans, [2]int{from, to})
	}
	return spans, nil
}

// apart says where the text of some messages is not how that of all begins.
func (t *Template) apart(n int, head, whole string) error {
	at := 0
	for at < min(len(head), len(whole)) && head[at] == whole[at] {
		at++
	}
	return fmt.Errorf("the rendering of its first %d messages is no prefix of the rendering of all: %q instead of %q; "+
		"so the template does not tell which tokens are the assistant's, unless it has {%% generation %%} around them",
		n, clip(head[at:]), clip(whole[at:]))
}

func clip(s string) string {
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// Encode gives the tokens of a conversation.
func (t *Template) Encode(c Conversation) (Encoded, error) {
	text, spans, err := t.Text(c)
	if err != nil {
		return Encoded{}, err
	}
	ids, ranges, err := t.tok.EncodeRanges([]byte(text))
	if err != nil {
		return Encoded{}, err
	}
	return Encoded{ids, within(ranges, spans)}, nil
}

// within says which tokens overlap a span, as apply_chat_template of transformers does.
func within(ranges []tokenizer.Range, spans [][2]int) []bool {
	out := make([]bool, len(ranges))
	k := 0
	for i, r := range ranges {
		for k < len(spans) && r.From >= spans[k][1] {
			k++
		}
		if k == len(spans) {
			break
		}
		out[i] = r.To > spans[k][0]
	}
	return out
}
