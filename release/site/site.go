package site

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"ptc/release/tree"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// groups is the order in which pages are listed; what of docs is in none comes at the
// end, by its title, and what is not of docs only on its own page.
var groups = []struct {
	title string
	pages []string
}{
	{"Use", []string{"README.md", "docs/commands.md", "docs/language.md", "docs/plans.md", "docs/running.md", "docs/data.md", "docs/weights.md", "docs/sampling.md", "docs/report.md", "docs/clusters.md", "docs/editors.md", "docs/python.md", "docs/go.md", "docs/releases.md", "docs/compatibility.md"}},
	{"How it works", []string{"docs/architecture.md", "docs/ir.md", "docs/parallel.md", "docs/memory.md", "docs/numerics.md", "docs/kernels.md", "docs/runtime.md", "docs/proofs.md", "docs/performance.md"}},
	{"More", []string{"CONTRIBUTING.md", "docs/packages.md", "docs/dependencies.md", "docs/next.md"}},
}

// page is a document on its way to HTML.
type page struct {
	source string // path in the repository
	file   string // name of the page
	title  string
	text   []byte
	doc    ast.Node
	ids    map[string]bool
	html   bytes.Buffer
	toc    []heading
}

type heading struct{ ID, Text string }

// Make gives the pages of a repository.
func Make(repository fs.FS, version string) (tree.Tree, error) {
	s := &site{repository: repository, pages: map[string]*page{}}
	names, err := fs.Glob(repository, "docs/*.md")
	if err != nil {
		return nil, err
	}
	front, err := fs.Glob(repository, "*.md")
	if err != nil {
		return nil, err
	}
	for _, n := range append(names, front...) {
		text, err := fs.ReadFile(repository, n)
		if err != nil {
			return nil, err
		}
		s.add(n, text)
	}
	// Links to folders add pages, whose links may add more.
	for i := 0; i < len(s.order); i++ {
		if err := s.resolve(s.order[i]); err != nil {
			return nil, err
		}
	}
	var out tree.Tree
	for _, p := range s.order {
		if err := s.check(p); err != nil {
			return nil, err
		}
		html, err := s.render(p, version)
		if err != nil {
			return nil, err
		}
		out = append(out, tree.File{Path: p.file, Mode: 0o644, Data: html})
	}
	return out, nil
}

// site is all pages, by their path in the repository.
type site struct {
	repository fs.FS
	pages      map[string]*page
	order      []*page
	wanted     []link
}

// link is one within the site.
type link struct {
	from         *page
	to, fragment string
}

func (s *site) add(source string, text []byte) *page {
	p := &page{source: source, file: fileOf(source), text: text, ids: map[string]bool{}}
	p.parse()
	s.pages[source] = p
	s.order = append(s.order, p)
	return p
}

// fileOf is the name of a page: all pages lie in one folder.
func fileOf(source string) string {
	if source == "README.md" {
		return "index.html"
	}
	name := strings.TrimSuffix(strings.TrimPrefix(source, "docs/"), ".md")
	return strings.ReplaceAll(name, "/", "-") + ".html"
}

// resolve turns the links of a page into those of the site.
func (s *site) resolve(p *page) error {
	return ast.Walk(p.doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		l, ok := n.(*ast.Link)
		if !ok || !enter {
			return ast.WalkContinue, nil
		}
		to, fragment, _ := strings.Cut(string(l.Destination), "#")
		if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
			return ast.WalkContinue, nil
		}
		target := p
		if to != "" {
			var err error
			if target, err = s.target(path.Join(path.Dir(p.source), to)); err != nil {
				return ast.WalkStop, fmt.Errorf("%s links to %s: %w", p.source, to, err)
			}
		}
		s.wanted = append(s.wanted, link{p, target.source, fragment})
		l.Destination = []byte(target.file)
		if fragment != "" {
			l.Destination = append(l.Destination, "#"+fragment...)
		}
		return ast.WalkContinue, nil
	})
}

