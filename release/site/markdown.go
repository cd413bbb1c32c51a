package site

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// markdown reads the dialect of the documents: CommonMark with tables. HTML in a
// document is left out.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// names gives headings the anchors that links use.
type names struct{ used map[string]bool }

func (n *names) Generate(value []byte, _ ast.NodeKind) []byte {
	base := anchor(strings.TrimSpace(string(value)))
	id := base
	for i := 1; n.used[id]; i++ {
		id = fmt.Sprintf("%s-%d", base, i)
	}
	n.used[id] = true
	return []byte(id)
}

func (n *names) Put(value []byte) { n.used[string(value)] = true }

// parse reads the text and finds headings and the title.
func (p *page) parse() {
	with := parser.WithContext(parser.NewContext(parser.WithIDs(&names{p.ids})))
	p.doc = markdown.Parser().Parse(text.NewReader(p.text), with)
	p.title = strings.TrimSuffix(p.file, ".html")
	for n := p.doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			continue
		}
		words := plain(h, p.text)
		switch h.Level {
		case 1:
			p.title = words
		case 2:
			id, _ := h.AttributeString("id")
			if b, ok := id.([]byte); ok {
				p.toc = append(p.toc, heading{string(b), words})
			}
		}
	}
}

// plain is the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && enter {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// body writes the text as HTML.
func (p *page) body() error {
	return markdown.Renderer().Render(&p.html, p.text, p.doc)
}
