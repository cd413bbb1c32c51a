package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ptc/runtime/chat"
	"ptc/runtime/data"
	"ptc/runtime/data/prepare"
	"ptc/runtime/tokenizer"
)

// chatFlags say that records are conversations.
type chatFlags struct {
	chat, pairs    bool
	messages, page string
	date           string
}

// maxExamples bounds what is shown at once.
const maxExamples = 1 << 16

func (c *chatFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&c.chat, "chat", false, "records are conversations: messages, a prompt and its completion, or an instruction and its output")
	f.StringVar(&c.messages, "messages", "", "records are conversations, and their messages are in the column `NAME`")
	f.BoolVar(&c.pairs, "pairs", false, "records are two answers, one chosen and one rejected")
	c.addPage(cmd)
	cmd.MarkFlagsMutuallyExclusive("messages", "pairs")
	for _, n := range []string{"separator", "text-column"} {
		for _, m := range []string{"chat", "messages", "pairs"} {
			cmd.MarkFlagsMutuallyExclusive(n, m)
		}
	}
}

// addPage adds the flags of the template itself.
func (c *chatFlags) addPage(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.page, "chat-template", "", "the chat template is in `FILE` (default the one next to the tokenizer)")
	f.StringVar(&c.date, "date", "", "templates use `DATE` as today's date, such as 2026-07-26 (default today)")
}

func (c *chatFlags) asked() bool { return c.chat || c.pairs || c.messages != "" }

// template opens the one next to a tokenizer, with the date that the user names, or the
// given one, or today's.
func (c *chatFlags) template(path string, tok *tokenizer.Tokenizer, date string) (*chat.Template, string, error) {
	if c.date != "" {
		date = c.date
	}
	if date == "" {
		date = time.Now().Format(time.DateOnly)
	}
	now, err := chat.Date(date)
	if err != nil {
		return nil, "", usagef("--date: %w", err)
	}
	t, err := chat.Open(path, tok, chat.Options{File: c.page, Now: now})
	if err != nil {
		return nil, "", fileError(err)
	}
	return t, date, nil
}

func (c *chatFlags) open(a *app, o *prepare.Options) error {
	t, date, err := c.template(o.File, o.Tokenizer, prepare.DateOf(o.Dir))
	if err != nil {
		return err
	}
	o.Chat, o.Columns, o.Pairs = t, chat.Columns{Messages: c.messages}, c.pairs
	if t.Dated() {
		if o.Date = date; c.date == "" {
			a.message("note", fmt.Sprintf("the chat template may write the date of today, %s; --date names another", date))
		}
	}
	return nil
}

// example is a conversation as it is shown.
type example struct {
	Tokens  []int32 `json:"tokens"`
	Targets []int32 `json:"targets"`
}

// showExamples shows conversations, with what is to be predicted behind each token.
func (a *app) showExamples(files []string, tok string, from, count int64, asJSON bool) error {
	found, total, err := data.ReadConversations(files, from, count)
	if err != nil {
		return fileError(err)
	}
	list := make([]example, len(found))
	for i, c := range found {
		list[i] = example{c.Tokens, c.Targets}
	}
	if asJSON {
		return a.printJSON(struct {
			Examples []example `json:"examples"`
		}{list})
	}
	var t *tokenizer.Tokenizer
	if tok != "" {
		if t, err = tokenizer.Open(tok); err != nil {
			return fileError(tokenizerError(tok, err))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d conversations; from %d on:\n", total, from)
	for i, e := range list {
		fmt.Fprintf(&b, "[%d] %d tokens\n%s", from+int64(i), len(e.Tokens), pieces(e, t))
	}
	return a.print(b.String())
}

// pieces are the parts of a conversation that are to be predicted, and the others.
func pieces(e example, t *tokenizer.Tokenizer) string {
	var b strings.Builder
	for from := 0; from < len(e.Tokens); {
		is := func(i int) bool { return i > 0 && e.Targets[i-1] >= 0 }
		to := from + 1
		for to < len(e.Tokens) && is(to) == is(from) {
			to++
		}
		word := "given    "
		if is(from) {
			word = "predicted"
		}
		if t != nil {
			fmt.Fprintf(&b, "  %s %q\n", word, t.Decode(e.Tokens[from:to]))
		} else {
			fmt.Fprintf(&b, "  %s %v\n", word, e.Tokens[from:to])
		}
		from = to
	}
	return b.String()
}