// target is the page of a path in the repository, which for a folder and for a file of
// another kind is made here.
func (s *site) target(name string) (*page, error) {
	if p := s.pages[name]; p != nil {
		return p, nil
	}
	info, err := fs.Stat(s.repository, name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		text, err := fs.ReadFile(s.repository, name)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(name, ".md") {
			text = listing(name, text)
		}
		return s.add(name, text), nil
	}
	text, err := s.folder(name)
	if err != nil {
		return nil, err
	}
	p := s.add(name+"/README.md", text)
	s.pages[name] = p
	return p, nil
}

// folder is a page of a folder: its README.md, and the sources in it and in the folders
// just below.
func (s *site) folder(name string) ([]byte, error) {
	text, err := fs.ReadFile(s.repository, name+"/README.md")
	if err != nil {
		text = []byte("# " + name + "\n")
	}
	sources, err := fs.Glob(s.repository, name+"/*.ptl")
	if err != nil {
		return nil, err
	}
	below, err := fs.Glob(s.repository, name+"/*/*.ptl")
	if err != nil {
		return nil, err
	}
	if sources = append(sources, below...); len(sources) == 0 && len(text) < 100 {
		return nil, fmt.Errorf("the folder %s has neither README.md nor sources", name)
	}
	for _, f := range sources {
		source, err := fs.ReadFile(s.repository, f)
		if err != nil {
			return nil, err
		}
		text = append(text, "\n"...)
		text = append(text, bytes.Replace(listing(f, source), []byte("# "), []byte("## "), 1)...)
	}
	return text, nil
}

// listing is Markdown that shows a file.
func listing(name string, text []byte) []byte {
	fence := "```"
	for bytes.Contains(text, []byte(fence)) {
		fence += "`"
	}
	language := strings.TrimPrefix(path.Ext(name), ".")
	return []byte("# " + name + "\n\n" + fence + language + "\n" + string(bytes.TrimRight(text, "\n")) + "\n" + fence + "\n")
}

// check holds the links of a page to the headings that there are.
func (s *site) check(p *page) error {
	for _, l := range s.wanted {
		if l.from == p && l.fragment != "" && !s.pages[l.to].ids[l.fragment] {
			return fmt.Errorf("%s links to #%s of %s, which has no such heading", p.source, l.fragment, l.to)
		}
	}
	return nil
}

// entry is a line of the navigation.
type entry struct {
	File, Title string
	Here        bool
}

type section struct {
	Title   string
	Entries []entry
}

func (s *site) navigation(here *page) []section {
	var out []section
	listed := map[*page]bool{}
	for _, g := range groups {
		sec := section{Title: g.title}
		for _, name := range g.pages {
			if p := s.pages[name]; p != nil {
				sec.Entries = append(sec.Entries, entry{p.file, p.title, p == here})
				listed[p] = true
			}
		}
		if len(sec.Entries) > 0 {
			out = append(out, sec)
		}
	}
	rest := section{Title: "Others"}
	for _, p := range s.order {
		if !listed[p] && (p == here || path.Dir(p.source) == "docs") {
			rest.Entries = append(rest.Entries, entry{p.file, p.title, p == here})
		}
	}
	slices.SortFunc(rest.Entries, func(a, b entry) int { return cmp.Compare(a.Title, b.Title) })
	if len(rest.Entries) > 0 {
		out = append(out, rest)
	}
	return out
}

func (s *site) render(p *page, version string) ([]byte, error) {
	if err := p.body(); err != nil {
		return nil, err
	}
	toc := p.toc
	if len(toc) < 3 {
		toc = nil
	}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, map[string]any{
		"Title": p.title, "Version": version, "Navigation": s.navigation(p), "Headings": toc,
		"Body": template.HTML(p.html.String()), // of our own documents, in which no HTML is let through
	})
	return b.Bytes(), err
}

var notInIDs = regexp.MustCompile(`[^a-z0-9 _-]`)

// anchor is how links name a heading.
func anchor(text string) string {
	return strings.ReplaceAll(notInIDs.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
}
