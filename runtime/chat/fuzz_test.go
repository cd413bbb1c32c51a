package chat

import "testing"

// FuzzRecord: no record leads to more than an error, and what has tokens has as many
// marks.
func FuzzRecord(f *testing.F) {
	for _, s := range []string{`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"tools":"[]"}`,
		`{"prompt":"a","completion":[{"role":"assistant","content":"b"}]}`, `{"instruction":"a","input":null,"output":"b","system":""}`,
		`{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"}],"chat_template_kwargs":{"x":1}}`,
		`{"prompt":"a","chosen":"b","rejected":"c"}`} {
		f.Add([]byte(s))
	}
	tok := openTok(f)
	var pages []*Template
	for _, n := range []string{"chatml_marked", "llama31", "mistral", "qwen3", "blocks"} {
		t, err := Open("testdata/tok", tok, Options{File: "testdata/templates/" + n + ".jinja"})
		if err != nil {
			f.Fatal(err)
		}
		pages = append(pages, t)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var all []Conversation
		if c, err := Parse(raw, Columns{}); err == nil {
			all = append(all, c)
		}
		if a, b, err := ParsePair(raw); err == nil {
			all = append(all, a, b)
		}
		for _, c := range all {
			for _, p := range pages {
				if e, err := p.Encode(c); err == nil && len(e.Tokens) != len(e.Target) {
					t.Fatalf("%d tokens, %d marks", len(e.Tokens), len(e.Target))
				}
				_, _, _ = p.Prompt(c) // which may fail, and no more
			}
		}
	})
}
