package site

import (
	"bytes"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

var (
	hrefs = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)
	ids   = regexp.MustCompile(` id="([^"]*)"`)
)

// TestRepository makes the site of the documents and reads it as a browser would: every
// link leads to a page and an anchor that there is, and nothing is asked of another host.
func TestRepository(t *testing.T) {
	pages, err := Make(os.DirFS("../.."), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]map[string]bool{}
	for _, p := range pages {
		anchors[p.Path] = map[string]bool{}
		for _, m := range ids.FindAllSubmatch(p.Data, -1) {
			if id := string(m[1]); anchors[p.Path][id] {
				t.Errorf("%s has the anchor %s twice", p.Path, id)
			} else {
				anchors[p.Path][id] = true
			}
		}
	}
	if len(pages) < 18 || anchors["index.html"] == nil || anchors["language.html"] == nil {
		t.Fatalf("%d pages", len(pages))
	}
	links, outside := 0, regexp.MustCompile(`(?i)<(script|link|img|iframe|object|embed|form)\b|@import|url\(`)
	for _, p := range pages {
		if m := outside.Find(p.Data); m != nil {
			t.Errorf("%s has %s, and a page needs nothing but itself", p.Path, m)
		}
		for _, m := range hrefs.FindAllSubmatch(p.Data, -1) {
			u, err := url.Parse(string(m[1]))
			if err != nil {
				t.Errorf("%s links to %s: %v", p.Path, m[1], err)
				continue
			}
			if u.Scheme != "" {
				continue // for a reader to follow; nothing is fetched
			}
			links++
			to := u.Path
			if to == "" {
				to = p.Path
			}
			if anchors[to] == nil || u.Fragment != "" && !anchors[to][u.Fragment] {
				t.Errorf("%s links to %s: there is none", p.Path, m[1])
			}
		}
		if !bytes.Contains(p.Data, []byte(`aria-current="page"`)) {
			t.Errorf("%s is not in the navigation", p.Path)
		}
	}
	if links < 500 {
		t.Errorf("found %d links", links)
	}
	again, err := Make(os.DirFS("../.."), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for i := range again {
		if again[i].Path != pages[i].Path || !bytes.Equal(again[i].Data, pages[i].Data) {
			t.Errorf("%s is another page the second time", pages[i].Path)
		}
	}
}

func small() fstest.MapFS {
	return fstest.MapFS{
		"README.md":       {Data: []byte("# ptc\n\nSee [docs](docs/a-page.md#two-words), [models](models) and [here](#more).\n\n## More\n\n<script>alert(1)</script>\n")},
		"docs/a-page.md":  {Data: []byte("# A\n\n## Two `words`\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n## Same\n\n## Same\n\n[up](../README.md)\n")},
		"models/m.ptl":    {Data: []byte("model M { }  // <b>\n")},
		"models/x/n.ptl":  {Data: []byte("model N { }\n")},
		"models/x/no.txt": {Data: []byte("not shown")},
	}
}

func TestPages(t *testing.T) {
	pages, err := Make(small(), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, p := range pages {
		texts[p.Path] = string(p.Data)
	}
	for file, wants := range map[string][]string{
		"index.html":         {`<a href="a-page.html#two-words">docs</a>`, `<a href="models-README.html">models</a>`, `<a href="index.html#more">here</a>`, `<title>ptc</title>`, "ptc 1.2.3"},
		"a-page.html":        {`<h2 id="two-words">Two <code>words</code></h2>`, `<td>2</td>`, `id="same-1"`, `<a href="index.html">up</a>`, `<title>A · ptc</title>`},
		"models-README.html": {`<h2 id="modelsmptl">models/m.ptl</h2>`, "model M { }  // &lt;b&gt;", "model N { }"},
	} {
		for _, want := range wants {
			if !strings.Contains(texts[file], want) {
				t.Errorf("%s has no %s:\n%s", file, want, texts[file])
			}
		}
	}
	if len(pages) != 3 || strings.Contains(texts["index.html"], "alert(1)") || strings.Contains(texts["models-README.html"], "not shown") {
		t.Errorf("%d pages", len(pages))
	}
}

// TestBrokenLinks: a site with a link to nowhere is not made.
func TestBrokenLinks(t *testing.T) {
	for _, link := range []string{"docs/no-page.md", "docs/a-page.md#three", "#nowhere", "../outside.md", "empty"} {
		files := small()
		files["empty/x.txt"] = &fstest.MapFile{}
		files["README.md"] = &fstest.MapFile{Data: []byte("# ptc\n\n[x](" + link + ")\n")}
		if _, err := Make(files, "1"); err == nil {
			t.Errorf("%s leads somewhere", link)
		}
	}
}
