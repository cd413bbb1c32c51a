package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ptc/runtime/chat"
	"ptc/runtime/data"
	"ptc/runtime/program"
)

// openChat finds the chat template next to the tokenizer.
func (w *writer) openChat(path string, plan *program.Plan, opts []data.Option) (err error) {
	f := w.flags
	now := time.Now()
	if f.talk.date != "" {
		if now, err = chat.Date(f.talk.date); err != nil {
			return usagef("--date: %w", err)
		}
	}
	w.talk, err = data.TemplateOf(plan.Data.Kind, opts, f.tokenizer, data.Batch{Folder: filepath.Dir(path)}, chat.Options{File: f.talk.page, Now: now})
	if err != nil {
		return fileError(err)
	}
	return nil
}

// encodeChat makes a prompt of what a user says, or of an object of JSON with messages.
func (w *writer) encodeChat(text string) ([]int32, error) {
	c := chat.Say(w.flags.system, text)
	if t := strings.TrimSpace(text); strings.HasPrefix(t, "{") && strings.HasSuffix(t, "}") {
		if parsed, err := chat.Parse([]byte(t), chat.Columns{Messages: "messages"}); err == nil {
			c = parsed
		} else if strings.Contains(t, `"messages"`) {
			return nil, inputf("the prompt is not a conversation: %w", err)
		}
	}
	_, ids, err := w.talk.Prompt(c)
	switch {
	case err != nil:
		return nil, inputf("the prompt cannot be tokenized: %w", err)
	case len(ids) == 0:
		return nil, inputf("the chat template cannot render the prompt")
	}
	return ids, nil
}

// stops are the tokens that end a continuation: those of --stop-id, and in a
// conversation those that end an answer.
func (w *writer) stops() []int32 {
	out := slices.Clone(w.flags.stopIDs)
	if w.talk != nil {
		out = append(out, w.talk.Stops()...)
	}
	return out
}
