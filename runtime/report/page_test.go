package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"ptc/runtime/program"
)

func pageOf(t *testing.T, p, other *program.Plan) string {
	t.Helper()
	page, err := Page(p, Extra{Other: other})
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestPageHasTheDocument: what the pictures are made of is the document.
func TestPageHasTheDocument(t *testing.T) {
	for _, layout := range every {
		p := planOf(t, layout)
		page := pageOf(t, p, nil)
		want, err := Of(p).JSON()
		if err != nil {
			t.Fatal(err)
		}
		var x, y any
		if err := json.Unmarshal([]byte(documentIn(t, page)), &x); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(want, &y); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(y, x); diff != "" {
			t.Errorf("%s: %s", layout, diff)
		}
	}
}

// documentIn is the document of a page.
func documentIn(t *testing.T, page string) string {
	t.Helper()
	_, text, _ := strings.Cut(page, `<script type="application/json" id="document">`)
	text, _, ok := strings.Cut(text, "</script>")
	if !ok {
		t.Fatal("the page has no document")
	}
	return text
}

// TestPolicy: the page allows itself its own style and script, by their hashes, and no
// more; and it names nothing that would be fetched.
func TestPolicy(t *testing.T) {
	page := pageOf(t, planOf(t, "pipe"), planOf(t, "single"))
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(page)
	if policy == nil || !strings.HasPrefix(policy[1], "default-src 'none'; ") || strings.Contains(policy[1], "unsafe") {
		t.Fatalf("the policy is %q", policy)
	}
	for _, tag := range []string{"style", "script"} {
		_, text, _ := strings.Cut(page, "<"+tag+">")
		text, _, _ = strings.Cut(text, "</"+tag+">")
		sum := sha256.Sum256([]byte(text))
		if want := tag + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; len(text) < 1000 || !strings.Contains(policy[1], want) {
			t.Errorf("the policy lacks %s", want)
		}
	}
	for _, bad := range []string{`(?i)(src|href|action)\s*=\s*["']?(https?:)?//`, `(?i)url\(\s*["']?(https?:)?//`, `(?i)@import`, `\sstyle="`, `\son[a-z]+="`, `<(img|iframe|link rel="stylesheet")`} {
		if found := regexp.MustCompile(bad).FindString(page); found != "" {
			t.Errorf("the page has %q", found)
		}
	}
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("%d scripts", n)
	}
}

// TestHostileNames: whatever a plan's texts are, they are shown as text.
func TestHostileNames(t *testing.T) {
	const bad = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'&` + "\u2028"
	p := *planOf(t, "pipe")
	p.Name, p.Layout, p.Target = bad, bad, bad
	p.Remarks = append([]program.Remark{{Pass: bad, Pos: bad, Scope: bad, Text: bad}}, p.Remarks...)
	p.Sources = append([]program.Source{{Name: bad, Text: bad}}, p.Sources...)
	p.Config = append([]program.KV{{Key: bad, Value: bad}}, p.Config...)
	p.Kernels = append([]program.Kernel{}, p.Kernels...)
	p.Kernels[0].Name, p.Kernels[0].Class = bad, bad
	p.Devices = append([]program.Device{}, p.Devices...)
	d := &p.Devices[0]
	d.Tensors = append([]program.Tensor{}, d.Tensors...)
	d.Tensors[0].Path = bad
	d.Progs = append([]program.Program{}, d.Progs...)
	for i := range d.Progs {
		d.Progs[i].Instrs = append([]program.Instr{}, d.Progs[i].Instrs...)
		d.Progs[i].Instrs[0].Scope, d.Progs[i].Instrs[0].Pos = bad, bad
	}
	page := pageOf(t, &p, planOf(t, "single"))
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") {
		t.Error("a name is markup")
	}
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("%d scripts", n)
	}
	if n := strings.Count(page, "</script"); n != 2 {
		t.Errorf("%d ends of scripts", n)
	}
	var d2 struct{ Model string }
	if err := json.Unmarshal([]byte(documentIn(t, page)), &d2); err != nil || d2.Model != bad {
		t.Errorf("the document has the model %q (%v)", d2.Model, err)
	}
}

// TestSizeOfADeepModel: what blocks have in common is there once.
func TestSizeOfADeepModel(t *testing.T) {
	for _, set := range [][]string{{"layers=96"}, {"layers=96", "steps=3"}} {
		layout := "single"
		if len(set) > 1 {
			layout = "pipe"
		}
		p := planOf(t, layout, set...)
		page := pageOf(t, p, nil)
		m := Of(p).Report.Memory
		if len(page) > 3<<20 || m == nil {
			t.Fatalf("%s: %d bytes", layout, len(page))
		}
		n := m.Small
		for i := range m.Groups {
			n += m.Groups[i].Count
		}
		if n != m.Values || m.Values < 96*10 || len(m.Groups) > m.Values/4 {
			t.Errorf("%s: %d groups of %d of %d values", layout, len(m.Groups), n, m.Values)
		}
		t.Logf("%s: %d bytes, %d values in %d groups", layout, len(page), m.Values, len(m.Groups))
	}
}

// TestSmallestAreLeftOut: of too many values the largest stay, and what reaches furthest.
func TestSmallestAreLeftOut(t *testing.T) {
	m := &Map{Edge: 1 << 40}
	for i := range 2 * maxGroups {
		m.Groups = append(m.Groups, Group{Bytes: int64(i + 1), Count: 1, Until: 1})
	}
	m.Groups[0].At = m.Edge - 1
	m.shorten()
	if len(m.Groups) != maxGroups+1 || m.Small != maxGroups-1 || m.LeftOut != maxGroups || m.Groups[0].Bytes != 1 {
		t.Errorf("%d groups, %d left out, the largest of %d bytes", len(m.Groups), m.Small, m.LeftOut)
	}
}

// TestComparison: what differs is said, and nothing where plans are one.
func TestComparison(t *testing.T) {
	a, b := Of(planOf(t, "single")), Of(planOf(t, "pipe"))
	if c := compare(a, a); len(c.Tables) != 0 {
		t.Errorf("a plan differs from itself: %+v", c.Tables)
	}
	page := pageOf(t, planOf(t, "single"), planOf(t, "pipe"))
	for _, want := range []string{"arena of a device", "idle share of the pipeline", "mesh pp", "vocab over tp", "tp, all_reduce"} {
		if !strings.Contains(page, want) {
			t.Errorf("the comparison lacks %q", want)
		}
	}
	for _, x := range compare(a, b).Tables[0].Rows {
		if x.Name == "arena of a device" && (x.Class != "better" || !strings.HasPrefix(x.Change, "-")) {
			t.Errorf("a smaller arena is %+v", x)
		}
	}
}
